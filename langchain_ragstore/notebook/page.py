"""Chunks as HTML: no script, nothing from elsewhere, styles that touch nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from langchain_ragstore.notebook.characters import attribute, to_html
from langchain_ragstore.notebook.layout import Layout, Segment

PREFIX: Final = "lcrs-"
"""What every class begins with, so that no style meets another's."""

COLOURS: Final = ("86 180 233", "230 159 0", "0 158 115", "204 121 167")
"""Sky blue, orange, bluish green and reddish purple of the palette by Okabe and Ito, "Color
Universal Design" (2002, jfly.uni-koeln.de/color), which people with any kind of colour
vision tell apart. Its yellow vanishes on white, its blue on black."""

_OVER: Final = "213 94 0"
"""The palette's vermilion, for what should not be."""

_BARS: Final = 300
"""Bars that are drawn; more are no picture."""

_MISSING: Final = 20
"""Chunks that are not in the text and are listed."""

_MISSING_CHARS: Final = 200
"""Characters that are shown of each."""


def _style() -> str:
    # Tints let the theme's own background and letters through, light or dark; only the
    # marks have a background, and so letters, of their own.
    fixed = """
.@box{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22em,100%),1fr));
gap:1.2em;font-size:14px;line-height:1.9;color:inherit;text-align:left}
.@panel{min-width:0}
.@name{font-weight:600;line-height:1.4}
.@facts{font-size:12px;line-height:1.5;opacity:.85}
.@bars{display:flex;flex-wrap:wrap;gap:2px;margin:4px 0;line-height:1}
.@bar{display:inline-flex;align-items:flex-end;width:8px;height:26px;
background:rgb(128 128 128/.2);border-top:1px solid rgb(128 128 128)}
.@bar>span{display:block;width:100%;background:rgb(var(--@a))}
.@over{border-top-color:rgb(#over)}
.@over>span{background:rgb(#over)}
.@text{white-space:break-spaces;overflow-wrap:anywhere;unicode-bidi:plaintext;
padding:2px 0 4px}
.@in{background:rgb(var(--@a)/.3);border-bottom:2px solid rgb(var(--@a));
padding:1px 0;-webkit-box-decoration-break:clone;box-decoration-break:clone}
.@both{background:repeating-linear-gradient(-45deg,rgb(var(--@a)/.42) 0 5px,
rgb(var(--@b)/.42) 5px 10px);border-bottom-color:rgb(var(--@b))}
.@mark{background:rgb(var(--@a));color:#111;font:600 10px/1.5 ui-monospace,monospace;
border-radius:3px;padding:0 3px;margin:0 1px 0 2px;vertical-align:1px;white-space:nowrap;
user-select:none;-webkit-user-select:none}
.@none{background:rgb(128 128 128/.22)}
.@lost{outline:1px dashed rgb(#over)}
.@gone{text-decoration:line-through}
.@i::before{content:attr(data-g);opacity:.45}
.@x{font:10px/1 ui-monospace,monospace;border:1px solid rgb(128 128 128);
border-radius:2px;padding:0 2px;margin:0 1px}
.@note{font-size:12px;line-height:1.5;border-left:3px solid rgb(#over);padding-left:6px;
margin-top:4px;overflow-wrap:anywhere}
"""
    coloured = "".join(
        f".@a{number}{{--@a:{colour}}}.@b{number}{{--@b:{colour}}}"
        for number, colour in enumerate(COLOURS)
    )
    return (fixed + coloured).replace("@", PREFIX).replace("#over", _OVER)


def render(layouts: Iterable[Layout]) -> str:
    """Panels side by side, or below each other where there is no room."""
    panels = "".join(f'<div class="{PREFIX}panel">{_panel(one)}</div>' for one in layouts)
    return f'<style>{_style()}</style><div class="{PREFIX}box" dir="ltr">{panels}</div>'


def _panel(layout: Layout) -> str:
    facts = " · ".join(layout.facts())
    text = "".join(_segment(layout, segment) for segment in layout.segments())
    more = layout.shown < len(layout.text)
    return (
        f'<div class="{PREFIX}name"><bdi>{attribute(layout.caption)}</bdi></div>'
        f'<div class="{PREFIX}facts">{attribute(facts)}</div>'
        f'<div class="{PREFIX}bars">{"".join(_bars(layout))}</div>'
        f'<div class="{PREFIX}text" dir="auto">{text}</div>'
        + (f'<div class="{PREFIX}note">… and so on; not drawn.</div>' if more else "")
        + "".join(_missing(layout))
    )


def _colour(index: int, letter: str = "a") -> str:
    return f"{PREFIX}{letter}{index % len(COLOURS)}"


def _bars(layout: Layout) -> Iterator[str]:
    top = layout.limit or max(layout.sizes, default=0) or 1
    for index, size in enumerate(layout.sizes[:_BARS]):
        over = f" {PREFIX}over" if size > top else ""
        title = attribute(f"chunk {index + 1}: {layout.size(index)}")
        yield (
            f'<span class="{PREFIX}bar {_colour(index)}{over}" title="{title}">'
            f'<span style="height:{min(100, round(100 * size / top))}%"></span></span>'
        )
    if len(layout.sizes) > _BARS:
        yield f'<span class="{PREFIX}facts">… {len(layout.sizes) - _BARS:,} more</span>'


def _segment(layout: Layout, segment: Segment) -> str:
    marks = "".join(_mark(layout, index) for index in segment.opening)
    if segment.start == segment.end:
        return marks
    if not segment.chunks:
        lost = f"lost {PREFIX}gone" if None not in layout.spans else "lost"
        return marks + "".join(
            f'<span class="{PREFIX}{"none" if white else lost}" data-chunks="" '
            f'title="{layout.outside}">{to_html(run, PREFIX)}</span>'
            for run, white in layout.left_out(segment)
        )
    text = to_html(layout.text[segment.start : segment.end], PREFIX)
    numbers = _ranges(segment.chunks)
    classes = f"{PREFIX}in {_colour(segment.chunks[0])}"
    title = ""
    if len(segment.chunks) > 1:
        # The oldest and the newest: two neighbours nearly always, and never one colour.
        classes += f" {PREFIX}both {_other(segment.chunks)}"
        title = f' title="in chunks {numbers.replace(" ", ", ")}"'
    return f'{marks}<span class="{classes}" data-chunks="{numbers}"{title}>{text}</span>'


def _other(chunks: tuple[int, ...]) -> str:
    kinds = len(COLOURS)
    unlike = [index for index in chunks if (index - chunks[0]) % kinds]
    return _colour(unlike[-1] if unlike else chunks[0] + 1, "b")


def _mark(layout: Layout, index: int) -> str:
    start, end = layout.spans[index] or (0, 0)
    title = (
        f"chunk {index + 1}: characters {start:,} to {end:,}; size {layout.size(index)}; "
        f"overlap {layout.overlaps[index]:,}"
    )
    prefix = layout.prefix(index)
    if prefix:
        title += f"; begins with a repeated {prefix[:_MISSING_CHARS]!r}"
    return (
        f'<bdi dir="ltr" class="{PREFIX}mark {_colour(index)}" title="{attribute(title)}">'
        f"{index + 1}·{layout.sizes[index]:,}</bdi>"
    )


def _missing(layout: Layout) -> Iterator[str]:
    missing = [index for index, span in enumerate(layout.spans) if span is None]
    for index in missing[:_MISSING]:
        content = layout.contents[index]
        shown = to_html(content[:_MISSING_CHARS], PREFIX)
        more = "…" if len(content) > _MISSING_CHARS else ""
        yield (
            f'<div class="{PREFIX}note">chunk {index + 1}, {layout.size(index)}, not found '
            f"in the text: <bdi>{shown}{more}</bdi></div>"
        )
    if len(missing) > _MISSING:
        yield (
            f'<div class="{PREFIX}note">{len(missing) - _MISSING:,} more are not found in '
            "the text</div>"
        )


def _ranges(chunks: tuple[int, ...]) -> str:
    """Chunks' numbers, from 1, as "1 3-5"."""
    parts: list[list[int]] = []
    for index in chunks:
        if parts and parts[-1][1] == index - 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return " ".join(
        f"{first + 1}" if first == last else f"{first + 1}-{last + 1}"
        for first, last in parts
    )
