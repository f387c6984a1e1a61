"""Fusions as values: what `retrieval.fuse` needs is read here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from langchain_ragstore.config import (
    DEFAULT_FUSION_WEIGHTS,
    DEFAULT_RRF_K,
    FUSION_HITS_READ,
)
from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval import fuse, weighing
from langchain_ragstore.retrieval.candidates import Candidates
from langchain_ragstore.retrieval.question import Question


@dataclass(frozen=True, slots=True)
class Weighted:
    """The weighted mean of both scores of each candidate; see `fuse.weighted`.

    Attributes:
        dense: Weight of the cosine's part.
        text: Weight of BM25's part.
    """

    dense: float = DEFAULT_FUSION_WEIGHTS["dense"]
    text: float = DEFAULT_FUSION_WEIGHTS["text"]

    @property
    def weights(self) -> dict[str, float]:
        """By leg."""
        return {"dense": self.dense, "text": self.text}

    def resolved(
        self, lists: fuse.Legs, question: Question, candidates: Candidates
    ) -> Weighted:
        """The fusion of one query: the same for all."""
        return self

    def __call__(self, lists: fuse.Legs, candidates: Candidates) -> list[Hit]:
        """Every candidate, ranked; the score that only one leg knows is looked up."""
        lists = dict(lists)
        lacking = fuse.missing(lists)
        reachable = None if lists["text"] is None else candidates.reachable()
        if not reachable:
            lists["text"] = None
        filled = {}
        if lists["text"] is not None:
            filled["text"] = candidates.bm25(lacking["text"])
        if lists["dense"] is not None:
            filled["dense"] = candidates.cosines(lacking["dense"])
        return fuse.weighted(
            lists,
            top_bm25=reachable,
            mean_cosine=None if lists["dense"] is None else candidates.mean_cosine(),
            filled=filled,
            weights=self.weights,
        )

    def beyond(self, open_lists: fuse.Legs, hits: Collection[Hit]) -> float:
        """The highest score that a record which is no candidate can have.

        Args:
            open_lists: Of the legs whose lists go on further down.
            hits: The candidates.
        """
        signals = {hit.record.id: hit.signals for hit in hits}
        asked = {leg for known in signals.values() for leg in legs(known)}
        last = {leg: found[-1].record.id for leg, found in open_lists.items() if found}
        parts = {leg: signals[id][f"{leg}_part"] for leg, id in last.items()}
        shares = shares_of(self.weights, asked)
        return sum(share * parts.get(leg, 0.0) for leg, share in shares.items())


@dataclass(frozen=True, slots=True)
class WeightedByQuery:
    """As `Weighted`, with the weights that each query asks for; see `retrieval.weighing`.

    Attributes:
        dense: Weight of the cosine's part.
        text: Weight of BM25's part, where query and texts are in one script.
    """

    dense: float = DEFAULT_FUSION_WEIGHTS["dense"]
    text: float = DEFAULT_FUSION_WEIGHTS["text"]

    def resolved(
        self, lists: fuse.Legs, question: Question, candidates: Candidates
    ) -> Weighted:
        """The fusion of one query."""
        nearest, best = lists["dense"] or (), lists["text"] or ()
        read = candidates.read([*nearest[:FUSION_HITS_READ], *best[:1]])
        share = weighing.text_share(
            question.terms, read[: len(read) - len(best[:1])], read[-1:] if best else ()
        )
        return Weighted(self.dense, self.text * share)


@dataclass(frozen=True, slots=True)
class ReciprocalRank:
    """Reciprocal rank fusion; see `fuse.rrf`.

    Attributes:
        k: The larger, the less the first ranks stand out.
        dense: Weight of the ranking by cosine.
        text: Weight of the ranking by BM25.
    """

    k: float = DEFAULT_RRF_K
    dense: float = 1.0
    text: float = 1.0

    @property
    def weights(self) -> dict[str, float]:
        """By leg."""
        return {"dense": self.dense, "text": self.text}

    def resolved(
        self, lists: fuse.Legs, question: Question, candidates: Candidates
    ) -> ReciprocalRank:
        """The fusion of one query: the same for all."""
        return self

    def __call__(self, lists: fuse.Legs, candidates: Candidates) -> list[Hit]:
        """Every candidate, ranked."""
        return fuse.rrf(lists, weights=self.weights, k=self.k)

    def beyond(self, open_lists: fuse.Legs, hits: Collection[Hit]) -> float:
        """Not bounded: a candidate gains when a list that lacked it goes further down."""
        return math.inf


Resolved: TypeAlias = Weighted | ReciprocalRank
"""A fusion as it is run."""

Fusion: TypeAlias = WeightedByQuery | Resolved


def legs(signals: Mapping[str, float]) -> list[str]:
    """The legs that have a part in a fused score."""
    return [leg for leg in fuse.SIGNALS if f"{leg}_part" in signals]


def shares_of(weights: Mapping[str, float], asked: Collection[str]) -> dict[str, float]:
    """What each leg that was asked counts, in all 1."""
    largest = max((weights[leg] for leg in asked), default=0.0)
    # As in `fuse`: no sum overflows, and where all weigh nothing they weigh the same.
    relative = {leg: weights[leg] / largest if largest else 1.0 for leg in asked}
    total = sum(relative.values())
    return {leg: share / total for leg, share in relative.items()}
