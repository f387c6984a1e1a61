"""Vectors in a byte a dimension: what decides which few are read whole.

A code is the rotated vector over its largest part, in 255 steps. It depends on nothing
but the vector, so no change of the collection makes it stale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Keys, Matrix, Vector
from langchain_ragstore.vectors.rotation import rotation

STEPS: Final = 127
"""Steps of a code on each side of zero."""

_AT_ONCE: Final = 400_000
"""Numbers widened at a time: 1.6 MB of float32, which stay in the second cache."""

_KEY, _SCALE = np.dtype("<i8"), np.dtype("<f4")


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Codes of vectors, one a row.

    Attributes:
        values: Shape `(count, dimension)`, from -127 to 127.
        scales: What a step is worth in each row, shape `(count,)`.
    """

    values: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __len__(self) -> int:
        """How many."""
        return len(self.scales)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.values.nbytes + self.scales.nbytes

    def scores(self, query: Vector, places: NDArray[np.intp] | None = None) -> Vector:
        """Cosines by code; `bound` tells how wrong they can be.

        Args:
            query: Rotated, shape `(dimension,)`.
            places: Of which rows; None for all.

        Returns:
            Shape `(count,)` or that of `places`.
        """
        count = len(self) if places is None else len(places)
        found = np.empty(count, np.float32)
        step = max(1, _AT_ONCE // max(1, len(query)))
        for start in range(0, count, step):
            part = slice(start, start + step)
            rows = part if places is None else places[part]
            products = self.values[rows].astype(np.float32) @ query
            found[part] = products * self.scales[rows]
        return found

    def decoded(self, rows: slice) -> Matrix:
        """The rotated vectors of some rows, as far as the codes tell."""
        wide: Matrix = self.values[rows].astype(np.float32)
        wide *= self.scales[rows, np.newaxis]
        return wide


def encode(matrix: Matrix) -> Codes:
    """Codes of unit vectors, or of zeros; shape `(count, dimension)`.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.vectors.arrays import unit_matrix
        from langchain_ragstore.vectors.codes import encode
        from langchain_ragstore.vectors.rotation import rotation

        vectors = unit_matrix(np.random.default_rng(0).normal(size=(5, 64)))
        found = encode(vectors).scores(rotation(64)(vectors[:1])[0])
        assert abs(found - vectors @ vectors[0]).max() < 0.01
        ```
    """
    count, dimension = matrix.shape
    codes = Codes(np.empty((count, dimension), np.int8), np.empty(count, np.float32))
    turn = rotation(dimension)
    step = max(1, _AT_ONCE // dimension)
    for start in range(0, count, step):
        rows = slice(start, start + step)
        turned = turn(matrix[rows])
        scales = np.abs(turned).max(axis=1) / np.float32(STEPS)
        turned /= np.where(scales > 0, scales, np.float32(1))[:, np.newaxis]
        codes.values[rows] = np.rint(turned, out=turned)
        codes.scales[rows] = scales
    return codes


def bound(scales: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """What a score by code can be wrong by at most, for each row and any unit query.

    Half a step in each dimension, and rounding: n·u bounds what a float32 sum of n
    products of unit vectors loses, and the rotation loses so much in each dimension.
    """
    root = math.sqrt(dimension)
    rounding = 4 * root * dimension * 2.0**-24
    return scales * np.float32(root / 2) + np.float32(rounding)


def spread(scales: NDArray[np.float32]) -> float:
    """The standard deviation of a score's error, of the row where it is largest.

    A part's error is spread evenly over a step, so that of a row of n parts has a length
    of step·√(n/12) and any direction; a unit query sees 1/√n of it.
    """
    return float(scales.max(initial=0.0)) / math.sqrt(12)


def pack(keys: Keys, codes: Codes) -> bytes:
    """Codes and their records' keys as bytes."""
    return b"".join(
        (
            keys.astype(_KEY).tobytes(),
            codes.scales.astype(_SCALE).tobytes(),
            codes.values.tobytes(),
        )
    )


def unpack(data: bytes, dimension: int) -> tuple[Keys, Codes]:
    """What `pack` packed.

    Raises:
        ValueError: The bytes are not a number of rows of this dimension.
    """
    width = _KEY.itemsize + _SCALE.itemsize + dimension
    count, rest = divmod(len(data), width)
    if rest:
        raise ValueError(f"{len(data)} bytes are no rows of {width} bytes")
    at = count * _KEY.itemsize
    keys = np.frombuffer(data, _KEY, count)
    scales = np.frombuffer(data, _SCALE, count, at)
    values = np.frombuffer(data, np.int8, count * dimension, at + scales.nbytes)
    return keys, Codes(values.reshape(count, dimension), scales)
