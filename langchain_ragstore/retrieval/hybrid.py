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
from langchain_ragstore.retrieval import fuse, weighing
from langchain_ragstore.retrieval.candidates import Candidates


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

    def resolved(self, candidates: Candidates) -> Weighted:
        """The fusion of one query: the same for all."""
        return self

    def __call__(self, candidates: Candidates) -> tuple[fuse.Fused, fuse.Legs]:
        """Every candidate's score, and the signals behind it, by name.

        What only one leg knows of a candidate is looked up.
        """
        scores, mean = {}, None
        if "dense" in candidates.places:
            scores["dense"] = candidates.cosines()
            mean = candidates.mean_cosine()
        reachable = candidates.reachable() if "text" in candidates.places else 0.0
        if reachable:  # or no word can match
            scores["text"] = candidates.bm25()
        fused = fuse.weighted(
            scores, top_bm25=reachable, mean_cosine=mean, weights=self.weights
        )
        return fused, {fuse.SIGNALS[leg]: each for leg, each in scores.items()}

    def beyond(self, fused: fuse.Fused, last: Mapping[str, int]) -> float:
        """The highest score that a record which is no candidate can have.

        Args:
            fused: The candidates' scores.
            last: Of the legs whose lists go on further down, the place of the last find.
        """
        shares = shares_of(self.weights, fused.parts)
        parts = {leg: float(fused.parts[leg][place]) for leg, place in last.items()}
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

    def resolved(self, candidates: Candidates) -> Weighted:
        """The fusion of one query."""
        first = candidates.first(dense=FUSION_HITS_READ, text=1)
        share = weighing.text_share(
            candidates.question.terms, first["dense"], first["text"]
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

    def resolved(self, candidates: Candidates) -> ReciprocalRank:
        """The fusion of one query: the same for all."""
        return self

    def __call__(self, candidates: Candidates) -> tuple[fuse.Fused, fuse.Legs]:
        """See `Weighted`; what only one leg knows is not looked up."""
        ranks = candidates.ranks()
        named = {fuse.SIGNALS[leg]: each for leg, each in candidates.signals().items()}
        named |= {f"{leg}_rank": each for leg, each in ranks.items()}
        return fuse.rrf(ranks, weights=self.weights, k=self.k), named

    def beyond(self, fused: fuse.Fused, last: Mapping[str, int]) -> float:
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
