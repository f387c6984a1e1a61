"""Searches that return whole records: what every engine has because it has `within`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import TypeVar

from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import (
    Found,
    Hit,
    LexicalScores,
    Terms,
    Vector,
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
