"""Bytes by key, with an optional time to live and an optional limit of their size."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Final

from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.connection import bound
from langchain_ragstore.storage.sqlite.lease import Lease

_PRESENT: Final = "namespace = CAST(? AS TEXT) AND (expires_at IS NULL OR expires_at > ?)"
_PURGE: Final = (
    "DELETE FROM ragstore_blob WHERE namespace = CAST(? AS TEXT) AND expires_at <= ?"
)
# An overwritten value keeps its `created_at` and becomes the newest in `sequence`.
_PUT: Final = """
INSERT INTO ragstore_blob
    (sequence, namespace, key, data, size, created_at, updated_at, expires_at)
VALUES ((SELECT coalesce(max(sequence), 0) + 1 FROM ragstore_blob),
        CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?, ?)
ON CONFLICT (namespace, key) DO UPDATE SET
    sequence = excluded.sequence, data = excluded.data, size = excluded.size,
    updated_at = excluded.updated_at, expires_at = excluded.expires_at
"""
_TOTAL: Final = (
    "SELECT coalesce(sum(size), 0) FROM ragstore_blob WHERE namespace = CAST(? AS TEXT)"
)
_OLDEST: Final = (
    "SELECT sequence, size FROM ragstore_blob WHERE namespace = CAST(? AS TEXT) "
    "ORDER BY sequence"
)
_DROP: Final = (
    "DELETE FROM ragstore_blob WHERE namespace = CAST(? AS TEXT) AND sequence <= ?"
)
_GET: Final = (
    f"SELECT key, data FROM ragstore_blob WHERE {_PRESENT} AND key IN ({sql.TEXTS})"
)
_ONE: Final = f"SELECT data FROM ragstore_blob WHERE {_PRESENT} AND key = CAST(? AS TEXT)"
_TIMES: Final = (
    "SELECT key, created_at, updated_at, expires_at FROM ragstore_blob "
    f"WHERE {_PRESENT} AND key IN ({sql.TEXTS})"
)
_DELETE: Final = (
    f"DELETE FROM ragstore_blob WHERE namespace = CAST(? AS TEXT) AND key IN ({sql.TEXTS})"
)
_PAGE: Final = (
    f"SELECT key FROM ragstore_blob WHERE {_PRESENT} AND key >= CAST(? AS TEXT) "
    "ORDER BY key LIMIT ?"
)

Times = tuple[float, float, float | None]
"""When a value was written first, written last, and is to vanish."""


class Blobs:
    """The values of one namespace.

    Args:
        lease: The file.
        namespace: Equal keys of different namespaces are different entries.
        ttl: Seconds after which what is written from here is absent; None for never.
        capacity: Bytes of all values together, beyond which the least recently written
            entries go; None for no limit.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        lease: Lease,
        namespace: str,
        *,
        ttl: float | None = None,
        capacity: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._lease = lease
        self._namespace = bound(namespace)
        self._ttl = ttl
        self._capacity = capacity
        self._clock = clock

    def put(self, pairs: Sequence[tuple[str, bytes]]) -> None:
        """Write values in one transaction; the last of equal keys counts."""
        with self._lease.write() as connection:
            self._write(connection, pairs, self._purged(connection))

    def swap(self, key: str, old: bytes | None, new: bytes) -> bool:
        """Write a value if the present one is as expected, in one transaction.

        Args:
            key: Whose value.
            old: What it must be; None for absent.
            new: What it becomes.

        Returns:
            Whether it was so.
        """
        with self._lease.write() as connection:
            now = self._purged(connection)
            wanted = (self._namespace, now, bound(key))
            row = connection.execute(_ONE, wanted).fetchone()
            if (row[0] if row else None) != old:
                return False
            self._write(connection, [(key, new)], now)
            return True

    def _write(
        self, connection: sqlite3.Connection, pairs: Sequence[tuple[str, bytes]], now: float
    ) -> None:
        expires = None if self._ttl is None else now + self._ttl
        connection.executemany(
            _PUT,
            [
                (self._namespace, bound(key), data, len(data), now, now, expires)
                for key, data in pairs
            ],
        )
        if self._capacity is not None:
            self._evict(connection, self._capacity)

    def _evict(self, connection: sqlite3.Connection, capacity: int) -> None:
        # A total out of an index, then the oldest ones by hand: a window function that
        # finds the last one to go at once took ten times as long for 100 000 entries.
        (total,) = connection.execute(_TOTAL, (self._namespace,)).fetchone()
        excess = total - capacity
        if excess <= 0:
            return
        with closing(connection.execute(_OLDEST, (self._namespace,))) as oldest:
            while excess > 0:
                last, size = oldest.fetchone()
                excess -= size
        connection.execute(_DROP, (self._namespace, last))

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values that are there, by key."""
        return dict(self._rows(_GET, keys))

    def times(self, keys: Sequence[str]) -> dict[str, Times]:
        """When the values that are there were written, by key."""
        return {key: (*times,) for key, *times in self._rows(_TIMES, keys)}

    def _rows(self, statement: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
        with self._lease.read() as connection:
            now = self._clock()
            return [
                row
                for batch in sql.batches([bound(key) for key in dict.fromkeys(keys)])
                for row in connection.execute(statement, [self._namespace, now, *batch])
            ]

    def delete(self, keys: Sequence[str]) -> None:
        """Remove values; those that are not there are no error."""
        with self._lease.write() as connection:
            self._purged(connection)
            for batch in sql.batches([bound(key) for key in dict.fromkeys(keys)]):
                connection.execute(_DELETE, [self._namespace, *batch])

    def page(self, first: str, size: int) -> list[str]:
        """Up to `size` keys in the order of code points, from `first` on."""
        with self._lease.read() as connection:
            rows = connection.execute(
                _PAGE, (self._namespace, self._clock(), bound(first), size)
            ).fetchall()
        return [key for (key,) in rows]

    def _purged(self, connection: sqlite3.Connection) -> float:
        """Remove what has expired; the time now."""
        now = float(self._clock())
        connection.execute(_PURGE, (self._namespace, now))
        return now
