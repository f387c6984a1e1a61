"""Candidates of a search, known by keys and scores until somebody reads them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Found, Hit, Keys, Record, best_first_asking
from langchain_ragstore.retrieval.fuse import Fused, Legs
from langchain_ragstore.retrieval.question import Question
from langchain_ragstore.storage.base import View
from langchain_ragstore.vectors.arrays import cosines


class Candidates:
    """What the legs of a search found, and what else is known of that.

    A search fuses a hundred candidates and returns ten; to read the others would take
    longer than to find them all.

    Args:
        view: The state of the collection that was searched.
        question: What is looked for.
        found: By leg; None for one that was not asked.
        vectors: Whether records are read with their vectors.

    Attributes:
        keys: Every candidate once.
        places: Of each leg that was asked, where among `keys` its finds are, best first.
    """

    def __init__(
        self,
        view: View,
        question: Question,
        found: Mapping[str, Found | None],
        *,
        vectors: bool,
    ) -> None:
        self._view, self._question, self._vectors = view, question, vectors
        self._records: dict[int, Record] = {}
        asked = {leg: pair for leg, pair in found.items() if pair is not None}
        self.keys: Keys = np.unique(
            np.concatenate([np.empty(0, np.int64), *(keys for keys, _ in asked.values())])
        )
        self.places = {
            leg: np.searchsorted(self.keys, pair[0]) for leg, pair in asked.items()
        }
        self._scores = {leg: pair[1] for leg, pair in asked.items()}

    @property
    def question(self) -> Question:
        """What is looked for."""
        return self._question

    def last(self, depths: Mapping[str, int]) -> dict[str, int]:
        """Of each leg that found as many as it was asked for, the place of the last."""
        return {
            leg: int(places[-1])
            for leg, places in self.places.items()
            if len(places) and len(places) >= depths[leg]
        }

    def ranks(self) -> Legs:
        """By leg, the rank of each candidate from 1; NaN for what the leg did not find."""
        return {
            leg: self._spread(places, np.arange(1.0, len(places) + 1))
            for leg, places in self.places.items()
        }

    def signals(self) -> Legs:
        """By leg, the score of each candidate; NaN for what the leg did not find."""
        return {
            leg: self._spread(places, self._scores[leg])
            for leg, places in self.places.items()
        }

    def bm25(self) -> NDArray[np.float64]:
        """The BM25 of each candidate; 0 for one that is not indexed."""
        known = self._spread(self.places["text"], self._scores["text"])
        lacking = np.isnan(known)
        if lacking.any():
            scores = self._view.bm25(self._question.terms, self.keys[lacking])
            known[lacking] = np.nan_to_num(scores)
        return known

    def cosines(self) -> NDArray[np.float64]:
        """The cosine of each candidate; one without a vector is as far away as can be."""
        known = self._spread(self.places["dense"], self._scores["dense"])
        lacking = np.isnan(known)
        if self._question.vector is not None and lacking.any():
            scores = self._view.cosines(self._question.vector, self.keys[lacking])
            known[lacking] = np.nan_to_num(scores, nan=-1.0)
        return known

    def reachable(self) -> float:
        """What no record's BM25 exceeds."""
        return self._view.reachable(self._question.terms)

    def mean_cosine(self) -> float:
        """The query's cosine to the mean of all vectors, which is that of its cosines."""
        mean, vector = self._view.mean(), self._question.vector
        if mean is None or vector is None:
            return 0.0
        return float(cosines(mean[None], vector)[0])

    def first(self, **counts: int) -> dict[str, list[Record]]:
        """The best records of each leg, so many; none of one that was not asked."""
        keys = {
            leg: self.keys[self.places[leg][:count]]
            if leg in self.places
            else self.keys[:0]
            for leg, count in counts.items()
        }
        self._read(np.concatenate(list(keys.values())).tolist())
        return {
            leg: [self._records[key] for key in some.tolist()] for leg, some in keys.items()
        }

    def hits(self, fused: Fused, signals: Legs, limit: int | None) -> list[Hit]:
        """The candidates as whole hits, ranked.

        Args:
            fused: Their scores, and the parts of those.
            signals: What else was measured of them, by name; NaN for what was not.
            limit: How many of the best suffice; None for all.
        """
        scores, chosen = fused.scores, np.arange(len(self.keys))
        if limit is not None and 0 < limit < len(chosen):
            last = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            chosen = np.flatnonzero(scores >= last)
        order = best_first_asking(
            scores[chosen], lambda places: self._view.ids(self.keys[chosen[places]])
        )
        best = chosen[order[:limit]]
        columns = {name: values[best].tolist() for name, values in signals.items()}
        measured = [
            {name: value for name, value in pairs if not math.isnan(value)}
            for pairs in (
                zip(columns, row, strict=True)
                for row in zip(*columns.values(), strict=True)
            )
        ]
        keys = self.keys[best].tolist()
        self._read(keys)
        return [
            Hit(self._records[key], score, each)
            for key, score, each in zip(keys, scores[best].tolist(), measured, strict=True)
        ]

    def _read(self, keys: Iterable[int]) -> None:
        unread = [key for key in dict.fromkeys(keys) if key not in self._records]
        if unread:
            wanted = np.array(unread, np.int64)
            records = self._view.records(wanted, vectors=self._vectors)
            self._records |= zip(unread, records, strict=True)

    def _spread(
        self, places: NDArray[np.intp], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        spread = np.full(len(self.keys), np.nan)
        spread[places] = values
        return spread
