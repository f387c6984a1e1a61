"""The searches that are compared: each stage alone, all of them, all but one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_ragstore import RetrievalConfig

if TYPE_CHECKING:
    from cases import Case

LEAST_IMPORTANCE = 0.4
"""Between what the weather station's superseded pages and threads have, and all others."""

FORMULA = "formula"
IMPORTANCE = f"importance, at least {LEAST_IMPORTANCE:g}"
NEAR = "near duplicates, .88"
TOPICS = "topics"
DIVERSITY = "diversity, λ = .7"
CORE = "core tags"
GROUPS = "two of a source"
SECOND = "second stage"

SETTINGS: dict[str, dict[str, Any]] = {
    FORMULA: {"rerank": True},
    IMPORTANCE: {"importance_threshold": LEAST_IMPORTANCE},
    NEAR: {"dedup_threshold": 0.88},
    TOPICS: {"topics": True},
}
"""Stages that are settings; the others are keywords."""

KEYWORDS: dict[str, dict[str, Any]] = {
    DIVERSITY: {"lambda_mult": 0.7},
    GROUPS: {"group_by": "source_id", "per_group": 2},
}

MARKED = (IMPORTANCE, CORE, GROUPS)
"""Stages that read metadata, which LibreOffice's pages do not have."""

ORDER = (IMPORTANCE, FORMULA, CORE, SECOND, NEAR, GROUPS, DIVERSITY)
"""What goes into "all": topics tell and do not choose, so they are measured alone."""


@dataclass(frozen=True)
class Change:
    """One way to search.

    Attributes:
        name: What the row is called.
        keywords: Of `hybrid_search`.
        tagged: Whether the query's own core tags are given.
        over: The row with one stage more, whose worth this one tells.
        retriever: Whether a `RagRetriever` searches.
    """

    name: str
    keywords: dict[str, Any]
    tagged: bool = False
    over: str | None = None
    retriever: bool = False


def changes(case: Case) -> Iterator[Change]:
    """The rows of a set, `as it is` first."""
    stages = [stage for stage in ORDER if case.marked or stage not in MARKED]
    if case.second is None:
        stages.remove(SECOND)
    yield Change("as it is", {})
    yield Change("RagRetriever by default", {}, retriever=True)
    for stage in stages:
        yield _with(stage, [stage], case)
    yield _with(TOPICS, [TOPICS], case)
    yield Change("near duplicates, .95", _config(dedup_threshold=0.95))
    yield Change("diversity, λ = .9", {"lambda_mult": 0.9})
    if case.marked:
        yield Change("one of a source", {"group_by": "source_id"})
    yield Change("phase r", {"retrieval_config": RetrievalConfig.phase_r()}, tagged=True)
    first = [stage for stage in stages if stage != SECOND]
    for name, several in (("all without a second stage", first), ("all", stages)):
        if name == "all" and case.second is None:
            continue
        yield _with(name, several, case)
        for left in several:
            if left != SECOND:  # all but the second stage is the row of the first round
                rest = [stage for stage in several if stage != left]
                yield _with(f"{name}, but {left}", rest, case, over=name)


def _with(name: str, stages: list[str], case: Case, over: str | None = None) -> Change:
    keywords = {k: v for s in stages for k, v in KEYWORDS.get(s, {}).items()}
    settings = {k: v for s in stages for k, v in SETTINGS.get(s, {}).items()}
    if settings:
        keywords |= _config(**settings)
    if SECOND in stages:
        keywords["reranker"] = case.second
    return Change(name, keywords, CORE in stages, over)


def _config(**settings: Any) -> dict[str, Any]:
    return {"retrieval_config": RetrievalConfig(**settings)}
