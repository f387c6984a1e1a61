"""Which keys were written when, and in which group; times that only go forward."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.connection import bound
from langchain_ragstore.storage.sqlite.lease import Lease

_LAST_TIME: Final = (
    "SELECT time FROM ragstore_ledger_time WHERE namespace = CAST(? AS TEXT)"
)
_SET_TIME: Final = """
INSERT INTO ragstore_ledger_time (namespace, time) VALUES (CAST(? AS TEXT), ?)
ON CONFLICT (namespace) DO UPDATE SET time = excluded.time
"""
_UPSERT: Final = """
INSERT INTO ragstore_ledger (namespace, key, group_id, updated_at)
VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?)
ON CONFLICT (namespace, key) DO UPDATE SET
    group_id = excluded.group_id, updated_at = excluded.updated_at
"""
_AMONG_KEYS: Final = f"namespace = CAST(? AS TEXT) AND key IN ({sql.TEXTS})"
_PRESENT: Final = f"SELECT key FROM ragstore_ledger WHERE {_AMONG_KEYS}"
_DELETE: Final = f"DELETE FROM ragstore_ledger WHERE {_AMONG_KEYS}"
_LIST: Final = """
SELECT updated_at, key FROM ragstore_ledger {index} WHERE {conditions}
ORDER BY updated_at, key LIMIT ?
"""
# Left alone, SQLite reads every older key in order of time to spare itself a sort.
_BY_GROUP: Final = "INDEXED BY ragstore_ledger_group"


class Ledger:
    """The keys of one namespace.

    Every time that is given out or written down is later than all before it in the
    namespace, in this and in any other process, whatever the clocks do: it is the time
    of the clock or, where that is not later, the next larger float (2.4e-7 s more,
    today). The last one is kept in the file, since a time that was only given out must
    not be undercut by what another process writes afterwards.

    Args:
        lease: The file.
        namespace: Ledgers of different namespaces know nothing of each other.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, lease: Lease, namespace: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._lease = lease
        self._namespace = bound(namespace)
        self._clock = clock

    def time(self) -> float:
        """A time later than all so far and earlier than all to come."""
        with self._lease.write() as connection:
            return self._next_time(connection)

    def _next_time(self, connection: sqlite3.Connection) -> float:
        now = float(self._clock())
        last = connection.execute(_LAST_TIME, (self._namespace,)).fetchone()
        if last is not None and now <= last[0]:
            now = math.nextafter(last[0], math.inf)
        connection.execute(_SET_TIME, (self._namespace, now))
        return now

    def update(
        self,
        keys: Sequence[str],
        group_ids: Sequence[str | None],
        *,
        time_at_least: float | None = None,
    ) -> None:
        """Write keys down, all at one time; the last of equal keys counts.

        Args:
            keys: Known or new.
            group_ids: One for each key; replaces the one that it had.
            time_at_least: What the time must have reached.

        Raises:
            InvalidInputError: It has not; nothing was written.
        """
        with self._lease.write() as connection:
            now = self._next_time(connection)
            if time_at_least is not None and time_at_least > now:
                raise InvalidInputError(
                    f"time_at_least is {time_at_least!r}, but it is only {now!r} here; "
                    "take it from get_time()"
                )
            connection.executemany(
                _UPSERT,
                [
                    (self._namespace, bound(key), None if id is None else bound(id), now)
                    for key, id in zip(keys, group_ids, strict=True)
                ],
            )

    def present(self, keys: Sequence[str]) -> set[str]:
        """Those of the keys that are written down."""
        with self._lease.read() as connection:
            return {
                key
                for batch in sql.batches([bound(key) for key in dict.fromkeys(keys)])
                for (key,) in connection.execute(_PRESENT, [self._namespace, *batch])
            }

    def keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """Keys, those written longest ago first, then in their own order.

        Args:
            before: Written earlier than this.
            after: Written later than this.
            group_ids: In one of these groups.
            limit: How many at most.
        """
        conditions = ["namespace = CAST(? AS TEXT)"]
        parameters: list[Any] = [self._namespace]
        for bound_time, condition in (
            (before, "updated_at < ?"),
            (after, "updated_at > ?"),
        ):
            if bound_time is not None:
                conditions.append(condition)
                parameters.append(bound_time)
        batches: list[list[Any]] = [[]]
        if group_ids is not None:
            conditions.append(f"group_id IN ({sql.TEXTS})")
            batches = list(sql.batches([bound(id) for id in dict.fromkeys(group_ids)]))
        statement = _LIST.format(
            index="" if group_ids is None else _BY_GROUP,
            conditions=" AND ".join(conditions),
        )
        most = -1 if limit is None else min(limit, sql.INT64_MAX)
        with self._lease.read() as connection:
            rows = [
                row
                for batch in batches
                for row in connection.execute(statement, [*parameters, *batch, most])
            ]
        if len(batches) > 1:
            rows = sorted(rows)[:limit]
        return [key for _, key in rows]

    def delete(self, keys: Sequence[str]) -> None:
        """Strike keys out; those that are not written down are no error."""
        with self._lease.write() as connection:
            for batch in sql.batches([bound(key) for key in dict.fromkeys(keys)]):
                connection.execute(_DELETE, [self._namespace, *batch])
