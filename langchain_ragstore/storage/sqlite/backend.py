"""The SQLite engine: the verbs of `Backend` on one file."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from langchain_ragstore.config import MEMORY_BUDGET
from langchain_ragstore.errors import StorageError
from langchain_ragstore.filters import EVERYTHING, Filter, Not
from langchain_ragstore.lexical.gathering import prepared
from langchain_ragstore.metadata import decode, encode
from langchain_ragstore.model import (
    Compacted,
    Fingerprint,
    Problem,
    Record,
    Vector,
)
from langchain_ragstore.storage.base import outside_guard, patched
from langchain_ragstore.storage.care import TermsOf
from langchain_ragstore.storage.sqlite import (
    checking,
    coding,
    compacting,
    copying,
    models,
    reindexing,
    remodelling,
    repairing,
    segments,
    steps,
)
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.checksums import of_rest, utf8
from langchain_ragstore.storage.sqlite.connection import bound
from langchain_ragstore.storage.sqlite.files import MEMORY
from langchain_ragstore.storage.sqlite.reader import SQLiteReader
from langchain_ragstore.storage.sqlite.resident import (
    State,
)
from langchain_ragstore.storage.sqlite.schema import opened

logger = logging.getLogger(__name__)


class SQLiteBackend(SQLiteReader):
    """Records in one SQLite file, searched by copies in memory.

    Args:
        path: A file, made if absent, or `":memory:"`.
        read_only: Open for reading alone.
        clock: Seconds since the epoch.
        memory_budget: Bytes that the vectors of all collections may take in memory.

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
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        super().__init__(opened(path, read_only=read_only), clock, memory_budget)

    def upsert(
        self,
        collection: str,
        records: Sequence[Record],
        *,
        remove: Collection[str] = (),
        guard: Filter = EVERYTHING,
        expected: Sequence[Record] = (),
        model: Fingerprint | None = None,
        dated: bool = False,
    ) -> None:
        """See `Backend.upsert`."""
        rows = [(r, r.encoded or encode(r.metadata)) for r in records]
        texts = [r.terms for r in records if r.terms is not None]
        postings = list(prepared(texts))
        with self._database.write() as connection:
            now = self._clock()
            connection.execute(sql.ADD_COLLECTION, (bound(collection),))
            state = steps.state(connection, collection)
            assert state is not None  # noqa: S101 - it was just added
            steps.forget(connection, state, steps.expired(connection, state, now))
            self._check_guard(connection, state, collection, records, remove, guard)
            steps.check_unchanged(connection, state, collection, now, expected)
            steps.forget(
                connection,
                state,
                steps.keys(connection, state, now, ids=remove, where=EVERYTHING),
            )
            steps.agree_on_analyzer(connection, state, collection, now, texts)
            steps.agree_on_vectors(connection, state, collection, records, model)
            (generation,) = connection.execute(
                sql.NEXT_GENERATION, (state.collection,)
            ).fetchone()
            stamps, blocks = segments.add(connection, state.collection, postings)
            place = state.collection, generation, now
            steps.write_records(connection, *place, rows, stamps, dated=dated)
            models.settle(connection, state.collection, (r.digest for r in records))
            if stamps:
                segments.maintain(connection, state.collection, blocks)
            state = steps.state(connection, collection)
            assert state is not None  # noqa: S101 - it was just read
            stale = coding.keep_up(connection, state, generation - 1)
        logger.debug("%s: stored %d records", collection, len(rows))
        if stale:
            self._measure(collection)

    def _measure(self, collection: str) -> None:
        """Measure the codes anew, without keeping other writers waiting.

        The write is done by then: if this fails, the next one tries again.
        """
        try:
            with self._database.read() as connection:
                state = steps.state(connection, collection)
                assert state is not None  # noqa: S101 - collections stay
                found = coding.measure(connection, state) if state.coded else None
            with self._database.write() as connection:
                now = steps.state(connection, collection)
                same = now is not None and state.coded == now.coded
                if now is not None and same and found is not None:
                    coding.note(connection, now, *found)
        except StorageError as error:
            logger.warning("%s: the codes were not measured: %s", collection, error)

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
        outside = steps.rows(
            connection, state, "r.id", self._clock(), ids=ids, where=Not(guard)
        )
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
            state = steps.state(connection, collection)
            if state is None:
                return 0
            found = steps.rows(connection, state, sql.PATCHED, now, ids=ids, where=where)
            if not found:
                return 0
            (generation,) = connection.execute(
                sql.NEXT_GENERATION, (state.collection,)
            ).fetchone()
            connection.executemany(
                sql.PATCH_RECORD,
                [
                    (text, of_rest(utf8(text), now, expires), generation, now, key)
                    for key, expires, text in (
                        (key, expires, encode(patched(decode(old), changes, remove)))
                        for key, expires, old in map(steps.to_patch, found)
                    )
                ],
            )
            return len(found)

    def delete(self, collection: str, *, ids: Collection[str] | None, where: Filter) -> int:
        """See `Backend.delete`."""
        with self._database.write() as connection:
            state = steps.state(connection, collection)
            if state is None:
                return 0
            keys = steps.keys(connection, state, self._clock(), ids=ids, where=where)
            steps.forget(connection, state, keys)
            if ids is None and where == EVERYTHING:
                connection.execute(sql.DROP_ALL_KEPT, (state.collection,))
        logger.debug("%s: deleted %d records", collection, len(keys))
        return len(keys)

    def keep(
        self,
        collection: str,
        vectors: Mapping[bytes, Vector],
        model: Fingerprint | None,
    ) -> None:
        """See `Backend.keep`."""
        with self._database.write() as connection:
            connection.execute(sql.ADD_COLLECTION, (bound(collection),))
            state = steps.state(connection, collection)
            assert state is not None  # noqa: S101 - it was just added
            steps.forget(connection, state, steps.expired(connection, state, self._clock()))
            models.keep(connection, state, collection, vectors, model)

    def adopt(
        self, collection: str, staged: str, digest_of: Callable[[Record], bytes]
    ) -> list[str]:
        """See `Backend.adopt`."""
        return remodelling.adopt(self._database, collection, staged, self._clock, digest_of)

    def reindex(self, collection: str, terms_of: TermsOf) -> int:
        """See `Backend.reindex`."""
        count = reindexing.reindex(self._database, collection, self._clock, terms_of)
        logger.info("%s: indexed %d texts anew", collection, count)
        return count

    def verify(self, collection: str, terms_of: TermsOf) -> list[Problem]:
        """See `Backend.verify`."""
        return checking.verify(self._database, checking.Own(collection, terms_of))

    def repair(self, collection: str, terms_of: TermsOf) -> list[Problem]:
        """See `Backend.repair`."""
        own = checking.Own(collection, terms_of)
        done = repairing.repair(self._database, own, self._clock)
        self._vectors.clear()
        self._lexicons.clear()
        return done

    def compact(self) -> Compacted:
        """See `Backend.compact`."""
        sizes = compacting.compact(self._database, self._clock)
        logger.info("%s: %d bytes, %d before", self._database.path, *reversed(sizes))
        return sizes

    def backup(
        self,
        path: str | os.PathLike[str],
        models: Mapping[str, Fingerprint | None],
        *,
        overwrite: bool = False,
    ) -> int:
        """See `copying.backup`."""
        return copying.backup(self._database, path, models, overwrite=overwrite)

    def freeze(
        self,
        path: str | os.PathLike[str],
        models: Mapping[str, Fingerprint | None],
        *,
        overwrite: bool = False,
    ) -> int:
        """See `copying.freeze`."""
        now = self._clock
        return copying.freeze(self._database, path, models, now, overwrite=overwrite)

    def compact_text(self, collection: str) -> None:
        """Merge the text index into one segment, in many short transactions."""
        reindexing.compact(self._database, collection)
