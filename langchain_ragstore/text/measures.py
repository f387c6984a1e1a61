"""Sizes of stretches of a text: what fits into a chunk, and what into an overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol


class Measure(Protocol):
    """The sizes of stretches of one text.

    `fits` and `shares` decide. The others find where to ask them, and may be wrong by as
    much as a measure fails to be additive.
    """

    def fits(self, start: int, end: int) -> bool:
        """Whether the stretch is not longer than a chunk may be."""

    def shares(self, start: int, end: int) -> bool:
        """Whether the stretch is not longer than an overlap may be."""

    def reach(self, start: int) -> int:
        """The furthest end with `fits(start, end)`; at least `start + 1`."""

    def about(self, start: int) -> int:
        """An estimate of `reach(start)` that costs nothing."""

    def lowest(self, end: int, following: int) -> int:
        """The first start with `shares(start, end)` and `fits(start, following)`."""

    def room(self, end: int) -> int:
        """The first start with `fits(start, end)`; at most 0 if all before it fits."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Sizes in code points.

    Attributes:
        length: Of the text.
        size: The most in a chunk.
        shared: The most in an overlap.
    """

    length: int
    size: int
    shared: int

    def fits(self, start: int, end: int) -> bool:
        """See `Measure.fits`."""
        return end - start <= self.size

    def shares(self, start: int, end: int) -> bool:
        """See `Measure.shares`."""
        return end - start <= self.shared

    def reach(self, start: int) -> int:
        """See `Measure.reach`."""
        return min(self.length, start + self.size)

    def about(self, start: int) -> int:
        """See `Measure.about`."""
        return start + self.size

    def lowest(self, end: int, following: int) -> int:
        """See `Measure.lowest`."""
        return max(0, end - self.shared, following - self.size)

    def room(self, end: int) -> int:
        """See `Measure.room`."""
        return end - self.size


_UNIT_LENGTH: Final = 16
"""Code points that one unit of a foreign measure, such as a token, rarely exceeds."""


@dataclass(slots=True)
class Counted:
    """Sizes by a function of the chunk's text, such as a count of tokens.

    Such functions are not additive, so every stretch is measured by itself.

    Attributes:
        text: The text.
        function: Size of a string.
        size: The most in a chunk.
        shared: The most in an overlap.
    """

    text: str
    function: Callable[[str], int]
    size: int
    shared: int
    _pace: int = 0

    def fits(self, start: int, end: int) -> bool:
        """See `Measure.fits`."""
        return self.function(self.text[start:end]) <= self.size

    def shares(self, start: int, end: int) -> bool:
        """See `Measure.shares`."""
        return self.function(self.text[start:end]) <= self.shared

    def reach(self, start: int) -> int:
        """See `Measure.reach`; the furthest, if the function grows with the text."""
        length, step = len(self.text), self._pace or self.size
        low, high = start + 1, min(length, start + step)
        while high < length and self.fits(start, high):
            low, step = high, 2 * step
            high = min(length, start + step)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.fits(start, middle) else (low, middle - 1)
        self._pace = low - start
        return low

    def about(self, start: int) -> int:
        """See `Measure.about`: as far as the last chunk reached."""
        return start + self._pace

    def lowest(self, end: int, following: int) -> int:
        """See `Measure.lowest`."""
        low, high = max(0, end - self.size * _UNIT_LENGTH), end
        while low < high:
            middle = (low + high) // 2
            legal = self.shares(middle, end) and self.fits(middle, following)
            low, high = (low, middle) if legal else (middle + 1, high)
        return low

    def room(self, end: int) -> int:
        """See `Measure.room`: as far as the last chunk reached."""
        return end - self._pace
