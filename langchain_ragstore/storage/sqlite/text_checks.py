"""Whether the text index holds what the texts say, and nothing is lost or damaged in it.

The postings of a row, from the index and from its text, are each reduced to one number
that does not depend on their order; no list need be kept to compare them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import RECORD_PAGE
from langchain_ragstore.lexical.gathering import prepared
from langchain_ragstore.lexical.postings import Block, Postings, decoded
from langchain_ragstore.model import Terms, Unanalyzed
from langchain_ragstore.storage.care import TermsOf
from langchain_ragstore.storage.sqlite import segments, steps
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.connection import Connection
from langchain_ragstore.storage.sqlite.resident import State

Sums = NDArray[np.uint64]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)


def damaged(connection: Connection, state: State) -> list[str]:
    """What of a collection's index cannot be read or does not fit together."""
    places = _places(connection, state)
    stamps = [s for (s,) in connection.execute(sql.STAMPS, (state.collection,))]
    lost = [stamp for stamp in stamps if stamp not in places]
    found = [f"{len(lost)} documents are not in it"] if lost else []
    for segment in _searched(connection, state):
        if len(segment.stamps) != len(set(segment.stamps.tolist())):
            found.append(f"segment {segment.key} has a document twice")
        _, bad = _sums(connection, segment)
        found += bad
    return found


def differing(connection: Connection, state: State, terms_of: TermsOf) -> list[str]:
    """Ids of the documents whose postings are not those of their texts.

    Args:
        connection: In a transaction.
        state: Of a collection whose index is not damaged.
        terms_of: What a record is to be found by.
    """
    known: dict[int, tuple[int, int, int]] = {}
    for segment in _searched(connection, state):
        sums, _ = _sums(connection, segment)
        columns = (segment.stamps, sums, segment.body, segment.title)
        for stamp, *facts in zip(*(column.tolist() for column in columns), strict=True):
            known[stamp] = (facts[0], facts[1], facts[2])
    ids = []
    rows = connection.execute(sql.INDEXED_RECORDS, (state.collection,))
    more = True
    while more:
        # Of a page only what is compared is kept: what Python's garbage collector counts
        # stays below what it stops every thread for.
        stamps: list[int] = []
        names: list[str] = []
        made: list[Terms | Unanalyzed | None] = []
        for stamp, *row in islice(rows, RECORD_PAGE):
            _, record = steps.record(row)
            stamps.append(stamp)
            names.append(record.id)
            made.append(terms_of(record))
        more = len(stamps) == RECORD_PAGE
        expected = _expected([terms for terms in made if terms is not None])
        for stamp, name, terms in zip(stamps, names, made, strict=True):
            if known.get(stamp) != (None if terms is None else next(expected)):
                ids.append(name)
    return ids


def _expected(texts: Sequence[Terms | Unanalyzed]) -> Iterator[tuple[int, int, int]]:
    for part in prepared(texts):
        sums = np.zeros(len(part.body), np.uint64)
        for _, data in part.blocks:
            _add(sums, decoded([Block(data).all()]))
        yield from zip(sums.tolist(), part.body.tolist(), part.title.tolist(), strict=True)


def _places(connection: Connection, state: State) -> set[int]:
    return {
        stamp
        for segment in _searched(connection, state)
        for stamp in segment.stamps.tolist()
    }


def _searched(connection: Connection, state: State) -> list[segments.Segment]:
    known = segments.entries(connection, state.collection)
    return [segments.load(connection, entry.key) for entry in known if entry.complete]


def _sums(connection: Connection, segment: segments.Segment) -> tuple[Sums, list[str]]:
    """The number of each row's postings, and what is wrong with the blocks."""
    sums, wrong = np.zeros(len(segment.stamps), np.uint64), []
    for number, fence in enumerate(segment.fences.tolist()):
        block = segments.block(connection, segment.key, number)
        with segments.intact(f"block {number} of segment {segment.key}"):
            postings = decoded([block.all()])
            _add(sums, postings)
        if not len(postings.keys) or int(postings.keys[0]) != fence:
            wrong.append(f"block {number} of segment {segment.key} is another's")
    return sums, wrong


def _add(sums: Sums, postings: Postings) -> None:
    keys = np.repeat(postings.keys, postings.counts)
    with np.errstate(over="ignore"):
        mixed = (keys + postings.frequencies.astype(np.uint64)) * _MIX
        mixed = (mixed ^ (mixed >> _FOLD)) * _MIX
        np.add.at(sums, postings.rows, mixed ^ (mixed >> _FOLD))
