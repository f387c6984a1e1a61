"""Making a collection's text index anew while others read and write.

Terms are made outside of any transaction, in pages of records; then one transaction puts
the new index in place of the old one. What was written meanwhile is known by its
generation, and its terms are made within that transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from langchain_ragstore.errors import ReadOnlyError
from langchain_ragstore.lexical.gathering import TEXTS_AT_ONCE, Prepared, prepared
from langchain_ragstore.model import Record, Terms, Unanalyzed
from langchain_ragstore.storage.base import check_analyzer
from langchain_ragstore.storage.sqlite import segments, steps
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.connection import Database, bound
from langchain_ragstore.storage.sqlite.resident import State

_PAGE: Final = TEXTS_AT_ONCE

TermsOf = Callable[[Record], Terms | Unanalyzed | None]


@dataclass(frozen=True, slots=True, eq=False)
class _Page:
    """Records that were read together, and their terms.

    Attributes:
        seen: Generation of each by key.
        indexed: Keys of those that have terms.
        texts: Their posting lists.
        analyzers: What made the terms.
    """

    seen: Mapping[int, int]
    indexed: Sequence[int]
    texts: Sequence[Prepared]
    analyzers: frozenset[str]


def reindex(
    database: Database, collection: str, now: Callable[[], float], terms_of: TermsOf
) -> int:
    """See `Backend.reindex`.

    The new index is in memory until it is written: a third to two thirds of the texts.
    """
    if database.read_only:
        raise ReadOnlyError(f"{database.path} was opened with read_only=True")
    with database.read() as connection:
        state = steps.state(connection, collection)
    if state is None:
        return 0
    pages = list(_pages(database, state, terms_of))
    with database.write() as connection:
        state = steps.state(connection, collection)
        assert state is not None  # noqa: S101 - collections stay
        return _put(connection, state, collection, now(), pages, terms_of)


def compact(database: Database, collection: str) -> None:
    """Merge the text index into one segment, in many short transactions."""
    begin, more = True, True
    while more:
        with database.write() as connection:
            state = steps.state(connection, collection)
            if state is None:
                return
            known = segments.entries(connection, state.collection)
            idle = all(entry.complete for entry in known)
            more = segments.compact_step(connection, state.collection, begin=begin)
            begin = begin and not idle
            if more:
                connection.execute(sql.NEXT_GENERATION, (state.collection,)).fetchone()


def _pages(database: Database, state: State, terms_of: TermsOf) -> Iterator[_Page]:
    last = -1
    while True:
        with database.read() as connection:
            rows = connection.execute(
                sql.RECORD_PAGE, (state.collection, last, _PAGE)
            ).fetchall()
        if not rows:
            return
        last = rows[-1][1]
        yield _page(rows, terms_of)


def _page(rows: Sequence[tuple[object, ...]], terms_of: TermsOf) -> _Page:
    seen: dict[int, int] = {}
    terms: dict[int, Terms | Unanalyzed] = {}
    for generation, *row in rows:
        key, record = steps.record(row)
        assert isinstance(generation, int)  # noqa: S101 - the column's type
        seen[key] = generation
        made = terms_of(record)
        if made is not None:
            terms[key] = made
    texts = list(prepared(list(terms.values())))
    makers = frozenset(made.analyzer for made in terms.values())
    return _Page(seen, list(terms), texts, makers)


def _put(
    connection: sqlite3.Connection,
    state: State,
    collection: str,
    now: float,
    pages: Sequence[_Page],
    terms_of: TermsOf,
) -> int:
    """Replace the index; how many records the new one has."""
    steps.forget(connection, state, steps.expired(connection, state, now))
    present = dict(connection.execute(sql.GENERATIONS, (state.collection,)))
    seen = {key: g for page in pages for key, g in page.seen.items()}
    changed = [key for key, generation in present.items() if seen.get(key) != generation]
    rows = [
        row
        for key in changed
        for row in connection.execute(sql.RECORD_PAGE, (state.collection, key - 1, 1))
    ]
    connection.execute(sql.DROP_SEGMENTS, (state.collection,))
    stamps: dict[int, int | None] = dict.fromkeys(present)
    blocks = 0
    every = [*pages, _page(rows, terms_of)]
    for page in every:
        added, written = segments.add(connection, state.collection, page.texts)
        blocks += written
        stamps |= {
            key: stamp
            for key, stamp in zip(page.indexed, added, strict=True)
            if present.get(key) == page.seen[key]
        }
    connection.executemany(sql.SET_STAMP, [(stamp, key) for key, stamp in stamps.items()])
    makers = sorted(frozenset().union(*(page.analyzers for page in every)))
    for maker in makers:
        check_analyzer(collection, makers[0], maker)
        connection.execute(sql.SET_ANALYZER, (bound(maker), state.collection))
    steps.outdate_copies(connection, state)
    segments.drop_dead(connection, state.collection)
    segments.maintain(connection, state.collection, blocks)
    return sum(stamp is not None for stamp in stamps.values())
