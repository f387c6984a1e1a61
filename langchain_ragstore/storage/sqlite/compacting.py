"""Leaving nothing of what was deleted: not in the file, not in its log.

What can be done in short transactions is, so that other writers have their turn: records
that have expired and vectors without a record go, and the text index becomes one segment.
Then SQLite writes the file anew, which takes the write lock for about three seconds a
gigabyte, and the log is emptied.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from langchain_ragstore.config import RECORD_PAGE
from langchain_ragstore.errors import StoreLockedError
from langchain_ragstore.model import Compacted
from langchain_ragstore.storage.sqlite import reindexing, segments, steps
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.connection import Connection, Database
from langchain_ragstore.storage.sqlite.files import MEMORY

_PATIENCE: Final = 200
"""Milliseconds in which an emptied log waits for readers, holding up writers meanwhile."""

_PAUSE: Final = 0.05
"""Seconds in which it does not."""


def compact(database: Database, now: Callable[[], float]) -> Compacted:
    """See `Backend.compact`."""
    if database.read_only:
        raise database.refusal()
    before = _size(database)
    with database.read() as connection:
        names = steps.names(connection)
    for name in names:
        while _forget_some(database, name, now):
            pass
        reindexing.compact(database, name)
    with database.write() as connection:
        connection.execute(sql.DROP_EXPIRED_BLOBS, (now(),))
    with database.outside() as connection:
        connection.execute("VACUUM")
        _empty_log(database, connection)
    return Compacted(before, _size(database))


def _forget_some(database: Database, name: str, now: Callable[[], float]) -> bool:
    """Drop what a collection need not have; whether there is more."""
    with database.write() as connection:
        state = steps.state(connection, name)
        if state is None:
            return False
        keys = steps.expired(connection, state, now())
        steps.forget(connection, state, keys[:RECORD_PAGE])
        segments.drop_dead(connection, state.collection)
        connection.execute(sql.DROP_ALL_KEPT, (state.collection,))
        if not connection.execute(sql.ANY_RECORD, (state.collection,)).fetchone():
            steps.outdate_copies(connection, state)  # tombstones save nothing here
        return len(keys) > RECORD_PAGE


def _empty_log(database: Database, connection: Connection) -> None:
    """Write the log's pages into the file, and cut it off.

    Raises:
        StoreLockedError: A reader goes on needing it.
    """
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        return
    deadline = time.monotonic() + database.timeout
    connection.execute(f"PRAGMA busy_timeout = {_PATIENCE:d}")
    try:
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise StoreLockedError(
                    f"{database.path} is compacted, but a reader that does not finish "
                    "needs the old content in its log; call compact() again after it"
                )
            time.sleep(_PAUSE)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(database.timeout * 1000):d}")


def _size(database: Database) -> int:
    if database.path == MEMORY:
        with database.outside() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
            return int(pages * size)
    parts = (Path(database.path), Path(f"{database.path}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
