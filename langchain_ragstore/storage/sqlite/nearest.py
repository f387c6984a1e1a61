"""The nearest vectors of a snapshot: few are chosen in memory, then compared exactly."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.filters import Filter
from langchain_ragstore.model import Matrix, Vector
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.copies import Snapshot
from langchain_ragstore.storage.sqlite.resident import State
from langchain_ragstore.storage.sqlite.where import applied
from langchain_ragstore.vectors.arrays import best, cosines, rounding_slack
from langchain_ragstore.vectors.codes import Keys
from langchain_ragstore.vectors.index import Strategy
from langchain_ragstore.vectors.rotation import rotation

_PAGE = 1_000
"""Vectors that are read from the file together."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The `k` nearest records, and all that tie with the last of them.

    Attributes:
        keys: Of the records.
        scores: Their exact cosines.
        strategy: How they were found.
    """

    keys: Keys
    scores: NDArray[np.float64]
    strategy: Strategy


def nearest(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    among: NDArray[np.bool_],
    vector: Vector,
    k: int,
    *,
    exact: bool,
) -> Nearest:
    """Search what is in memory, and read the vectors of the few that are left.

    Args:
        connection: In the transaction of the snapshot.
        snapshot: One that holds something.
        among: Which rows may be found.
        vector: Unit length.
        k: At least 1.
        exact: Whether none may be missed.
    """
    if snapshot.matrix is not None:
        return _among_all(snapshot.keys, snapshot.matrix, among, vector, k)
    assert snapshot.index is not None  # noqa: S101 - the caller's business
    places, strategy = snapshot.index.survivors(vector, k, among, exact=exact)
    keys, matrix = _read(connection, snapshot.keys[places], len(vector))
    scores = cosines(matrix, vector)
    kept = best(scores, k)
    return Nearest(keys[kept], scores[kept], strategy)


def _among_all(
    keys: Keys, matrix: Matrix, among: NDArray[np.bool_], vector: Vector, k: int
) -> Nearest:
    """Compare whole vectors.

    A float32 product finds the candidates, with a slack that its rounding cannot exceed;
    their cosines are then computed exactly.
    """
    chosen = np.flatnonzero(among)
    if 4 * len(chosen) < len(among):  # gathering few rows beats multiplying all
        rough = matrix[chosen] @ vector
    else:
        rough = (matrix @ vector)[chosen]
    places = chosen[best(rough, k, rounding_slack(len(vector)))]
    scores = cosines(matrix[places], vector)
    kept = best(scores, k)
    return Nearest(keys[places[kept]], scores[kept], "all")


def _read(
    connection: sqlite3.Connection, keys: Keys, dimension: int
) -> tuple[Keys, Matrix]:
    """Whole vectors by key, in any order."""
    found: list[tuple[int, bytes]] = []
    for fitted, batch in sql.fitting(sql.VECTORS, keys.tolist()):
        found += connection.execute(fitted, batch)
    data = b"".join(data for _, data in found)
    if len(found) != len(keys) or len(data) != 4 * dimension * len(found):
        raise CorruptStoreError(
            "the codes of the vectors do not fit the vectors; rebuild them: repair()"
        )
    return (
        np.fromiter((key for key, _ in found), np.int64, len(found)),
        np.frombuffer(data, np.float32).reshape(-1, dimension),
    )


def nearest_in_file(
    connection: sqlite3.Connection,
    state: State,
    where: Filter,
    vector: Vector,
    k: int,
    now: float,
) -> Nearest:
    """Compare the vectors in the file one page after another: no memory, but time."""
    keys, scores = np.empty(0, np.int64), np.empty(0)
    with applied(connection, where) as clause:
        statement = sql.present_vectors(clause.sql)
        rows = connection.execute(statement, [state.collection, now, *clause.parameters])
        while page := rows.fetchmany(_PAGE):
            data = b"".join(data for _, data in page)
            matrix = np.frombuffer(data, np.float32).reshape(len(page), -1)
            some = np.fromiter((key for key, _ in page), np.int64, len(page))
            keys = np.concatenate([keys, some])
            scores = np.concatenate([scores, cosines(matrix, vector)])
            kept = best(scores, k)
            keys, scores = keys[kept], scores[kept]
    return Nearest(keys, scores, "rows")


def mean_of(
    connection: sqlite3.Connection, snapshot: Snapshot, state: State, now: float
) -> Vector | None:
    """The mean of all present vectors; None if there are none.

    By code it is within some 1e-5 of the true one, the errors being of any sign.
    """
    present = snapshot.present(now)
    index, matrix = snapshot.index, snapshot.matrix
    if matrix is not None:
        count = int(np.count_nonzero(present))
        weights = present.astype(np.float32)
        return weights @ matrix / np.float32(count) if count else None
    total, count = np.zeros(state.dimension), 0
    if index is not None and index.codes is not None:
        for start in range(0, len(present), _PAGE):
            part = slice(start, start + _PAGE)
            total += present[part].astype(np.float32) @ index.codes.decoded(part)
        count = int(np.count_nonzero(present))
        turned = total[np.newaxis].astype(np.float32)
        total = rotation(state.dimension).back(turned)[0].astype(np.float64)
    else:
        rows = connection.execute(sql.present_vectors("1"), (state.collection, now))
        while page := rows.fetchmany(_PAGE):
            data = np.frombuffer(b"".join(data for _, data in page), np.float32)
            total += data.reshape(len(page), -1).sum(axis=0, dtype=np.float64)
            count += len(page)
    mean: Vector = (total / max(count, 1)).astype(np.float32)
    return mean if count else None
