"""Many texts as one array of code points, folded as `text.folding.normalize` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.lexical.postings import Rows
from langchain_ragstore.text.folding import IN_CONTEXT, folded_alone, normalize

Codes: TypeAlias = NDArray[np.uint32]

_BETWEEN: Final = "\x1e"
"""What stands between texts while they are one; whatever else is one becomes a blank."""

_BLANK: Final = np.uint32(ord(" "))

_ASCII: Final = np.uint32(0x80)
"""Code points below are ASCII's."""


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """Texts one after the other.

    Attributes:
        codes: Their code points, with one of no word before and after each text.
        edges: Where these are; shape `(texts + 1,)`.
        order: The row of each text.
    """

    codes: Codes
    edges: Rows
    order: Sequence[int]

    @property
    def rows(self) -> Rows:
        """The row of each code point."""
        return np.repeat(np.array([0, *self.order]), np.diff(self.edges, prepend=-1))

    def only(self, chosen: NDArray[np.bool_]) -> Folded:
        """The texts with blanks for all that is not chosen."""
        return replace(self, codes=np.where(chosen, self.codes, _BLANK))

    def wide(self) -> Iterator[tuple[int, str]]:
        """Row and text of those that are not in ASCII."""
        for at in self.holding(self.codes >= _ASCII):
            text = self.codes[self.edges[at] + 1 : self.edges[at + 1]].tobytes()
            yield self.order[at], text.decode("utf-32-le", "surrogatepass")

    def narrow(self) -> Iterator[tuple[int, bytes]]:
        """Row and text of each; what is not ASCII becomes blanks."""
        codes = np.where(self.codes < _ASCII, self.codes, _BLANK).astype(np.uint8)
        codes[self.edges] = ord(_BETWEEN)
        texts = codes.tobytes().split(_BETWEEN.encode())
        return zip(self.order, texts[1:-1], strict=True)

    def holding(self, chosen: NDArray[np.bool_]) -> list[int]:
        """The texts, by their places here, in which something is chosen."""
        at = np.searchsorted(self.edges, np.flatnonzero(chosen)) - 1
        return list(dict.fromkeys(at.tolist()))


def folded(texts: Mapping[int, str]) -> Folded:
    """Fold texts: most of them character by character, all at once.

    Args:
        texts: By their rows. Their order in the result is another one.
    """
    codes = _code_points(_BETWEEN.join(["", *texts.values(), ""]))
    alone = folded_alone().take(codes, mode="clip")
    edges = _edges(texts.values())
    found = Folded(alone, edges, list(texts))
    apart = found.holding(alone == IN_CONTEXT)
    if not apart:
        return found
    stay = np.ones(len(alone), np.bool_)
    for at in apart:
        stay[edges[at] + 1 : edges[at + 1] + 1] = False
    normalized = {found.order[at]: normalize(texts[found.order[at]]) for at in apart}
    left = {row: text for row, text in texts.items() if row not in normalized}
    return Folded(
        np.concatenate(
            [alone[stay], _code_points(_BETWEEN.join([*normalized.values(), ""]))]
        ),
        _edges([*left.values(), *normalized.values()]),
        [*left, *normalized],
    )


def _edges(texts: Iterable[str]) -> Rows:
    return np.cumsum([0, *(1 + len(text) for text in texts)])


def _code_points(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
