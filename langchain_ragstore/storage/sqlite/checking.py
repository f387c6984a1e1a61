"""What is not as it should be in a file: its pages, its records, what is made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, Final

import numpy as np

from langchain_ragstore.config import LISTED_FINDINGS, UNIT_SLACK
from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.metadata import decode
from langchain_ragstore.model import Problem
from langchain_ragstore.storage.care import TermsOf
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite import steps, text_checks
from langchain_ragstore.storage.sqlite.caches import CACHES
from langchain_ragstore.storage.sqlite.checksums import (
    of_owned,
    of_record,
    of_time,
    of_vector,
)
from langchain_ragstore.storage.sqlite.connection import Connection, Database, translated
from langchain_ragstore.storage.sqlite.resident import State

REPAIR: Final = "repair() mends it"
SAVES_THE_REST: Final = "repair() saves the rest; add it again, or take it from a backup"
TEXT_INDEX: Final = "text index"
_FLOAT: Final = 4


@dataclass(frozen=True, slots=True)
class Own:
    """The collection of the store that asks, and what its text index is made of."""

    collection: str
    terms_of: TermsOf


@dataclass(frozen=True, slots=True)
class Damage:
    """What of a collection is not what was written.

    Attributes:
        records: Id and reason of records, by key.
        vectors: Id and reason of vectors whose records are sound, by key.
        dimension: What most vectors have; None if there are none.
        kept: How many vectors without a record.
    """

    records: dict[int, tuple[str, str]]
    vectors: dict[int, tuple[str, str]]
    dimension: int | None
    kept: int


def verify(database: Database, own: Own) -> list[Problem]:
    """See `Backend.verify`; all is read in one transaction."""
    problems: list[Problem] = []
    try:
        with database.read() as connection:
            problems += _seen(database.path, connection, own)
    except CorruptStoreError as error:  # SQLite remembers damage until the transaction ends
        if not problems:
            problems.append(Problem(None, "file", (), str(error), REPAIR))
    return problems


def _seen(path: str, connection: Connection, own: Own) -> list[Problem]:
    """What is wrong; where something cannot be read, the rest is looked at."""

    def found(name: str | None, check: Callable[[], Iterable[Problem]]) -> list[Problem]:
        try:
            with translated(path):
                return list(check())
        except CorruptStoreError as error:
            return [Problem(name, "file", (), str(error), REPAIR)]

    problems = found(None, lambda: of_file(connection))
    problems += found(None, lambda: _of_orphans(connection))
    states: list[tuple[str, State]] = []

    def learn() -> Iterator[Problem]:
        states.extend(known(connection))
        yield from ()

    problems += found(None, learn)
    for name, state in states:
        here = found(name, partial(_of_records, connection, name, state))
        sound = not {"file", "record"} & {problem.kind for problem in here}
        here += found(name, partial(_of_text, connection, name, state, own, sound=sound))
        problems += here + found(name, partial(_of_caches, connection, name, state))
    return problems


def known(connection: Connection) -> list[tuple[str, State]]:
    """Every collection, those without records, too."""
    found = []
    for name in steps.names(connection):
        state = steps.state(connection, name)
        if state is not None:
            found.append((name, state))
    return found


# --- the file --------------------------------------------------------------------------


def of_file(connection: Connection) -> Iterator[Problem]:
    """What SQLite finds by itself: pages, indexes, columns of a wrong type."""
    statement = f"PRAGMA integrity_check({LISTED_FINDINGS:d})"
    for (finding,) in connection.execute(statement).fetchall():
        if finding != "ok":
            yield Problem(None, "file", (), str(finding).strip(), REPAIR)


def orphans(connection: Connection) -> dict[str, int]:
    """How many rows of each of this package's tables belong to what is not there."""
    found = {}
    for (table,) in connection.execute(sql.OUR_TABLES).fetchall():
        rows = connection.execute(f"PRAGMA foreign_key_check({table})").fetchall()
        if rows:
            found[table] = len(rows)
    return found


def _of_orphans(connection: Connection) -> Iterator[Problem]:
    for table, count in orphans(connection).items():
        what = f"{count} rows of {table} belong to what is not there"
        yield Problem(None, "orphan", (), what, REPAIR)


# --- a collection's records --------------------------------------------------------------


def damage(connection: Connection, state: State) -> Damage:
    """Look at every record and vector of a collection."""
    records: dict[int, tuple[str, str]] = {}
    vectors: dict[int, tuple[str, str]] = {}
    lengths: dict[int, tuple[str, int]] = {}
    for key, id, content, metadata, *rest in connection.execute(
        sql.RAW_RECORDS, (state.collection,)
    ):
        *times, checksum, created_checksum, data, checksum_of_data = rest
        name = bytes(id or b"").decode("utf-8", "replace")
        reason = _reason(id, content, metadata, times, (checksum, created_checksum))
        if reason:
            records[key] = name, reason
        elif data is not None:
            wrong = _wrong(data, checksum_of_data, id)
            if wrong:
                vectors[key] = name, wrong
            else:
                lengths[key] = name, len(data) // _FLOAT
    usual = Counter(length for _, length in lengths.values()).most_common(1)
    dimension = usual[0][0] if usual else None
    for key, (name, length) in lengths.items():
        if length != dimension:
            vectors[key] = name, f"it has {length} dimensions, the others {dimension}"
    kept = sum(
        1
        for data, checksum in connection.execute(sql.ALL_KEPT, (state.collection,))
        if _wrong(data, checksum, None)
    )
    return Damage(records, vectors, dimension, kept)


def _reason(
    id: bytes, content: bytes, metadata: bytes, times: list[Any], checksums: object
) -> str | None:
    """Why a record is not what was written; None if it is."""
    created, updated, expires = times
    for time in (created, updated, 0.0 if expires is None else expires):
        if not isinstance(time, float) or not isfinite(time):
            return f"its times are {created!r}, {updated!r} and {expires!r}"
    texts = id, content, metadata
    if None in texts or checksums != (of_record(*texts, *times[1:]), of_time(created)):
        return "its bytes are not those that were written"
    try:
        decode(metadata.decode())
    except (CorruptStoreError, UnicodeDecodeError) as error:
        return str(error)
    return None


def _wrong(data: Any, checksum: object, id: bytes | None) -> str | None:
    """Why a vector is not what was written; None if it is. No id: it has no record."""
    if not isinstance(data, bytes) or len(data) % _FLOAT:
        return f"it is {type(data).__name__} and no whole number of values"
    expected = of_vector(data) if id is None else of_owned(data, id)
    if expected != checksum:
        return "its bytes are not those that were written, or another's"
    length = float(np.linalg.norm(np.frombuffer(data, np.float32).astype(np.float64)))
    if not isfinite(length) or (length and abs(length - 1) > UNIT_SLACK):
        return f"its length is {length:g}, not 1"
    return None


def counters(connection: Connection, state: State) -> tuple[int, int, int]:
    """What the collection's generation, floor and stamp must be at least, or at most."""
    written = connection.execute(sql.HIGHEST, (state.collection,)).fetchone()
    generation, stamp, floor = connection.execute(
        sql.COUNTERS, (state.collection,)
    ).fetchone()
    generation = max(generation, written[0])
    return generation, min(floor, generation), max(stamp, written[1])


def _of_records(connection: Connection, name: str, state: State) -> Iterator[Problem]:
    found = damage(connection, state)
    for kind, damaged in (("record", found.records), ("vector", found.vectors)):
        for id, reason in damaged.values():
            what = f"the {kind} of {id!r} is damaged: {reason}"
            yield Problem(name, kind, (id,), what, SAVES_THE_REST)
    if found.kept:
        what = f"{found.kept} vectors that wait for their documents are damaged"
        yield Problem(name, "vector", (), what, REPAIR)
    if found.dimension not in (None, state.dimension):
        what = f"vectors have {found.dimension} dimensions, noted are {state.dimension}"
        yield Problem(name, "collection", (), what, REPAIR)
    present = connection.execute(sql.COUNTERS, (state.collection,)).fetchone()
    generation, floor, stamp = counters(connection, state)
    if present != (generation, stamp, floor):
        what = f"its counters are {present}, not {(generation, stamp, floor)}"
        yield Problem(name, "collection", (), what, REPAIR)


# --- what is made of them ----------------------------------------------------------------


def _of_text(
    connection: Connection, name: str, state: State, own: Own, *, sound: bool
) -> Iterator[Problem]:
    """See `text_checks`; texts that are damaged themselves are not compared."""
    try:
        wrong = text_checks.damaged(connection, state)
    except CorruptStoreError as error:
        wrong = [str(error)]
    for what in wrong:
        yield Problem(name, TEXT_INDEX, (), what, text_way_out(name, own))
    if name != own.collection or wrong or not sound:
        return
    ids = text_checks.differing(connection, state, own.terms_of)
    if ids:
        what = (
            f"{len(ids)} documents are indexed under other words than theirs, {ids[0]!r} "
            "for one: a damaged index, or another index_text or analyzer made it"
        )
        yield Problem(name, TEXT_INDEX, tuple(ids), what, text_way_out(name, own))


def text_way_out(name: str, own: Own) -> str:
    """Who can make a text index anew."""
    if name == own.collection:
        return "repair() or reindex_text() makes it anew"
    return f"reindex_text() of a store that is opened with collection_name={name!r}"


def _of_caches(connection: Connection, name: str, state: State) -> Iterator[Problem]:
    for cache in CACHES:
        for what in cache.check(connection, state):
            yield Problem(name, cache.name, (), what, REPAIR)
