"""Putting the vectors of another model in place of a collection's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace

from langchain_ragstore.model import Record
from langchain_ragstore.storage.sqlite import coding, models, steps
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.checksums import of_owner, utf8
from langchain_ragstore.storage.sqlite.connection import Database
from langchain_ragstore.storage.sqlite.resident import State

DigestOf = Callable[[Record], bytes]


def adopt(
    database: Database,
    collection: str,
    staged: str,
    now: Callable[[], float],
    digest_of: DigestOf,
) -> list[str]:
    """See `Backend.adopt`.

    Looks without the write lock first: most calls find that something is lacking.
    """
    with database.read() as connection:
        state = steps.state(connection, collection)
        other = steps.state(connection, staged)
        _, lacking = _digests(connection, state, other, now(), digest_of)
    if lacking:
        return lacking
    with database.write() as connection:
        state = steps.state(connection, collection)
        other = steps.state(connection, staged)
        digests, lacking = _digests(connection, state, other, now(), digest_of)
        if not lacking and other is not None:
            if state is not None:
                connection.execute(sql.DROP_ALL_KEPT, (state.collection,))
            if state is not None and digests:
                steps.forget(connection, state, steps.expired(connection, state, now()))
                _put(connection, state, other, digests)
            connection.execute(sql.DROP_COLLECTION, (other.collection,))
    return lacking


def _digests(
    connection: sqlite3.Connection,
    state: State | None,
    staged: State | None,
    now: float,
    digest_of: DigestOf,
) -> tuple[dict[int, tuple[bytes, int]], list[str]]:
    """Digests, and checksums of ids, by key of all present records.

    Then the ids of those without a vector.
    """
    if state is None:
        return {}, []
    kept: set[bytes] = set()
    if staged is not None:
        rows = connection.execute(sql.KEPT_DIGESTS, (staged.collection,))
        kept = {digest for (digest,) in rows}
    digests: dict[int, tuple[bytes, int]] = {}
    lacking = []
    statement = f"{sql.records('TRUE', vectors=False)} ORDER BY r.key"
    for row in connection.execute(statement, (state.collection, now)):
        key, record = steps.record(row)
        digest = digest_of(record)
        digests[key] = digest, of_owner(utf8(record.id))
        if digest not in kept:
            lacking.append(record.id)
    return digests, lacking


def _put(
    connection: sqlite3.Connection,
    state: State,
    staged: State,
    digests: Mapping[int, tuple[bytes, int]],
) -> None:
    connection.executemany(
        sql.TAKE_KEPT,
        [(key, owner, staged.collection, d) for key, (d, owner) in digests.items()],
    )
    connection.executemany(sql.SET_DIGEST, [(d, key) for key, (d, _) in digests.items()])
    (data,) = connection.execute(sql.ANY_KEPT, (staged.collection,)).fetchone()
    connection.execute(sql.SET_DIMENSION, (len(data) // 4, state.collection))
    models.note(connection, state.collection, models.noted(connection, staged.collection))
    coding.rebuild(connection, replace(state, dimension=len(data) // 4))
    steps.outdate_copies(connection, state)
