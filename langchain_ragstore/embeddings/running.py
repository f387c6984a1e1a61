"""Work for an embedding model, run: one call at a time, in threads, or in tasks."""

from __future__ import annotations

import asyncio
import contextvars
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.runnables import run_in_executor

from langchain_ragstore.embeddings.batching import Batch, Work
from langchain_ragstore.errors import RagStoreError

Call: TypeAlias = Callable[[list[str]], Any]
AsyncCall: TypeAlias = Callable[[list[str]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Timing:
    """Time and chance, so that a test need not wait for either.

    Attributes:
        sleep: Waits for seconds.
        asleep: Waits without blocking the event loop.
        now: Seconds since the epoch; reads a `Retry-After` that is a date.
        random: A number from 0 to 1.
    """

    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[Any]] = asyncio.sleep
    now: Callable[[], float] = time.time
    random: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Answered:
    """A batch whose vectors have come.

    Attributes:
        start: Place of its first text.
        vectors: One for each of its texts.
    """

    start: int
    vectors: list[Any]


def run(
    work: Work, call: Call, sleep: Callable[[float], None]
) -> Generator[Answered, None, None]:
    """Embed texts, in this thread or, if several calls may be under way, in others.

    After a failure nothing new is sent; what is under way is waited for and given out.
    When the iterator is closed or interrupted, no thread is left.

    Args:
        work: What is to be done.
        call: Embeds texts.
        sleep: Waits for seconds.

    Yields:
        Batches as they are done, in any order.

    Raises:
        EmbeddingFailedError: The model failed for good.
    """
    if work.policy.at_once > 1:
        return _pooled(work, call, sleep)
    return _one_by_one(work, call, sleep)


def _one_by_one(
    work: Work, call: Call, sleep: Callable[[float], None]
) -> Generator[Answered, None, None]:
    while (batch := work.take()) is not None:
        try:
            vectors = call(work.of(batch))
        except Exception as error:  # noqa: BLE001 - raised again, or tried again
            pause = work.failed(batch, error)
        else:
            pause = 0.0
            yield Answered(batch.start, work.answered(batch, vectors))
        if pause:
            sleep(pause)


def _pooled(
    work: Work, call: Call, sleep: Callable[[float], None]
) -> Generator[Answered, None, None]:
    running: dict[Future[Any], Batch] = {}
    pause = 0.0
    failure: RagStoreError | None = None
    with ThreadPoolExecutor(work.policy.at_once, "embedding") as pool:
        while running or (work.waiting and failure is None):
            if pause and not running:
                sleep(pause)
                pause = 0.0
            while not pause and failure is None and len(running) < work.window:
                batch = work.take()
                if batch is None:
                    break
                context = contextvars.copy_context()
                running[pool.submit(context.run, call, work.of(batch))] = batch
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                batch, error = running.pop(future), future.exception()
                answered = None
                try:
                    if error is None:
                        vectors = work.answered(batch, future.result())
                        answered = Answered(batch.start, vectors)
                    else:
                        pause = max(pause, _outcome(work, batch, error))
                except RagStoreError as final:
                    failure = failure or final
                if answered is not None:
                    yield answered
    if failure is not None:
        raise failure


async def arun(
    work: Work, call: AsyncCall, asleep: Callable[[float], Awaitable[Any]]
) -> AsyncGenerator[Answered, None]:
    """As `run`, in tasks; after a failure those that are under way are cancelled.

    Texts are counted and cut off the event loop. Close the iterator (`aclosing`).

    Args:
        work: What is to be done.
        call: Embeds texts.
        asleep: Waits for seconds.

    Yields:
        Batches as they are done, in any order.
    """
    running: dict[asyncio.Future[Any], Batch] = {}
    pause = 0.0
    try:
        while running or work.waiting:
            if pause and not running:
                await asleep(pause)
                pause = 0.0
            while not pause and len(running) < work.window:
                batch = await run_in_executor(None, work.take)
                if batch is None:
                    break
                running[asyncio.ensure_future(call(work.of(batch)))] = batch
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            failed = []
            for task in done:
                batch, error = running.pop(task), task.exception()
                if error is None:
                    yield Answered(batch.start, work.answered(batch, task.result()))
                else:
                    failed.append((batch, error))
            for batch, error in failed:
                pause = max(pause, _outcome(work, batch, error))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _outcome(work: Work, batch: Batch, error: BaseException) -> float:
    """Seconds to wait after a call that failed."""
    if not isinstance(error, Exception):
        raise error
    return work.failed(batch, error)
