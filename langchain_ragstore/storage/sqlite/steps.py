"""The steps that the engine's transactions are made of, on one collection's records."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from langchain_ragstore.config import SQLITE_TOMBSTONES
from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.metadata import decode, encode
from langchain_ragstore.model import Fingerprint, Record, Terms, Unanalyzed
from langchain_ragstore.storage.base import (
    changed_meanwhile,
    check_analyzer,
    check_dimension,
)
from langchain_ragstore.storage.sqlite import coding, models, segments
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.checksums import (
    low,
    of_owned,
    of_owner,
    of_record,
    of_rest,
    of_time,
    of_vector,
    utf8,
)
from langchain_ragstore.storage.sqlite.connection import bound
from langchain_ragstore.storage.sqlite.resident import State
from langchain_ragstore.storage.sqlite.where import applied


def state(connection: sqlite3.Connection, collection: str) -> State | None:
    """Where a collection stands; None if there is none of the name."""
    row = connection.execute(sql.COLLECTION, (bound(collection),)).fetchone()
    if row is None:
        return None
    key, generation, floor, dimension, analyzer, coded = row
    numbers = key, generation, floor, dimension or 0, coded
    if not all(isinstance(number, int) for number in numbers):
        raise CorruptStoreError(
            f"collection {collection!r} is damaged in the file: its counters are {numbers}"
        )
    return State(key, generation, floor, dimension or 0, analyzer, coded)


def names(connection: sqlite3.Connection) -> list[str]:
    """The names of all collections, the oldest first.

    Raises:
        CorruptStoreError: One is no text, as only damage can make it.
    """
    found = [name for (name,) in connection.execute(sql.NAMES)]
    for name in found:
        if not isinstance(name, str):
            raise CorruptStoreError(f"the name of a collection is damaged: it is {name!r}")
    return found


def agree_on_vectors(
    connection: sqlite3.Connection,
    state: State,
    collection: str,
    records: Sequence[Record],
    model: Fingerprint | None,
) -> None:
    """Check the vectors' length and model, or set them where there is no vector yet."""
    lengths = {len(r.vector): r for r in records if r.vector is not None}
    if not lengths:
        return
    dimension = state.dimension
    empty = not connection.execute(sql.ANY_VECTOR, (state.collection,)).fetchone()
    if empty:
        dimension = next(iter(lengths))
    for length in lengths:
        check_dimension(collection, dimension, length)
    if dimension != state.dimension:
        connection.execute(sql.SET_DIMENSION, (dimension, state.collection))
        coding.forget(connection, state)
    models.agree(connection, state.collection, collection, model, empty=empty)


def check_unchanged(
    connection: sqlite3.Connection,
    state: State,
    collection: str,
    now: float,
    expected: Sequence[Record],
) -> None:
    """Refuse to write if records are no longer as they were read.

    Raises:
        ConflictError: One has other content or metadata, or is gone.
    """
    if not expected:
        return
    ids = [record.id for record in expected]
    found = rows(
        connection, state, "r.id, r.content, r.metadata", now, ids=ids, where=EVERYTHING
    )
    stored = {id: (content, metadata) for id, content, metadata in found}
    for record in expected:
        if stored.get(record.id) != (record.content, encode(record.metadata)):
            raise changed_meanwhile(collection, record.id)


def analyzer(connection: sqlite3.Connection, state: State, now: float) -> str | None:
    """What made the terms of the present, indexed records; None if there are none."""
    indexed = connection.execute(sql.ANY_INDEXED, (state.collection, now)).fetchone()
    return state.analyzer if indexed else None


def agree_on_analyzer(
    connection: sqlite3.Connection,
    state: State,
    collection: str,
    now: float,
    given: Collection[Terms | Unanalyzed],
) -> None:
    """Check what made the terms, or note it where the collection is not indexed."""
    makers = list(dict.fromkeys(terms.analyzer for terms in given))
    if not makers or makers == [state.analyzer]:
        return
    stored = analyzer(connection, state, now)
    for maker in makers:
        check_analyzer(collection, makers[0] if stored is None else stored, maker)
    connection.execute(sql.SET_ANALYZER, (bound(makers[0]), state.collection))


def check_query(
    connection: sqlite3.Connection,
    state: State,
    collection: str,
    now: float,
    query: Terms,
) -> None:
    """Refuse a query whose terms are made otherwise than the collection's."""
    if query.analyzer != state.analyzer:
        stored = analyzer(connection, state, now)
        if stored is not None:
            check_analyzer(collection, stored, query.analyzer)


def write_records(
    connection: sqlite3.Connection,
    collection: int,
    generation: int,
    now: float,
    rows: Sequence[tuple[Record, str]],
    stamps: Iterable[int],
    *,
    dated: bool = False,
) -> None:
    """Write records; the stamps are those of the records that have terms, in order.

    Args:
        connection: In a transaction that writes.
        collection: By key.
        generation: The collection's after this write.
        now: The time.
        rows: Records and their metadata as text.
        stamps: One for each record that has terms.
        dated: Whether the records' own times count, where they have some.
    """
    if not rows:
        return
    given_stamps = iter(stamps)
    columns = [
        (
            *times,
            None if r.terms is None else next(given_stamps),
            r.digest,
            of_record(utf8(r.id), utf8(r.content), utf8(text), *times[1:]),
            of_time(times[0]),
        )
        for r, text, times in ((r, text, _times(r, now, dated=dated)) for r, text in rows)
    ]
    ids = [bound(record.id) for record, _ in rows]
    connection.executemany(
        sql.UPSERT_DATED if dated else sql.UPSERT_RECORD,
        [
            (collection, id, bound(r.content), text, generation, *more)
            + (_created(r) if dated else ())
            for id, (r, text), more in zip(ids, rows, columns, strict=True)
        ],
    )
    given, absent = [], []
    for id, (r, _) in zip(ids, rows, strict=True):
        if r.vector is None:
            absent.append((collection, id))
        else:
            data = r.vector.tobytes()
            owner = of_owner(utf8(r.id))
            given.append((data, owner, of_vector(data), collection, id))
    if given:
        connection.executemany(sql.UPSERT_VECTOR, given)
    if absent:
        connection.executemany(sql.DELETE_VECTOR, absent)


def _created(record: Record) -> tuple[float | None, int | None]:
    created = record.created_at
    return created, None if created is None else of_time(created)


def _times(record: Record, now: float, *, dated: bool) -> tuple[float, float, float | None]:
    created, updated = (record.created_at, record.updated_at) if dated else (None, None)
    return (
        now if created is None else created,
        now if updated is None else updated,
        record.expires_at,
    )


def forget(connection: sqlite3.Connection, state: State, keys: Sequence[int]) -> None:
    """Delete records and leave tombstones for the copies that still hold them."""
    if not keys:
        return
    (generation,) = connection.execute(sql.NEXT_GENERATION, (state.collection,)).fetchone()
    connection.executemany(sql.DELETE_RECORD, [(key,) for key in keys])
    coding.drop(connection, state, keys)
    connection.executemany(
        sql.ADD_TOMBSTONE, [(state.collection, generation, key) for key in keys]
    )
    segments.drop_dead(connection, state.collection)
    oldest = connection.execute(
        sql.OLD_TOMBSTONE, (state.collection, SQLITE_TOMBSTONES)
    ).fetchone()
    if oldest is not None:
        connection.execute(sql.DROP_TOMBSTONES, (state.collection, oldest[0]))
        connection.execute(sql.SET_FLOOR, (oldest[0], state.collection))


def outdate_copies(connection: sqlite3.Connection, state: State) -> None:
    """Let every copy in memory be read anew: no record changed, but all that finds it."""
    (generation,) = connection.execute(sql.NEXT_GENERATION, (state.collection,)).fetchone()
    connection.execute(sql.DROP_TOMBSTONES, (state.collection, generation))
    connection.execute(sql.SET_FLOOR, (generation, state.collection))


def expired(connection: sqlite3.Connection, state: State, now: float) -> list[int]:
    """Keys of the records whose time has passed."""
    rows = connection.execute(sql.EXPIRED, (state.collection, now)).fetchall()
    return [key for (key,) in rows]


def rows(
    connection: sqlite3.Connection,
    state: State,
    columns: str,
    now: float,
    *,
    ids: Collection[str] | None,
    where: Filter,
    vectors: bool = False,
) -> list[tuple[Any, ...]]:
    """Columns of the records that have one of `ids` (None: any) and match.

    A list, not a generator: one that is left half-read would hold its statement open.
    """
    with applied(connection, where) as clause:
        if ids is None:
            statement = sql.select(columns, clause.sql, vectors=vectors)
            return connection.execute(
                statement, [state.collection, now, *clause.parameters]
            ).fetchall()
        condition = f"{sql.AMONG_IDS} AND {clause.sql}"
        statement = sql.select(columns, condition, vectors=vectors)
        return [
            row
            for fitted, batch in sql.fitting(
                statement, [bound(id) for id in dict.fromkeys(ids)]
            )
            for row in connection.execute(
                fitted, [state.collection, now, *batch, *clause.parameters]
            )
        ]


def keys(
    connection: sqlite3.Connection,
    state: State,
    now: float,
    *,
    ids: Collection[str] | None,
    where: Filter,
) -> list[int]:
    """Keys of the records that have one of `ids` (None: any) and match."""
    return [row[0] for row in rows(connection, state, "r.key", now, ids=ids, where=where)]


def record(row: Iterable[Any]) -> tuple[int, Record]:
    """Key and record of a row of `statements.columns`.

    Raises:
        CorruptStoreError: It is not what was written.
    """
    key, id, content, metadata, created, updated, expires, digest, *more = row
    checksum, created_checksum, data, data_checksum = more
    try:
        texts = utf8(id), utf8(content), utf8(metadata)
        intact = of_record(*texts, updated, expires) == checksum
        intact &= of_time(created) == created_checksum
        intact &= data is None or of_owned(data, texts[0]) == data_checksum
        vector = None if data is None else np.frombuffer(data, np.float32)
    except (AttributeError, TypeError, ValueError, struct.error):  # of another type
        intact = False
    if not intact:
        raise damaged(id)
    times = created, updated, expires
    return key, Record(id, content, decode(metadata), vector, *times, digest=digest)


def to_patch(row: Iterable[Any]) -> tuple[int, float | None, str]:
    """Key, time of expiry and metadata of a row of `statements.PATCHED`.

    Raises:
        CorruptStoreError: They are not what was written; a patch would make it right.
    """
    key, id, metadata, updated, expires, checksum = row
    try:
        intact = of_rest(utf8(metadata), updated, expires) == low(checksum)
    except (AttributeError, TypeError, struct.error):
        intact = False
    if not intact:
        raise damaged(id)
    return key, expires, metadata


def damaged(id: object) -> CorruptStoreError:
    """The error of a record that is not what was written."""
    return CorruptStoreError(
        f"record {id!r} is damaged in the file; verify() lists all that is, repair() "
        "saves the rest"
    )


def again(record: Record) -> Record:
    """A second copy for an id that was asked for twice."""
    return replace(record, metadata=decode(encode(record.metadata)))
