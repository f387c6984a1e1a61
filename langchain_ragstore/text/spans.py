"""Chunks as spans of a text: descend to pieces that fit, then take runs of them.

The two phases are the seed's. Phase one cuts the text at its best breaks and descends
to the next class only in stretches that are still too long; the result is one ascending
list of cuts, and stretches that no class could cut. Phase two walks along the cuts and
ends each chunk at the last one that fits.

What is "too long" is the measure's business, so that characters and tokens share all of
this.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_ragstore.text import graphemes
from langchain_ragstore.text.boundaries import NOT_FIRST, Breaks, word_end, word_start

_KINSOKU = 4
"""Characters that a forced cut moves back so that no mark begins a chunk."""


class Measure(Protocol):
    """The size of stretches of one text."""

    def fits(self, start: int, end: int) -> bool:
        """Whether the stretch is not longer than a chunk may be."""

    def reach(self, start: int) -> int:
        """The furthest end with `fits(start, end)`; at least `start + 1`."""

    def overlap(self, end: int) -> int:
        """The first start from which on the stretch up to `end` is a legal overlap."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Sizes in code points."""

    length: int
    size: int
    shared: int

    def fits(self, start: int, end: int) -> bool:
        """See `Measure.fits`."""
        return end - start <= self.size

    def reach(self, start: int) -> int:
        """See `Measure.reach`."""
        return min(self.length, start + self.size)

    def overlap(self, end: int) -> int:
        """See `Measure.overlap`."""
        return max(0, end - self.shared)


def spans(text: str, classes: Sequence[Breaks], measure: Measure) -> list[tuple[int, int]]:
    """Cut a text into chunks.

    Args:
        text: Any text.
        classes: Breaks, the best class first.
        measure: Sizes of this text's stretches.

    Returns:
        Start and end of each chunk: they cover the text, starts and ends grow, and none
        is longer than the measure allows.

    Example:
        ```python
        from langchain_ragstore.text.boundaries import NATURAL
        from langchain_ragstore.text.spans import Characters, spans

        text = "春天来了。花开了。"
        assert spans(text, NATURAL, Characters(len(text), 5, 0)) == [(0, 5), (5, 9)]
        ```
    """
    length = len(text)
    if not length:
        return []
    if measure.fits(0, length):
        return [(0, length)]
    cuts, whole = _cuts(text, classes, measure)
    runs = _Runs(text, classes, measure, cuts, whole)
    chunks: list[tuple[int, int]] = []
    start = end = 0
    while end < length:
        end = runs.end(start, end)
        chunks.append((start, end))
        start = runs.next_start(start, end)
    return chunks


def _cuts(
    text: str, classes: Sequence[Breaks], measure: Measure
) -> tuple[list[int], list[tuple[int, int]]]:
    """All cuts, and the stretches between two of them that are too long."""
    simple = graphemes.is_simple(text)
    long = [(0, len(text))]
    cuts = [0, len(text)]
    for breaks in classes:
        longer = []
        for start, end in long:
            before = start
            for place in breaks(text, start, end):
                if not simple and not graphemes.is_border(text, place, before):
                    continue  # a mark that the next code point joins is no end
                cuts.append(place)
                if not measure.fits(before, place):
                    longer.append((before, place))
                before = place
            if not measure.fits(before, end):
                longer.append((before, end))
        long = longer
        if not long:
            break
    cuts.sort()
    return cuts, long


@dataclass(frozen=True, slots=True)
class _Runs:
    """Phase two: where chunks end and begin."""

    text: str
    classes: Sequence[Breaks]
    measure: Measure
    cuts: list[int]
    whole: list[tuple[int, int]]

    def end(self, start: int, before: int) -> int:
        """The end of the chunk that begins at `start`, behind the end `before` it."""
        reach = self.measure.reach(start)
        place = self.cuts[bisect_right(self.cuts, reach) - 1]
        if place > before and self._uncut(reach) is None:
            return place
        forced = self._forced(reach, max(place, start, before))
        if forced is None:  # only a part of the next cluster would fit
            return place if place > max(start, before) else reach
        return forced

    def _uncut(self, place: int) -> tuple[int, int] | None:
        """The stretch without a cut that a position lies inside."""
        at = bisect_left(self.whole, (place,)) - 1
        if at >= 0 and self.whole[at][0] < place < self.whole[at][1]:
            return self.whole[at]
        return None

    def _forced(self, reach: int, lowest: int) -> int | None:
        """A cut where there is no break: between clusters, marks kept to the left."""
        if reach >= len(self.text):
            return len(self.text)
        end = graphemes.floor(self.text, reach, lowest)
        if end <= lowest:
            return None
        back = end
        for _ in range(_KINSOKU):
            if self.text[back] not in NOT_FIRST:
                return back
            back = graphemes.floor(self.text, back - 1, lowest)
            if back <= lowest:
                break
        return end

    def next_start(self, start: int, end: int) -> int:
        """The start of the next chunk: back by as much as the overlap allows."""
        lowest = max(self.measure.overlap(end), start + 1)
        if lowest >= end or end == len(self.text):
            return end
        needed = self._next_piece(end)
        while lowest < end and not self.measure.fits(lowest, needed):
            # Tokens are not additive, so the distance is a first guess there.
            lowest = max(lowest + 1, needed - (self.measure.reach(lowest) - lowest))
        return self._overlap_start(start, lowest, end)

    def _next_piece(self, end: int) -> int:
        """The end of the least that must follow `end` in the next chunk."""
        following = self.cuts[bisect_right(self.cuts, end)]
        if self._uncut(end) is None and self.measure.fits(end, following):
            return following
        return graphemes.ceiling(self.text, end + 1, end)

    def _overlap_start(self, start: int, lowest: int, end: int) -> int:
        """The first good place in `[lowest, end)` for a chunk to begin; `end` if none."""
        said = start + len(self.text[start:end].rstrip())
        if lowest >= said:
            return end  # white space alone is no overlap
        at = bisect_left(self.cuts, lowest)
        if self.cuts[at] < said:
            return self.cuts[at]
        if self._uncut(lowest) is not None:
            return self._border(start, lowest, end)
        # The last piece is longer than the overlap: the best break inside it.
        piece = max(self.cuts[at - 1], start)
        for breaks in self.classes:
            for place in breaks(self.text, max(piece, lowest - 1), said):
                if place >= lowest and graphemes.is_border(self.text, place, piece):
                    return place
        if word_start(self.text, lowest, piece) < lowest:
            lowest = word_end(self.text, lowest)
        return self._border(piece, lowest, end) if lowest < said else end

    def _border(self, known: int, lowest: int, end: int) -> int:
        """The first cluster border from `lowest` on that no mark stands behind."""
        place = graphemes.ceiling(self.text, lowest, known)
        while place < end and self.text[place] in NOT_FIRST:
            place = graphemes.ceiling(self.text, place + 1, place)
        return min(place, end)
