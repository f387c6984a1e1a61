"""Copies of collections in memory, following every thread's and process's writes.

The file is the truth. Each write to a collection raises its generation number in the
same transaction; a search compares it with the copy's and reads what changed since:
records with a higher generation, and tombstones of those that left.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary


@dataclass(frozen=True, slots=True)
class State:
    """Where a collection stands, as read in the transaction of a search.

    Attributes:
        collection: Its key.
        generation: How often it was written.
        floor: The oldest generation from which the tombstones are complete.
        dimension: Of its vectors, 0 before the first.
        analyzer: What made its terms.
        coded: How often the codes of its vectors were measured, 0 if it has none.
    """

    collection: int
    generation: int
    floor: int
    dimension: int
    analyzer: str | None
    coded: int = 0


NOWHERE: Final = State(0, 0, 0, 0, None)
"""Where a collection stands that does not exist: none has this key."""


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
        budget: Bytes that all copies may take; those that were not used for longest are
            forgotten first. One that is larger alone stays until another is used.
    """

    def __init__(
        self,
        follow: Callable[[sqlite3.Connection, C | None, State], C],
        budget: float = math.inf,
    ) -> None:
        self._follow = follow
        self._budget = budget
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
            self._keep(state.collection, known)
            return known

    def _keep(self, collection: int, copy: C) -> None:
        """Note what was used last, and forget what was not for longest."""
        with self._lock:
            self._copies.pop(collection, None)
            self._copies[collection] = copy
            held = sum(each.nbytes for each in self._copies.values())
            while held > self._budget and len(self._copies) > 1:
                held -= self._copies.pop(next(iter(self._copies))).nbytes

    def nbytes(self, collection: int) -> int:
        """Bytes held for a collection, 0 before its first search."""
        known = self._copies.get(collection)
        return 0 if known is None else known.nbytes

    def release(self, collection: int) -> None:
        """Forget the copy of a collection; searches under way keep theirs to their end."""
        with self._lock_of(collection), self._lock:
            self._copies.pop(collection, None)

    def clear(self) -> None:
        """Forget every copy."""
        with self._lock:
            self._copies.clear()

    def after_fork(self) -> None:
        """Replace the locks, which other threads of the parent may have held."""
        self._lock = threading.Lock()
        self._locks = WeakValueDictionary()

    def _lock_of(self, collection: int) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(collection, threading.Lock())
