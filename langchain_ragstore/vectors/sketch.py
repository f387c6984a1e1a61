"""Vectors in a bit a dimension: on which side of the collection's mean each part is.

Bits stand word by word (one array for 64 dimensions of all rows), so that comparing a
query with all rows is a few passes over contiguous memory.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Matrix, Vector

Words: TypeAlias = tuple[NDArray[np.uint64], ...]
"""Bits of all rows, one array of shape `(rows,)` for 64 dimensions."""

_BLOCK: Final = 16_384
"""Rows compared at a time: what lies between two passes stays in the second cache."""

FARTHEST: Final = np.uint16(2**16 - 1)
"""A distance that no row has."""


def words(turned: Matrix, mean: Vector) -> Words:
    """Sketches of rotated vectors.

    Args:
        turned: Shape `(count, dimension)`.
        mean: The rotated mean that they are compared with, shape `(dimension,)`.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.vectors.sketch import distances, words

        rows = np.array([[1, 1, -1], [1, -1, -1]], np.float32)
        middle = np.zeros(3, np.float32)
        assert distances(words(rows, middle), words(rows[:1], middle)).tolist() == [0, 1]
        ```
    """
    bits = np.packbits(turned > mean, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    rows = padded.view(np.uint64)
    return tuple(np.ascontiguousarray(rows[:, at]) for at in range(rows.shape[1]))


def distances(sketches: Words, query: Words) -> NDArray[np.uint16]:
    """In how many bits each sketch differs from a query's; shape `(rows,)`."""
    count = len(sketches[0])
    found = np.empty(count, np.uint16)
    size = min(count, _BLOCK)
    differing, ones = np.empty(size, np.uint64), np.empty(size, np.uint8)
    asked = [word[0] for word in query]
    for start in range(0, count, _BLOCK):
        total = found[start : start + _BLOCK]
        total[:] = 0
        some, few = differing[: len(total)], ones[: len(total)]
        for word, bits in zip(sketches, asked, strict=True):
            np.bitwise_xor(word[start : start + _BLOCK], bits, out=some)
            np.bitwise_count(some, out=few)
            np.add(total, few, out=total)
    return found


def closest(
    found: NDArray[np.uint16], count: int, among: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """Places of the `count` smallest distances and of all that equal the last of them.

    Args:
        found: Distances; those outside `among` are overwritten.
        count: At least 1.
        among: Rows that may be chosen, at least `count` of them; None for all.

    Returns:
        Ascending.
    """
    if among is not None:
        np.copyto(found, FARTHEST, where=~among)
    if count >= len(found):
        return np.flatnonzero(found < FARTHEST)
    # Distances are small numbers: counting them takes a third of the time of `partition`.
    limit = int(np.searchsorted(np.cumsum(np.bincount(found)), count))
    return np.flatnonzero(found <= np.uint16(min(limit, int(FARTHEST) - 1)))
