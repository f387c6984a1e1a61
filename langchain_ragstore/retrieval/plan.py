"""A search as a value, and the one function that runs it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from operator import itemgetter

from langchain_ragstore.config import DEEPENING
from langchain_ragstore.model import Found, Hit, Record
from langchain_ragstore.retrieval.candidates import Candidates
from langchain_ragstore.retrieval.cut import Threshold, Top, relevance
from langchain_ragstore.retrieval.fuse import SIGNALS, Fused
from langchain_ragstore.retrieval.hybrid import Fusion
from langchain_ragstore.retrieval.question import Question, Rescoring, Shelf, Stage
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
    def enough(self) -> int | None:
        """How many of the best hits suffice: stages that look at scores alone cut them."""
        for stage in takewhile(lambda s: isinstance(s, (Threshold, Top)), self.stages):
            if isinstance(stage, Top):
                return stage.k
        return None

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
        search = _alone if plan.fuse is None else partial(_fused, plan.fuse)
        hits, beyond = shelf.within(partial(search, plan, question, factor, watch))
        go_on = beyond > -math.inf and relevance(beyond) >= plan.least
        for stage in plan.stages:
            apply = partial(stage, hits, question, shelf)
            hits = watch.step(stage, len(hits), apply, list)
            if go_on and len(hits) < stage.wants:
                factor *= DEEPENING
                break
        else:
            return hits


def _alone(
    plan: Plan, question: Question, factor: int, watch: Trace, view: View
) -> tuple[list[Hit], float]:
    """What a single source finds, and the most that any other record can score."""
    watch.begin()
    (source,) = _deeper(plan, factor)

    def search() -> list[Hit] | None:
        found = source.found(question, view)
        if found is None:
            return None
        known = Candidates(view, question, {source.leg: found}, vectors=plan.vectors)
        (scores,) = known.signals().values()
        fused = Fused(source.scaled(scores, question, view), {})
        return known.hits(fused, {SIGNALS[source.leg]: scores}, None)

    hits = watch.step(source, None, search, lambda hits: hits) or []
    ended = not hits or len(hits) < source.depth
    return hits, -math.inf if ended else hits[-1].score


def _fused(
    fuse: Fusion, plan: Plan, question: Question, factor: int, watch: Trace, view: View
) -> tuple[list[Hit], float]:
    """What all sources find, fused, and the most that any other record can score."""
    watch.begin()
    sources = _deeper(plan, factor)
    found = {
        source.leg: watch.step(
            source, None, partial(source.found, question, view), partial(_shown, view)
        )
        for source in sources
    }
    known = Candidates(view, question, found, vectors=plan.vectors)
    fusion = fuse.resolved(known)
    number = sum(map(len, known.places.values()))

    limit = None if watch.whole else plan.enough

    def fused() -> tuple[Fused, list[Hit]]:
        found, signals = fusion(known)
        parts = {f"{leg}_part": part for leg, part in found.parts.items()}
        return found, known.hits(found, {**signals, **parts}, limit)

    scores, hits = watch.step(fusion, number, fused, itemgetter(1))
    last = known.last({source.leg: source.depth for source in sources})
    wanted = last and any(stage.wants for stage in plan.stages)
    return hits, fusion.beyond(scores, last) if wanted else -math.inf


def _deeper(plan: Plan, factor: int) -> list[Source]:
    return [replace(source, depth=source.depth * factor) for source in plan.sources]


def _shown(view: View, found: Found | None) -> list[Hit] | None:
    """A leg's finds for a trace, which reads no more than their ids."""
    if found is None:
        return None
    pairs = zip(view.ids(found[0]), found[1].tolist(), strict=True)
    return [Hit(Record(id, "", {}), score) for id, score in pairs]
