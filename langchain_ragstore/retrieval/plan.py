"""A search as a value, and the one function that runs it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from langchain_ragstore.config import DEEPENING
from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval.candidates import Candidates
from langchain_ragstore.retrieval.cut import Threshold, Top, relevance
from langchain_ragstore.retrieval.hybrid import Fusion
from langchain_ragstore.retrieval.question import Question, Shelf, Stage
from langchain_ragstore.retrieval.sources import Source
from langchain_ragstore.retrieval.trace import Trace, Untraced
from langchain_ragstore.storage.base import View


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
    def blind(self) -> int:
        """How many of the first stages look at nothing but scores."""
        return len(tuple(takewhile(lambda s: isinstance(s, (Threshold, Top)), self.stages)))

    @property
    def least(self) -> float:
        """The relevance below which nothing is kept."""
        cuts = [stage.least for stage in self.stages if isinstance(stage, Threshold)]
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
        found = shelf.within(partial(_candidates, plan, question, shelf, factor, watch))
        hits, beyond, stages = found
        go_on = beyond > -math.inf and relevance(beyond) >= plan.least
        for stage in stages:
            hits = watch.step(stage, [hits], partial(stage, hits, question, shelf))
            if go_on and len(hits) < stage.wants:
                factor *= DEEPENING
                break
        else:
            return hits


def _candidates(
    plan: Plan, question: Question, shelf: Shelf, factor: int, watch: Trace, view: View
) -> tuple[list[Hit], float, Sequence[Stage]]:
    """The candidates, the most that any other record can score, and the stages left.

    All is read from one state of the collection. Stages that look at nothing but scores
    are done before the records are read.
    """
    watch.begin()
    known = Candidates(view, question, vectors=plan.vectors)
    fused = plan.fuse is not None
    lists: dict[str, list[Hit] | None] = {}
    deeper: dict[str, Sequence[Hit] | None] = {}
    for planned in plan.sources:
        source = replace(planned, depth=planned.depth * factor) if factor > 1 else planned
        ask = partial(known.fused if fused else known.alone, source)
        found = watch.step(source, (), ask)
        lists[source.leg] = found
        if found and len(found) >= source.depth:
            deeper[source.leg] = found
    if plan.fuse is None:
        (single,) = lists.values()
        hits = single or []
        return hits, hits[-1].score if deeper else -math.inf, plan.stages
    fusion = plan.fuse.resolved(lists, question, known)
    blind = 0 if watch.whole else plan.blind

    def fuse() -> list[Hit]:
        hits = fusion(lists, known)
        return known.read(hits) if watch.whole else hits

    hits = watch.step(fusion, list(lists.values()), fuse)
    wanted = deeper and any(stage.wants for stage in plan.stages)
    beyond = fusion.beyond(deeper, hits) if wanted else -math.inf
    for stage in plan.stages[:blind]:
        hits = stage(hits, question, shelf)
    if not watch.whole:
        hits = known.read(hits)
    return hits, beyond, plan.stages[blind:]
