"""One state of a collection, read in one transaction; see `storage.base.View`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.lexical.bm25 import top
from langchain_ragstore.model import Found, Keys, Record, Terms, Vector, best_first_asking
from langchain_ragstore.storage.base import check_dimension
from langchain_ragstore.storage.sqlite import lexicon, steps
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.nearest import Vectors
from langchain_ragstore.storage.sqlite.resident import Resident, State

T = TypeVar("T")


class SQLiteView:
    """What a search sees.

    Args:
        connection: In a read transaction.
        collection: The name.
        state: Where it stands.
        now: Seconds since the epoch.
        vectors: Those of the file's collections.
        texts: The text indexes in memory.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        collection: str,
        state: State,
        now: float,
        vectors: Vectors,
        texts: Resident[lexicon.Lexicon],
    ) -> None:
        self._connection, self._collection = connection, collection
        self._state, self._now = state, now
        self._vectors, self._texts = vectors, texts
        self._matching: tuple[Filter, Keys] | None = None
        self._ids: dict[int, str] = {}

    def dense(self, vector: Vector, k: int, where: Filter, *, exact: bool = False) -> Found:
        """See `View.dense`."""
        if not self._state.dimension or k < 1:
            return _nothing()
        here = self._connection, self._state, self._now
        if not self._vectors.any(*here):
            return _nothing()
        check_dimension(self._collection, self._state.dimension, len(vector))
        found = self._vectors.nearest(
            *here, (vector, k, where, exact), partial(self._keys, where)
        )
        return self._ranked(*found, k)

    def lexical(self, query: Terms, k: int, where: Filter) -> Found:
        """See `View.lexical`."""
        if k < 1:
            return _nothing()
        known, scores, _ = self._scored(query)
        if where != EVERYTHING:
            scores = np.where(np.isin(known.records, self._keys(where)), scores, 0.0)
        places = top(scores, k)
        return self._ranked(known.records[places], scores[places], k)

    def cosines(self, vector: Vector, keys: Keys) -> NDArray[np.float64]:
        """See `View.cosines`."""
        return self._vectors.cosines(self._connection, self._state, vector, keys)

    def bm25(self, query: Terms, keys: Keys) -> NDArray[np.float64]:
        """See `View.bm25`."""
        known, scores, _ = self._scored(query)
        rows = known.places(keys)
        found = np.full(len(keys), np.nan)
        found[rows >= 0] = scores[rows[rows >= 0]]
        return found

    def reachable(self, query: Terms) -> float:
        """See `View.reachable`."""
        return self._scored(query)[2]

    def mean(self) -> Vector | None:
        """See `View.mean`."""
        if not self._state.dimension:
            return None
        return self._vectors.mean(self._connection, self._state, self._now)

    def keys(self, ids: Collection[str]) -> Keys:
        """See `View.keys`."""
        found = steps.keys(
            self._connection, self._state, self._now, ids=ids, where=EVERYTHING
        )
        return np.array(found, np.int64)

    def ids(self, keys: Keys) -> list[str]:
        """See `View.ids`."""
        wanted = keys.tolist()
        unknown = [key for key in wanted if key not in self._ids]
        if unknown:
            self._ids |= self._rows("r.key, r.id", unknown)
        return _each(self._ids, wanted)

    def records(self, keys: Keys, *, vectors: bool) -> list[Record]:
        """See `View.records`."""
        wanted = keys.tolist()
        rows = self._rows(sql.columns(vectors=vectors), wanted, vectors=vectors)
        return _each(dict(map(steps.record, rows)), wanted)

    def _scored(self, query: Terms) -> tuple[lexicon.Lexicon, NDArray[np.float64], float]:
        """The text index, each of its rows' BM25, and what a row could reach."""
        steps.check_query(self._connection, self._state, self._collection, self._now, query)
        known = self._texts.snapshot(self._connection, self._state)
        return known, *lexicon.scored(self._connection, known, query, self._now)

    def _keys(self, where: Filter) -> Keys:
        """The records that match: found once, for both legs."""
        if self._matching is None or self._matching[0] is not where:
            found = steps.keys(
                self._connection, self._state, self._now, ids=None, where=where
            )
            self._matching = where, np.array(found, np.int64)
        return self._matching[1]

    def _ranked(self, keys: Keys, scores: NDArray[np.float64], k: int) -> Found:
        """The first `k`; equal scores are ordered by id, which is read of those alone."""
        order = best_first_asking(scores, lambda places: self.ids(keys[places]))[:k]
        return keys[order], scores[order]

    def _rows(
        self, columns: str, keys: Sequence[int], *, vectors: bool = False
    ) -> list[tuple[Any, ...]]:
        statement = sql.select(columns, sql.AMONG_KEYS, vectors=vectors)
        given = self._state.collection, self._now
        return [
            row
            for fitted, batch in sql.fitting(statement, keys)
            for row in self._connection.execute(fitted, [*given, *batch])
        ]


def _each(found: Mapping[int, T], keys: Sequence[int]) -> list[T]:
    """What was found of each record.

    Raises:
        CorruptStoreError: One is not there, although the same transaction saw its key.
    """
    lost = next((key for key in keys if key not in found), None)
    if lost is not None:
        raise CorruptStoreError(
            f"record {lost} cannot be found where its index says; repair() mends it"
        )
    return [found[key] for key in keys]


def _nothing() -> Found:
    return np.empty(0, np.int64), np.empty(0, np.float64)
