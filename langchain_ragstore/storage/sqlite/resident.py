"""A collection's vectors in memory, following every thread's and process's writes.

The file is the truth. Each write to a collection raises its generation number in the
same transaction; a search compares it with the copy's and reads what changed since:
records with a higher generation, and tombstones of those that left.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.model import Matrix, Vector
from langchain_ragstore.storage.sqlite import statements
from langchain_ragstore.vectors.arrays import best, cosines, rounding_slack

_GROWTH = 1.5
"""Factor by which a full matrix grows: appending n rows costs O(n) in all."""

_MINIMUM_ROWS = 256


@dataclass(frozen=True, slots=True)
class State:
    """Where a collection stands, as read in the transaction of a search."""

    collection: int
    generation: int
    floor: int
    dimension: int
    analyzer: str | None


NOWHERE: Final = State(0, 0, 0, 0, None)
"""Where a collection stands that does not exist: none has this key."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The vectors of a collection at one generation; its arrays are never changed.

    Attributes:
        generation: The collection's, when it was read.
        keys: Record of each row, shape `(rows,)`.
        expires: When each row's record expires, infinity for never; shape `(rows,)`.
        alive: Whether the row is its record's present vector; shape `(rows,)`.
        matrix: Shape `(rows, dimension)`, unit length.
    """

    generation: int
    keys: NDArray[np.int64]
    expires: NDArray[np.float64]
    alive: NDArray[np.bool_]
    matrix: Matrix

    def present(self, now: float, keys: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        """Rows that are alive, not expired and, if keys are given, among them."""
        rows = self.alive & (self.expires > now)
        return rows if keys is None else rows & np.isin(self.keys, keys)

    def nearest(
        self, rows: NDArray[np.bool_], vector: Vector, k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Places and exact cosines of the `k` best rows, and of all tied with the last.

        A float32 product finds the candidates, with a slack that its rounding cannot
        exceed; their cosines are then computed exactly.
        """
        chosen = np.flatnonzero(rows)
        if 4 * len(chosen) < len(rows):  # gathering few rows beats multiplying all
            rough = self.matrix[chosen] @ vector
        else:
            rough = (self.matrix @ vector)[chosen]
        places = chosen[best(rough, k, rounding_slack(len(vector)))]
        exact = cosines(self.matrix[places], vector)
        kept = best(exact, k)
        return places[kept], exact[kept]

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the rows take."""
        base = self.matrix.base  # with its spare room
        matrix = base if isinstance(base, np.ndarray) else self.matrix
        return sum(a.nbytes for a in (self.keys, self.expires, self.alive, matrix))


class StaleReadError(Exception):
    """The transaction is older than the copy in memory; begin a new one."""


class Copy(Protocol):
    """What is kept in memory of a collection, at one generation."""

    @property
    def generation(self) -> int:
        """The collection's, when it was read."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes."""


C = TypeVar("C", bound=Copy)


class Resident(Generic[C]):
    """The copies of one database's collections.

    Args:
        follow: Makes a copy at the transaction's generation, from an older one if given.
    """

    def __init__(self, follow: Callable[[sqlite3.Connection, C | None, State], C]) -> None:
        self._follow = follow
        self._lock = threading.Lock()
        # Reading one collection is no reason for searches of others to wait. A lock lives
        # as long as somebody waits for it: two threads never have two of one collection.
        self._locks: WeakValueDictionary[int, threading.Lock] = WeakValueDictionary()
        self._copies: dict[int, C] = {}

    def snapshot(self, connection: sqlite3.Connection, state: State) -> C:
        """The copy at the transaction's generation, brought up to date if need be.

        Raises:
            StaleReadError: Another thread has read a later generation meanwhile.
        """
        with self._lock_of(state.collection):
            known = self._copies.get(state.collection)
            if known is not None and known.generation > state.generation:
                raise StaleReadError
            if known is None or known.generation != state.generation:
                known = self._follow(connection, known, state)
                self._copies[state.collection] = known
            return known

    def nbytes(self, collection: int) -> int:
        """Bytes held for a collection, 0 before its first search."""
        known = self._copies.get(collection)
        return 0 if known is None else known.nbytes

    def release(self, collection: int) -> None:
        """Forget the copy of a collection; searches under way keep theirs to their end."""
        with self._lock_of(collection):
            self._copies.pop(collection, None)

    def clear(self) -> None:
        """Forget every copy."""
        self._copies.clear()

    def after_fork(self) -> None:
        """Replace the locks, which other threads of the parent may have held."""
        self._lock = threading.Lock()
        self._locks = WeakValueDictionary()

    def _lock_of(self, collection: int) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(collection, threading.Lock())


def followed(
    connection: sqlite3.Connection, known: Snapshot | None, state: State
) -> Snapshot:
    """The vectors at the transaction's generation, from an older copy if there is one."""
    if (
        known is None
        or known.generation < state.floor
        or known.matrix.shape[1] != state.dimension
    ):
        return _appended(connection, _empty(state.dimension), state)
    gone = connection.execute(
        statements.TOMBSTONES, (state.collection, known.generation)
    ).fetchall()
    left = np.fromiter((key for (key,) in gone), np.int64, len(gone))
    snapshot = _appended(connection, known, state, left)
    if 2 * np.count_nonzero(snapshot.alive) < len(snapshot.alive) - _MINIMUM_ROWS:
        return _appended(connection, _empty(state.dimension), state)
    return snapshot


def _empty(dimension: int) -> Snapshot:
    return Snapshot(
        generation=-1,
        keys=np.empty(0, np.int64),
        expires=np.empty(0, np.float64),
        alive=np.empty(0, np.bool_),
        matrix=np.empty((0, dimension), np.float32),
    )


def _appended(
    connection: sqlite3.Connection,
    known: Snapshot,
    state: State,
    left: NDArray[np.int64] | None = None,
) -> Snapshot:
    """The snapshot after the changes since its generation; `left` are deleted keys."""
    rows = connection.execute(statements.CHANGED, (state.collection, known.generation))
    width = np.dtype(np.float32).itemsize * state.dimension
    keys: list[int] = []
    expires: list[float] = []
    blobs: list[bytes] = []
    changed: list[int] = []
    for key, expiry, data in rows:
        changed.append(key)
        if data is not None:
            if len(data) != width:
                raise CorruptStoreError(
                    f"record {key} has a vector of {len(data)} bytes instead of {width}"
                )
            keys.append(key)
            expires.append(np.inf if expiry is None else expiry)
            blobs.append(data)
    replaced = np.array(changed, np.int64)
    gone = replaced if left is None else np.concatenate([replaced, left])
    still = known.alive & ~np.isin(known.keys, gone) if len(known.keys) else known.alive
    new = np.frombuffer(b"".join(blobs), np.float32).reshape(-1, state.dimension)
    return replace(
        known,
        generation=state.generation,
        keys=np.concatenate([known.keys, np.array(keys, np.int64)]),
        expires=np.concatenate([known.expires, np.array(expires, np.float64)]),
        alive=np.concatenate([still, np.ones(len(keys), np.bool_)]),
        matrix=_extended(known.matrix, new),
    )


def _extended(matrix: Matrix, new: Matrix) -> Matrix:
    """Rows appended to a matrix, in its own spare room where there is some.

    A view of the first rows stays valid while later rows of the buffer are filled, so
    searches that hold an older snapshot are not disturbed. Two snapshots never extend
    the same one: that happens under the lock, from the newest.
    """
    buffer = matrix.base if isinstance(matrix.base, np.ndarray) else matrix
    rows = len(matrix) + len(new)
    if not len(new):
        return matrix
    if not buffer.flags.writeable or buffer.ndim != 2 or len(buffer) < rows:  # noqa: PLR2004
        room = max(rows, _MINIMUM_ROWS, int(len(matrix) * _GROWTH))
        # A first load takes just the room it needs.
        buffer = np.empty((rows if not len(matrix) else room, new.shape[1]), np.float32)
        buffer[: len(matrix)] = matrix
    buffer[len(matrix) : rows] = new
    return buffer[:rows]
