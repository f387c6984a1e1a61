"""Searches that return whole records: what every engine has because it has `within`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

import numpy as np

from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import (
    Found,
    Hit,
    LexicalScores,
    Terms,
    Vector,
    best_first,
)
from langchain_ragstore.storage.base import View

T = TypeVar("T")


class Searches(ABC):
    """`Backend`'s searches, by its `within`."""

    @abstractmethod
    def within(self, collection: str, ask: Callable[[View], T]) -> T:
        """See `Backend.within`."""

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

        def ask(view: View) -> list[Hit]:
            found = view.dense(vector, k, where, exact=exact)
            return hits(view, found, "dense", vectors=vectors)

        return self.within(collection, ask)

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

        def ask(view: View) -> list[Hit]:
            found = view.lexical(query, k, where)
            return hits(view, found, "lexical", vectors=vectors)

        return self.within(collection, ask)

    def lexical_scores(
        self, collection: str, query: Terms, ids: Collection[str]
    ) -> LexicalScores:
        """See `Backend.lexical_scores`."""

        def ask(view: View) -> LexicalScores:
            keys = view.keys(ids)
            found = zip(view.ids(keys), view.bm25(query, keys).tolist(), strict=True)
            scores = {id: score for id, score in found if not math.isnan(score)}
            return LexicalScores(scores, view.reachable(query))

        return self.within(collection, ask)

    def mean(self, collection: str) -> Vector | None:
        """See `Backend.mean`."""
        return self.within(collection, lambda view: view.mean())


def hits(view: View, found: Found, signal: str, *, vectors: bool) -> list[Hit]:
    """What a search found, with its records."""
    keys, scores = found
    return [
        Hit(record, score, {signal: score})
        for record, score in zip(
            view.records(keys, vectors=vectors), scores.tolist(), strict=True
        )
    ]


def first(
    keys: Iterable[int], names: Iterable[str], scores: Iterable[float], k: int
) -> Found:
    """The `k` records of highest score, ranked.

    Args:
        keys: In any order.
        names: The id of each; of one whose score no other has, anything.
        scores: The score of each.
        k: How many; none if below 1.
    """
    listed, measured = list(keys), list(scores)
    order = best_first(measured, list(names))[: max(0, k)]
    return (
        np.array([listed[place] for place in order], np.int64),
        np.array([measured[place] for place in order], np.float64),
    )
