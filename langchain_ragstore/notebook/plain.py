"""Chunks for a terminal: one after the other, readable without colour."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_ragstore.notebook.characters import to_terminal
from langchain_ragstore.notebook.layout import Layout

_BAR = 20
_MARKED = "⟦{}⟧"


def render(layout: Layout) -> str:
    """The header, then each chunk with its number, size, place and text."""
    return "\n".join([f"{to_terminal(layout.caption)}: {_header(layout)}", *_body(layout)])


def _header(layout: Layout) -> str:
    facts = layout.facts()
    if any(layout.overlaps):
        facts.append(f"{_MARKED.format('repeated from the chunk before')}")
    return "; ".join(facts)


def _body(layout: Layout) -> Iterator[str]:
    for segment in layout.segments():
        for index in segment.opening:
            yield from _chunk(layout, index)
        if not segment.chunks:
            for run, white in layout.left_out(segment):
                if not white:
                    yield f"[-] {layout.outside}\n{to_terminal(run)}"
    for index, span in enumerate(layout.spans):
        if span is None:
            yield f"[{index + 1}] {layout.size(index)}, not found in the text"
            yield to_terminal(layout.contents[index][: layout.max_chars])


def _chunk(layout: Layout, index: int) -> Iterator[str]:
    start, end = layout.spans[index] or (0, 0)
    repeated = layout.overlaps[index]
    line = f"[{index + 1}] {layout.size(index)}, at {start:,}-{end:,}"
    if repeated:
        line += f", repeats {repeated:,}"
    if layout.limit:
        filled = min(_BAR, round(layout.sizes[index] / layout.limit * _BAR))
        line += f"  {'█' * filled}{'░' * (_BAR - filled)}"
    yield line
    shared = layout.shared(index)
    body = layout.text[start + shared : min(end, layout.shown)]
    head = layout.text[start : min(start + shared, layout.shown)]
    marked = _MARKED.format(to_terminal(head)) if head else ""
    cut = "…" if end > layout.shown else ""
    yield f"{to_terminal(layout.prefix(index))}{marked}{to_terminal(body)}{cut}"
