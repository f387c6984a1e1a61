"""The nearest vectors of a snapshot: few are chosen in memory, then compared exactly."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import COLUMNS_SHARE
from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import Keys, Matrix, Vector
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.columns import Columns
from langchain_ragstore.storage.sqlite.copies import Snapshot, followed, places_of
from langchain_ragstore.storage.sqlite.resident import Resident, State
from langchain_ragstore.storage.sqlite.vector_rows import check_vectors, stacked
from langchain_ragstore.storage.sqlite.where import applied
from langchain_ragstore.vectors.arrays import best, cosines, rounding_slack
from langchain_ragstore.vectors.index import Strategy
from langchain_ragstore.vectors.rotation import rotation

_PAGE = 1_000
"""Vectors that are read from the file together."""


Asked: TypeAlias = tuple[Vector, int, Filter, bool]
"""A unit vector, how many are wanted, of which records, and whether none may be missed."""

Nearest: TypeAlias = tuple[Keys, NDArray[np.float64]]
"""Keys of the nearest records and of all that tie with the last, and their cosines."""


Row: TypeAlias = tuple[int, bytes, int]
"""Key, vector and its checksum."""


class Vectors:
    """The vectors of one database's collections, in memory as far as the budget goes.

    Args:
        budget: Bytes.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._copies = Resident(self._followed, budget)
        self._columns = Columns(budget * COLUMNS_SHARE)
        self._means: dict[int, tuple[tuple[int, int], Vector]] = {}
        self._searches: dict[int, Counter[str]] = {}

    def _followed(
        self, connection: sqlite3.Connection, known: Snapshot | None, state: State
    ) -> Snapshot:
        return followed(connection, known, state, self._budget)

    def any(self, connection: sqlite3.Connection, state: State, now: float) -> bool:
        """Whether a present record has a vector."""
        snapshot = self._copies.snapshot(connection, state)
        if snapshot.holds:
            return bool(snapshot.present(now).any())
        here = (state.collection, now)
        return connection.execute(sql.ANY_PRESENT_VECTOR, here).fetchone() is not None

    def nearest(
        self,
        connection: sqlite3.Connection,
        state: State,
        now: float,
        asked: Asked,
        matching: Callable[[], Keys],
    ) -> Nearest:
        """The nearest records.

        Args:
            connection: In a read transaction.
            state: The collection in it, with a dimension.
            now: Seconds since the epoch.
            asked: What is looked for.
            matching: Reads the keys of the records that the filter lets through; called
                if their metadata are not in memory.
        """
        vector, k, where, exact = asked
        snapshot = self._copies.snapshot(connection, state)
        without_codes = snapshot.index is not None and snapshot.index.codes is None
        if not snapshot.holds or (exact and without_codes):
            self._count(state, "rows")
            return _in_file(connection, state, where, vector, k, now)
        among = snapshot.present(now)
        present = int(np.count_nonzero(among))
        if where != EVERYTHING:
            mask = self._columns.mask(connection, state, snapshot, where)
            if mask is None:
                mask = places_of(snapshot.keys, matching())
            among = among & mask
        if snapshot.matrix is not None:
            self._count(state, "all")
            return _among_all(snapshot.keys, snapshot.matrix, among, vector, k)
        assert snapshot.index is not None  # noqa: S101 - it holds something
        places, strategy = snapshot.index.survivors(
            vector, k, among, present=present, exact=exact
        )
        if snapshot.index.codes is None and len(places) > _PAGE and strategy == "codes":
            self._count(state, "rows")  # all that match, which may be more than fit
            return _in_file(connection, state, where, vector, k, now)
        self._count(state, strategy)
        read = _read(connection, snapshot.keys[places])
        keys, matrix = _whole(read, len(vector))
        if len(keys) != len(places):
            raise CorruptStoreError(
                "the codes of the vectors do not fit the vectors; rebuild them: repair()"
            )
        scores = cosines(matrix, vector)
        kept = best(scores, k)
        check_vectors(read[place] for place in kept.tolist())
        return keys[kept], scores[kept]

    def cosines(
        self, connection: sqlite3.Connection, state: State, vector: Vector, keys: Keys
    ) -> NDArray[np.float64]:
        """The cosine of each of some present records; NaN for one without a vector.

        From whole vectors that are in memory, else from the file: codes do not tell it.
        """
        if not state.dimension:
            return np.full(len(keys), np.nan)
        snapshot = self._copies.snapshot(connection, state)
        if snapshot.matrix is not None:
            rows = np.flatnonzero(places_of(snapshot.keys, keys) & snapshot.alive)
            known, matrix = snapshot.keys[rows], snapshot.matrix[rows]
        else:
            read = _read(connection, keys)
            check_vectors(read)
            known, matrix = _whole(read, len(vector))
        found = dict(zip(known.tolist(), cosines(matrix, vector).tolist(), strict=True))
        scores = [found.get(key, np.nan) for key in keys.tolist()]
        return np.array(scores, np.float64)

    def _count(self, state: State, strategy: Strategy) -> None:
        self._searches.setdefault(state.collection, Counter())[strategy] += 1

    def mean(
        self, connection: sqlite3.Connection, state: State, now: float
    ) -> Vector | None:
        """The mean of all present vectors; None if there are none."""
        snapshot = self._copies.snapshot(connection, state)
        count = int(np.count_nonzero(snapshot.present(now)))
        known = self._means.get(state.collection)
        if known is None or known[0] != (snapshot.generation, count) or not snapshot.holds:
            mean = _mean(connection, snapshot, state, now)
            if mean is None:
                return None
            known = (snapshot.generation, count), mean
            self._means[state.collection] = known
        return known[1].copy()

    def searches(self, collection: int) -> dict[str, int]:
        """How many searches compared what first; see `vectors.index.Strategy`."""
        return dict(self._searches.get(collection, {}))

    def nbytes(self, collection: int) -> int:
        """Bytes held for a collection, 0 before its first search."""
        known = self._means.get(collection)
        held = self._copies.nbytes(collection) + self._columns.nbytes(collection)
        return held + (0 if known is None else known[1].nbytes)

    def release(self, collection: int) -> None:
        """Forget what is in memory of a collection; searches under way keep theirs."""
        self._copies.release(collection)
        self._columns.release(collection)
        self._means.pop(collection, None)

    @property
    def budget(self) -> int:
        """Bytes that the vectors of all collections may take."""
        return self._budget

    def clear(self) -> None:
        """Forget everything that is in memory."""
        self._copies.clear()
        self._columns.clear()

    def after_fork(self) -> None:
        """Replace the locks, which another thread of the parent may have held."""
        self._copies.after_fork()
        self._columns.after_fork()


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
    return keys[places[kept]], scores[kept]


def _read(connection: sqlite3.Connection, keys: Keys) -> list[Row]:
    """Whole vectors by key, in any order; of those that have one."""
    found: list[Row] = []
    for fitted, batch in sql.fitting(sql.VECTORS, keys.tolist()):
        found += connection.execute(fitted, batch)
    return found


def _whole(rows: list[Row], dimension: int) -> tuple[Keys, Matrix]:
    keys = np.fromiter((key for key, *_ in rows), np.int64, len(rows))
    return keys, stacked([(key, data) for key, data, _ in rows], dimension)


def _in_file(
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
            check_vectors(page)
            some, matrix = _whole(page, len(vector))
            keys = np.concatenate([keys, some])
            scores = np.concatenate([scores, cosines(matrix, vector)])
            kept = best(scores, k)
            keys, scores = keys[kept], scores[kept]
    return keys, scores


def _mean(
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
            total += _whole(page, state.dimension)[1].sum(axis=0, dtype=np.float64)
            count += len(page)
    mean: Vector = (total / max(count, 1)).astype(np.float32)
    return mean if count else None
