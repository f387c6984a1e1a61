"""Posting lists as bytes: which rows hold a term, and how often.

Lists stand in blocks, in the order of their terms' numbers. A block begins with columns:
the terms, how each list is written, how many rows it has, its first row, where it is. A
list is the differences between rows in the smallest of one, two and four bytes, and then,
unless all are 1, the frequencies in a byte each. Frequencies above 255 are written as
255; BM25 has reached 99.5 % of its limit there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import POSTING_BLOCK_BYTES

Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]
Frequencies = NDArray[np.uint8]

_WIDTHS: Final = (1, 2, 4)
_TYPES: Final = {width: np.dtype(f"<u{width}") for width in _WIDTHS}
_FREQUENT: Final = 8
"""Flag beside the width in a list's code: the frequencies are written out."""

_HEADER: Final = 4
_TERM_BYTES: Final = 15
"""Bytes of a term in a block's columns, about."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Posting lists, one after the other.

    Attributes:
        keys: The numbers of the terms, ascending, each once; shape `(terms,)`.
        counts: How many rows each term has, at least 1; shape `(terms,)`.
        rows: The rows of the first term, ascending, then those of the next.
        frequencies: How often the term occurs in each, 1 to 255; shape of `rows`.
    """

    keys: Keys
    counts: Rows
    rows: Rows
    frequencies: Frequencies

    @property
    def starts(self) -> Rows:
        """Where each term's rows begin."""
        return np.cumsum(self.counts) - self.counts


# --- bytes -----------------------------------------------------------------------------


def packed(values: Rows) -> bytes:
    """Numbers from 0 to 2^32 - 1 in the smallest of one, two and four bytes each."""
    width = int(_widths(values.max(initial=0, keepdims=True))[0])
    return bytes([width]) + values.astype(f"<u{width}").tobytes()


def unpacked(data: bytes, count: int, offset: int = 0) -> tuple[Rows, int]:
    """What `packed` wrote at an offset, and the offset after it."""
    values, offset = _column(data, count, offset)
    return values.astype(np.int64), offset


def _column(
    data: bytes, count: int, offset: int
) -> tuple[NDArray[np.unsignedinteger], int]:
    """What `packed` wrote as it is, and the offset after it."""
    width = data[offset]
    values = np.frombuffer(data, _TYPES[width], count, offset + 1)
    return values, offset + 1 + count * width


def _widths(largest: Rows) -> Rows:
    return np.select([largest < 1 << 8, largest < 1 << 16], _WIDTHS[:2], _WIDTHS[2])


def encoded(postings: Postings) -> Iterator[tuple[int, bytes]]:
    """Write posting lists as blocks.

    Yields:
        The number of a block's first term, and the block: about `POSTING_BLOCK_BYTES`,
        more only where a single list is longer.
    """
    counts, starts = postings.counts, postings.starts
    if not len(counts):
        return
    steps = np.diff(postings.rows, prepend=0)
    steps[starts] = 0
    width = np.where(counts > 1, _widths(np.maximum.reduceat(steps, starts)), 0)
    frequent = np.maximum.reduceat(postings.frequencies, starts) > 1
    sizes = (counts - 1) * width + counts * frequent
    ends = np.cumsum(sizes)
    data = _lists(postings, steps, width, frequent, ends - sizes).tobytes()
    costs = np.cumsum(sizes + _TERM_BYTES)
    codes = (width + _FREQUENT * frequent).astype(np.uint8)
    first = 0
    while first < len(counts):
        room = POSTING_BLOCK_BYTES + (costs[first - 1] if first else 0)
        after = max(first + 1, int(np.searchsorted(costs, room, "right")))
        chosen = slice(first, after)
        columns = [
            (after - first).to_bytes(_HEADER, "little"),
            postings.keys[chosen].astype("<u8").tobytes(),
            codes[chosen].tobytes(),
            packed(counts[chosen]),
            packed(postings.rows[starts[chosen]]),
            packed((ends - sizes)[chosen] - (ends - sizes)[first]),
            data[ends[first] - sizes[first] : ends[after - 1]],
        ]
        yield int(postings.keys[first]), b"".join(columns)
        first = after


def _lists(
    postings: Postings,
    steps: Rows,
    width: Rows,
    frequent: NDArray[np.bool_],
    offsets: Rows,
) -> Frequencies:
    """The bytes of all lists; `offsets` says where each begins."""
    counts = postings.counts
    total = int((((counts - 1) * width) + counts * frequent).sum())
    data = np.empty(total, np.uint8)
    for at, column, byte in _places(counts, width, offsets):
        data[at] = (steps[column] >> (8 * byte)) & 0xFF
    at, column = _frequency_places(counts, width, frequent, offsets)
    data[at] = postings.frequencies[column]
    return data


def _places(
    counts: Rows, width: Rows, offsets: Rows
) -> Iterator[tuple[Rows, NDArray[np.intp], int]]:
    """For each byte of a step: where it stands in the data, and in the column of rows."""
    starts = np.cumsum(counts) - counts
    for size in _WIDTHS:
        lists = np.flatnonzero(width == size)
        if not len(lists):
            continue
        rest = counts[lists] - 1
        within = np.arange(rest.sum()) - np.repeat(np.cumsum(rest) - rest, rest)
        column = np.repeat(starts[lists] + 1, rest) + within
        at = np.repeat(offsets[lists], rest) + within * size
        for byte in range(size):
            yield at + byte, column, byte


def _frequency_places(
    counts: Rows, width: Rows, frequent: NDArray[np.bool_], offsets: Rows
) -> tuple[Rows, Rows]:
    starts = np.cumsum(counts) - counts
    lists = np.flatnonzero(frequent)
    many = counts[lists]
    within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    begin = (offsets + (counts - 1) * width)[lists]
    return np.repeat(begin, many) + within, np.repeat(starts[lists], many) + within


class Block:
    """A block, read as far as it is asked for.

    Args:
        data: What `encoded` wrote.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        terms = int.from_bytes(data[:_HEADER], "little")
        self.keys: Keys = np.frombuffer(data, "<u8", terms, _HEADER)
        offset = _HEADER + 8 * terms
        self._codes = np.frombuffer(data, np.uint8, terms, offset)
        self._counts, offset = _column(data, terms, offset + terms)
        self._firsts, offset = _column(data, terms, offset)
        self._offsets, self._begin = _column(data, terms, offset)

    def places(self, keys: Keys) -> list[int]:
        """Where the lists of some terms are in the block; -1 for those that it lacks."""
        places = np.searchsorted(self.keys, keys)
        last = len(self.keys) - 1
        there = self.keys[np.minimum(places, last)] == keys
        return np.where(there, places, -1).tolist()  # type: ignore[no-any-return]

    def list_at(self, place: int) -> tuple[Rows, Frequencies]:
        """The rows of the term at a place, and how often it occurs in each."""
        count, code = int(self._counts[place]), int(self._codes[place])
        width = code % _FREQUENT
        offset = self._begin + int(self._offsets[place])
        rows = np.empty(count, np.int64)
        rows[0] = self._firsts[place]
        if count > 1:
            rows[1:] = np.frombuffer(self._data, _TYPES[width], count - 1, offset)
            np.cumsum(rows, out=rows)
        if code < _FREQUENT:
            return rows, np.ones(count, np.uint8)
        offset += (count - 1) * width
        return rows, np.frombuffer(self._data, np.uint8, count, offset)

    def between(self, first: int, after: int) -> Postings:
        """The lists of the terms in `[first, after)`."""
        begin = int(np.searchsorted(self.keys, np.uint64(first)))
        end = len(self.keys)
        if after < 1 << 64:
            end = int(np.searchsorted(self.keys, np.uint64(after)))
        return self._lists(slice(begin, max(begin, end)))

    def all(self) -> Postings:
        """Every list of the block."""
        return self._lists(slice(None))

    def _lists(self, chosen: slice) -> Postings:
        data = np.frombuffer(self._data, np.uint8)
        counts, codes = self._counts[chosen].astype(np.int64), self._codes[chosen]
        width = (codes % _FREQUENT).astype(np.int64)
        frequent = codes >= _FREQUENT
        offsets = self._offsets[chosen].astype(np.int64) + self._begin
        starts = np.cumsum(counts) - counts
        steps = np.zeros(counts.sum(), np.int64)
        for at, column, byte in _places(counts, width, offsets):
            steps[column] |= data[at].astype(np.int64) << (8 * byte)
        running = np.cumsum(steps)
        firsts = self._firsts[chosen].astype(np.int64)
        rows = running + np.repeat(firsts - running[starts], counts)
        often = np.ones(len(rows), np.uint8)
        at, column = _frequency_places(counts, width, frequent, offsets)
        often[column] = data[at]
        return Postings(self.keys[chosen], counts, rows, often)
