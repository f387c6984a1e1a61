"""What an explanation says: of a search, and of each document."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_ragstore.retrieval.plan import Plan
from langchain_ragstore.retrieval.trace import Step


@dataclass(frozen=True, slots=True)
class Word:
    """A term of the query that a document holds.

    Attributes:
        term: As full text knows it: folded, stemmed, or two characters.
        body: What it adds to BM25 where it stands in the indexed text; 0 if it does not.
        title: What it adds where it stands in the title or a heading.
        shown: Whether it stands in the text that is returned, which may be less than what
            is indexed.
    """

    term: str
    body: float
    title: float
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one document.

    Attributes:
        id: The document's.
        rank: Its place, from 1: among the results, or for what is none among all
            candidates by score; None for what is no candidate.
        score: As the search gives it; None for what is no candidate.
        text: As the search gives it.
        signals: What was measured: `dense` (the cosine), `lexical` (BM25) and, fused,
            `dense_part` and `text_part` between 0 and 1; and what stages add: `semantic`,
            `keyword`, `title`, `schema`, `core`, `reranker`, `topic`.
        ranks: Its place in the list of each source that found it.
        contributions: What each source adds to the score, or where a stage has made it
            anew each part of that; they add up to it.
        words: The query's terms that it holds, in the query's order.
        joined: Ids of the chunks that its text is joined from.
        notes: What stages say in words: `about` (the query, for its weights), `topic`,
            `reranker_failed`.
        reason: For a document that was asked for by its id: why it is a result or not.
    """

    id: str
    rank: int | None = None
    score: float | None = None
    text: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    contributions: Mapping[str, float] = field(default_factory=dict)
    words: tuple[Word, ...] = ()
    joined: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """One search, accounted for.

    Attributes:
        query: What was looked for.
        terms: What full text makes of it, in the query's order.
        plan: How it was looked for.
        steps: What each part of the plan took, gave and needed, in the last round.
        rounds: How often candidates were fetched; more than once only when grouping.
        hits: The results.
        asked: The documents that were asked for by id.
    """

    query: str
    terms: tuple[str, ...]
    plan: Plan
    steps: tuple[Step, ...]
    rounds: int
    hits: tuple[Finding, ...]
    asked: tuple[Finding, ...]

    @property
    def absent(self) -> tuple[Finding, ...]:
        """Those that were asked for and are no results."""
        found = {hit.id for hit in self.hits}
        return tuple(finding for finding in self.asked if finding.id not in found)

    def to_dict(self) -> dict[str, Any]:
        """All of it as values that JSON knows."""
        return {
            "query": self.query,
            "terms": list(self.terms),
            "plan": {
                "sources": [named(source) for source in self.plan.sources],
                "fuse": None if self.plan.fuse is None else named(self.plan.fuse),
                "stages": [named(stage) for stage in self.plan.stages],
            },
            "steps": [
                {
                    "part": named(step.part),
                    "taken": step.taken,
                    "given": step.given,
                    "asked": step.hits is not None,
                    "seconds": step.seconds,
                }
                for step in self.steps
            ],
            "rounds": self.rounds,
            "hits": [_plain(finding) for finding in self.hits],
            "asked": [_plain(finding) for finding in self.asked],
        }


def named(part: Any) -> dict[str, Any]:
    """A part of a plan as values that JSON knows, with its name."""
    entries = [entry for entry in dataclasses.fields(part) if entry.repr]
    values = {entry.name: getattr(part, entry.name) for entry in entries}
    listed = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
    return {"name": type(part).__name__, **listed}


def _plain(finding: Finding) -> dict[str, Any]:
    values = {
        entry.name: getattr(finding, entry.name) for entry in dataclasses.fields(finding)
    }
    maps = {k: dict(v) for k, v in values.items() if isinstance(v, Mapping)}
    words = [
        {"term": w.term, "body": w.body, "title": w.title, "shown": w.shown}
        for w in finding.words
    ]
    return {**values, **maps, "words": words, "joined": list(finding.joined)}
