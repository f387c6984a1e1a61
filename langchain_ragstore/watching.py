"""Ingesting a folder again whenever its files change."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

from langchain_ragstore.config import WATCH_PATIENCE, WATCH_RETRY
from langchain_ragstore.errors import (
    InvalidInputError,
    MissingExtraError,
    ReadOnlyError,
    StoreClosedError,
)
from langchain_ragstore.folders import Folder
from langchain_ragstore.path_report import PathReport

logger = logging.getLogger(__name__)

Changes: TypeAlias = Generator[set[str], None, None]
"""Sets of paths that changed, an empty one now and then where nothing did."""

_LONGEST_TICK = 1.0
"""Seconds without changes after which we look at the clock all the same."""


def watch(
    folder: Folder, stable_seconds: float, stop_event: threading.Event | None
) -> Iterator[PathReport]:
    """The iterator of `RagPipeline.watch`; the disk is watched while it is iterated."""
    number = isinstance(stable_seconds, Real) and not isinstance(stable_seconds, bool)
    if not number or not 0 <= stable_seconds < math.inf:
        raise InvalidInputError(
            f"stable_seconds is a number of seconds, got {stable_seconds!r}"
        )
    stop = threading.Event() if stop_event is None else stop_event
    tick = min(max(stable_seconds / 4, 0.05), _LONGEST_TICK)
    library = _watchfiles()
    return follow(
        folder, lambda: changes_on_disk(library, folder, tick, stop), stable_seconds, stop
    )


def follow(
    folder: Folder,
    changes: Callable[[], Changes],
    stable_seconds: float,
    stop: threading.Event,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[PathReport]:
    """Ingest a folder first, and again after changes.

    Args:
        folder: What is ingested.
        changes: Begins to watch; what it gives ends when watching ends.
        stable_seconds: How long what changed must stay as it is.
        stop: Ends the iteration.
        clock: Seconds, which only go forward.

    Yields:
        The first report, and those that tell of something.
    """
    pending, retry = Pending(stable_seconds), Retry()
    report = None
    try:
        with closing(changes()) as ticks:
            next(ticks, None)  # watch before looking, lest a change falls in between
            if not stop.is_set():
                report = _ingest(folder, frozenset(), stop)
                retry.learn(report, clock())
                yield report
            for paths in ticks:
                now = clock()
                pending.note(paths, now)
                unstable = pending.take(now)
                if unstable is None and retry.is_due(now):
                    unstable = pending.paths()
                if unstable is None:
                    continue
                report = _ingest(folder, unstable, stop, report)
                retry.learn(report, clock())
                if report.tells:
                    yield report
    except KeyboardInterrupt:
        logger.info("%s: no longer watched", folder.root)


def _ingest(
    folder: Folder,
    skip: frozenset[str],
    stop: threading.Event,
    before: PathReport | None = None,
) -> PathReport:
    """Ingest; what failed before comes last, so that it does not block the others."""
    run = None
    last = {path for path, _ in before.errors} if before else ()
    try:
        run = folder.run(skip, stop.is_set, tolerant=True, last=last)
        report = run.ingest()
    except (StoreClosedError, ReadOnlyError):
        raise  # these do not pass
    except Exception as error:  # noqa: BLE001 - a watch outlives what may pass
        reason = (os.fspath(folder.root), error)
        report = run.report(reason) if run else PathReport(errors=(reason,))
    for path, cause in report.errors:
        logger.warning("%s was not stored, will be tried again: %r", path, cause)
    return report


@dataclass
class Pending:
    """Paths that changed, until they stay as they are.

    Attributes:
        stable_seconds: How long that is.
        seen: Path → what it looked like, and since when.
    """

    stable_seconds: float
    seen: dict[str, tuple[tuple[int, int] | None, float]] = field(default_factory=dict)

    def paths(self) -> frozenset[str]:
        """All that is pending."""
        return frozenset(self.seen)

    def note(self, paths: set[str], now: float) -> None:
        """Take in what is said to have changed, and what is seen to have."""
        for path in {*paths, *self.seen}:
            look = _look(path)
            if path in paths or self.seen[path][0] != look:
                self.seen[path] = (look, now)

    def take(self, now: float) -> frozenset[str] | None:
        """Take out what is stable, if it is time.

        Returns:
            What is still changing, and to be left alone; None to wait on.
        """
        waited = [now - since for _, since in self.seen.values()]
        stable = [seconds for seconds in waited if seconds >= self.stable_seconds]
        patience = WATCH_PATIENCE * self.stable_seconds
        if not stable or (len(stable) < len(waited) and max(stable) < patience):
            return None
        self.seen = {
            path: (look, since)
            for path, (look, since) in self.seen.items()
            if now - since < self.stable_seconds
        }
        return self.paths()


@dataclass
class Retry:
    """When to try again what failed.

    Attributes:
        delay: Seconds until then.
        due: When that is; None for never.
    """

    delay: float = WATCH_RETRY[0]
    due: float | None = None

    def learn(self, report: PathReport, now: float) -> None:
        """Wait longer after each failure, and forget it all after a success."""
        if report.errors:
            self.due, self.delay = now + self.delay, min(2 * self.delay, WATCH_RETRY[1])
        else:
            self.due, self.delay = None, WATCH_RETRY[0]

    def is_due(self, now: float) -> bool:
        """Whether it is time."""
        return self.due is not None and now >= self.due


def _look(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def changes_on_disk(
    library: Any, folder: Folder, tick: float, stop: threading.Event
) -> Changes:
    """Watch with watchfiles, and begin anew if the folder is taken away and comes back.

    Args:
        library: `watchfiles`.
        folder: What is watched.
        tick: Seconds between two looks at the clock.
        stop: Ends it.

    Yields:
        What changed, as absolute paths.
    """
    single = not folder.root.is_dir()
    # A file that an editor replaces is another one for the system: watch its folder.
    target = folder.root.parent if single else folder.root
    milliseconds = max(int(tick * 1000), 1)
    while not stop.is_set():
        identity = _identity(target)
        if identity is None:
            yield set()
            stop.wait(tick)
            continue
        for changes in library.watch(
            target,
            watch_filter=lambda change, path: _concerns(
                folder, path, deleted=change == library.Change.deleted
            ),
            debounce=milliseconds,
            rust_timeout=milliseconds,
            step=min(50, milliseconds),
            yield_on_timeout=True,
            stop_event=stop,
            raise_interrupt=False,
            recursive=not single,
            ignore_permission_denied=True,
        ):
            yield {path for _, path in changes}
            if _identity(target) != identity:
                break
        else:
            return
        yield {os.fspath(folder.root)}


def _concerns(folder: Folder, path: str, *, deleted: bool) -> bool:
    """Whether a change can mean that a file is to be ingested or removed.

    What was deleted may have been a folder, of whose files nobody tells.
    """
    changed = Path(path)
    if changed == folder.root:
        return True
    if folder.owns(changed) or not changed.is_relative_to(folder.root):
        return False
    if folder.chooses(changed):
        return True
    parts = changed.relative_to(folder.root).parts
    inside = all(folder.choice.enters(parts[: n + 1]) for n in range(len(parts)))
    return inside and (deleted or changed.is_dir())


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _watchfiles() -> Any:
    try:
        import watchfiles  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("watchfiles", "watch") from error
    return watchfiles
