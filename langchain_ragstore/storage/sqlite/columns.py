"""Values of metadata keys in memory, so that a filter need not read every record.

A column holds one key's value of each row of a snapshot, as the number of a distinct
value. What a condition means is asked of the condition itself, once for each distinct
value; equality and order are looked up. The first filter on a key reads the records.
"""

from __future__ import annotations

import sqlite3
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import MOST_COLUMNS
from langchain_ragstore.filters import (
    And,
    Compare,
    Filter,
    Not,
    Or,
    identity,
    is_number,
    kind,
    order_value,
)
from langchain_ragstore.metadata import decode
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.copies import Snapshot
from langchain_ragstore.storage.sqlite.resident import State
from langchain_ragstore.storage.sqlite.where import json_path

Mask: TypeAlias = NDArray[np.bool_]
Path: TypeAlias = tuple[str, ...]

_MISSING: Final = 0
"""Number of the value of records that lack the key."""

_ORDERED: Final = ("str", "number", "time")
"""Kinds whose values are sorted, to find ranges among many of them."""

_VALUE_BYTES: Final = 200
"""About what a distinct value takes: itself and two entries in dictionaries."""

_SIMPLE: Final[Mapping[str, Any]] = {"null": None, "true": True, "false": False}


@dataclass(slots=True)
class Column:
    """One key's value of each row.

    Attributes:
        path: The key, or the keys that lead to it.
        numbers: Number of each row's distinct value, shape `(rows,)`.
        read: Up to which row which generation was read: a snapshot that is older than
            a part of the column must not use that part.
        values: The distinct values; the first stands for none.
    """

    path: Path
    numbers: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    read: list[tuple[int, int]] = field(default_factory=list)
    values: list[Any] = field(default_factory=lambda: [None])
    _known: dict[Hashable, int] = field(default_factory=dict)
    # Tuples: Python's garbage collector, which stops every thread, does not look at
    # those of numbers again. As many lists would be reason enough for it to look at all.
    _equal: dict[Hashable, tuple[int, ...]] = field(default_factory=dict)
    _sorted: dict[str, list[tuple[Any, int]]] = field(default_factory=dict)
    _order: dict[str, NDArray[np.int32]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """About how many bytes of memory it takes."""
        return self.numbers.nbytes + _VALUE_BYTES * len(self.values)

    def fits(self, snapshot: Snapshot) -> bool:
        """Whether no part that the snapshot needs was read later than it."""
        start = 0
        for end, generation in self.read:
            if start < len(snapshot.keys) and generation > snapshot.generation:
                return False
            start = end
        return True

    def extend(self, connection: sqlite3.Connection, snapshot: Snapshot) -> None:
        """Read the rows that it lacks, in the transaction of the snapshot."""
        start, end = len(self.numbers), len(snapshot.keys)
        if start >= end:
            return
        new = snapshot.keys[start:]
        found = dict(self._values_of(connection, new[snapshot.alive[start:]].tolist()))
        numbers = np.fromiter((found.get(key, _MISSING) for key in new.tolist()), np.int32)
        self.numbers = np.concatenate([self.numbers, numbers])
        self.read.append((end, snapshot.generation))
        if len(self.read) > _PARTS:  # as if the oldest had been read with the next
            del self.read[0]

    def _values_of(
        self, connection: sqlite3.Connection, keys: list[int]
    ) -> Iterator[tuple[int, int]]:
        path = json_path(self.path)
        statement = sql.METADATA if path is None else sql.VALUES
        before = [] if path is None else [path] * 2
        for fitted, batch in sql.fitting(statement, keys):
            for key, name, value in connection.execute(fitted, [*before, *batch]):
                if name is None:
                    continue
                if name in _SIMPLE:
                    yield key, self._number((name, None), _SIMPLE[name])
                elif name in ("text", "integer"):
                    yield key, self._number((name, value), value)
                else:  # what SQLite would round, dates, lists: as Python reads it
                    there, decoded = _found(self.path, decode(value))
                    if there:
                        yield key, self._number(_token(decoded), decoded)

    def _number(self, token: Hashable, value: Any) -> int:
        number = self._known.get(token)
        if number is None:
            number = self._known[token] = len(self.values)
            self.values.append(value)
            same = identity(value)
            self._equal[same] = (*self._equal.get(same, ()), number)
            for name, entries in self._sorted.items():
                if kind(value) == name and _is_ordered(name, value):
                    insort(entries, (order_value(value), number))
                    self._order.pop(name, None)
        return number

    def mask(self, leaf: Compare, rows: int) -> Mask:
        """Which of the first rows fulfil a condition."""
        fulfilled = np.zeros(len(self.values), np.bool_)
        operand = leaf.operand
        if leaf.operation == "exists":
            fulfilled[:] = operand
            fulfilled[_MISSING] = not operand
        elif leaf.operation == "eq":
            fulfilled[list(self._equal.get(identity(operand), ()))] = True
        elif leaf.operation == "in":
            for item in operand:
                fulfilled[list(self._equal.get(identity(item), ()))] = True
        elif leaf.operation in _RANGES and kind(operand) in _ORDERED:
            fulfilled[self._within(leaf.operation, operand)] = True
        else:
            for number, value in enumerate(self.values[1:], 1):
                fulfilled[number] = leaf.matches("", "", _nested(self.path, value))
        return fulfilled[self.numbers[:rows]]

    def _within(self, operation: str, operand: Any) -> NDArray[np.int32]:
        """Numbers of the values in a range: found in two lists that are kept sorted."""
        name, bound = kind(operand), order_value(operand)
        if not _is_ordered(name, operand):
            return np.empty(0, np.int32)
        entries = self._sorted.get(name)
        if entries is None:
            entries = self._sorted[name] = sorted(
                (order_value(value), number)
                for number, value in enumerate(self.values)
                if number != _MISSING and kind(value) == name and _is_ordered(name, value)
            )
        order = self._order.get(name)
        if order is None:
            numbers = (number for _, number in entries)
            order = self._order[name] = np.fromiter(numbers, np.int32, len(entries))
        find = bisect_left if operation in ("gte", "lt") else bisect_right
        at = find(entries, bound, key=lambda entry: entry[0])
        return order[at:] if operation in ("gt", "gte") else order[:at]


_PARTS: Final = 1_000
"""Parts of a column whose generations are told apart."""

_RANGES: Final = ("gt", "gte", "lt", "lte")


def _is_ordered(name: str, value: object) -> bool:
    return name != "number" or is_number(value)


def _token(value: object) -> Hashable:
    """What tells values apart that a condition may treat differently."""
    return type(value).__name__, repr(value)


def _nested(path: Path, value: Any) -> dict[str, Any]:
    for key in reversed(path):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested


def _found(path: Path, metadata: Any) -> tuple[bool, Any]:
    for key in path:
        if not isinstance(metadata, Mapping) or key not in metadata:
            return False, None
        metadata = metadata[key]
    return True, metadata


class Columns:
    """The columns of one database's collections.

    Args:
        budget: Bytes that they may take; those that were not used for longest go first.
    """

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._columns: dict[tuple[int, Path], tuple[object, Column]] = {}

    def mask(
        self,
        connection: sqlite3.Connection,
        state: State,
        snapshot: Snapshot,
        where: Filter,
    ) -> Mask | None:
        """Which rows match; None if the filter asks for more than metadata.

        Args:
            connection: In the transaction of the snapshot.
            state: The collection.
            snapshot: Its rows.
            where: A filter.
        """
        if not _on_metadata(where):
            return None
        with self._lock:
            return self._matching(connection, state, snapshot, where)

    def _matching(
        self,
        connection: sqlite3.Connection,
        state: State,
        snapshot: Snapshot,
        where: Filter,
    ) -> Mask | None:
        if isinstance(where, Compare):
            column = self._column(state.collection, snapshot, where.field.path)
            column.extend(connection, snapshot)
            self._bound()
            if not column.fits(snapshot):
                return None
            return column.mask(where, len(snapshot.keys))
        if isinstance(where, Not):
            mask = self._matching(connection, state, snapshot, where.part)
            return None if mask is None else ~mask
        assert isinstance(where, (And, Or))  # noqa: S101 - see `_on_metadata`
        whole = np.full(len(snapshot.keys), isinstance(where, And))
        for part in where.parts:
            mask = self._matching(connection, state, snapshot, part)
            if mask is None:
                return None
            whole = whole & mask if isinstance(where, And) else whole | mask
        return whole

    def _column(self, collection: int, snapshot: Snapshot, path: Path) -> Column:
        lineage, column = self._columns.pop((collection, path), (None, Column(path)))
        if lineage is not snapshot.lineage:
            column = Column(path)
        self._columns[collection, path] = snapshot.lineage, column  # the last one used
        return column

    def _bound(self) -> None:
        while len(self._columns) > 1 and (
            len(self._columns) > MOST_COLUMNS or self.nbytes() > self._budget
        ):
            del self._columns[next(iter(self._columns))]

    def nbytes(self, collection: int | None = None) -> int:
        """Bytes held for a collection, or for all."""
        return sum(
            column.nbytes
            for (key, _), (_, column) in list(self._columns.items())
            if collection in (None, key)
        )

    def release(self, collection: int) -> None:
        """Forget the columns of a collection."""
        with self._lock:
            for key in [key for key in self._columns if key[0] == collection]:
                del self._columns[key]

    def clear(self) -> None:
        """Forget every column."""
        with self._lock:
            self._columns = {}

    def after_fork(self) -> None:
        """Start anew: another thread of the parent may have been at work."""
        self._lock = threading.Lock()
        self._columns = {}


def _on_metadata(where: Filter) -> bool:
    if isinstance(where, Compare):
        return where.field.source == "metadata"
    if isinstance(where, (And, Or)):
        return all(_on_metadata(part) for part in where.parts)
    return isinstance(where, Not) and _on_metadata(where.part)
