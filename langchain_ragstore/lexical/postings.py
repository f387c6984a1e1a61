"""Posting lists as bytes: which rows hold a term, and how often.

Lists stand in blocks, in the order of their terms' numbers. A block begins with columns:
the terms, how each list is written, how many rows it has, its first row, where it is. A
list is the differences between rows in the smallest of one, two and four bytes, and then,
unless all are 1, the frequencies in a byte each. Frequencies above 255 are written as
255; BM25 has reached 99.5 % of its limit there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import POSTING_BLOCK_BYTES

Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]
Frequencies = NDArray[np.uint8]
Steps = NDArray[np.uint32]
Codes = NDArray[np.uint8]

_WIDTHS: Final = (1, 2, 4)
_TYPES: Final = {width: np.dtype(f"<u{width}") for width in _WIDTHS}
_WIDEST: Final = _WIDTHS[-1]
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
        firsts: The first of them; shape `(terms,)`.
        steps: From each row of a term to its next: 0 for the first, and so on with the
            next term; shape `(postings,)`.
        frequencies: How often the term occurs in each, 1 to 255; shape of `steps`.
    """

    keys: Keys
    counts: Rows
    firsts: Rows
    steps: Steps
    frequencies: Frequencies

    @property
    def starts(self) -> Rows:
        """Where each term's rows begin."""
        return np.cumsum(self.counts) - self.counts

    @property
    def rows(self) -> Rows:
        """The rows of the first term, ascending, then those of the next."""
        running = np.cumsum(self.steps, dtype=np.int64)
        return running + np.repeat(self.firsts - running[self.starts], self.counts)


def of_rows(keys: Keys, counts: Rows, rows: Rows, frequencies: Frequencies) -> Postings:
    """Posting lists whose rows are given."""
    starts = np.cumsum(counts) - counts
    steps = np.zeros(len(rows), np.uint32)
    np.subtract(rows[1:], rows[:-1], out=steps[1:], casting="unsafe")
    steps[starts] = 0
    return Postings(keys, counts, rows[starts], steps, frequencies)


NO_POSTINGS: Final = Postings(
    np.empty(0, np.uint64),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.uint32),
    np.empty(0, np.uint8),
)

# --- bytes -----------------------------------------------------------------------------


def packed(values: Rows) -> bytes:
    """Numbers from 0 to 2^32 - 1 in the smallest of one, two and four bytes each."""
    largest = values.max(initial=0)
    width = next(width for width in _WIDTHS if largest < 1 << 8 * width or width == _WIDEST)
    return bytes([width]) + values.astype(_TYPES[width]).tobytes()


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


def encoded(postings: Postings) -> Iterator[tuple[int, bytes]]:
    """Write posting lists as blocks.

    Yields:
        The number of a block's first term, and the block: about `POSTING_BLOCK_BYTES`,
        more only where a single list is longer.
    """
    counts, firsts = postings.counts, postings.firsts
    if not len(counts):
        return
    codes = _codes(postings)
    layout = _Layout(counts, codes)
    data = layout.data(postings.steps, postings.frequencies).tobytes()
    sizes = layout.sizes
    ends = np.cumsum(sizes)
    offsets = ends - sizes
    costs = np.cumsum(sizes + _TERM_BYTES)
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
            packed(firsts[chosen]),
            packed(offsets[chosen] - offsets[first]),
            data[offsets[first] : ends[after - 1]],
        ]
        yield int(postings.keys[first]), b"".join(columns)
        first = after


def _codes(postings: Postings) -> Codes:
    """How each list is written: bytes of a step, and whether frequencies are."""
    starts = postings.starts
    largest = np.maximum.reduceat(postings.steps, starts)
    width = 1 + (largest >= 1 << 8) + 2 * (largest >= 1 << 16)  # 1, 2 or 4
    width[postings.counts == 1] = 0
    width[np.maximum.reduceat(postings.frequencies, starts) > 1] += _FREQUENT
    codes: Codes = width.astype(np.uint8)
    return codes


class _Layout:
    """Which bytes of written lists are what; a mask for each kind.

    Args:
        counts: How many rows each list has.
        codes: How it is written.
    """

    def __init__(self, counts: Rows, codes: Codes) -> None:
        width, frequent = codes % _FREQUENT, codes >= _FREQUENT
        rest = counts - 1
        lengths = np.stack([rest * width, counts * frequent], axis=1)
        kinds = np.stack([width, np.full_like(width, _FREQUENT)], axis=1)
        self.sizes: Rows = lengths.sum(axis=1)
        self._bytes = np.repeat(kinds.ravel(), lengths.ravel())
        # A first row has no step: it stands in the block's columns.
        self._steps = np.repeat(width, counts)
        self._steps[np.cumsum(counts) - counts] = 0
        self._frequent = np.repeat(frequent, counts)
        self._widths = np.flatnonzero(np.bincount(width, minlength=1)[1:]) + 1

    def data(self, steps: Steps, frequencies: Frequencies) -> NDArray[np.uint8]:
        """The bytes."""
        data = np.empty(len(self._bytes), np.uint8)
        for width in self._widths.tolist():
            narrow = steps[self._steps == width].astype(_TYPES[width])
            data[self._bytes == width] = narrow.view(np.uint8)
        data[self._bytes == _FREQUENT] = frequencies[self._frequent]
        return data

    def read(self, data: NDArray[np.uint8]) -> tuple[Steps, Frequencies]:
        """Steps and frequencies from the bytes; a first step is 0."""
        steps = np.zeros(len(self._steps), np.uint32)
        for width in self._widths.tolist():
            steps[self._steps == width] = data[self._bytes == width].view(_TYPES[width])
        frequencies = np.ones(len(steps), np.uint8)
        frequencies[self._frequent] = data[self._bytes == _FREQUENT]
        return steps, frequencies


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Lists of a block as they are written.

    Attributes:
        keys: The numbers of their terms.
        codes: How each is written.
        counts: How many rows it has.
        firsts: Its first row.
        data: What follows it: steps and frequencies.
    """

    keys: Keys
    codes: Codes
    counts: NDArray[np.unsignedinteger]
    firsts: NDArray[np.unsignedinteger]
    data: NDArray[np.uint8]


def decoded(parts: Sequence[Part]) -> Postings:
    """The lists of parts that follow one another; many at once cost less for each."""
    if not parts:
        return NO_POSTINGS
    counts = np.concatenate([part.counts for part in parts]).astype(np.int64)
    layout = _Layout(counts, np.concatenate([part.codes for part in parts]))
    steps, frequencies = layout.read(np.concatenate([part.data for part in parts]))
    return Postings(
        np.concatenate([part.keys for part in parts]),
        counts,
        np.concatenate([part.firsts for part in parts]).astype(np.int64),
        steps,
        frequencies,
    )


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

    def between(self, first: int, after: int) -> Part:
        """The lists of the terms in `[first, after)`, for `decoded`."""
        begin = int(np.searchsorted(self.keys, np.uint64(first)))
        end = len(self.keys)
        if after < 1 << 64:
            end = max(begin, int(np.searchsorted(self.keys, np.uint64(after))))
        return self._part(begin, end)

    def all(self) -> Part:
        """Every list of the block, for `decoded`."""
        return self._part(0, len(self.keys))

    def _part(self, begin: int, end: int) -> Part:
        chosen = slice(begin, end)
        size = len(self._data) - self._begin
        places = [
            int(self._offsets[at]) if at < len(self.keys) else size for at in (begin, end)
        ]
        data = np.frombuffer(
            self._data, np.uint8, places[1] - places[0], self._begin + places[0]
        )
        return Part(
            self.keys[chosen],
            self._codes[chosen],
            self._counts[chosen],
            self._firsts[chosen],
            data,
        )
