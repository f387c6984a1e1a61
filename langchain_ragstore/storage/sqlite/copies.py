"""A collection's vectors in memory: whole, or as codes and sketches, or none of them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.model import Keys, Matrix, Vector
from langchain_ragstore.storage.sqlite import coding, statements
from langchain_ragstore.storage.sqlite.resident import State
from langchain_ragstore.storage.sqlite.vector_rows import check_vectors, stacked
from langchain_ragstore.vectors.codes import Codes, encode
from langchain_ragstore.vectors.index import Index
from langchain_ragstore.vectors.sketch import Words, words

_GROWTH = 1.5
"""Factor by which a full array grows: appending n rows costs O(n) in all."""

_MINIMUM_ROWS = 256

_ROW_BYTES: Final = 17
"""Of key, expiry and liveness."""

A = TypeVar("A", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The vectors of a collection at one generation; its arrays are never changed.

    Attributes:
        generation: The collection's, when it was read.
        coded: The measurement of its codes that this is made with.
        dimension: Of the vectors.
        keys: Record of each row, shape `(rows,)`.
        expires: When each row's record expires, infinity for never; shape `(rows,)`.
        alive: Whether the row is its record's present vector; shape `(rows,)`.
        mortal: Whether some row expires.
        matrix: Whole vectors, shape `(rows, dimension)`, unit length; None if there are
            codes, or if they do not fit in memory.
        index: Sketches and codes; None if there are none, or if they do not fit.
        lineage: The same for snapshots whose rows continue each other's.
    """

    generation: int
    coded: int
    dimension: int
    keys: Keys
    expires: NDArray[np.float64]
    alive: NDArray[np.bool_]
    mortal: bool = False
    matrix: Matrix | None = None
    index: Index | None = None
    lineage: object = field(default_factory=object)

    def present(self, now: float) -> NDArray[np.bool_]:
        """Rows that are alive and not expired; not to be written to."""
        return self.alive & (self.expires > now) if self.mortal else self.alive

    @property
    def holds(self) -> bool:
        """Whether anything of the vectors is in memory."""
        return self.matrix is not None or self.index is not None

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the rows take."""
        arrays: list[NDArray[Any]] = [self.keys, self.expires, self.alive]
        if self.matrix is not None:
            arrays.append(self.matrix)
        if self.index is not None:
            arrays += self.index.sketches
            if self.index.codes is not None:
                arrays += [self.index.codes.values, self.index.codes.scales]
        return sum(array.nbytes for array in arrays)


def empty(state: State) -> Snapshot:
    """No rows, and nothing of the vectors."""
    return Snapshot(
        generation=-1,
        coded=state.coded,
        dimension=state.dimension,
        keys=np.empty(0, np.int64),
        expires=np.empty(0, np.float64),
        alive=np.empty(0, np.bool_),
    )


def followed(
    connection: sqlite3.Connection, known: Snapshot | None, state: State, budget: float
) -> Snapshot:
    """The vectors at the transaction's generation, from an older copy if there is one.

    Args:
        connection: In a transaction.
        known: An older copy.
        state: The collection, in this transaction.
        budget: Bytes that the copy may take.
    """
    if known is None or not _can_follow(known, state):
        return loaded(connection, state, budget)
    gone = connection.execute(
        statements.TOMBSTONES, (state.collection, known.generation)
    ).fetchall()
    left = np.fromiter((key for (key,) in gone), np.int64, len(gone))
    rows = connection.execute(statements.CHANGED, (state.collection, known.generation))
    snapshot = appended(known, rows.fetchall(), state, left)
    mostly_dead = 2 * np.count_nonzero(snapshot.alive) < len(snapshot.alive) - _MINIMUM_ROWS
    if mostly_dead or snapshot.nbytes > budget:
        return loaded(connection, state, budget)
    if snapshot.coded != state.coded:
        return _measured_anew(connection, snapshot, state)
    return snapshot


def _can_follow(known: Snapshot, state: State) -> bool:
    """Whether what changed is enough to know, and the same things are kept of it."""
    if known.generation < state.floor or known.dimension != state.dimension:
        return False
    if not known.holds or bool(known.coded) != bool(state.coded):
        return False
    sketches_alone = known.index is not None and known.index.codes is None
    return not (sketches_alone and known.coded != state.coded)


def loaded(connection: sqlite3.Connection, state: State, budget: float) -> Snapshot:
    """All rows, with as much of their vectors as the budget allows."""
    if state.coded:
        rows, words_bytes = coding.count(connection, state), -(-state.dimension // 64) * 8
        width = _ROW_BYTES + words_bytes
        with_codes = rows * (width + state.dimension + 4) <= budget
        if not with_codes and rows * width > budget:
            return replace(empty(state), generation=state.generation)
        return _coded(connection, state, rows, with_codes=with_codes)
    since = (state.collection,)
    (count,) = connection.execute(statements.COUNT_VECTORS, since).fetchone()
    if count * (_ROW_BYTES + 4 * state.dimension) > budget:
        return replace(empty(state), generation=state.generation)
    everything = connection.execute(statements.CHANGED, (state.collection, -1))
    start = replace(empty(state), matrix=np.empty((0, state.dimension), np.float32))
    return appended(start, everything.fetchall(), state, np.empty(0, np.int64))


def _coded(
    connection: sqlite3.Connection, state: State, count: int, *, with_codes: bool
) -> Snapshot:
    """All rows from their codes.

    Room to grow is taken at once: memory that is not written to costs nothing.
    """
    mean, depth = coding.codebook(connection, state)
    room = _room(count)
    keys = np.empty(room, np.int64)
    sketches = tuple(np.empty(room, np.uint64) for _ in range(-(-state.dimension // 64)))
    values = np.empty((room if with_codes else 0, state.dimension), np.int8)
    scales = np.empty(room if with_codes else 0, np.float32)
    at = 0
    for some, codes in coding.parts(connection, state):
        part = slice(at, at + len(some))
        keys[part] = some
        for word, bits in zip(sketches, _sketched(codes, mean), strict=True):
            word[part] = bits
        if with_codes:
            values[part], scales[part] = codes.values, codes.scales
        at += len(some)
    expires = np.full(at, np.inf)
    mortal = connection.execute(statements.EXPIRIES, (state.collection,)).fetchall()
    if mortal and at:
        wanted = np.array([key for key, _ in mortal], np.int64)
        places = np.minimum(np.searchsorted(keys[:at], wanted), at - 1)
        found = keys[places] == wanted
        expires[places[found]] = np.array([time for _, time in mortal])[found]
    return replace(
        empty(state),
        generation=state.generation,
        keys=keys[:at],
        expires=expires,
        alive=np.ones(at, np.bool_),
        mortal=bool(mortal),
        index=Index(
            sketches=tuple(word[:at] for word in sketches),
            codes=Codes(values[:at], scales[:at]) if with_codes else None,
            mean=mean,
            depth=depth,
        ),
    )


def _sketched(codes: Codes, mean: Vector) -> Words:
    return words(codes.decoded(slice(None)), mean)


def _measured_anew(
    connection: sqlite3.Connection, known: Snapshot, state: State
) -> Snapshot:
    """The same rows with sketches against another mean, made from the codes."""
    mean, depth = coding.codebook(connection, state)
    assert known.index is not None  # noqa: S101 - see `_can_follow`
    codes = known.index.codes
    assert codes is not None  # noqa: S101 - see `_can_follow`
    rows = len(codes)
    sketches = tuple(np.empty(_room(rows), np.uint64) for _ in known.index.sketches)
    for start in range(0, rows, 1_024):
        part = slice(start, min(rows, start + 1_024))
        for word, bits in zip(sketches, words(codes.decoded(part), mean), strict=True):
            word[part] = bits
    index = Index(tuple(word[:rows] for word in sketches), codes, mean, depth)
    return replace(known, coded=state.coded, index=index)


def appended(
    known: Snapshot,
    rows: list[tuple[int, float | None, bytes | None, int | None]],
    state: State,
    left: Keys,
) -> Snapshot:
    """The snapshot after changes since its generation.

    Args:
        known: Before.
        rows: Key, expiry, vector and its checksum of the records that changed.
        state: The collection now.
        left: Records that were deleted.
    """
    held = [row for row in rows if row[2] is not None]
    given = [(key, data) for key, _, data, _ in held if data is not None]
    new = stacked(given, state.dimension)
    check_vectors((key, data, checksum) for key, _, data, checksum in held)
    gone = np.array([key for key, *_ in rows] + left.tolist(), np.int64)
    alive = known.alive & ~places_of(known.keys, gone) if len(known.keys) else known.alive
    expiries = [np.inf if expiry is None else expiry for _, expiry, _, _ in held]
    return replace(
        known,
        generation=state.generation,
        keys=extended(known.keys, np.array([key for key, _ in given], np.int64)),
        expires=extended(known.expires, np.array(expiries, np.float64)),
        alive=np.concatenate([alive, np.ones(len(given), np.bool_)]),
        mortal=known.mortal or any(expiry < np.inf for expiry in expiries),
        matrix=None if known.matrix is None else extended(known.matrix, new),
        index=None if known.index is None else _indexed(known.index, new),
    )


def _indexed(index: Index, new: Matrix) -> Index:
    if not len(new):
        return index
    codes, known = encode(new), index.codes
    pairs = zip(index.sketches, _sketched(codes, index.mean), strict=True)
    return replace(
        index,
        sketches=tuple(extended(word, bits) for word, bits in pairs),
        codes=None  # codes of no row yet are codes, too
        if known is None
        else Codes(
            extended(known.values, codes.values), extended(known.scales, codes.scales)
        ),
    )


def places_of(keys: Keys, wanted: Keys) -> NDArray[np.bool_]:
    """Which rows are of some records; quick for few of them."""
    if len(wanted) > 16:  # noqa: PLR2004 - as many comparisons take as long as `isin`
        return np.isin(keys, wanted)
    among = np.zeros(len(keys), np.bool_)
    for key in wanted.tolist():
        among |= keys == key
    return among


def _room(rows: int) -> int:
    return max(rows + _MINIMUM_ROWS, int(rows * _GROWTH))


def extended(array: NDArray[A], new: NDArray[A]) -> NDArray[A]:
    """Rows appended to an array, in its own spare room where there is some.

    A view of the first rows stays valid while later rows of the buffer are filled, so
    searches that hold an older snapshot are not disturbed. Two snapshots never extend
    the same one: that happens under the lock, from the newest.
    """
    if not len(new):
        return array
    base, rows = array.base, len(array) + len(new)
    buffer = base if isinstance(base, np.ndarray) else array
    fits = buffer.flags.writeable and buffer.ndim == array.ndim and len(buffer) >= rows
    if not fits or buffer.dtype != array.dtype:
        # A first load takes just the room it needs.
        buffer = np.empty((_room(rows) if len(array) else rows, *new.shape[1:]), new.dtype)
        buffer[: len(array)] = array
    buffer[len(array) : rows] = new
    return buffer[:rows]
