"""The text index in the file: segments of posting lists, written once and merged later.

A write adds one small segment. Segments of about one size are merged when there are
`SEGMENT_FAN_OUT` of them, so that a posting is rewritten once for each size and a search
reads few segments. A merge goes through the terms in slices; one that is more than a
write should do is left unfinished in the file and continued by the writes that follow.

Which postings are in force is not kept here. A record names the stamp under which its
terms were indexed, and a row of a segment counts if a record names its stamp.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from langchain_ragstore.config import (
    LARGE_FAN_OUT,
    LARGE_SIZE,
    MERGE_BLOCKS,
    SEGMENT_FAN_OUT,
    SEGMENT_ROWS,
)
from langchain_ragstore.errors import CorruptStoreError, RagStoreError
from langchain_ragstore.lexical.gathering import Prepared, merged, renumbered
from langchain_ragstore.lexical.postings import (
    Block,
    Keys,
    Rows,
    decoded,
    encoded,
    packed,
    unpacked,
)
from langchain_ragstore.storage.sqlite import statements as sql

_STAMP_BYTES: Final = 8
_LAST_KEY: Final = (1 << 64) - 1
_MERGE_SHARE: Final = 8
"""Blocks that a write merges for each block it adds. There are log4(N / 64) sizes, so
up to a hundred million records merging keeps up with writing."""


_DENSE: Final = 8
"""Reading a range of stamps costs an eighth of looking each one up."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """What is kept in memory of a segment; the arrays have one entry a row.

    Attributes:
        key: The segment.
        stamps: The stamp of each row's record when it was indexed.
        body: How many terms its body has.
        title: How many its title has.
        fences: The first term of each block.
    """

    key: int
    stamps: Rows
    body: Rows
    title: Rows
    fences: Keys


@dataclass(frozen=True, slots=True)
class Entry:
    """A segment in the list of a collection's segments.

    Attributes:
        key: The segment.
        rows: How many rows it has.
        blocks: How many blocks.
        sources: The segments that it is still being merged from; none if complete.
        resume: The term with which the merge goes on.
    """

    key: int
    rows: int
    blocks: int
    sources: tuple[int, ...] = ()
    resume: int = 0

    @property
    def complete(self) -> bool:
        """Whether the segment holds everything and its sources are gone."""
        return not self.sources


# --- reading ---------------------------------------------------------------------------


def entries(connection: sqlite3.Connection, collection: int) -> list[Entry]:
    """The segments of a collection, complete or not, oldest first."""
    found = []
    for key, rows, blocks, text in connection.execute(sql.SEGMENTS, (collection,)):
        merge: dict[str, Any] = (
            {"sources": [], "resume": 0} if text is None else json.loads(text)
        )
        found.append(Entry(key, rows, blocks, tuple(merge["sources"]), merge["resume"]))
    return found


def load(connection: sqlite3.Connection, key: int) -> Segment:
    """Read a segment without its blocks."""
    rows, slots, fences = connection.execute(sql.SEGMENT, (key,)).fetchone()
    with intact(f"segment {key}"):
        first = int.from_bytes(slots[:_STAMP_BYTES], "little")
        stamps, offset = unpacked(slots, rows, _STAMP_BYTES)
        body, offset = unpacked(slots, rows, offset)
        title, _ = unpacked(slots, rows, offset)
        return Segment(key, stamps + first, body, title, np.frombuffer(fences, "<u8"))


def block(connection: sqlite3.Connection, key: int, number: int) -> Block:
    """Read a block of a segment."""
    row = connection.execute(sql.BLOCK, (key, number)).fetchone()
    with intact(f"block {number} of segment {key}"):
        return Block(row[0])


@contextmanager
def intact(what: str) -> Iterator[None]:
    """Name what is damaged when its bytes cannot be read."""
    try:
        yield
    except RagStoreError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise CorruptStoreError(
            f"{what} of the text index is missing or damaged; index the texts anew"
        ) from error


def blocks_between(segment: Segment, first: int, after: int | None) -> range:
    """Numbers of the blocks that may hold terms in `[first, after)`; None: to the end."""
    fences = segment.fences
    begin = max(int(np.searchsorted(fences, np.uint64(first), "right")) - 1, 0)
    if after is None:
        return range(begin, len(fences))
    return range(begin, int(np.searchsorted(fences, np.uint64(after), "left")))


# --- writing ---------------------------------------------------------------------------


def add(
    connection: sqlite3.Connection, collection: int, parts: Iterable[Prepared]
) -> tuple[list[int], int]:
    """Index texts; their records must then be written with the stamps.

    Returns:
        A stamp for each text, and how many blocks were written.
    """
    stamps: list[int] = []
    blocks = 0
    for part in parts:
        stamps += add_prepared(connection, collection, part)
        blocks += len(part.blocks)
    return stamps, blocks


def add_prepared(
    connection: sqlite3.Connection, collection: int, part: Prepared
) -> list[int]:
    """Write posting lists as a segment; a stamp for each text."""
    count = len(part.body)
    (last,) = connection.execute(sql.NEXT_STAMP, (count, collection)).fetchone()
    stamps = np.arange(last - count + 1, last + 1)
    key = _insert(connection, collection, (stamps, part.body, part.title), None)
    _append(connection, Entry(key, count, 0), b"", part.blocks, None)
    found: list[int] = stamps.tolist()
    return found


def _insert(
    connection: sqlite3.Connection,
    collection: int,
    columns: tuple[Rows, Rows, Rows],
    merging: str | None,
) -> int:
    stamps, body, title = columns
    first = int(stamps.min())
    slots = first.to_bytes(_STAMP_BYTES, "little") + b"".join(
        map(packed, (stamps - first, body, title))
    )
    (key,) = connection.execute(
        sql.ADD_SEGMENT, (collection, len(stamps), merging, slots, b"")
    ).fetchone()
    return int(key)


def _append(
    connection: sqlite3.Connection,
    target: Entry,
    fences: bytes,
    written: Iterable[tuple[int, bytes]],
    merging: str | None,
) -> None:
    """Write the next blocks of a segment, and how its merge stands after them."""
    blocks = list(written)
    connection.executemany(
        sql.ADD_BLOCK,
        [
            (target.key, number, data)
            for number, (_, data) in enumerate(blocks, target.blocks)
        ],
    )
    fences += b"".join(fence.to_bytes(8, "little") for fence, _ in blocks)
    connection.execute(sql.MERGED_TO, (merging, fences, target.key))


def drop_dead(connection: sqlite3.Connection, collection: int) -> None:
    """Drop all segments of a collection in which no record is indexed any more."""
    connection.execute(sql.DROP_DEAD_SEGMENTS, (collection,))


# --- merging ---------------------------------------------------------------------------


def maintain(connection: sqlite3.Connection, collection: int, written: int) -> None:
    """Merge what is due after a write of some blocks; bounded, whatever the index's size.

    Small merges are done at once, so that few segments remain; of larger ones as many
    blocks as a write should do, the smallest merge first.
    """
    budget = max(MERGE_BLOCKS, _MERGE_SHARE * written)
    while True:
        known = entries(connection, collection)
        unfinished = min(
            (entry for entry in known if not entry.complete),
            key=lambda entry: entry.rows,
            default=None,
        )
        due = _due(known)
        small = bool(due) and sum(entry.blocks for entry in due) <= MERGE_BLOCKS
        if small or (due and (unfinished is None or _rows(due) < unfinished.rows)):
            unfinished = _begin(connection, collection, due)
            while small and unfinished is not None and not unfinished.complete:
                unfinished, _ = _advance(connection, unfinished, MERGE_BLOCKS)
            continue
        if unfinished is None or budget <= 0:
            return
        _, done = _advance(connection, unfinished, budget)
        budget -= done


def _rows(group: Sequence[Entry]) -> int:
    return sum(entry.rows for entry in group)


def compact_step(connection: sqlite3.Connection, collection: int, *, begin: bool) -> bool:
    """Go on with the merge under way.

    Args:
        connection: In a transaction that writes.
        collection: Whose index.
        begin: If none is under way, begin one of all segments.

    Returns:
        Whether anything was done, so that there may be more to do.
    """
    known = entries(connection, collection)
    target = next((entry for entry in known if not entry.complete), None)
    if target is None and begin and known:
        stamps = load(connection, known[0].key).stamps
        live = np.isin(stamps, _live(connection, collection, stamps))
        if len(known) == 1 and live.all():
            return False
        target = _begin(connection, collection, known)
        return target is None or _advance(connection, target, MERGE_BLOCKS)[1] > 0
    if target is None:
        return False
    _advance(connection, target, MERGE_BLOCKS)
    return True


def _due(known: Sequence[Entry]) -> list[Entry]:
    """The smallest segments of about one size of which there are too many."""
    busy = {key for entry in known for key in entry.sources}
    sizes: dict[int, list[Entry]] = {}
    for entry in known:
        if entry.complete and entry.key not in busy:
            sizes.setdefault(_size(entry.rows), []).append(entry)
    for size, group in sorted(sizes.items()):
        if len(group) >= _fan_out(size):
            return group
    return []


def _size(rows: int) -> int:
    size, limit = 0, SEGMENT_ROWS
    while rows >= limit:
        size += 1
        limit *= _fan_out(size)
    return size


def _fan_out(size: int) -> int:
    """How many segments of one size are merged into one."""
    return SEGMENT_FAN_OUT if size < LARGE_SIZE else LARGE_FAN_OUT


def _begin(
    connection: sqlite3.Connection, collection: int, group: Sequence[Entry]
) -> Entry | None:
    """Begin to merge segments into a new one without dead rows; None if none is alive."""
    sources = [load(connection, entry.key) for entry in group]
    stamps = np.concatenate([source.stamps for source in sources])
    alive = np.isin(stamps, _live(connection, collection, stamps))
    if not alive.any():
        _drop(connection, [entry.key for entry in group])
        return None
    columns = (
        stamps[alive],
        np.concatenate([source.body for source in sources])[alive],
        np.concatenate([source.title for source in sources])[alive],
    )
    keys = tuple(entry.key for entry in group)
    key = _insert(connection, collection, columns, _state(keys, 0))
    return Entry(key, int(alive.sum()), 0, keys, 0)


def _state(sources: Sequence[int], resume: int) -> str:
    return json.dumps({"sources": list(sources), "resume": resume})


def _live(connection: sqlite3.Connection, collection: int, stamps: Rows) -> Rows:
    """Those of the stamps that a record names, and perhaps others."""
    first, last = int(stamps.min()), int(stamps.max())
    if last - first < _DENSE * len(stamps):
        rows = connection.execute(sql.LIVE_RANGE, (collection, first, last)).fetchall()
    else:
        rows = [
            row
            for batch in sql.batches(stamps.tolist())
            for row in connection.execute(sql.LIVE_STAMPS, (collection, *batch))
        ]
    return np.array([stamp for (stamp,) in rows], np.int64)


def _drop(connection: sqlite3.Connection, keys: Iterable[int]) -> None:
    connection.executemany(sql.DROP_SEGMENT, [(key,) for key in keys])


def _advance(
    connection: sqlite3.Connection, target: Entry, budget: int
) -> tuple[Entry, int]:
    """Merge about `budget` blocks more; how the target stands then, and how many."""
    sources = [load(connection, key) for key in target.sources]
    into = load(connection, target.key)
    ahead = np.sort(np.concatenate([source.fences for source in sources]))
    ahead = ahead[ahead > np.uint64(target.resume)]
    after = int(ahead[budget - 1]) if len(ahead) > budget else None
    last = _LAST_KEY + 1 if after is None else after
    parts, read = [], 0
    for source in sources:
        numbers = blocks_between(source, target.resume, after)
        blocks = [block(connection, source.key, number) for number in numbers]
        with intact(f"segment {source.key}"):
            lists = decoded([each.between(target.resume, last) for each in blocks])
            parts.append(renumbered(lists, _places(source.stamps, into.stamps)))
        read += len(blocks)
    written = list(encoded(merged(parts)))
    left = () if after is None else target.sources
    state = _state(left, after or 0) if left else None
    fences = into.fences.astype("<u8").tobytes()
    _append(connection, target, fences, written, state)
    if not left:
        _drop(connection, target.sources)
    return (
        Entry(target.key, target.rows, target.blocks + len(written), left, after or 0),
        max(read, 1),
    )


def _places(stamps: Rows, among: Rows) -> Rows:
    """The place of each stamp among others, -1 where it is not there."""
    if not len(among):
        return np.full(len(stamps), -1, np.int64)
    order = np.argsort(among, kind="stable")
    at = np.minimum(np.searchsorted(among[order], stamps), len(among) - 1)
    return np.where(among[order][at] == stamps, order[at], -1)
