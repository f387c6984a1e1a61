"""What the SQLite engine reads: records, searches over copies in memory, facts."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from langchain_ragstore.config import MEMORY_BUDGET, RECORD_PAGE
from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import Fingerprint, Record, Vector
from langchain_ragstore.storage.base import View
from langchain_ragstore.storage.ordering import COLUMNS, ordered, parse_order
from langchain_ragstore.storage.searches import Searches
from langchain_ragstore.storage.sqlite import (
    lexicon,
    models,
    steps,
)
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.connection import Database
from langchain_ragstore.storage.sqlite.files import MEMORY
from langchain_ragstore.storage.sqlite.nearest import Vectors
from langchain_ragstore.storage.sqlite.resident import (
    NOWHERE,
    Resident,
    StaleReadError,
    State,
)
from langchain_ragstore.storage.sqlite.view import SQLiteView
from langchain_ragstore.storage.sqlite.where import applied

T = TypeVar("T")

_STALE_READS: Final = 3
"""Searches that may find a copy newer than their transaction before it is dropped."""


class SQLiteReader(Searches):
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
        self._searched: dict[str, int] = {}
        self._vectors = Vectors(memory_budget)
        self._lexicons = Resident(lexicon.followed)
        self._database.on_fork(self._vectors.after_fork)
        self._database.on_fork(self._lexicons.after_fork)

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

    def pages(
        self, collection: str, *, where: Filter = EVERYTHING
    ) -> Generator[list[Record], None, None]:
        """See `Backend.pages`.

        A file is read in one transaction, which holds up no writer; a database in memory
        has but one connection, and gives out what it read before it goes on.
        """
        with self._database.read() as connection:
            found = self._paged(connection, collection, where)
            if self._database.path != MEMORY:
                yield from found
                return
            pages = list(found)
        yield from pages

    def _paged(
        self, connection: sqlite3.Connection, collection: str, where: Filter
    ) -> Iterator[list[Record]]:
        state = steps.state(connection, collection)
        if state is None:
            return
        with applied(connection, where) as clause:
            rows = connection.execute(
                f"{sql.records(clause.sql, vectors=True)} ORDER BY r.key",
                [state.collection, self._clock(), *clause.parameters],
            )
            while page := rows.fetchmany(RECORD_PAGE):
                yield [steps.record(row)[1] for row in page]

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

    def within(self, collection: str, ask: Callable[[View], T]) -> T:
        """See `Backend.within`."""

        def search(connection: sqlite3.Connection) -> T:
            state = self._state(connection, collection)
            now = self._clock()
            copies = self._vectors, self._lexicons
            return ask(SQLiteView(connection, collection, state, now, *copies))

        return self._searching(search)

    def _state(self, connection: sqlite3.Connection, collection: str) -> State:
        """Where a collection stands that is going to be in memory."""
        state = steps.state(connection, collection)
        if state is None:
            return NOWHERE
        self._searched[collection] = state.collection
        return state

    def resident_bytes(self, collection: str) -> int:
        """See `Backend.resident_bytes`."""
        key = self._searched.get(collection)
        if key is None:
            return 0
        return self._vectors.nbytes(key) + self._lexicons.nbytes(key)

    def release(self, collection: str) -> None:
        """See `Backend.release`."""
        key = self._searched.pop(collection, None)
        if key is not None:
            self._vectors.release(key)
            self._lexicons.release(key)

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
                    self._vectors.clear()
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
            "memory_budget": self._vectors.budget,
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
                facts["resident_bytes"] = self.resident_bytes(collection)
                facts["searches"] = self._vectors.searches(state.collection)
                (facts["kept_vectors"],) = connection.execute(
                    sql.COUNT_KEPT, (state.collection,)
                ).fetchone()
                model = models.noted(connection, state.collection)
                facts["model"] = model.name if model and vectors else None
        return facts

    def close(self) -> None:
        """See `Backend.close`."""
        self._database.close()
        self._vectors.clear()
        self._lexicons.clear()
