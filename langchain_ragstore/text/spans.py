"""Chunks as spans of a text: descend to pieces that fit, then take runs of them.

The two phases are the seed's: the text is cut at its best breaks, a piece that is still
too long at the breaks of the next class, and so on; a chunk is the longest run of pieces
that fits. Only whether the pieces around a chunk's two ends fit decides on where these
are, so nothing else is searched for: from where a chunk begins, the classes are asked for
their last break within its reach, the best class first, until the piece that begins there
fits into a chunk of its own.

What "fits" means is the measure's business, so that characters and tokens share all this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from langchain_ragstore.text import graphemes
from langchain_ragstore.text.boundaries import Breaks, Classes, opening_start, units
from langchain_ragstore.text.measures import Measure

_match_white_space: Final = re.compile(r"\s+").match

_PATIENT: Final = 6
"""Places that are tried one by one, before the steps become longer."""

_MARKS_IN_A_ROW: Final = 8
"""Units that an overlap passes over to find a good place to begin at."""


def _step(tries: int) -> int:
    """How far to go on: in a long run without units, to try each place would take ages."""
    return 1 << max(0, tries - _PATIENT)


class _Cut(NamedTuple):
    """Where a chunk may end.

    Attributes:
        place: The end.
        following: The end of the least that the next chunk must hold.
        level: The class of the break; the number of classes if there is none.
    """

    place: int
    following: int
    level: int


def spans(
    text: str, classes: Classes, measure: Measure, *, strip: bool = False
) -> list[tuple[int, int]]:
    """Cut a text into chunks.

    Args:
        text: Any text.
        classes: Where the text may be cut.
        measure: Sizes of this text's stretches.
        strip: Whether white space at the ends of chunks is left out, and not counted.

    Returns:
        Start and end of each chunk: they cover the text (but for such white space),
        starts and ends grow, and none is longer than the measure allows.

    Example:
        ```python
        from langchain_ragstore.text.boundaries import natural
        from langchain_ragstore.text.measures import Characters
        from langchain_ragstore.text.spans import spans

        text = "春天来了。花开了。"
        assert spans(text, natural, Characters(len(text), 5, 0)) == [(0, 5), (5, 9)]
        ```
    """
    return list(_Cutter(text, tuple(classes(text)), measure, strip=strip))


@dataclass(frozen=True, slots=True)
class _Cutter:
    text: str
    classes: tuple[Breaks, ...]
    measure: Measure
    strip: bool

    def __iter__(self) -> Iterator[tuple[int, int]]:
        start, end, needed = self._skip(0), 0, 0
        while start < len(self.text):
            cut, end = self._cut(start, self._skip(end), needed)
            yield start, end
            if cut.place == len(self.text):
                break
            start, needed = self._next_start(start, end, cut)

    # --- White space at the ends of chunks --------------------------------------------
    def _skip(self, place: int) -> int:
        """The first position from `place` on that a chunk may begin or reach up to."""
        if self.strip:
            match = _match_white_space(self.text, place)
            if match:
                return match.end()
        return place

    def _visible(self, start: int, end: int) -> int:
        """Where what a chunk shows of a stretch ends."""
        if self.strip and self.text[end - 1].isspace():
            return start + len(self.text[start:end].rstrip())
        return end

    # --- Where a chunk ends -----------------------------------------------------------
    def _cut(self, start: int, before: int, needed: int) -> tuple[_Cut, int]:
        """The end of the chunk that begins at `start`, and of what it shows.

        It lies behind `before`.

        `needed` is an end that is known to fit, if there is one beyond `start`.
        """
        least = max(needed, start + 1)
        reach = max(self._skip(self.measure.reach(start)), least)
        tries = 0
        while reach > least:
            cut = self._best_cut(start, before, reach)
            end = self._visible(start, cut.place)
            if self.measure.fits(start, end):
                return cut, end
            # Tokens are not additive: what seemed to fit was found not to.
            reach = cut.place - _step(tries)
            tries += 1
        return self._cut_at(least), self._visible(start, least)

    def _best_cut(self, start: int, before: int, reach: int) -> _Cut:
        length = len(self.text)
        if reach >= length:
            return _Cut(length, length, 0)
        base = place = max(start, before)
        for level, breaks in enumerate(self.classes):
            place = breaks.last(place, reach) or place
            if place == base:
                continue  # the piece at `base` goes on behind what fits
            limit = self._skip(min(length, self.measure.about(place)))
            if limit >= length:
                return _Cut(place, length, level)
            following = self._first(level, reach, limit)
            if following is not None:
                return _Cut(place, following, level)
        return self._forced_cut(base, place, reach)

    def _first(self, level: int, start: int, end: int) -> int | None:
        """The first break of a class or a better one in `(start, end]`."""
        found = None
        while level >= 0:  # breaks of the last class are the nearest
            place = self.classes[level].first(start, end)
            if place is not None:
                found = end = place
            level -= 1
        return found

    def _forced_cut(self, before: int, lowest: int, reach: int) -> _Cut:
        """A cut behind the last break, `lowest`: between clusters, outside of units."""
        place = graphemes.floor(self.text, reach, lowest)
        if place <= lowest:  # only a part of the next cluster would fit
            return self._cut_at(lowest if lowest > before else reach)
        # A break at `lowest` is an end, too; where the chunk begins is none.
        first = lowest if lowest > before else lowest + 1
        for unit_start, unit_end in self._units(place):
            begin = graphemes.floor(self.text, max(unit_start, lowest), lowest)
            if begin >= first and self.measure.fits(begin, unit_end):
                place = begin
                break
        opening = opening_start(self.text, place, lowest)
        if opening >= first and graphemes.is_border(self.text, opening, lowest):
            place = opening
        return self._cut_at(place)

    def _cut_at(self, place: int) -> _Cut:
        return _Cut(place, self._next_unit(self._skip(place)), len(self.classes))

    def _units(self, place: int) -> Iterator[tuple[int, int]]:
        """What a cut at a position would tear; one that is longer than fits may be more."""
        lowest = max(0, self.measure.room(place) - 1)
        return units(self.text, place, lowest, self.measure.about(place) + 1)

    def _next_unit(self, place: int) -> int:
        """The end of the word or character that begins at a position, with its marks."""
        highest = self.measure.about(place) + 1  # what ends behind it does not fit
        end = graphemes.ceiling(self.text, place + 1, place, highest)
        for unit_start, unit_end in self._units(end):
            if unit_start == place:
                behind = graphemes.ceiling(self.text, unit_end, place, highest)
                if self.measure.fits(place, behind):
                    return behind
        return end

    # --- Where the next one begins ----------------------------------------------------
    def _next_start(self, start: int, end: int, cut: _Cut) -> tuple[int, int]:
        """The start of the next chunk, and an end behind `end` that fits."""
        fits, following = self.measure.fits, self._visible(cut.place, cut.following)
        lowest = self._skip(max(self.measure.lowest(end, following), start + 1))
        tries = 0
        while lowest < end:
            place = self._skip(self._overlap_start(start, lowest, end, cut.level))
            if place >= end:
                break
            if self.measure.shares(place, end) and fits(place, following):
                return place, following
            lowest = self._skip(place + _step(tries))
            tries += 1
        place = self._skip(cut.place)
        return place, following if fits(place, following) else place

    def _overlap_start(self, start: int, lowest: int, end: int, level: int) -> int:
        """The first good place in `[lowest, end)` for a chunk to begin; `end` if none."""
        piece_end = end
        for at, breaks in enumerate(self.classes):
            place = breaks.first(lowest - 1, piece_end - 1)
            if place is not None:
                piece_end = place
            elif piece_end == end and at < level:
                continue  # the piece at `lowest` ends behind `end` and was too long
            if piece_end == lowest or self._begins(at, piece_end, lowest):
                break
        return piece_end if piece_end < end else self._within_piece(start, lowest, end)

    def _begins(self, level: int, end: int, lowest: int) -> bool:
        """Whether the piece that ends at `end` begins late enough to fit."""
        room = self.measure.room(end)
        if room <= 0:
            return True
        while level >= 0:  # breaks of the last class are the nearest
            if self.classes[level].last(room - 1, lowest - 1) is not None:
                return True
            level -= 1
        return False

    def _within_piece(self, start: int, lowest: int, end: int) -> int:
        """A good place in `[lowest, end)` that is no cut; `end` if there is none.

        It is the best break in the first half, which reads better than the middle of a
        sentence; else the first border of a unit or cluster.
        """
        half = (lowest + end) // 2
        for breaks in self.classes:
            place = breaks.first(lowest - 1, half)
            if place is not None:
                return place
        place = graphemes.ceiling(self.text, lowest, start, end)
        for _ in range(_MARKS_IN_A_ROW):
            if place >= end:
                break
            behind = self._torn_end(place)
            if behind == place:
                return place
            place = behind
        return end

    def _torn_end(self, place: int) -> int:
        """The end of what a cut would tear; `place` if that is nothing which fits."""
        for unit_start, unit_end in self._units(place):
            if unit_start < place < unit_end and self.measure.fits(unit_start, unit_end):
                return graphemes.ceiling(self.text, unit_end, place, len(self.text))
        return place
