"""One state of a collection in memory; see `storage.base.View`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.filters import Filter
from langchain_ragstore.metadata import decode, encode
from langchain_ragstore.model import Found, Keys, Record, Terms, Vector, best_first
from langchain_ragstore.storage.base import check_analyzer, check_dimension
from langchain_ragstore.storage.memory_text import scored
from langchain_ragstore.vectors.arrays import cosines


class MemoryView:
    """What a search sees; a record's key is its place.

    Args:
        collection: The name.
        records: Those that are present.
    """

    def __init__(self, collection: str, records: Sequence[Record]) -> None:
        self._collection, self._records = collection, records

    def dense(
        self,
        vector: Vector,
        k: int,
        where: Filter,
        *,
        exact: bool = False,  # noqa: ARG002 - it always is
    ) -> Found:
        """See `View.dense`."""
        known = [r.vector for r in self._records if r.vector is not None]
        if not known or k < 1:
            return self._first({}, 0)
        check_dimension(self._collection, len(known[0]), len(vector))
        scores = {
            key: float(cosines(record.vector[np.newaxis], vector)[0])
            for key, record in enumerate(self._records)
            if record.vector is not None and _matches(record, where)
        }
        return self._first(scores, k)

    def lexical(self, query: Terms, k: int, where: Filter) -> Found:
        """See `View.lexical`."""
        if k < 1:
            return self._first({}, 0)
        scores, _ = self._scored(query)
        found = {
            key: score
            for key, record in enumerate(self._records)
            if (score := scores.get(record.id, 0.0)) > 0 and _matches(record, where)
        }
        return self._first(found, k)

    def cosines(self, vector: Vector, keys: Keys) -> NDArray[np.float64]:
        """See `View.cosines`."""
        vectors = [self._records[key].vector for key in keys.tolist()]
        scores = [
            np.nan if v is None else float(cosines(v[None], vector)[0]) for v in vectors
        ]
        return np.array(scores, np.float64)

    def bm25(self, query: Terms, keys: Keys) -> NDArray[np.float64]:
        """See `View.bm25`."""
        scores, _ = self._scored(query)
        return np.array([scores.get(id, np.nan) for id in self.ids(keys)], np.float64)

    def reachable(self, query: Terms) -> float:
        """See `View.reachable`."""
        return self._scored(query)[1]

    def mean(self) -> Vector | None:
        """See `View.mean`."""
        vectors = [r.vector for r in self._records if r.vector is not None]
        if not vectors:
            return None
        mean: Vector = np.stack(vectors).mean(axis=0, dtype=np.float64).astype(np.float32)
        return mean

    def keys(self, ids: Collection[str]) -> Keys:
        """See `View.keys`."""
        wanted = set(ids)
        found = [key for key, record in enumerate(self._records) if record.id in wanted]
        return np.array(found, np.int64)

    def ids(self, keys: Keys) -> list[str]:
        """See `View.ids`."""
        return [self._records[key].id for key in keys.tolist()]

    def records(self, keys: Keys, *, vectors: bool) -> list[Record]:
        """See `View.records`."""
        return [copied(self._records[key], vectors=vectors) for key in keys.tolist()]

    def _scored(self, query: Terms) -> tuple[dict[str, float], float]:
        known = {r.id: r.terms for r in self._records if isinstance(r.terms, Terms)}
        check_analyzers(self._collection, known.values(), [query])
        return scored(known, query)

    def _first(self, scores: dict[int, float], k: int) -> Found:
        """The `k` records of highest score, ranked; none if `k` is below 1."""
        keys = np.array(list(scores), np.int64)
        measured = np.array(list(scores.values()), np.float64)
        order = best_first(measured.tolist(), self.ids(keys))[: max(0, k)]
        return keys[order], measured[order]


def copied(record: Record, *, vectors: bool) -> Record:
    """A record that shares nothing with the engine's, without what is never returned."""
    vector = record.vector.copy() if vectors and record.vector is not None else None
    metadata = decode(encode(record.metadata))
    return replace(record, metadata=metadata, vector=vector, terms=None)


def terms_of_all(records: Iterable[Record]) -> list[Terms]:
    """The terms of those records that have some."""
    return [record.terms for record in records if isinstance(record.terms, Terms)]


def check_analyzers(
    collection: str, indexed: Iterable[Terms], given: Iterable[Terms]
) -> None:
    """Refuse terms that are not all made by one analyzer.

    Raises:
        AnalyzerMismatchError: They are not.
    """
    analyzers = [terms.analyzer for terms in (*indexed, *given)]
    for analyzer in analyzers:
        check_analyzer(collection, analyzers[0], analyzer)


def _matches(record: Record, where: Filter) -> bool:
    return where.matches(record.id, record.content, record.metadata)
