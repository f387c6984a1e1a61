"""Reranking by a model: any cross-encoder or function, in batches and in time."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from langchain_ragstore.config import RERANK_BATCH, RERANK_SECONDS, RERANKED
from langchain_ragstore.model import Hit, ranked
from langchain_ragstore.retrieval import boost
from langchain_ragstore.retrieval.question import Choosing, Question, Rescoring, Shelf
from langchain_ragstore.retrieval.waiting import OutOfTimeError, in_thread, on_loop

logger = logging.getLogger(__name__)

Model: TypeAlias = Any
"""An object with `score(pairs)`, as LangChain's `BaseCrossEncoder`, or a function of the
query and a list of texts; either may be async. A score for each text comes back, in order,
higher for better, on any scale."""

SIGNAL = "reranker"
"""The signal of a hit that the model has scored."""

NOTE = "reranker_failed"
"""The note of a hit that it should have scored: why it has not."""


@dataclass(frozen=True, slots=True)
class RerankByModel(Rescoring, Choosing):
    """Orders the first hits by a model's scores, and leaves out the others.

    Scores of the search and the model's are no one scale, so nothing is left behind what
    the model has seen. If it fails, answers with anything but a finite number for each
    text, or takes too long, the first hits stay as they were, say why (`NOTE`), and a
    warning is logged: a search without its reranker is better than none.

    Attributes:
        model: What is asked; see `Model`.
        most: How many hits it is asked about.
        batch: How many in one call.
        seconds: How long in all; None for any time. With a limit, a function that is not
            async runs in a thread of its own, which goes on when its time is over, until
            its present batch ends.
        loop: The event loop that the search was called on, for an async model to run
            there; None to run it elsewhere.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.rerank_model import RerankByModel

        hits = [Hit(Record(text, text, {}), 1.0) for text in ("tea", "green tea")]
        stage = RerankByModel(lambda query, texts: [len(text) for text in texts])
        assert [hit.score for hit in stage.reranked(hits, "tea")] == [9.0, 3.0]
        ```
    """

    model: Model = field(repr=False, hash=False)
    most: int = RERANKED
    batch: int = RERANK_BATCH
    seconds: float | None = RERANK_SECONDS
    loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False, compare=False)
    name: str = field(default="", init=False)
    """The model's class, or the function's name."""
    vectors: ClassVar[bool] = False
    wants: ClassVar[int] = 0

    def __post_init__(self) -> None:
        own = getattr(self.model, "__name__", None) or type(self.model).__name__
        object.__setattr__(self, "name", str(own))

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """See `reranked`."""
        return self.reranked(hits, question.text)

    def reranked(self, hits: Sequence[Hit], query: str) -> list[Hit]:
        """The first hits, ranked by the model, or as they were."""
        first = list(hits[: self.most])
        if not first:
            return first
        try:
            answer = self._asked(query, [hit.record.content for hit in first])
        except Exception as error:  # noqa: BLE001 - whatever a model may raise
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, OutOfTimeError | _AnswerError):
                reason = str(error)
            return self.failed(first, reason)
        return ranked(
            replace(
                hit,
                score=score,
                # A boost of the old score is no part of the new one.
                signals={n: v for n, v in hit.signals.items() if n != boost.SIGNAL}
                | {SIGNAL: score},
                notes=hit.noted(NOTE, None),
            )
            for hit, score in zip(first, answer, strict=True)
        )

    async def areranked(self, hits: Sequence[Hit], query: str) -> list[Hit]:
        """As `reranked`, for a caller on an event loop, which goes on meanwhile."""
        here = replace(self, loop=asyncio.get_running_loop())
        return await asyncio.to_thread(here.reranked, hits, query)

    def failed(self, hits: Sequence[Hit], reason: str) -> list[Hit]:
        """The hits as they were, with the reason."""
        logger.warning("%s did not rerank: %s", self.name, reason)
        return [replace(hit, notes=hit.noted(NOTE, reason)) for hit in hits]

    def parts(self, before: Mapping[str, float], hit: Hit) -> Mapping[str, float]:
        """All of a score is the model's, if it gave one."""
        return before if NOTE in dict(hit.notes) else {SIGNAL: hit.score}

    def left_out(self, hit: Hit, rank: int, taken: Sequence[Hit]) -> str:
        """How many it asks about."""
        return f"rank {rank}, below the first {self.most} that {self.name} is asked about"

    # --- asking ------------------------------------------------------------------------

    def _asked(self, query: str, texts: list[str]) -> list[float]:
        if not query.strip():
            raise _AnswerError("there is no query to rerank for, only its vector")
        ask = _asking(self.model)
        starts = range(0, len(texts), self.batch)
        parts = [texts[start : start + self.batch] for start in starts]
        if _is_async(self.model):
            return self._awaited(ask, query, parts)

        def work(over: threading.Event) -> list[float]:
            found: list[float] = []
            for part in parts:
                if over.is_set():
                    break
                answer = ask(query, part)
                if inspect.isawaitable(answer):
                    answer = asyncio.run(_result(answer))
                found += _checked(answer, part)
            return found

        if self.seconds is None and not _on_a_loop():
            return work(threading.Event())
        return in_thread(work, self.seconds)

    def _awaited(
        self, ask: Callable[[str, list[str]], Any], query: str, parts: list[list[str]]
    ) -> list[float]:
        async def work() -> list[float]:
            found: list[float] = []
            for part in parts:
                found += _checked(await ask(query, part), part)
            return found

        if self.loop is not None and not _on_a_loop():
            return on_loop(work, self.loop, self.seconds)
        # Nobody runs a loop for it, or this thread does, and is waiting.
        limited = asyncio.wait_for
        return in_thread(lambda _: asyncio.run(limited(work(), self.seconds)), self.seconds)


class _AnswerError(Exception):
    """An answer that is none."""


def _asking(model: Model) -> Callable[[str, list[str]], Any]:
    score = getattr(model, "score", None)
    if callable(score):
        return lambda query, texts: score([(query, text) for text in texts])
    asked: Callable[[str, list[str]], Any] = model
    return asked


def _is_async(model: Model) -> bool:
    called = getattr(model, "score", None) or model
    return inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(
        getattr(called, "__call__", None)  # noqa: B004 - its signature is looked at
    )


async def _result(answer: Awaitable[Any]) -> Any:
    return await answer


def _on_a_loop() -> bool:
    """Whether this thread is running an event loop, which waiting here would stop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _checked(answer: Any, texts: Sequence[str]) -> list[float]:
    """A finite number for each text."""
    scores = [float(score) for score in answer]
    if len(scores) != len(texts):
        raise _AnswerError(f"{len(scores)} scores for {len(texts)} texts")
    for score, text in zip(scores, texts, strict=True):
        if not math.isfinite(score):
            raise _AnswerError(f"score {score} for {text[:60]!r}")
    return scores
