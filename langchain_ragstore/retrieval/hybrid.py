"""Candidates from a dense and a lexical search, fused into one ranking."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from langchain_ragstore.config import (
    DEFAULT_FUSION_WEIGHTS,
    DEFAULT_HYBRID_CANDIDATES,
    DEFAULT_RRF_K,
)
from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import Hit, Terms, Vector
from langchain_ragstore.retrieval import fuse
from langchain_ragstore.storage.base import Backend
from langchain_ragstore.vectors.arrays import cosines


@dataclass(frozen=True)
class Fusion:
    """How two rankings become one.

    Attributes:
        method: `"weighted"`, or `"rrf"` for reciprocal rank fusion.
        weights: Of the legs `"dense"` and `"text"`; for `"rrf"`, None is equal ones.
        rrf_k: Constant of `"rrf"`.
        candidates: Hits that each leg contributes, at least as many as are asked for.
    """

    method: Literal["weighted", "rrf"] = "weighted"
    weights: Mapping[str, float] | None = field(default=None)
    rrf_k: float = DEFAULT_RRF_K
    candidates: int = DEFAULT_HYBRID_CANDIDATES


def hybrid(
    backend: Backend,
    collection: str,
    vector: Vector | None,
    terms: Terms,
    k: int,
    *,
    fusion: Fusion,
    where: Filter = EVERYTHING,
) -> list[Hit]:
    """The `k` best of two searches, both scores known of every candidate.

    Args:
        backend: Where to search.
        collection: What to search.
        vector: Unit length; None, or all zeros, for a query that no vector stands for.
        terms: What the query is in full text; none if it has no word.
        k: How many.
        fusion: How.
        where: Which records, before either leg ranks.

    Returns:
        Ranked; `signals` as `retrieval.fuse` describes them.
    """
    if k < 1:
        return []
    depth = max(k, fusion.candidates)
    asked = vector is not None and vector.any()
    dense = (
        backend.dense(collection, vector, depth, where=where)
        if vector is not None and asked
        else None
    )
    text = (
        backend.lexical(collection, terms, depth, where=where)
        if terms.body or terms.title
        else None
    )
    lists: dict[str, list[Hit] | None] = {"dense": dense, "text": text}
    if fusion.method == "rrf":
        return fuse.rrf(lists, weights=fusion.weights, k=fusion.rrf_k)[:k]
    weights = DEFAULT_FUSION_WEIGHTS if fusion.weights is None else fusion.weights
    lacking = fuse.missing(lists)
    # One call even if no score lacks: it also tells what scores the query can reach.
    lexical = backend.lexical_scores(collection, terms, lacking.get("text", ()))
    if not lexical.reachable:
        lists["text"] = None
    filled = {"text": dict.fromkeys(lacking.get("text", ()), 0.0) | dict(lexical.scores)}
    mean_cosine = None
    if vector is not None and dense is not None:
        mean = backend.mean(collection)
        mean_cosine = 0.0 if mean is None else float(cosines(mean[None], vector)[0])
        filled["dense"] = _cosines(backend, collection, vector, lacking.get("dense", ()))
        for id in lacking.get("dense", ()):  # it has no vector, or was just deleted
            filled["dense"].setdefault(id, -1.0)
    return fuse.weighted(
        lists,
        top_bm25=lexical.reachable or None,
        mean_cosine=mean_cosine,
        filled={leg: scores for leg, scores in filled.items() if lists[leg] is not None},
        weights=weights,
    )[:k]


def _cosines(
    backend: Backend, collection: str, vector: Vector, ids: Collection[str]
) -> dict[str, float]:
    records = backend.get(collection, sorted(ids), vectors=True) if ids else []
    found = {r.id: r.vector for r in records if r.vector is not None}
    if not found:
        return {}
    scores = cosines(np.stack(list(found.values())), vector)
    return dict(zip(found, scores.tolist(), strict=True))
