"""Reranking by meaning, words and title, weighed by what kind of question it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from langchain_ragstore.config import (
    CODE_WEIGHTS,
    CONVERSATIONAL_WEIGHTS,
    OTHER_WEIGHTS,
    SCHEMA_BONUS,
    TABLE_WEIGHTS,
)
from langchain_ragstore.model import Hit, Vector, ranked
from langchain_ragstore.retrieval import boost
from langchain_ragstore.retrieval.analyze import QueryAnalyzer, QueryProfile
from langchain_ragstore.retrieval.question import Question, Rescoring, Shelf
from langchain_ragstore.retrieval.settings import RetrievalConfig, Weights
from langchain_ragstore.text.analyzer import DEFAULT_ANALYZER, TextAnalyzer
from langchain_ragstore.vectors.arrays import cosines

PARTS = ("semantic", "keyword", "title")
"""The signals, each in [0, 1], in the order of the weights."""

BONUS = "schema"
"""The signal of a described table, where the query is about tables: the bonus."""

NOTE = "about"
"""The note that says what the query is about, and so which weights it has."""


@dataclass(frozen=True, slots=True)
class Rerank(Rescoring):
    """Replaces scores by semantic·w₁ + keyword·w₂ + title·w₃, and a bonus.

    Source: the seed's dynamic reranker. `semantic` is the cosine clipped to [0, 1];
    `keyword` and `title` are the parts of the query's distinct terms that stand in the
    text and in the title. The weights are the first that fit of: about code, about
    tables, conversational, other. The bonus is for the description of a table's columns
    whenever the query is about tables, also if it is about code. The seed's β multiplies
    all scores alike, which changes no order: it is 1 here.

    A hit without a vector has no meaning to be near: its `semantic` is 0.

    Attributes:
        code: Weights of semantic, keyword and title for queries about code.
        table: For queries about tables.
        conversational: For turns of a talk.
        other: For all others.
        bonus: For the description of a table's columns.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.rerank import Rerank

        record = Record("a", "Green tea wants 80 degrees.", {"title": "Tea"})
        (hit,) = Rerank().scored([Hit(record, 0.9, {"dense": 0.5})], "black tea")
        # half of the words stand in the text, half in the title
        assert abs(hit.score - (0.7 * 0.5 + 0.2 * 0.5 + 0.1 * 0.5)) < 1e-12
        ```
    """

    code: Weights = CODE_WEIGHTS
    table: Weights = TABLE_WEIGHTS
    conversational: Weights = CONVERSATIONAL_WEIGHTS
    other: Weights = OTHER_WEIGHTS
    bonus: float = SCHEMA_BONUS
    vectors: ClassVar[bool] = True
    wants: ClassVar[int] = 0

    @classmethod
    def of(cls, config: RetrievalConfig) -> Rerank:
        """With the figures of a configuration."""
        return cls(
            config.code_weights,
            config.table_weights,
            config.conversational_weights,
            config.other_weights,
            config.schema_bonus,
        )

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """See `scored`."""
        return self.scored(hits, question.text, question.vector, shelf.analyzer)

    def scored(
        self,
        hits: Sequence[Hit],
        query: str,
        vector: Vector | None = None,
        analyzer: TextAnalyzer = DEFAULT_ANALYZER,
    ) -> list[Hit]:
        """The hits, ranked by their new scores.

        Args:
            hits: With the signal `dense`, or with their vectors.
            query: What was looked for.
            vector: Of the query, unit length; for hits without the signal.
            analyzer: Makes the terms.
        """
        profile = QueryAnalyzer().analyze(query)
        about = about_what(profile)
        weights = self.weights(about)
        wanted = set(analyzer.index_terms(query).body)  # its stop words are terms, too
        meanings = _semantic(hits, vector)
        found = []
        for hit, semantic in zip(hits, meanings, strict=True):
            metadata = hit.record.metadata
            title = metadata.get("title")
            keyword = _share(wanted, hit.record.content, analyzer)
            named = _share(wanted, title, analyzer) if isinstance(title, str) else 0.0
            shares = dict(zip(PARTS, (semantic, keyword, named), strict=True))
            score = sum(w * s for w, s in zip(weights, shares.values(), strict=True))
            described = metadata.get("content_type") == "table_schema"
            if profile.is_table_related and described:
                shares[BONUS] = self.bonus
                score += self.bonus
            # The score is new: what was made of the old one is no part of it.
            kept = {k: v for k, v in hit.signals.items() if k not in (boost.SIGNAL, BONUS)}
            signals = {**kept, **shares}
            notes = hit.noted(NOTE, about)
            found.append(replace(hit, score=score, signals=signals, notes=notes))
        return ranked(found)

    def weights(self, about: str) -> Weights:
        """Those of a kind of query, as `about` names it."""
        return {
            "code": self.code,
            "table": self.table,
            "conversation": self.conversational,
            "other": self.other,
        }[about]

    def parts(self, before: Mapping[str, float], hit: Hit) -> Mapping[str, float]:
        """What meaning, words, title and bonus add."""
        weights = self.weights(dict(hit.notes)[NOTE])
        parts = {
            name: weight * hit.signals[name]
            for name, weight in zip(PARTS, weights, strict=True)
        }
        bonus = {BONUS: hit.signals[BONUS]} if BONUS in hit.signals else {}
        return parts | bonus


def about_what(profile: QueryProfile) -> str:
    """The first that holds of code, table and conversation; or other."""
    if profile.is_code_related:
        return "code"
    if profile.is_table_related:
        return "table"
    return "conversation" if profile.is_conversational else "other"


def _semantic(hits: Sequence[Hit], vector: Vector | None) -> list[float]:
    """The cosine of each hit, clipped to [0, 1]; measured already, or from its vector."""
    lacking = {
        hit.record.id: hit.record.vector
        for hit in hits
        if "dense" not in hit.signals and hit.record.vector is not None
    }
    made: dict[str, float] = {}
    if lacking and vector is not None:
        found = cosines(np.stack(list(lacking.values())), vector)
        made = dict(zip(lacking, found.tolist(), strict=True))
    measured = (hit.signals.get("dense", made.get(hit.record.id, 0.0)) for hit in hits)
    return [min(1.0, max(0.0, cosine)) for cosine in measured]


def _share(wanted: Collection[str], text: str, analyzer: TextAnalyzer) -> float:
    """The part of the query's distinct terms that stand in a text."""
    if not wanted:
        return 0.0
    # The terms of a title hold single characters, too, which a text is found by.
    there = analyzer.index_terms("", text).title
    return sum(term in there for term in wanted) / len(wanted)
