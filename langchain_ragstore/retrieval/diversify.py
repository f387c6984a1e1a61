"""Maximal marginal relevance: relevant results that are not all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Hit, Matrix, Vector
from langchain_ragstore.retrieval.question import Question, Shelf


@dataclass(frozen=True, slots=True)
class Diversify:
    """Chooses hits by maximal marginal relevance, over their stored vectors.

    What counts as relevance is the hit's score, whatever it was made of. A hit that has
    no vector is like no other.

    Attributes:
        k: How many.
        lambda_mult: 1 for relevance alone, 0 for difference alone.
    """

    k: int
    lambda_mult: float
    vectors: ClassVar[bool] = True
    wants: ClassVar[int] = 0

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """The chosen ones, in the order of choice."""
        known = [hit.record.vector for hit in hits if hit.record.vector is not None]
        if not known:
            return hits[: max(0, self.k)]
        matrix = np.zeros((len(hits), len(known[0])), np.float32)
        for row, hit in zip(matrix, hits, strict=True):
            if hit.record.vector is not None:
                row[:] = hit.record.vector
        scores = np.array([hit.score for hit in hits], np.float32)
        chosen = greedy(scores, matrix, self.k, self.lambda_mult)
        return [hits[place] for place in chosen]


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
    return greedy(candidates @ query, candidates, k, lambda_mult)


def greedy(
    relevance: NDArray[np.floating[Any]], candidates: Matrix, k: int, lambda_mult: float
) -> list[int]:
    """`maximal_marginal_relevance` with any measure of relevance, shape `(count,)`."""
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
