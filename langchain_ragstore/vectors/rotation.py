"""A fixed rotation that spreads what a vector says over all its dimensions.

Signs, and a Hadamard transform of the first and the last 2^b dimensions in turns (the
fast rotation of Kac's walk, as RaBitQ's library has it: Gao et al., SIGMOD 2025). It is
orthogonal, so cosines stay, it needs no memory, and it is the same everywhere.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Matrix

_ROUNDS: Final = 4
"""After two of them each dimension has reached every other one; two more mix evenly."""

_SEED: Final = b"langchain-ragstore codes 1"
"""Where the signs come from. Codes that were made with others cannot be read."""


class Rotation:
    """The rotation of vectors of one dimension.

    Args:
        dimension: At least 1.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.vectors.rotation import Rotation

        turn = Rotation(384)
        first = np.eye(384, dtype=np.float32)[:1]
        assert abs(turn(first)).max() < 0.3  # it was all in one place
        assert np.allclose(turn.back(turn(first)), first, atol=1e-6)
        ```
    """

    def __init__(self, dimension: int) -> None:
        self._span = 1 << (dimension.bit_length() - 1)
        bits = _ROUNDS * dimension
        drawn = hashlib.shake_256(_SEED).digest((bits + 7) // 8)
        ones = np.unpackbits(np.frombuffer(drawn, np.uint8))[:bits]
        self._signs = (1.0 - 2.0 * ones.reshape(_ROUNDS, dimension)).astype(np.float32)
        half = 1 << (self._span.bit_length() - 1) // 2
        # The transform of a·c values is one of a and one of c, each a small product.
        self._first, self._second = _hadamard(half), _hadamard(self._span // half)

    def __call__(self, rows: Matrix) -> Matrix:
        """Turn vectors; shape `(count, dimension)`, in and out."""
        turned = rows.copy()
        for at, signs in enumerate(self._signs):
            turned *= signs
            part = self._part(turned, at)
            part[:] = self._forth(part)
        return turned

    def back(self, rows: Matrix) -> Matrix:
        """Turn vectors back; shape `(count, dimension)`, in and out."""
        turned = rows.copy()
        for at, signs in reversed(list(enumerate(self._signs))):
            part = self._part(turned, at)
            part[:] = self._back(part)
            turned *= signs
        return turned

    def _part(self, rows: Matrix, at: int) -> Matrix:
        return rows[:, : self._span] if at % 2 == 0 else rows[:, -self._span :]

    # One small product a vector: of a single large one BLAS would make work for all its
    # threads, which then wait for more of it while others could run.
    def _forth(self, part: Matrix) -> Matrix:
        count, a, c = len(part), len(self._first), len(self._second)
        half: Matrix = part.reshape(count, c, a) @ self._first
        # It stays transposed: the order of the dimensions is of no account.
        whole: Matrix = half.transpose(0, 2, 1) @ self._second
        return whole.reshape(count, -1)

    def _back(self, part: Matrix) -> Matrix:
        count, a, c = len(part), len(self._first), len(self._second)
        half: Matrix = part.reshape(count, a, c) @ self._second
        whole: Matrix = half.transpose(0, 2, 1) @ self._first
        return whole.reshape(count, -1)


@lru_cache(maxsize=4)
def rotation(dimension: int) -> Rotation:
    """The rotation for a dimension, made once."""
    return Rotation(dimension)


def _hadamard(size: int) -> NDArray[np.float32]:
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return (matrix / math.sqrt(size)).astype(np.float32)
