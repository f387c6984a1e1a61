"""A search as a value, and the one function that runs it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from langchain_ragstore.config import DEEPENING
from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval.cut import Threshold, relevance
from langchain_ragstore.retrieval.hybrid import Fusion
from langchain_ragstore.retrieval.question import Question, Rescoring, Shelf, Stage
from langchain_ragstore.retrieval.sources import Source
from langchain_ragstore.retrieval.trace import Trace, Untraced


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search is done: candidates from sources, fused, through stages.

    A plan says nothing about what is looked for; it can be compared, printed and run for
    any question.

    Attributes:
        sources: Where candidates come from.
        fuse: How several lists of candidates become one; None for a single source.
        stages: What is done to the hits then, in this order.

    Example:
        ```python
        from langchain_ragstore import HashingEmbeddings, Plan, SQLiteVectorStore
        from langchain_ragstore.retrieval.cut import Threshold
        from langchain_ragstore.retrieval.sources import Dense

        store = SQLiteVectorStore(HashingEmbeddings())
        explained = store.explain("tea", k=3, search_type="similarity", score_threshold=0.5)
        assert explained.plan == Plan((Dense(3),), stages=(Threshold(0.5),))
        ```
    """

    sources: tuple[Source, ...]
    fuse: Fusion | None = None
    stages: tuple[Stage, ...] = ()

    @property
    def vectors(self) -> bool:
        """Whether a stage reads stored vectors."""
        return any(stage.vectors for stage in self.stages)

    @property
    def least(self) -> float:
        """The relevance below which nothing is kept, of scores as candidates have them."""
        stages = takewhile(lambda stage: not isinstance(stage, Rescoring), self.stages)
        cuts = [stage.least for stage in stages if isinstance(stage, Threshold)]
        return max(cuts, default=-math.inf)


def run(
    plan: Plan, question: Question, shelf: Shelf, trace: Trace | None = None
) -> list[Hit]:
    """Search.

    Where a stage leaves fewer hits than it wants, as grouping does, everything is done
    again with deeper candidates, until there are enough or nothing that could be kept is
    left.

    Args:
        plan: How.
        question: What is looked for.
        shelf: Where.
        trace: Is told every step; None to keep no account. It changes no result.

    Returns:
        The hits, in the order of the last stage.
    """
    watch = trace or Untraced()
    factor = 1
    while True:
        watch.begin()
        hits, beyond = _candidates(plan, question, shelf, factor, watch)
        go_on = beyond > -math.inf and relevance(beyond) >= plan.least
        for stage in plan.stages:
            hits = watch.step(stage, [hits], partial(stage, hits, question, shelf))
            if go_on and len(hits) < stage.wants:
                factor *= DEEPENING
                break
        else:
            return hits


def _candidates(
    plan: Plan, question: Question, shelf: Shelf, factor: int, watch: Trace
) -> tuple[list[Hit], float]:
    """The candidates, and the highest score that any other record can have."""
    alone, vectors = plan.fuse is None, plan.vectors
    lists: dict[str, list[Hit] | None] = {}
    deeper: dict[str, Sequence[Hit] | None] = {}
    for planned in plan.sources:
        source = replace(planned, depth=planned.depth * factor) if factor > 1 else planned
        ask = partial(source.hits, question, shelf, alone=alone, vectors=vectors)
        found = watch.step(source, (), ask)
        lists[source.leg] = found
        if found and len(found) >= source.depth:
            deeper[source.leg] = found
    if plan.fuse is None:
        (single,) = lists.values()
        hits = single or []
        return hits, hits[-1].score if deeper else -math.inf
    fusion = plan.fuse.resolved(lists, question)
    fuse = partial(fusion, lists, question, shelf)
    hits = watch.step(fusion, list(lists.values()), fuse)
    wanted = deeper and any(stage.wants for stage in plan.stages)
    return hits, fusion.beyond(deeper, hits) if wanted else -math.inf
