"""Waiting for what may never answer, without keeping the process alive for it.

A thread cannot be ended from outside. So work with a time limit is done in a daemon
thread, which the interpreter does not wait for when it exits; a pool's threads it does.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent import futures
from typing import Any, Final, TypeVar

from langchain_ragstore.config import MAX_ABANDONED

T = TypeVar("T")

_LOOK: Final = 0.2
"""Seconds after which a waiting thread looks whether the loop it waits for is alive."""

_ABANDONED: Final[set[threading.Thread]] = set()
"""Threads whose time was over."""


class OutOfTimeError(Exception):
    """What was waited for took too long."""


def in_thread(work: Callable[[threading.Event], T], seconds: float | None) -> T:
    """Do something in a thread of its own.

    Args:
        work: Is given an event that is set when nobody waits any more.
        seconds: How long to wait; None for any time.

    Raises:
        OutOfTimeError: It took longer, or too much earlier work still runs.
    """
    _ABANDONED.difference_update([t for t in _ABANDONED if not t.is_alive()])
    if len(_ABANDONED) >= MAX_ABANDONED:
        raise OutOfTimeError(f"{len(_ABANDONED)} earlier calls still run")
    over = threading.Event()
    outcomes: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    context = contextvars.copy_context()

    def target() -> None:
        try:
            outcomes.put((context.run(work, over), None))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            outcomes.put((None, error))

    thread = threading.Thread(target=target, name="ragstore-reranker", daemon=True)
    thread.start()
    try:
        result, error = outcomes.get(timeout=seconds)
    except queue.Empty:
        _ABANDONED.add(thread)
        raise OutOfTimeError(f"no answer within {seconds:g} s") from None
    finally:
        over.set()
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


def on_loop(
    work: Callable[[], Coroutine[Any, Any, T]],
    loop: asyncio.AbstractEventLoop,
    seconds: float | None,
) -> T:
    """Await something on the event loop of another thread; it is cancelled in time.

    Args:
        work: Makes what is awaited.
        loop: Where; it must not be this thread's own.
        seconds: How long to wait; None for any time.

    Raises:
        OutOfTimeError: It took longer, or the loop has ended.
    """
    end = None if seconds is None else time.monotonic() + seconds
    awaited = work()
    try:
        waiting = asyncio.run_coroutine_threadsafe(awaited, loop)
    except RuntimeError:
        awaited.close()
        raise OutOfTimeError("the event loop has ended") from None
    while True:
        left = _LOOK if end is None else min(_LOOK, end - time.monotonic())
        try:
            return waiting.result(max(0.0, left))
        except futures.CancelledError:
            raise OutOfTimeError("it was cancelled") from None
        except TimeoutError:
            if waiting.done():  # the work's own time was over
                raise
        if not loop.is_running():
            waiting.cancel()
            raise OutOfTimeError("the event loop has ended")
        if end is not None and time.monotonic() >= end:
            waiting.cancel()
            raise OutOfTimeError(f"no answer within {seconds:g} s")
