"""Where candidates come from: the nearest vectors, and the words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from langchain_ragstore.model import Hit, ranked
from langchain_ragstore.retrieval.question import Question, Shelf


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

    def hits(
        self, question: Question, shelf: Shelf, *, alone: bool, vectors: bool
    ) -> list[Hit] | None:
        """Ranked; None if there is no vector to ask with.

        Args:
            question: What is looked for.
            shelf: Where.
            alone: Whether nothing is fused with it; without effect, a cosine is a cosine.
            vectors: Whether the hits carry their vectors.
        """
        if question.vector is None or not question.vector.any():
            return None  # a zero vector is similar to nothing
        return shelf.dense(
            question.vector, self.depth, question.where, vectors=vectors, exact=self.exact
        )


@dataclass(frozen=True, slots=True)
class Lexical:
    """The records of highest BM25 for the query's terms.

    Attributes:
        depth: How many.
    """

    depth: int
    leg: ClassVar[str] = "text"

    def hits(
        self, question: Question, shelf: Shelf, *, alone: bool, vectors: bool
    ) -> list[Hit] | None:
        """Ranked; None if the query has no term.

        Args:
            question: What is looked for.
            shelf: Where.
            alone: Whether nothing is fused with it. Then the score is BM25 divided by
                the most that any record could reach, so that it means the same for
                every query; a fusion needs BM25 itself.
            vectors: Whether the hits carry their vectors. Those of a fusion do, since
                their cosines are looked up.
        """
        terms = question.terms
        if not terms.body and not terms.title:
            return None
        found = shelf.lexical(
            terms, self.depth, question.where, vectors=vectors or not alone
        )
        if not alone or not found:
            return found
        top = shelf.lexical_scores(terms, ()).reachable
        if not top:
            return []  # everything was deleted just now
        return ranked(replace(hit, score=min(1.0, hit.score / top)) for hit in found)


Source: TypeAlias = Dense | Lexical
