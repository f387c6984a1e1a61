"""Borders of grapheme clusters: what a reader takes for one character.

The rules are Unicode's (UAX 29), as the `regex` package implements them; it comes with
tiktoken and is imported only for texts that hold characters which can join clusters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

_NEAR: Final = 64
"""Code points looked back for a safe beginning, before reading on from a known border."""

# Everything may join but the large scripts whose letters stand alone; CR joins LF.
_JOINABLE: Final = re.compile(
    "[^\t\n -~\u00a0-\u02ff\u0391-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e"
    "\u2e80-\u3029\u3030-\u3098\u309b-\ua48f\uac00-\ud7a3\uf900-\ufaff\uff01-\uff9d]"
)


def floor(text: str, place: int, lowest: int) -> int:
    """The last cluster border at or before a position.

    Args:
        text: Any text.
        place: A position in it.
        lowest: A cluster border at or before `place`.

    Returns:
        A border from `lowest` to `place`.
    """
    if place <= lowest or is_plain(text, place):
        return place
    return max(lowest, *_borders(text, _base(text, place, lowest), place))


def ceiling(text: str, place: int, lowest: int, highest: int) -> int:
    """The first cluster border at or after a position; `lowest` as in `floor`.

    Returns:
        A border from `place` to `highest`; `highest` if there is none before it.
    """
    highest = min(highest, len(text))
    if place <= lowest or is_plain(text, place):
        return place
    base, step = _base(text, place, lowest), _NEAR
    while place < highest:
        end = min(highest, place + step)
        for border in _borders(text, base, end):
            if border >= place:
                return border
        place, step = end, 2 * step
    return highest


def borders(text: str, places: Sequence[int], lowest: int = 0) -> Iterator[int]:
    """Those of some positions that are cluster borders, in the order of `places`.

    The text is read once for all of them: of a run of joined white space, to name one,
    each position is a break of some class, and none is a border.
    """
    known: Collection[int] | None = None
    for place in places:
        if place <= lowest or is_plain(text, place):
            yield place
            continue
        if known is None:
            first, last = min(places[0], places[-1]), max(places[0], places[-1])
            known = frozenset(_borders(text, _base(text, first, lowest), last))
        if place in known:
            yield place


def is_border(text: str, place: int, lowest: int = 0) -> bool:
    """Whether a cluster ends and another begins at a position."""
    return floor(text, place, lowest) == place


def is_plain(text: str, place: int) -> bool:
    """Whether a position is a border because nothing beside it can join."""
    return place >= len(text) or _JOINABLE.search(text, place - 1, place + 1) is None


def _base(text: str, place: int, lowest: int) -> int:
    """A position to begin at: a character that joins nothing, if one is near.

    A run of flags must be read from its start: whether two of its code points belong
    together depends on how many there are before them.
    """
    for start in range(place - 1, max(lowest, place - _NEAR), -1):
        if not _JOINABLE.match(text[start]):
            return start
    return lowest


def _borders(text: str, base: int, end: int) -> list[int]:
    """Borders from `base` up to `end`; what decides on each is the text before it.

    A slice is read, since the matcher would count flags back to the text's beginning.
    """
    found = _clusters().finditer(text[base : end + 1])
    return [base + match.start() for match in found]


@functools.cache
def _clusters() -> Any:
    import regex  # noqa: PLC0415 - only for texts that need it

    # Flags by pairs: to decide on one, the matcher's own rule counts all before it.
    flags = r"[\U0001F1E6-\U0001F1FF]{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*"
    pair = "[\ud800-\udbff][\udc00-\udfff]"  # of surrogates: one character in UTF-16
    return regex.compile(rf"{pair}|{flags}|\X")
