"""Measures of a ranking against judgements, and the interval of a mean difference.

A ranking is a sequence of different ids, best first. Judgements are grades by id: 0 is
judged and irrelevant, everything above 0 is relevant, and what is not judged counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

MEASURES: Final = ("ndcg", "recall", "precision", "hit")
"""What is measured at each rank; the reciprocal rank is measured once."""


def ndcg(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """Normalised discounted cumulative gain of the first `k`, in [0, 1].

    Source: Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM
    TOIS 20(4), 2002: Σ gain/log2(rank + 1), divided by what the best order of all judged
    documents would reach in `k` places. The gain is 2^grade − 1 (Burges et al., Learning
    to Rank using Gradient Descent, ICML 2005), which for grades 0 and 1 is the grade.

    Example:
        ```python
        from langchain_ragstore.evaluation.metrics import ndcg

        # 1/log2(3) of 1/log2(2): the only relevant one stands second
        assert abs(ndcg(["b", "a"], {"a": 1}, 10) - 0.63093) < 1e-5
        ```
    """
    best = _dcg(sorted(grades.values(), reverse=True)[:k])
    reached = _dcg([grades.get(id, 0.0) for id in ranking[:k]])
    return min(1.0, reached / best)  # of almost equal grades, rounding may favour either


def _dcg(grades: Sequence[float]) -> float:
    return math.fsum(
        math.expm1(grade * math.log(2)) / math.log2(rank + 1)
        for rank, grade in enumerate(grades, start=1)
    )


def recall(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """The part of the relevant documents that is among the first `k`."""
    return _relevant(ranking[:k], grades) / _relevant(list(grades), grades)


def precision(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """The part of `k` places that hold a relevant document; a missing one holds none."""
    return _relevant(ranking[:k], grades) / k


def hit(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """1 if a relevant document is among the first `k`, else 0."""
    return float(_relevant(ranking[:k], grades) > 0)


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """1/rank of the first relevant document, 0 if none is among the first `k`.

    Source: Voorhees, The TREC-8 Question Answering Track Report, 1999; its mean over the
    queries is the MRR.
    """
    for rank, id in enumerate(ranking[:k], start=1):
        if grades.get(id, 0.0) > 0:
            return 1 / rank
    return 0.0


def measure(
    ranking: Sequence[str], grades: Mapping[str, float], ks: Sequence[int]
) -> dict[str, float]:
    """All measures of one ranking.

    Args:
        ranking: Different ids, best first.
        grades: At least one above 0.
        ks: Ranks, ascending.

    Returns:
        `"ndcg@5"`, `"recall@5"`, … for each of `ks`, and `"mrr"`: the reciprocal rank
        within the last of them.
    """
    found = {
        f"{name}@{k}": function(ranking, grades, k)
        for name, function in zip(MEASURES, (ndcg, recall, precision, hit), strict=True)
        for k in ks
    }
    return {**found, "mrr": reciprocal_rank(ranking, grades, ks[-1])}


def _relevant(ids: Sequence[str], grades: Mapping[str, float]) -> int:
    return sum(grades.get(id, 0.0) > 0 for id in ids)


def paired_bootstrap(
    differences: Sequence[float], resamples: int, seed: int, confidence: float
) -> tuple[float, float]:
    """The interval in which the mean difference lies, by resampling the queries.

    Source: the percentile interval of Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, chapter 13; for retrieval, paired by query, Sakai, Evaluating
    Evaluation Metrics based on the Bootstrap, SIGIR 2006.

    Args:
        differences: One for each query, at least one.
        resamples: How many samples of queries, drawn with replacement.
        seed: The same gives the same interval.
        confidence: 0.95 for an interval between the 2.5 % and 97.5 % quantiles.

    Returns:
        Its ends.
    """
    values = np.asarray(differences, np.float64)
    random = np.random.default_rng(seed)
    # One sample at a time: a table of all of them would fill the memory for many queries.
    means = [
        values[random.integers(len(values), size=len(values))].mean()
        for _ in range(resamples)
    ]
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
