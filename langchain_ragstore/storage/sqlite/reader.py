"""What the SQLite engine reads: records, searches over copies in memory, facts."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from langchain_ragstore.config import COLUMNS_SHARE, MEMORY_BUDGET
from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.lexical.bm25 import top
from langchain_ragstore.model import (
    Fingerprint,
    Hit,
    LexicalScores,
    Record,
    Terms,
    Vector,
    ranked,
)
from langchain_ragstore.storage.base import check_dimension
from langchain_ragstore.storage.ordering import COLUMNS, ordered, parse_order
from langchain_ragstore.storage.sqlite import (
    lexicon,
    models,
    steps,
)
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.columns import Columns
from langchain_ragstore.storage.sqlite.connection import MEMORY, Database
from langchain_ragstore.storage.sqlite.copies import followed, places_of
from langchain_ragstore.storage.sqlite.nearest import (
    Nearest,
    mean_of,
    nearest,
    nearest_in_file,
)
from langchain_ragstore.storage.sqlite.resident import Resident, StaleReadError, State
from langchain_ragstore.storage.sqlite.where import applied
from langchain_ragstore.vectors.index import Strategy

T = TypeVar("T")

_STALE_READS: Final = 3
"""Searches that may find a copy newer than their transaction before it is dropped."""


class SQLiteReader:
    """Records of one SQLite file, searched by copies in memory.

    Args:
        database: The file.
        clock: Seconds since the epoch.
        memory_budget: Bytes that the vectors of all collections may take in memory.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self._clock = clock
        self._database = database
        self._means: dict[int, tuple[tuple[int, int], Vector]] = {}
        self._budget = memory_budget
        self._searches: dict[int, Counter[Strategy]] = {}
        self._resident = Resident(
            lambda connection, known, state: followed(
                connection, known, state, memory_budget
            ),
            memory_budget,
        )
        self._columns = Columns(memory_budget * COLUMNS_SHARE)
        self._lexicons = Resident(lexicon.followed)
        self._database.on_fork(self._resident.after_fork)
        self._database.on_fork(self._lexicons.after_fork)
        self._database.on_fork(self._columns.after_fork)

    @property
    def database(self) -> Database:
        """The file, for others to share."""
        return self._database

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
            state = steps.state(connection, collection)
            if state is None:
                return []
            rows = steps.rows(
                connection,
                state,
                sql.columns(vectors=vectors),
                self._clock(),
                ids=ids,
                where=where,
                vectors=vectors,
            )
        found = {record.id: record for _, record in map(steps.record, rows)}
        seen: set[str] = set()
        records = []
        for id in ids:
            if id in found:
                records.append(steps.again(found[id]) if id in seen else found[id])
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
            state = steps.state(connection, collection)
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
                return [steps.record(row)[1] for row in rows]

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
        exact: bool = False,
    ) -> list[Hit]:
        """See `Backend.dense`."""
        return self._searching(
            lambda connection: self._dense(
                connection, collection, vector, k, where, vectors, exact
            )
        )

    def _dense(
        self,
        connection: sqlite3.Connection,
        collection: str,
        vector: Vector,
        k: int,
        where: Filter,
        vectors: bool,  # noqa: FBT001 - private
        exact: bool,  # noqa: FBT001 - private
    ) -> list[Hit]:
        state = steps.state(connection, collection)
        if state is None or not state.dimension or k < 1:
            return []
        now = self._clock()
        found = self._nearest(connection, state, collection, vector, k, where, now, exact)
        if found is None:
            return []
        self._searches.setdefault(state.collection, Counter())[found.strategy] += 1
        keys = found.keys.tolist()
        score_of = dict(zip(keys, found.scores.tolist(), strict=True))
        records = steps.by_key(connection, state, now, keys, k, score_of, vectors)
        return ranked(
            (
                Hit(record, score_of[key], {"dense": score_of[key]})
                for key, record in records
            ),
            k,
        )

    def _nearest(
        self,
        connection: sqlite3.Connection,
        state: State,
        collection: str,
        vector: Vector,
        k: int,
        where: Filter,
        now: float,
        exact: bool,  # noqa: FBT001 - private
    ) -> Nearest | None:
        """The nearest records; None if the collection has no vector."""
        snapshot = self._resident.snapshot(connection, state)
        present = snapshot.present(now)
        if snapshot.holds and not present.any():
            return None
        if not snapshot.holds:
            here = (state.collection, now)
            if not connection.execute(sql.ANY_PRESENT_VECTOR, here).fetchone():
                return None
        check_dimension(collection, state.dimension, len(vector))
        without_codes = snapshot.index is not None and snapshot.index.codes is None
        if not snapshot.holds or (exact and without_codes):
            return nearest_in_file(connection, state, where, vector, k, now)
        if where != EVERYTHING:
            mask = self._columns.mask(connection, state, snapshot, where)
            if mask is None:
                keys = steps.keys(connection, state, now, ids=None, where=where)
                mask = places_of(snapshot.keys, np.array(keys, np.int64))
            present = present & mask
        return nearest(connection, snapshot, present, vector, k, exact=exact)

    def lexical(
        self,
        collection: str,
        query: Terms,
        k: int,
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
    ) -> list[Hit]:
        """See `Backend.lexical`."""

        def search(connection: sqlite3.Connection) -> list[Hit]:
            state = steps.state(connection, collection)
            if state is None or k < 1:
                return []
            now = self._clock()
            steps.check_query(connection, state, collection, now, query)
            known = self._lexicons.snapshot(connection, state)
            scores, _ = lexicon.scored(connection, known, query, now)
            if where != EVERYTHING:
                found = steps.keys(connection, state, now, ids=None, where=where)
                among = np.isin(known.records, np.array(found, np.int64))
                scores = np.where(among, scores, 0.0)
            places = top(scores, k)
            keys = known.records[places].tolist()
            score_of = dict(zip(keys, scores[places].tolist(), strict=True))
            records = steps.by_key(connection, state, now, keys, k, score_of, vectors)
            return ranked(
                (Hit(r, score_of[key], {"lexical": score_of[key]}) for key, r in records),
                k,
            )

        return self._searching(search)

    def lexical_scores(
        self, collection: str, query: Terms, ids: Collection[str]
    ) -> LexicalScores:
        """See `Backend.lexical_scores`."""

        def search(connection: sqlite3.Connection) -> LexicalScores:
            state = steps.state(connection, collection)
            if state is None:
                return LexicalScores({}, 0.0)
            now = self._clock()
            steps.check_query(connection, state, collection, now, query)
            known = self._lexicons.snapshot(connection, state)
            scores, reachable = lexicon.scored(connection, known, query, now)
            rows = steps.rows(
                connection, state, "r.key, r.id", now, ids=ids, where=EVERYTHING
            )
            wanted = np.array([key for key, _ in rows], np.int64)
            places = known.places(wanted)
            keys = known.records[places].tolist()
            score_of = dict(zip(keys, scores[places].tolist(), strict=True))
            return LexicalScores(
                {id: score_of[key] for key, id in rows if key in score_of}, reachable
            )

        return self._searching(search)

    def mean(self, collection: str) -> Vector | None:
        """See `Backend.mean`."""
        return self._searching(lambda connection: self._mean(connection, collection))

    def _mean(self, connection: sqlite3.Connection, collection: str) -> Vector | None:
        state = steps.state(connection, collection)
        if state is None or not state.dimension:
            return None
        now = self._clock()
        snapshot = self._resident.snapshot(connection, state)
        count = int(np.count_nonzero(snapshot.present(now)))
        known = self._means.get(state.collection)
        if known is None or known[0] != (snapshot.generation, count) or not snapshot.holds:
            mean = mean_of(connection, snapshot, state, now)
            if mean is None:
                return None
            known = (snapshot.generation, count), mean
            self._means[state.collection] = known
        return known[1].copy()

    def _searching(self, search: Callable[[sqlite3.Connection], T]) -> T:
        """Run a search in a transaction that is no older than the copies in memory."""
        for attempt in itertools.count(1):
            try:
                with self._database.read() as connection:
                    return search(connection)
            except StaleReadError:
                # A newer transaction sees at least what the copy holds, unless an older
                # state of the file was restored in place; then the copy is of no use.
                if attempt == _STALE_READS:
                    self._resident.clear()
                    self._lexicons.clear()
        raise AssertionError  # pragma: no cover - the loop has no end

    def analyzer(self, collection: str) -> str | None:
        """See `Backend.analyzer`."""
        with self._database.read() as connection:
            state = steps.state(connection, collection)
            if state is None:
                return None
            return steps.analyzer(connection, state, self._clock())

    def fingerprint(self, collection: str) -> Fingerprint | None:
        """See `Backend.fingerprint`."""
        with self._database.read() as connection:
            state = steps.state(connection, collection)
            if state is None:
                return None
            present = (state.collection, self._clock())
            if not connection.execute(sql.ANY_PRESENT_VECTOR, present).fetchone():
                return None
            return models.noted(connection, state.collection)

    def known(
        self, collection: str, digests: Collection[bytes], model: Fingerprint | None
    ) -> dict[bytes, Vector]:
        """See `Backend.known`."""
        with self._database.read() as connection:
            state = steps.state(connection, collection)
            if state is None:
                return {}
            return models.known(connection, state, self._clock(), digests, model)

    def count(self, collection: str, *, where: Filter = EVERYTHING) -> int:
        """See `Backend.count`."""
        with self._database.read() as connection:
            state = steps.state(connection, collection)
            if state is None:
                return 0
            rows = steps.rows(
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
            "memory_budget": self._budget,
            "searches": {},
            "model": None,
            "kept_vectors": 0,
        }
        with self._database.read() as connection:
            state = steps.state(connection, collection)
            if state is not None:
                (vectors,) = connection.execute(
                    sql.COUNT_VECTORS, (state.collection,)
                ).fetchone()
                facts["vectors"] = vectors
                facts["dimension"] = (state.dimension or None) if vectors else None
                facts["resident_bytes"] = self._resident.nbytes(
                    state.collection
                ) + self._columns.nbytes(state.collection)
                facts["searches"] = dict(self._searches.get(state.collection, {}))
                (facts["kept_vectors"],) = connection.execute(
                    sql.COUNT_KEPT, (state.collection,)
                ).fetchone()
                model = models.noted(connection, state.collection)
                facts["model"] = model.name if model and vectors else None
        return facts

    def close(self) -> None:
        """See `Backend.close`."""
        self._database.close()
        self._resident.clear()
        self._lexicons.clear()
        self._columns.clear()
