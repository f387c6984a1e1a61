"""Sizes in tokens: one table of the whole text's, and exact counts all the same.

Tokens are not additive: a chunk that begins or ends elsewhere than its text can have more
than the table says. But there are borders on which no token of either side depends, and
between two of them the table is right. So the table finds where to cut, and a chunk is
counted by reading anew what lies outside of its outermost borders: a word at each end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from langchain_ragstore.text.tokenizer import (
    Tokens,
    count_tokens,
    first_border,
    last_border,
)

if TYPE_CHECKING:
    from tiktoken import Encoding

_MOST_PER_CHARACTER: Final = 4
"""Tokens of one code point at most: its bytes in UTF-8."""

_SLACK: Final = 8
"""Tokens by which a stretch may have fewer than the table says; more was never seen."""

_SPARE: Final = 2
"""Tokens by which a good overlap is often shorter than the table says."""


@dataclass(frozen=True, slots=True)
class TokenMeasure:
    """A `Measure` in tokens of one text.

    Attributes:
        text: The text.
        encoding: Its vocabulary.
        tokens: The tokens of the whole text.
        size: The most tokens in a chunk.
        shared: The most tokens in an overlap.
    """

    text: str
    encoding: Encoding
    tokens: Tokens
    size: int
    shared: int

    def fits(self, start: int, end: int) -> bool:
        """See `Measure.fits`."""
        return self._at_most(self.size, start, end)

    def shares(self, start: int, end: int) -> bool:
        """See `Measure.shares`."""
        return self._at_most(self.shared, start, end)

    def reach(self, start: int) -> int:
        """See `Measure.reach`."""
        return max(start + 1, self.tokens.reach(start, self.size))

    def about(self, start: int) -> int:
        """See `Measure.about`."""
        return self.reach(start)

    def lowest(self, end: int, following: int) -> int:
        """See `Measure.lowest`."""
        # A little too far back: what does not fit is found out, what would is not missed.
        return max(
            self.tokens.back(end, self.shared + _SPARE),
            self.tokens.back(following, self.size + _SPARE),
        )

    def room(self, end: int) -> int:
        """See `Measure.room`."""
        return self.tokens.back(end, self.size)

    def _at_most(self, number: int, start: int, end: int) -> bool:
        """Whether a stretch has at most so many tokens; read only if it may be close."""
        if (end - start) * _MOST_PER_CHARACTER <= number:
            return True
        if self.tokens.between(start, end) > number + _SLACK:
            return False
        first = first_border(self.text, start, end)
        last = last_border(self.text, start, end)
        if first is None or last is None:
            return self._read(start, end) <= number
        rest = number - self.tokens.between(first, last)
        if rest < 0 or (first - start + end - last) * _MOST_PER_CHARACTER <= rest:
            return rest >= 0
        return self._read(start, first) + self._read(last, end) <= rest

    def _read(self, start: int, end: int) -> int:
        return count_tokens(self.text[start:end], self.encoding)
