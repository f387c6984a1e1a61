"""What a search is asked, what it reads, and what a stage is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import Hit, LexicalScores, Record, Terms, Vector
from langchain_ragstore.storage.base import Backend, View

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
    """

    backend: Backend
    collection: str

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
