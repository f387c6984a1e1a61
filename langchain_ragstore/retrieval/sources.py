"""Where candidates come from: the nearest vectors, and the words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Found
from langchain_ragstore.retrieval.question import Question
from langchain_ragstore.storage.base import View

Scores: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Dense:
    """The records of highest cosine to the query.

    Attributes:
        depth: How many.
        exact: Whether none of them may be missed, whatever the size of the collection.
    """

    depth: int
    exact: bool = False
    leg: ClassVar[str] = "dense"

    def found(self, question: Question, view: View) -> Found | None:
        """Ranked, with their cosines; None if there is no vector to ask with."""
        if question.vector is None or not question.vector.any():
            return None  # a zero vector is similar to nothing
        return view.dense(question.vector, self.depth, question.where, exact=self.exact)

    def scaled(self, scores: Scores, question: Question, view: View) -> Scores:
        """Scores as they are where nothing is fused with them: a cosine is a cosine."""
        return scores


@dataclass(frozen=True, slots=True)
class Lexical:
    """The records of highest BM25 for the query's terms.

    Attributes:
        depth: How many.
    """

    depth: int
    leg: ClassVar[str] = "text"

    def found(self, question: Question, view: View) -> Found | None:
        """Ranked, with their BM25; None if the query has no term."""
        terms = question.terms
        if not terms.body and not terms.title:
            return None
        return view.lexical(terms, self.depth, question.where)

    def scaled(self, scores: Scores, question: Question, view: View) -> Scores:
        """Scores as they are where nothing is fused with them.

        BM25 is divided by the most that any record could reach, so that a score means
        the same for every query.
        """
        if not len(scores):
            return scores
        return np.minimum(1.0, scores / view.reachable(question.terms))


Source: TypeAlias = Dense | Lexical
