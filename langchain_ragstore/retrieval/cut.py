"""Where a list of hits ends: below a score, or after a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval.question import Question, Shelf


def relevance(score: float) -> float:
    """A score as LangChain's relevance in [0, 1]: an opposite counts as unrelated."""
    return min(1.0, max(0.0, score))


@dataclass(frozen=True, slots=True)
class Threshold:
    """Keeps what is relevant enough, in the order in which it came.

    Attributes:
        least: The least relevance: the score, and 0 for a negative cosine.
    """

    least: float
    vectors: ClassVar[bool] = False
    wants: ClassVar[int] = 0

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """Those of the hits that reach it."""
        return [hit for hit in hits if relevance(hit.score) >= self.least]


@dataclass(frozen=True, slots=True)
class Top:
    """Keeps the first hits.

    Attributes:
        k: How many.
    """

    k: int
    vectors: ClassVar[bool] = False
    wants: ClassVar[int] = 0

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """The first `k`."""
        return hits[: max(0, self.k)]
