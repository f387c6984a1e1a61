"""What a search is asked, what it reads, and what a stage is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import Hit, LexicalScores, Record, Terms, Vector
from langchain_ragstore.storage.base import Backend, View
from langchain_ragstore.text.analyzer import DEFAULT_ANALYZER, TextAnalyzer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for.

    Attributes:
        text: The query; empty if only its vector is known.
        vector: Unit length, or all zeros for one that is similar to nothing; None if
            nothing was embedded.
        terms: What full text looks for.
        where: Which records may be found, before anything is ranked.
    """

    text: str = ""
    vector: Vector | None = None
    terms: Terms = field(default_factory=lambda: Terms({}))
    where: Filter = EVERYTHING


@dataclass(frozen=True, slots=True)
class Shelf:
    """The collection that is searched, for sources and stages to read.

    Attributes:
        backend: The engine.
        collection: The name.
        analyzer: Makes the terms of its texts.
    """

    backend: Backend
    collection: str
    analyzer: TextAnalyzer = DEFAULT_ANALYZER

    def within(self, ask: Callable[[View], T]) -> T:
        """See `Backend.within`."""
        return self.backend.within(self.collection, ask)

    def dense(self, vector: Vector, k: int, where: Filter, *, vectors: bool) -> list[Hit]:
        """See `Backend.dense`."""
        return self.backend.dense(self.collection, vector, k, where=where, vectors=vectors)

    def lexical_scores(self, terms: Terms, ids: Collection[str]) -> LexicalScores:
        """See `Backend.lexical_scores`."""
        return self.backend.lexical_scores(self.collection, terms, ids)

    def get(
        self, ids: Sequence[str], where: Filter = EVERYTHING, *, vectors: bool = False
    ) -> list[Record]:
        """See `Backend.get`."""
        return self.backend.get(self.collection, ids, where=where, vectors=vectors)

    def scan(self, where: Filter) -> list[Record]:
        """See `Backend.scan`."""
        return self.backend.scan(self.collection, where=where)

    def count(self, where: Filter) -> int:
        """See `Backend.count`."""
        return self.backend.count(self.collection, where=where)


class Stage(Protocol):
    """One thing that is done to hits: a frozen value that is called.

    A stage invents no hit and repeats none. Its order is that of its input or its own,
    as it states.
    """

    @property
    def vectors(self) -> bool:
        """Whether it reads the hits' stored vectors."""

    @property
    def wants(self) -> int:
        """How many hits it should leave; if fewer, deeper candidates are fetched."""

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """The hits after it."""


class Rescoring(ABC):
    """A stage that gives hits other scores, and orders them anew.

    What is known of scores before it says nothing of those after it.
    """

    __slots__ = ()

    @abstractmethod
    def parts(self, before: Mapping[str, float], hit: Hit) -> Mapping[str, float]:
        """What a score is made of after the stage; it adds up to it.

        Args:
            before: The same before the stage.
            hit: As the stage gave it.
        """


class Choosing(ABC):
    """A stage that says itself why it left a hit out."""

    __slots__ = ()

    @abstractmethod
    def left_out(self, hit: Hit, rank: int, taken: Sequence[Hit]) -> str:
        """The reason, for people.

        Args:
            hit: What it left out.
            rank: The hit's place among all candidates.
            taken: All that the stage took, in order.
        """
