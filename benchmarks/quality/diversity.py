"""Measures of what results have between them: subtopics told, and sources."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

ALPHA = 0.5
"""How much less a subtopic is worth each time that it was told before; as in the source."""


def alpha_ndcg(
    ranking: Sequence[str],
    subtopics: Mapping[str, Collection[str]],
    k: int,
    alpha: float = ALPHA,
) -> float:
    """α-nDCG of the first `k`, in [0, 1].

    Source: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher and MacKinnon, Novelty and
    Diversity in Information Retrieval Evaluation, SIGIR 2008: the gain of a document is
    Σ (1 − α)^r over its subtopics, where r is how many documents before it told the same;
    gains are discounted by log2(rank + 1) and divided by what the best order reaches. That
    order is taken greedily, as there, since the exact one is NP-complete.

    Args:
        ranking: Different ids, best first.
        subtopics: Of each subtopic, the ids that tell it; at least one has some.
        k: How many are read.
        alpha: From 0, where nothing is repetition, to 1, where all of it is.
    """
    reached = _dcg(_gains(ranking[:k], subtopics, alpha))
    return min(
        1.0, reached / _dcg(_gains(best_order(subtopics, k, alpha), subtopics, alpha))
    )


def best_order(
    subtopics: Mapping[str, Collection[str]], k: int, alpha: float = ALPHA
) -> list[str]:
    """At most `k` ids, of which each gains most after those before it; ties by id."""
    left = sorted({id for ids in subtopics.values() for id in ids})
    order: list[str] = []
    told: Counter[str] = Counter()
    while left and len(order) < k:
        best = max(left, key=lambda id: _gain(id, subtopics, told, alpha))
        left.remove(best)
        order.append(best)
        told.update(_told_by(best, subtopics))
    return order


def subtopics_told(ids: Collection[str], subtopics: Mapping[str, Collection[str]]) -> float:
    """The part of the subtopics that some of the ids tell.

    Source: S-recall of Zhai, Cohen and Lafferty, Beyond Independent Relevance, SIGIR 2003.
    """
    return len({name for id in ids for name in _told_by(id, subtopics)}) / len(subtopics)


def _gains(
    ranking: Sequence[str], subtopics: Mapping[str, Collection[str]], alpha: float
) -> list[float]:
    told: Counter[str] = Counter()
    gains = []
    for id in ranking:
        gains.append(_gain(id, subtopics, told, alpha))
        told.update(_told_by(id, subtopics))
    return gains


def _gain(
    id: str, subtopics: Mapping[str, Collection[str]], told: Mapping[str, int], alpha: float
) -> float:
    return math.fsum((1 - alpha) ** told[name] for name in _told_by(id, subtopics))


def _told_by(id: str, subtopics: Mapping[str, Collection[str]]) -> list[str]:
    return [name for name, ids in subtopics.items() if id in ids]


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
