"""Checks, norms and exact scores of float32 vectors."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.errors import DimensionMismatchError, InvalidInputError
from langchain_ragstore.model import Matrix, Vector

_NUMERIC: Final = "biufO"
"""numpy's kinds of number; objects may be (Decimal), strings are not."""

_RESCORE_VALUES: Final = 4_000_000
"""Numbers rescored at a time: 32 MB of float64, whatever the number of candidates."""


_SCALED_ROWS: Final = 128
"""Rows scaled at a time: few enough to stay in a processor's cache."""

_SAFE: Final = (1e-200, 1e200)
"""Squares of lengths between which nothing over- or underflows: the square of 1e200 is
infinite, that of 1e-200 is 0."""


def unit_matrix(vectors: Sequence[Any], texts: Sequence[str] | None = None) -> Matrix:
    """Check embeddings and scale each to unit length.

    Args:
        vectors: One sequence of numbers for each text, all of one length.
        texts: What was embedded, for the error message.

    Returns:
        Shape `(len(vectors), dimension)`, float32; a zero vector stays zero.

    Raises:
        InvalidInputError: A vector is empty, is not numeric, or holds NaN or infinity;
            names its place and its text.
        DimensionMismatchError: Vectors of different lengths.

    Example:
        ```python
        from langchain_ragstore.vectors.arrays import unit_matrix

        assert unit_matrix([[3.0, 4.0]]).tolist() == [
            [0.6000000238418579, 0.800000011920929]
        ]
        ```
    """
    matrix = _matrix(vectors)
    if matrix is None:
        matrix = _stacked(vectors, texts)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InvalidInputError(
            f"embedding {bad[0]} holds NaN or infinity{_of(texts, int(bad[0]))}; "
            "nothing was stored"
        )
    return _scaled(matrix)


def _matrix(vectors: Sequence[Any]) -> NDArray[np.float64] | None:
    """Lists of numbers as an array; None for what is not that. Faster than `_stacked`."""
    if not all(type(vector) is list for vector in vectors):
        return None
    lengths = set(map(len, vectors))
    if len(lengths) != 1 or 0 in lengths:
        return None
    (length,) = lengths
    try:
        pack = struct.Struct(f"{length}d").pack
        data = b"".join([pack(*vector) for vector in vectors])
    except (struct.error, OverflowError):
        return None
    return np.frombuffer(data).reshape(len(vectors), length)


def _stacked(vectors: Sequence[Any], texts: Sequence[str] | None) -> NDArray[np.float64]:
    """Any sequences of numbers as an array."""
    rows = [_row(vector, _of(texts, at), at) for at, vector in enumerate(vectors)]
    if not rows:
        return np.empty((0, 0))
    length = len(rows[0])
    for at, row in enumerate(rows):
        if len(row) != length:
            raise DimensionMismatchError(
                f"embedding 0 has {length} dimensions but embedding {at} has "
                f"{len(row)}{_of(texts, at)}; an embedder must keep one length"
            )
    if not length:
        raise InvalidInputError(f"embedding 0 is empty{_of(texts, 0)}")
    return np.stack(rows)


def _row(vector: Any, of: str, at: int) -> NDArray[np.float64]:
    """One embedding as an array of one axis."""
    try:
        row = np.asarray(vector)
        if row.ndim == 1 and row.dtype.kind in _NUMERIC:
            return row.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"embedding {at} must be a list of numbers{of}: {error}"
        raise InvalidInputError(msg) from error
    found = f"{type(vector).__name__} with {row.ndim} axes of {row.dtype}"
    raise InvalidInputError(f"embedding {at} must be a list of numbers{of}, got {found}")


def unit_vector(vector: Sequence[float]) -> Vector:
    """Check one query vector and scale it to unit length; shape `(dimension,)`.

    Raises:
        InvalidInputError: As `unit_matrix`.
    """
    return unit_matrix([vector])[0]  # type: ignore[no-any-return]


def _scaled(matrix: NDArray[np.float64]) -> Matrix:
    unit = np.empty(matrix.shape, np.float32)
    for start in range(0, len(matrix), _SCALED_ROWS):
        part = matrix[start : start + _SCALED_ROWS]
        with np.errstate(over="ignore", under="ignore"):
            squares = (part * part).sum(axis=1, keepdims=True)
        if not ((squares > _SAFE[0]) & (squares < _SAFE[1])).all():
            part, squares = _moderate(part)
        unit[start : start + _SCALED_ROWS] = part / np.sqrt(squares)
    return unit


def _moderate(
    matrix: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Vectors of any size by their largest part, and their squares; 1 for those of 0."""
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    matrix = matrix / np.where(largest > 0, largest, 1.0)
    squares = (matrix * matrix).sum(axis=1, keepdims=True)
    return matrix, np.where(squares > 0, squares, 1.0)


def _of(texts: Sequence[str] | None, at: int) -> str:
    return f" (text {at}: {texts[at][:60]!r})" if texts is not None else ""


def cosines(matrix: Matrix, query: Vector) -> NDArray[np.float64]:
    """Exact cosines of unit vectors, in [-1, 1].

    A row's value depends on that row and the query alone, not on its place in the
    matrix (as it does in BLAS, whose kernels treat the last rows differently), so
    equal vectors get equal scores and every engine returns the same figures.

    Args:
        matrix: Shape `(count, dimension)`.
        query: Shape `(dimension,)`.

    Returns:
        Shape `(count,)`.
    """
    wide = query.astype(np.float64)
    scores = np.empty(len(matrix))
    step = max(1, _RESCORE_VALUES // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        part = matrix[start : start + step]
        scores[start : start + step] = (part * wide).sum(axis=1)
    return np.clip(scores, -1.0, 1.0)


def best(scores: NDArray[np.floating[Any]], k: int, slack: float = 0.0) -> NDArray[np.intp]:
    """Places of the `k` highest scores and of all that are within `slack` of them.

    Args:
        scores: Shape `(count,)`; `-inf` marks what must not be found.
        k: At least 1.
        slack: How much lower than the k-th score a place may be.

    Returns:
        Places in ascending order; more than `k` when scores tie.
    """
    found = np.flatnonzero(scores > -np.inf)
    if len(found) <= k:
        return found
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= threshold - slack)


def rounding_slack(dimension: int) -> float:
    """Twice the largest error of a float32 dot product of unit vectors.

    n·u/(1 − n·u) with u = 2^-24 bounds the error whatever the order of summation
    (Higham, Accuracy and Stability of Numerical Algorithms, 2002, §3.1).
    """
    error = dimension * 2.0**-24
    return 2 * error / (1 - error)
