"""Where a text may be cut: classes of breaks, from the best to the worst.

A break is a position between two code points. A class is found by one linear scan, and
only in the stretches where no better class was enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

Breaks: TypeAlias = Callable[[str, int, int], Iterator[int]]
"""Given a text and a stretch `[start, end)`, the breaks inside it, ascending."""

_LINE: Final = r"(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
_BLANK: Final = r"[^\S\r\n\v\f\x1c-\x1e\x85\u2028\u2029\u00a0\u2007\u202f]"
"""White space within a line at which a line may end; no-break spaces may not."""

_CLOSERS: Final = "」』”’）】》〉〕］｝»\"')\\]}"
_CJK: Final = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"
    "\u3041-\u30ff\u3105-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Han, kana, bopomofo and Hangul: scripts that run words together or are mixed so."""

_WORD: Final = f"(?:[^\\W_{_CJK}]|[\u0300-\u036f])"
"""A letter or digit of a script that separates its words."""

_TERMINATOR: Final = "。｡？！…‼⁇⁈⁉"
_SENTENCE: Final = (
    f"(?:[.!?]*[{_TERMINATOR}][.!?{_TERMINATOR}]*[{_CLOSERS}]*"
    f"|[.!?]+[{_CLOSERS}]*(?=\\s|\\Z))"
)
_CLAUSE: Final = f"(?:[；：][{_CLOSERS}]*|[;:][{_CLOSERS}]*(?=\\s|\\Z))"
_COMMA: Final = f"(?:[，、､][{_CLOSERS}]*|,[{_CLOSERS}]*(?=\\s|\\Z))"
_BORDER: Final = f"(?<=[{_CJK}])(?={_WORD})|(?<={_WORD})(?=[{_CJK}])"

NOT_FIRST: Final = frozenset(
    "。｡？！…‼⁇⁈⁉；：，、､.!?;:,」』”’）】》〉〕］｝»)]}・ー々ゝゞヽヾ゛゜"
)
"""Characters that belong to what stands before them."""


def _behind(pattern: str, tail: str = "") -> Breaks:
    """Breaks behind a pattern, and again behind the blanks that follow it.

    Both are needed: where the blanks no longer fit into a chunk, the mark may.
    """
    find = re.compile(f"(?:{pattern})(?P<tail>{tail})").finditer

    def breaks(text: str, start: int, end: int) -> Iterator[int]:
        for match in find(text, start, end):
            first, last = match.span("tail")
            if start < first < end:
                yield first
            if first < last < end:
                yield last

    return breaks


_BLANKS: Final = f"{_BLANK}*"

NATURAL: Final[tuple[Breaks, ...]] = (
    _behind(f"(?:{_LINE}(?:{_BLANK}*{_LINE})+|\u2029)"),
    _behind(_LINE),
    _behind(_SENTENCE, _BLANKS),
    _behind(_CLAUSE, _BLANKS),
    _behind(_COMMA, _BLANKS),
    _behind("", f"(?:{_BLANK}|\u200b)+"),
    _behind(_BORDER),
)
"""Blank line, line, sentence, clause, comma, blank, border between scripts."""


def after(separators: Sequence[str]) -> tuple[Breaks, ...]:
    """One class for each separator: a break behind each run of it.

    The empty string is passed over: grapheme clusters are always the last resort.
    """
    return tuple(_behind(f"(?:{re.escape(part)})+") for part in separators if part)


def before(separators: Sequence[str]) -> tuple[Breaks, ...]:
    """One class for each separator: a break in front of each run of it."""

    def starting(pattern: str) -> Breaks:
        find = re.compile(pattern).finditer

        def breaks(text: str, start: int, end: int) -> Iterator[int]:
            for match in find(text, start, end):
                if match.start() > start:
                    yield match.start()

        return breaks

    return tuple(starting(f"(?:{re.escape(part)})+") for part in separators if part)


_JOINED: Final = re.compile(f"[^\\s{_CJK}\u200b\u3000-\u303f\uff00-\uff65]+")
_UNJOINED: Final = re.compile(f"[\\s{_CJK}\u200b\u3000-\u303f\uff00-\uff65]")


def word_start(text: str, place: int, lowest: int) -> int:
    """Where the unbroken run (a word, number or address) around a position begins.

    Returns:
        A position from `lowest` on; `place` itself if it lies inside no run.
    """
    if not 0 < place < len(text) or _UNJOINED.match(text[place]):
        return place
    start = place
    while start > lowest and not _UNJOINED.match(text[start - 1]):
        start -= 1
    return start


def word_end(text: str, place: int) -> int:
    """Where the unbroken run around a position ends; `place` if it lies inside none."""
    if not 0 < place < len(text) or _UNJOINED.match(text[place - 1]):
        return place
    match = _JOINED.match(text, place)
    return match.end() if match else place
