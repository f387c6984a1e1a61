"""The SQLite engine: the verbs of `Backend` on one file."""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import SQLITE_TOMBSTONES
from langchain_ragstore.filters import EVERYTHING, Filter, Not
from langchain_ragstore.metadata import decode, encode
from langchain_ragstore.model import Hit, Record, Vector, ranked
from langchain_ragstore.storage.base import check_dimension, outside_guard, patched
from langchain_ragstore.storage.ordering import COLUMNS, ordered, parse_order
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.connection import MEMORY, Database, bound
from langchain_ragstore.storage.sqlite.resident import (
    Resident,
    Snapshot,
    StaleReadError,
    State,
)
from langchain_ragstore.storage.sqlite.schema import opened
from langchain_ragstore.storage.sqlite.where import applied
from langchain_ragstore.vectors.arrays import best, cosines, rounding_slack

logger = logging.getLogger(__name__)

_STALE_READS: Final = 3
"""Searches that may find a copy newer than their transaction before it is dropped."""


class SQLiteBackend:
    """Records in one SQLite file; exact search over a resident float32 matrix.

    Args:
        path: A file, made if absent, or `":memory:"`.
        read_only: Open for reading alone.
        clock: Seconds since the epoch.

    Raises:
        CorruptStoreError: The file is not a database.
        SchemaTooNewError: A newer release wrote it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = MEMORY,
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._database = opened(path, read_only=read_only)
        self._resident = Resident()
        self._database.on_fork(self._resident.after_fork)

    @property
    def database(self) -> Database:
        """The file, for others to share."""
        return self._database

    # --- writing ---------------------------------------------------------------------

    def upsert(
        self,
        collection: str,
        records: Sequence[Record],
        *,
        remove: Collection[str] = (),
        guard: Filter = EVERYTHING,
    ) -> None:
        """See `Backend.upsert`."""
        rows = [(record, encode(record.metadata)) for record in records]
        with self._database.write() as connection:
            now = self._clock()
            connection.execute(sql.ADD_COLLECTION, (bound(collection),))
            state = _state(connection, collection)
            assert state is not None  # noqa: S101 - it was just added
            _forget(connection, state, _expired(connection, state, now))
            self._check_guard(connection, state, collection, records, remove, guard)
            _forget(
                connection,
                state,
                _keys(connection, state, now, ids=remove, where=EVERYTHING),
            )
            _agree_on_dimension(connection, state, collection, records)
            (generation,) = connection.execute(
                sql.NEXT_GENERATION, (state.collection,)
            ).fetchone()
            _write_records(connection, state.collection, generation, now, rows)
        logger.debug("%s: stored %d records", collection, len(rows))

    def _check_guard(
        self,
        connection: sqlite3.Connection,
        state: State,
        collection: str,
        records: Sequence[Record],
        remove: Collection[str],
        guard: Filter,
    ) -> None:
        if guard == EVERYTHING:
            return
        ids = [*remove, *(record.id for record in records)]
        outside = _rows(connection, state, "r.id", self._clock(), ids=ids, where=Not(guard))
        for (id,) in outside:
            raise outside_guard(collection, id)

    def patch(
        self,
        collection: str,
        *,
        ids: Collection[str] | None,
        where: Filter,
        changes: Mapping[str, Any],
        remove: Collection[str] = (),
    ) -> int:
        """See `Backend.patch`."""
        encode(changes)  # refuse what cannot be stored before anything is read
        with self._database.write() as connection:
            now = self._clock()
            state = _state(connection, collection)
            if state is None:
                return 0
            found = _rows(connection, state, "r.key, r.metadata", now, ids=ids, where=where)
            if not found:
                return 0
            (generation,) = connection.execute(
                sql.NEXT_GENERATION, (state.collection,)
            ).fetchone()
            connection.executemany(
                sql.PATCH_RECORD,
                [
                    (encode(patched(decode(text), changes, remove)), generation, now, key)
                    for key, text in found
                ],
            )
            return len(found)

    def delete(self, collection: str, *, ids: Collection[str] | None, where: Filter) -> int:
        """See `Backend.delete`."""
        with self._database.write() as connection:
            state = _state(connection, collection)
            if state is None:
                return 0
            keys = _keys(connection, state, self._clock(), ids=ids, where=where)
            _forget(connection, state, keys)
        logger.debug("%s: deleted %d records", collection, len(keys))
        return len(keys)

    # --- reading ---------------------------------------------------------------------

    def get(
        self,
        collection: str,
        ids: Sequence[str],
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
    ) -> list[Record]:
        """See `Backend.get`."""
        with self._database.read() as connection:
            state = _state(connection, collection)
            if state is None:
                return []
            rows = _rows(
                connection,
                state,
                sql.columns(vectors=vectors),
                self._clock(),
                ids=ids,
                where=where,
                vectors=vectors,
            )
        found = {record.id: record for _, record in map(_record, rows)}
        seen: set[str] = set()
        records = []
        for id in ids:
            if id in found:
                records.append(_again(found[id]) if id in seen else found[id])
                seen.add(id)
        return records

    def scan(
        self,
        collection: str,
        *,
        where: Filter = EVERYTHING,
        order_by: str | tuple[str, ...] | None = None,
        limit: int | None = None,
        offset: int = 0,
        vectors: bool = False,
    ) -> list[Record]:
        """See `Backend.scan`."""
        ordering = "r.key"
        if order_by is not None:
            column, backwards = parse_order(order_by)
            if column not in COLUMNS:
                return self._scan_sorted(
                    collection, where, order_by, limit, offset, vectors=vectors
                )
            ordering = f"r.{column} {'DESC' if backwards else 'ASC'} NULLS LAST, r.key"
        with self._database.read() as connection:
            state = _state(connection, collection)
            if state is None:
                return []
            with applied(connection, where) as clause:
                rows = connection.execute(
                    f"{sql.records(clause.sql, vectors=vectors)} "
                    f"ORDER BY {ordering} LIMIT ? OFFSET ?",
                    [
                        state.collection,
                        self._clock(),
                        *clause.parameters,
                        -1 if limit is None else min(limit, sql.INT64_MAX),
                        min(offset, sql.INT64_MAX),
                    ],
                )
                return [_record(row)[1] for row in rows]

    def _scan_sorted(
        self,
        collection: str,
        where: Filter,
        order_by: str | tuple[str, ...],
        limit: int | None,
        offset: int,
        *,
        vectors: bool,
    ) -> list[Record]:
        """By a metadata key: SQLite cannot order by kind, so Python sorts."""
        records = ordered(self.scan(collection, where=where, vectors=vectors), order_by)
        return records[offset : None if limit is None else offset + limit]

    def dense(
        self,
        collection: str,
        vector: Vector,
        k: int,
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
    ) -> list[Hit]:
        """See `Backend.dense`."""
        for attempt in itertools.count(1):
            try:
                with self._database.read() as connection:
                    return self._dense(connection, collection, vector, k, where, vectors)
            except StaleReadError:
                # A newer transaction sees at least what the copy holds, unless an older
                # state of the file was restored in place; then the copy is of no use.
                if attempt == _STALE_READS:
                    self._resident.clear()
        raise AssertionError  # pragma: no cover - the loop has no end

    def _dense(
        self,
        connection: sqlite3.Connection,
        collection: str,
        vector: Vector,
        k: int,
        where: Filter,
        vectors: bool,  # noqa: FBT001 - private
    ) -> list[Hit]:
        state = _state(connection, collection)
        if state is None or not state.dimension or k < 1:
            return []
        now = self._clock()
        snapshot = self._resident.snapshot(connection, state)
        if not snapshot.present(now, None).any():
            return []
        check_dimension(collection, state.dimension, len(vector))
        keys = None
        if where != EVERYTHING:
            found = _keys(connection, state, now, ids=None, where=where)
            keys = np.array(found, np.int64)
        places, scores = _nearest(snapshot, snapshot.present(now, keys), vector, k)
        score_of = dict(zip(snapshot.keys[places].tolist(), scores.tolist(), strict=True))
        records = _by_key(connection, state, now, list(score_of), k, score_of, vectors)
        return ranked(
            (
                Hit(record, score_of[key], {"dense": score_of[key]})
                for key, record in records
            ),
            k,
        )

    def count(self, collection: str, *, where: Filter = EVERYTHING) -> int:
        """See `Backend.count`."""
        with self._database.read() as connection:
            state = _state(connection, collection)
            if state is None:
                return 0
            rows = _rows(
                connection, state, "count(*)", self._clock(), ids=None, where=where
            )
            return int(rows[0][0])

    def collections(self) -> list[str]:
        """See `Backend.collections`."""
        with self._database.read() as connection:
            rows = connection.execute(sql.COLLECTIONS, (self._clock(),)).fetchall()
        return sorted(name for (name,) in rows)

    def stats(self, collection: str) -> dict[str, Any]:
        """See `Backend.stats`."""
        path = self._database.path
        facts: dict[str, Any] = {
            "engine": f"SQLite {sqlite3.sqlite_version}",
            "path": path,
            "file_bytes": 0 if path == MEMORY else Path(path).stat().st_size,
            "records": self.count(collection),
            "vectors": 0,
            "dimension": None,
            "resident_bytes": 0,
        }
        with self._database.read() as connection:
            state = _state(connection, collection)
            if state is not None:
                (vectors,) = connection.execute(
                    sql.COUNT_VECTORS, (state.collection,)
                ).fetchone()
                facts["vectors"] = vectors
                facts["dimension"] = (state.dimension or None) if vectors else None
                facts["resident_bytes"] = self._resident.nbytes(state.collection)
        return facts

    def close(self) -> None:
        """See `Backend.close`."""
        self._database.close()
        self._resident.clear()


# --- one transaction's steps -----------------------------------------------------------


def _state(connection: sqlite3.Connection, collection: str) -> State | None:
    row = connection.execute(sql.COLLECTION, (bound(collection),)).fetchone()
    return None if row is None else State(row[0], row[1], row[2], row[3] or 0)


def _agree_on_dimension(
    connection: sqlite3.Connection,
    state: State,
    collection: str,
    records: Sequence[Record],
) -> None:
    """Check the vectors' length, or set it where the collection holds no vector."""
    lengths = {len(r.vector): r for r in records if r.vector is not None}
    if not lengths:
        return
    dimension = state.dimension
    if not connection.execute(sql.ANY_VECTOR, (state.collection,)).fetchone():
        dimension = next(iter(lengths))
    for length in lengths:
        check_dimension(collection, dimension, length)
    if dimension != state.dimension:
        connection.execute(sql.SET_DIMENSION, (dimension, state.collection))


def _write_records(
    connection: sqlite3.Connection,
    collection: int,
    generation: int,
    now: float,
    rows: Sequence[tuple[Record, str]],
) -> None:
    if not rows:
        return
    ids = [bound(record.id) for record, _ in rows]
    connection.executemany(
        sql.UPSERT_RECORD,
        [
            (collection, id, bound(r.content), text, generation, now, now, r.expires_at)
            for id, (r, text) in zip(ids, rows, strict=True)
        ],
    )
    pairs = list(zip(ids, (record.vector for record, _ in rows), strict=True))
    given = [(v.tobytes(), collection, id) for id, v in pairs if v is not None]
    absent = [(collection, id) for id, v in pairs if v is None]
    if given:
        connection.executemany(sql.UPSERT_VECTOR, given)
    if absent:
        connection.executemany(sql.DELETE_VECTOR, absent)


def _forget(connection: sqlite3.Connection, state: State, keys: Sequence[int]) -> None:
    """Delete records and leave tombstones for the copies that still hold them."""
    if not keys:
        return
    (generation,) = connection.execute(sql.NEXT_GENERATION, (state.collection,)).fetchone()
    connection.executemany(sql.DELETE_RECORD, [(key,) for key in keys])
    connection.executemany(
        sql.ADD_TOMBSTONE, [(state.collection, generation, key) for key in keys]
    )
    oldest = connection.execute(
        sql.OLD_TOMBSTONE, (state.collection, SQLITE_TOMBSTONES)
    ).fetchone()
    if oldest is not None:
        connection.execute(sql.DROP_TOMBSTONES, (state.collection, oldest[0]))
        connection.execute(sql.SET_FLOOR, (oldest[0], state.collection))


def _expired(connection: sqlite3.Connection, state: State, now: float) -> list[int]:
    rows = connection.execute(sql.EXPIRED, (state.collection, now)).fetchall()
    return [key for (key,) in rows]


def _rows(
    connection: sqlite3.Connection,
    state: State,
    columns: str,
    now: float,
    *,
    ids: Collection[str] | None,
    where: Filter,
    vectors: bool = False,
) -> list[tuple[Any, ...]]:
    """Columns of the records that have one of `ids` (None: any) and match.

    A list, not a generator: one that is left half-read would hold its statement open.
    """
    with applied(connection, where) as clause:
        if ids is None:
            statement = sql.select(columns, clause.sql, vectors=vectors)
            return connection.execute(
                statement, [state.collection, now, *clause.parameters]
            ).fetchall()
        condition = f"{sql.AMONG_IDS} AND {clause.sql}"
        statement = sql.select(columns, condition, vectors=vectors)
        return [
            row
            for batch in sql.batches([bound(id) for id in dict.fromkeys(ids)])
            for row in connection.execute(
                statement, [state.collection, now, *batch, *clause.parameters]
            )
        ]


def _keys(
    connection: sqlite3.Connection,
    state: State,
    now: float,
    *,
    ids: Collection[str] | None,
    where: Filter,
) -> list[int]:
    return [row[0] for row in _rows(connection, state, "r.key", now, ids=ids, where=where)]


def _by_key(
    connection: sqlite3.Connection,
    state: State,
    now: float,
    keys: list[int],
    k: int,
    score_of: Mapping[int, float],
    vectors: bool,  # noqa: FBT001 - private
) -> Iterator[tuple[int, Record]]:
    """Whole records by key; of more than `k` tied ones only those that rank first."""
    if len(keys) > k:
        names = sql.select("r.key, r.id", sql.AMONG_KEYS)
        tied = [
            Hit(Record(id, "", {"key": key}), score_of[key])
            for batch in sql.batches(keys)
            for key, id in connection.execute(names, [state.collection, now, *batch])
        ]
        keys = [hit.record.metadata["key"] for hit in ranked(tied, k)]
    statement = sql.records(sql.AMONG_KEYS, vectors=vectors)
    for batch in sql.batches(keys):
        yield from map(
            _record, connection.execute(statement, [state.collection, now, *batch])
        )


def _record(row: Iterable[Any]) -> tuple[int, Record]:
    key, id, content, metadata, created, updated, expires, data = row
    vector = None if data is None else np.frombuffer(data, np.float32)
    return key, Record(id, content, decode(metadata), vector, created, updated, expires)


def _again(record: Record) -> Record:
    """A second copy for an id that was asked for twice."""
    return replace(record, metadata=decode(encode(record.metadata)))


def _nearest(
    snapshot: Snapshot, rows: NDArray[np.bool_], vector: Vector, k: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Places and exact cosines of the `k` best rows, and of all tied with the last.

    A float32 product finds the candidates, with a slack that its rounding cannot
    exceed; their cosines are then computed exactly.
    """
    chosen = np.flatnonzero(rows)
    if 4 * len(chosen) < len(rows):  # gathering few rows beats multiplying all
        rough = snapshot.matrix[chosen] @ vector
    else:
        rough = (snapshot.matrix @ vector)[chosen]
    places = chosen[best(rough, k, rounding_slack(len(vector)))]
    exact = cosines(snapshot.matrix[places], vector)
    kept = best(exact, k)
    return places[kept], exact[kept]
