"""Fusion: one score out of a dense and a lexical one.

Both functions here take one number of each candidate by each leg that was asked, and give
scores in [0, 1], each the weighted mean of the legs' parts: `score = Σ weight · part /
Σ weight`. A leg that was not asked (no word in the query, no vector) is absent: the
others' weights count as if it did not exist. A leg that was asked and found nothing is
there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import (
    DEFAULT_FUSION_WEIGHTS,
    DEFAULT_RRF_K,
    LEAST_SPREAD,
    SCORE_SLACK,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.numeric import number

Legs: TypeAlias = Mapping[str, NDArray[np.float64]]
"""By leg that was asked, one number for each candidate, shape `(count,)`."""

SIGNALS: Final[Mapping[str, str]] = {"dense": "dense", "text": "lexical"}
"""The signal that holds a leg's score: a cosine, and BM25."""


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """What a fusion makes of its candidates.

    Attributes:
        scores: In [0, 1]; shape `(count,)`.
        parts: By leg, of what each score is the mean; NaN for a candidate that the leg
            says nothing of, which counts as 0.
    """

    scores: NDArray[np.float64]
    parts: Legs


def rrf(
    ranks: Legs, *, weights: Mapping[str, float] | None = None, k: float = DEFAULT_RRF_K
) -> Fused:
    """Reciprocal rank fusion: what stands high in several lists stands high.

    Source: Cormack, Clarke and Büttcher, Reciprocal Rank Fusion Outperforms Condorcet
    and Individual Rank Learning Methods, SIGIR 2009: the sum of weight/(k + rank) over
    the lists that hold the document, ranks from 1. It is divided here by its largest
    possible value, Σ weight/(k + 1), which changes no order: 1 is for what comes first
    in every list. A list's part is thus (k + 1)/(k + rank).

    Args:
        ranks: By any legs; NaN for what a leg does not list.
        weights: One for each leg, asked or not; None for equal ones. Only their ratios
            matter. If all legs that were asked weigh 0, they weigh the same.
        k: At least 0. The larger, the less the first ranks stand out.

    Raises:
        InvalidInputError: A weight or `k` that is none, or a rank below 1.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.retrieval.fuse import rrf

        nan = np.nan
        fused = rrf({"dense": np.array([1.0, 2.0]), "text": np.array([nan, 1.0])})
        assert fused.scores.tolist() == [0.5, (61 / 62 + 1) / 2]
        ```
    """
    k = number("k", k, 0, math.inf)
    for leg, given in ranks.items():
        _check(f"the rank by {leg!r}", given[~np.isnan(given)], 1, math.inf)
    shares = _shares(list(weights or ranks), ranks, weights)
    return _fused({leg: (k + 1) / (k + ranks[leg]) for leg in shares}, shares)


def weighted(
    scores: Legs,
    *,
    top_bm25: float | None = None,
    mean_cosine: float | None = None,
    weights: Mapping[str, float] = DEFAULT_FUSION_WEIGHTS,
) -> Fused:
    """The weighted mean of two scores, each on a scale that the query alone sets.

    * text: BM25 / the highest BM25 that any document could reach for the query,
      (k1 + 1)·Σ qtf·idf.
    * dense: max(0, (cos − m)/(1 − m)) with m the query's mean cosine, q·c for c the mean
      of the collection's unit vectors. A document that is no closer to the query than
      the average has a part of 0. Where 1 − m is next to nothing (all documents point
      where the query points) there is nothing to scale by, and the part is max(0, cos).

    Neither scale depends on which candidates were fetched, so that fetching more of them
    changes no score. The usual choices were measured and lost: min-max scaling over the
    candidates, narrowly, and reciprocal rank fusion (see `DEFAULT_FUSION_WEIGHTS`).

    Args:
        scores: Cosines as `"dense"`, BM25 as `"text"`, of every candidate.
        top_bm25: The highest BM25 that is possible; needed if `"text"` was asked.
        mean_cosine: m; needed if `"dense"` was asked.
        weights: Of both legs; only their ratio matters. The weight of the only leg that
            was asked is 1, whatever it is here.

    Raises:
        InvalidInputError: A leg or weight that is none; a score or scale that is missing
            or out of its range; names it.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.retrieval.fuse import weighted

        scores = {"dense": np.array([0.8, 0.6]), "text": np.array([3.0, 0.0])}
        fused = weighted(scores, top_bm25=6.0, mean_cosine=0.6)
        # .7 · 3/6 + .3 · (.8 − .6)/(1 − .6)
        assert abs(fused.scores[0] - 0.5) < 1e-12
        ```
    """
    strange = [leg for leg in scores if leg not in SIGNALS]
    if strange:
        raise InvalidInputError(
            f"scores: unknown leg {strange[0]!r}; the legs are {', '.join(SIGNALS)}"
        )
    shares = _shares(list(SIGNALS), scores, weights)
    parts = {}
    if "dense" in shares:
        mean = number("mean_cosine", mean_cosine, -1, 1)
        parts["dense"] = _dense_part(scores["dense"], mean)
    if "text" in shares:
        top = number("top_bm25", top_bm25, 0, math.inf)
        if not top:
            raise InvalidInputError(
                "top_bm25 is 0, so no word of the query can match: leave 'text' out, "
                "since it was not asked"
            )
        _check("BM25/top_bm25", scores["text"] / top, 0, 1 + SCORE_SLACK)
        parts["text"] = np.minimum(1.0, scores["text"] / top)
    return _fused(parts, shares)


def _dense_part(cosines: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """Cosines on a scale from 0 to 1."""
    _check("the cosine", cosines, -1 - SCORE_SLACK, 1 + SCORE_SLACK)
    spread = 1 - mean
    scaled = cosines if spread <= LEAST_SPREAD else (cosines - mean) / spread
    return np.clip(scaled, 0.0, 1.0)


def _fused(parts: Legs, shares: Mapping[str, float]) -> Fused:
    # Both sums run over the same legs in the same order: parts of at most 1 make a score
    # of at most 1, to the last bit.
    total = sum(shares.values())
    counted = [share * np.nan_to_num(parts[leg]) for leg, share in shares.items()]
    scores = sum(counted, np.zeros(len(counted[0]) if counted else 0)) / (total or 1)
    return Fused(scores, parts)


def _shares(
    known: Collection[str], asked: Collection[str], weights: Mapping[str, float] | None
) -> dict[str, float]:
    """The weight of each leg that was asked, relative to the largest, which is 1.

    In the order of their names, so that the order in which they were given decides
    nothing. Relative, so that no sum overflows and no product of a tiny weight vanishes.
    """
    if weights is None:
        weights = dict.fromkeys(known, 1.0)
    if not isinstance(weights, Mapping):
        raise InvalidInputError(f"weights must be a mapping of legs, got {weights!r}")
    strange = [leg for leg in weights if leg not in known]
    lacking = [leg for leg in (*known, *asked) if leg not in weights]
    if strange or lacking:
        problem = f"unknown leg {strange[0]!r}" if strange else f"none for {lacking[0]!r}"
        raise InvalidInputError(
            f"weights {dict(weights)!r}: {problem}; the legs are {', '.join(sorted(known))}"
        )
    checked = {
        leg: number(f"the weight of {leg!r}", weights[leg], 0, math.inf) for leg in known
    }
    if checked and not any(checked.values()):
        raise InvalidInputError(f"weights {dict(weights)!r}: at least one must be above 0")
    largest = max((checked[leg] for leg in asked), default=0.0)
    return {leg: checked[leg] / largest if largest else 1.0 for leg in sorted(asked)}


def _check(name: str, values: NDArray[np.float64], low: float, high: float) -> None:
    """Refuse numbers that are not finite or not between two bounds."""
    wrong = values[~(np.isfinite(values) & (values >= low) & (values <= high))]
    if len(wrong):
        number(name, float(wrong[0]), low, high)
