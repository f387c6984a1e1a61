"""Full-text search: what is kept in memory of a text index, and how a query is scored.

Beside the fences of the segments, memory holds which row is which record, how long its
fields are and when it expires. It follows other writers as the vectors do; see
`resident`. N, df and the mean lengths are counted from these at every search, so there
is no number in the file that could be wrong.
"""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import BM25_MAX_FREQUENCY
from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.lexical.bm25 import (
    Field,
    QueryTerm,
    contributions,
    factor,
    field_terms,
    norms,
    query_terms,
    worth,
)
from langchain_ragstore.lexical.keys import key_range, title_key
from langchain_ragstore.lexical.postings import Keys, Rows, decoded
from langchain_ragstore.model import Terms
from langchain_ragstore.storage.sqlite import segments, statements
from langchain_ragstore.storage.sqlite.resident import State

Found: TypeAlias = tuple[Rows, NDArray[np.integer]]
"""Rows that hold a term, and how often it occurs in each."""

Scored: TypeAlias = tuple[NDArray[np.float64], float]
"""The score of each row, and what a row could reach."""

_TERMS_AT_ONCE: Final = 256
"""Terms whose posting lists are held in memory at the same time."""


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """The rows that count from one moment to another.

    Attributes:
        since: The first moment, in seconds since the epoch.
        until: The first one after the last.
        rows: Which rows count, shape `(rows,)`.
        fields: Statistics of body and title.
        norms: What each row's lengths add below BM25's fraction line.
    """

    since: float
    until: float
    rows: NDArray[np.bool_]
    fields: tuple[Field, Field]
    norms: tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(slots=True, eq=False)
class Lexicon:
    """The text index of a collection at one generation; its arrays are never changed.

    The rows of all segments stand one after the other.

    Attributes:
        generation: The collection's, when it was read.
        segments: The complete segments.
        records: Record of each row, -1 where none names its stamp; shape `(rows,)`.
        expires: When it expires, infinity for never, -infinity for those without.
        live: Stamp, record and expiry of each indexed record, ascending by stamp.
    """

    generation: int
    segments: tuple[segments.Segment, ...]
    records: Rows
    expires: NDArray[np.float64]
    live: tuple[Rows, Rows, NDArray[np.float64]]
    _order: Rows | None = field(default=None, init=False)
    _present: Present | None = field(default=None, init=False)
    _last: tuple[Terms, Present, Scored] | None = field(default=None, init=False)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the rows take, and what was made of them for searches."""
        arrays: list[NDArray[Any]] = [self.records, self.expires, *self.live]
        for segment in self.segments:
            arrays += [segment.stamps, segment.body, segment.title, segment.fences]
        present, last = self._present, self._last
        arrays += [] if self._order is None else [self._order]
        arrays += [] if present is None else [present.rows, *present.norms]
        arrays += [] if last is None else [last[2][0]]
        return sum(array.nbytes for array in arrays)

    def places(self, keys: Rows) -> Rows:
        """The row of each record, by key; -1 for what is not indexed."""
        if not len(self.records):
            return np.full(len(keys), -1)
        if self._order is None:  # nearly sorted, which is quick to sort, and used again
            self._order = np.argsort(self.records, kind="stable")
        at = np.searchsorted(self.records, keys, sorter=self._order)
        rows = self._order[np.minimum(at, len(self.records) - 1)]
        return np.where(self.records[rows] == keys, rows, -1)

    def present(self, now: float) -> Present:
        """The rows that are in force and not expired."""
        known = self._present
        if known is None or not known.since <= now < known.until:
            known = self._present = self._at(now)
        return known

    def _at(self, now: float) -> Present:
        rows = self.expires > now
        lengths = [
            np.concatenate([getattr(s, name) for s in self.segments] or [self.records])
            for name in ("body", "title")
        ]
        body, title = (
            Field(int(np.count_nonzero(column[rows])), int(column[rows].sum()))
            for column in lengths
        )
        return Present(
            since=float(self.expires[~rows].max(initial=-math.inf)),
            until=float(self.expires[rows].min(initial=math.inf)),
            rows=rows,
            fields=(body, title),
            norms=(
                norms(lengths[0].astype(np.float64), body.mean),
                norms(lengths[1].astype(np.float64), title.mean),
            ),
        )


def followed(
    connection: sqlite3.Connection, known: Lexicon | None, state: State
) -> Lexicon:
    """The text index at the transaction's generation, from an older copy if there is one.

    Raises:
        CorruptStoreError: A record names a stamp that no segment has.
    """
    if known is None or known.generation < state.floor:
        nothing = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        known = Lexicon(-1, (), nothing[0], nothing[2], nothing)
    live = _live(connection, known, state)
    loaded = {segment.key: segment for segment in known.segments}
    present = tuple(
        loaded.get(entry.key) or segments.load(connection, entry.key)
        for entry in segments.entries(connection, state.collection)
        if entry.complete
    )
    stamps = np.concatenate([s.stamps for s in present] or [np.empty(0, np.int64)])
    order = np.argsort(stamps, kind="stable")
    at = np.searchsorted(stamps[order], live[0])
    if len(live[0]) and (
        at[-1] == len(stamps) or not np.array_equal(stamps[order][at], live[0])
    ):
        raise CorruptStoreError("the text index lacks a record; index the texts anew")
    records = np.full(len(stamps), -1, np.int64)
    expires = np.full(len(stamps), -np.inf)
    records[order[at]], expires[order[at]] = live[1], live[2]
    return Lexicon(state.generation, present, records, expires, live)


def _live(
    connection: sqlite3.Connection, known: Lexicon, state: State
) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Stamp, record and expiry of each indexed record, ascending by stamp."""
    since = (state.collection, known.generation)
    changed = connection.execute(statements.CHANGED_STAMPS, since).fetchall()
    gone = [key for (key,) in connection.execute(statements.TOMBSTONES, since)]
    left = np.array(gone + [key for key, _, _ in changed], np.int64)
    new = [row for row in changed if row[1] is not None]
    expiry = [math.inf if row[2] is None else row[2] for row in new]
    stays = ~np.isin(known.live[1], left)
    stamps = np.concatenate(
        [known.live[0][stays], np.array([row[1] for row in new], np.int64)]
    )
    records = np.concatenate(
        [known.live[1][stays], np.array([row[0] for row in new], np.int64)]
    )
    expires = np.concatenate([known.live[2][stays], np.array(expiry, np.float64)])
    order = np.argsort(stamps, kind="stable")
    return stamps[order], records[order], expires[order]


def scored(
    connection: sqlite3.Connection, lexicon: Lexicon, query: Terms, now: float
) -> Scored:
    """BM25 of every row, 0 for those that do not count, and what a row could reach.

    The last query's scores are kept: a hybrid search asks for the best records, and
    then for the scores of others. They are not to be written to.

    Raises:
        CorruptStoreError: The index cannot be read.
    """
    present, last = lexicon.present(now), lexicon._last  # noqa: SLF001 - the module's own
    if last is not None and last[0] == query and last[1] is present:
        return last[2]
    with segments.intact("a list"):
        found = _scored(connection, lexicon, query, present)
    own = replace(query, body=dict(query.body), title=dict(query.title))
    lexicon._last = (own, present, found)  # noqa: SLF001 - the module's own class
    return found


def _scored(
    connection: sqlite3.Connection, lexicon: Lexicon, query: Terms, present: Present
) -> Scored:
    scores, reachable = _summed(connection, lexicon, query_terms(query), present)
    for group in query.alternatives:
        asked = field_terms(group.exact, title=group.title)
        exact, most = _summed(connection, lexicon, asked, present)
        best = exact
        for terms in group.others:
            asked = field_terms(terms, title=group.title)
            other, limit = _summed(connection, lexicon, asked, present)
            if limit:
                best = np.maximum(best, other * worth(most, limit))
        scores += best - exact
    return scores, reachable


def _summed(
    connection: sqlite3.Connection,
    lexicon: Lexicon,
    terms: Iterator[QueryTerm],
    present: Present,
) -> Scored:
    """BM25 of every row for some terms, and what a row could reach."""
    everything = bool(present.rows.all())
    scores = np.zeros(len(present.rows))
    reachable = 0.0
    while part := list(itertools.islice(terms, _TERMS_AT_ONCE)):
        ranges = [
            (title_key(term.term), title_key(term.term) + 1)
            if term.title
            else key_range(term.term)
            for term in part
        ]
        found = _read(connection, lexicon.segments, ranges)
        for term, (rows, often) in zip(part, found, strict=True):
            statistics = present.fields[term.title]
            if not statistics.records:
                continue
            if not everything:
                counts = present.rows[rows]
                rows, often = rows[counts], often[counts]  # noqa: PLW2901 - the rest
            limit = factor(term.weight, statistics.idf(len(rows)))
            reachable += limit
            norm = present.norms[term.title][rows]
            # A row is there once, so that adding in place adds everything.
            scores[rows] += contributions(limit, often, norm)
    return scores, reachable


def _read(
    connection: sqlite3.Connection,
    parts: Sequence[segments.Segment],
    ranges: Sequence[tuple[int, int]],
) -> list[Found]:
    """The posting lists of some ranges of terms over all segments."""
    found: list[list[Found]] = [[] for _ in ranges]
    single = [place for place, (first, after) in enumerate(ranges) if after - first == 1]
    keys = np.array([ranges[place][0] for place in single], np.uint64)
    offset = 0
    for segment in parts:
        for at, lists in _read_terms(connection, segment, keys):
            found[single[at]].append((lists[0] + offset, lists[1]))
        for place, (first, after) in enumerate(ranges):
            if after - first > 1:
                rows, often = _read_range(connection, segment, first, after)
                found[place].append((rows + offset, often))
        offset += len(segment.stamps)
    empty = (np.empty(0, np.int64), np.empty(0, np.uint8))
    return [
        (np.concatenate([r for r, _ in lists]), np.concatenate([f for _, f in lists]))
        if len(lists) > 1
        else (lists[0] if lists else empty)
        for lists in found
    ]


def _read_terms(
    connection: sqlite3.Connection, segment: segments.Segment, keys: Keys
) -> Iterator[tuple[int, Found]]:
    """The posting lists of those terms that a segment has, each with its place."""
    order = np.argsort(keys)  # terms of one block one after the other
    numbers = np.searchsorted(segment.fences, keys[order], "right") - 1
    edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=len(segment.fences)))
    for start, end in itertools.pairwise(edges.tolist()):
        block = segments.block(connection, segment.key, int(numbers[start]))
        inside = order[start:end]
        for at, place in zip(inside.tolist(), block.places(keys[inside]), strict=True):
            if place >= 0:
                yield at, block.list_at(place)


def _read_range(
    connection: sqlite3.Connection, segment: segments.Segment, first: int, after: int
) -> Found:
    """The posting lists of all terms in a range as one."""
    lists = decoded(
        [
            segments.block(connection, segment.key, number).between(first, after)
            for number in segments.blocks_between(segment, first, after)
        ]
    )
    together = np.bincount(lists.rows, lists.frequencies).astype(np.int64)
    chosen = np.flatnonzero(together)
    return chosen, np.minimum(together[chosen], BM25_MAX_FREQUENCY)
