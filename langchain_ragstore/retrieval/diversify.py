"""Maximal marginal relevance: relevant results that are not all alike."""

from __future__ import annotations

import numpy as np

from langchain_ragstore.model import Matrix, Vector


def maximal_marginal_relevance(
    query: Vector, candidates: Matrix, k: int, lambda_mult: float
) -> list[int]:
    """Choose candidates one by one, each relevant and unlike those chosen before.

    Source: Carbonell and Goldstein, The Use of MMR, Diversity-Based Reranking, SIGIR
    1998: the next one maximises λ·cos(query, d) − (1 − λ)·max cos(d, chosen).

    Args:
        query: Unit length, shape `(dimension,)`.
        candidates: Unit length, shape `(count, dimension)`, the most relevant first.
        k: How many to choose.
        lambda_mult: λ in [0, 1]; 1 keeps the order of relevance, 0 asks for difference
            alone (the first choice is the most relevant all the same).

    Returns:
        Places in `candidates` in the order of choice; the first of equals is taken.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.retrieval.diversify import maximal_marginal_relevance

        query = np.array([1, 0], np.float32)
        twins_and_other = np.array([[0.8, 0.6], [0.8, 0.6], [0.6, -0.8]], np.float32)
        assert maximal_marginal_relevance(query, twins_and_other, 2, 0.5) == [0, 2]
        ```
    """
    relevance = candidates @ query
    redundancy = np.full(len(candidates), -np.inf, np.float32)
    left = np.ones(len(candidates), np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(k, len(candidates)):
        if chosen:
            gain = lambda_mult * relevance - (1 - lambda_mult) * redundancy
        else:
            gain = relevance
        place = int(np.argmax(np.where(left, gain, -np.inf)))
        chosen.append(place)
        left[place] = False
        np.maximum(redundancy, candidates @ candidates[place], out=redundancy)
    return chosen
