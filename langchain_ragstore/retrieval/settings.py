"""`RetrievalConfig`: every constant of the stages after a search, as one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from langchain_ragstore.config import (
    CODE_WEIGHTS,
    CONVERSATIONAL_WEIGHTS,
    CORE_FACTOR,
    DEDUP_THRESHOLD,
    MAX_TOPICS,
    OTHER_WEIGHTS,
    RERANK_BATCH,
    RERANK_SECONDS,
    RERANKED,
    SCHEMA_BONUS,
    STAGE_CANDIDATES,
    TABLE_WEIGHTS,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.numeric import number, whole

Weights = tuple[float, float, float]
"""Of meaning, words and title."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RetrievalConfig:
    """What happens to hits after a search; by default nothing that was not asked for.

    The figures' sources are in `config`. `RetrievalConfig()` is what measured best:
    a search as it is. `RetrievalConfig.phase_r()` is the seed's behaviour.

    Attributes:
        rerank: Whether `DynamicReranker`'s formula replaces the score.
        code_weights: Weights of meaning, words and title for queries about code.
        table_weights: For queries about tables that are not about code.
        conversational_weights: For turns of a talk that are about neither.
        other_weights: For all others.
        schema_bonus: Added for the description of a table's columns
            (`content_type == "table_schema"`) if a query is about tables.
        core_factor: What scores are multiplied by where a caller's `core_tags` hold.
        importance_threshold: The least `importance` in the metadata, where a document
            without one counts 0; None for any.
        dedup_threshold: The cosine to a better result above which one is left out; None
            to keep all.
        topics: Whether results are told what topic they are of.
        max_topics: How many topics there are at most.
        topic_seed: Of the clustering's random numbers.
        candidates: How many are fetched for stages to choose from, without a `fetch_k`.
        reranked: How many of them a reranking model is asked about.
        rerank_batch: How many in one call.
        rerank_seconds: How long in all; None for any time.

    Raises:
        InvalidInputError: A value that is none; names it.

    Example:
        ```python
        from dataclasses import replace

        from langchain_ragstore import RetrievalConfig

        seed = RetrievalConfig.phase_r()
        assert (seed.rerank, seed.dedup_threshold) == (True, 0.88)
        mine = replace(seed, dedup_threshold=0.95)
        assert mine.code_weights == (0.55, 0.35, 0.1)
        ```
    """

    rerank: bool = False
    code_weights: Weights = CODE_WEIGHTS
    table_weights: Weights = TABLE_WEIGHTS
    conversational_weights: Weights = CONVERSATIONAL_WEIGHTS
    other_weights: Weights = OTHER_WEIGHTS
    schema_bonus: float = SCHEMA_BONUS
    core_factor: float = CORE_FACTOR
    importance_threshold: float | None = None
    dedup_threshold: float | None = None
    topics: bool = False
    max_topics: int = MAX_TOPICS
    topic_seed: int = 0
    candidates: int = STAGE_CANDIDATES
    reranked: int = RERANKED
    rerank_batch: int = RERANK_BATCH
    rerank_seconds: float | None = RERANK_SECONDS

    @classmethod
    def phase_r(cls) -> RetrievalConfig:
        """The seed's: formula, bonus, importance from 0 on, and no near duplicates."""
        return cls(rerank=True, importance_threshold=0.0, dedup_threshold=DEDUP_THRESHOLD)

    def __post_init__(self) -> None:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("rerank", "topics"):
            if not isinstance(values[name], bool):
                raise InvalidInputError(f"{name} is True or False, got {values[name]!r}")
        for name in (name for name in values if name.endswith("_weights")):
            object.__setattr__(self, name, _weights(name, values[name]))
        for name in ("schema_bonus", "core_factor"):
            number(name, values[name], least=0.0)
        if self.importance_threshold is not None:
            number("importance_threshold", self.importance_threshold)
        if self.dedup_threshold is not None:
            number("dedup_threshold", self.dedup_threshold, least=-1.0, most=1.0)
        if self.rerank_seconds is not None:
            seconds = number("rerank_seconds", self.rerank_seconds, least=0.0)
            if not seconds:
                raise InvalidInputError(
                    "rerank_seconds is more than 0, or None for any time, got 0; without "
                    "reranker= no model is asked"
                )
        whole("topic_seed", self.topic_seed, 0)
        for name in ("max_topics", "candidates", "reranked", "rerank_batch"):
            whole(name, values[name], 1)

    def __repr__(self) -> str:
        """What differs from the defaults."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        other = [
            f"{e.name}={values[e.name]!r}"
            for e in fields(self)
            if values[e.name] != e.default
        ]
        return f"RetrievalConfig({', '.join(other)})"

    @property
    def needs_vectors(self) -> list[str]:
        """The settings that only work where documents have vectors."""
        wanted = {
            "rerank": self.rerank,
            "dedup_threshold": self.dedup_threshold is not None,
            "topics": self.topics,
        }
        return [name for name, on in wanted.items() if on]


def _weights(name: str, value: Any) -> Weights:
    listed = (
        list(value) if isinstance(value, Iterable) and not isinstance(value, str) else []
    )
    if len(listed) != 3:  # noqa: PLR2004 - meaning, words, title
        raise InvalidInputError(
            f"{name} are three numbers, of meaning, words and title; got {value!r:.80}"
        )
    semantic, keyword, title = (number(f"each of {name}", n, least=0.0) for n in listed)
    return semantic, keyword, title
