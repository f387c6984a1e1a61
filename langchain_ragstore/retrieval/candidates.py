"""Candidates of a search, known by their ids and scores until somebody reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Hit, Keys, Record, ranked
from langchain_ragstore.retrieval.question import Question
from langchain_ragstore.retrieval.sources import Source
from langchain_ragstore.storage.base import View
from langchain_ragstore.vectors.arrays import cosines


class Candidates:
    """Hits of one state of a collection, and what else it knows of them.

    A search fuses a hundred candidates and returns ten; to read the others would take
    longer than to find them all. Of the record of a candidate only the id is filled in.

    Args:
        view: The state.
        question: What is looked for.
        vectors: Whether records are read with their vectors.
    """

    def __init__(self, view: View, question: Question, *, vectors: bool) -> None:
        self._view, self._question, self._vectors = view, question, vectors
        self._keys: dict[str, int] = {}
        self._records: dict[str, Record] = {}

    def fused(self, source: Source) -> list[Hit] | None:
        """What a source finds for a fusion; None if it has nothing to ask with."""
        found = source.found(self._question, self._view)
        return None if found is None else self._hits(source, *found)

    def alone(self, source: Source) -> list[Hit] | None:
        """What a source finds with nothing to fuse it with: whole, by its own score."""
        found = source.found(self._question, self._view)
        if found is None:
            return None
        hits = self.read(self._hits(source, *found))
        _, scores = source.scores(found, self._question, self._view)
        pairs = zip(hits, scores.tolist(), strict=True)
        return ranked(Hit(hit.record, score, hit.signals) for hit, score in pairs)

    def _hits(self, source: Source, keys: Keys, scores: NDArray[np.float64]) -> list[Hit]:
        ids = self._view.ids(keys)
        self._keys |= zip(ids, keys.tolist(), strict=True)
        return [
            Hit(Record(id, "", {}), score, {source.signal: score})
            for id, score in zip(ids, scores.tolist(), strict=True)
        ]

    def bm25(self, ids: Sequence[str]) -> dict[str, float]:
        """The BM25 of candidates; 0 for one that is not indexed."""
        scores = self._view.bm25(self._question.terms, self._of(ids))
        return dict(zip(ids, np.nan_to_num(scores).tolist(), strict=True))

    def cosines(self, ids: Sequence[str]) -> dict[str, float]:
        """The cosine of candidates; one without a vector is as far away as can be."""
        if self._question.vector is None:
            return {}
        scores = self._view.cosines(self._question.vector, self._of(ids))
        return dict(zip(ids, np.nan_to_num(scores, nan=-1.0).tolist(), strict=True))

    def reachable(self) -> float:
        """What no record's BM25 exceeds."""
        return self._view.reachable(self._question.terms)

    def mean_cosine(self) -> float:
        """The query's cosine to the mean of all vectors, which is that of its cosines."""
        mean, vector = self._view.mean(), self._question.vector
        if mean is None or vector is None:
            return 0.0
        return float(cosines(mean[None], vector)[0])

    def read(self, hits: Sequence[Hit]) -> list[Hit]:
        """The same hits with whole records."""
        ids = [hit.record.id for hit in hits]
        unread = [id for id in ids if id not in self._records]
        if unread:
            records = self._view.records(self._of(unread), vectors=self._vectors)
            self._records |= zip(unread, records, strict=True)
        return [Hit(self._records[hit.record.id], hit.score, hit.signals) for hit in hits]

    def _of(self, ids: Sequence[str]) -> Keys:
        return np.array([self._keys[id] for id in ids], np.int64)
