"""Codes of a collection's vectors in the file, so that opening need not read the vectors.

A row of the table holds the codes of the records whose keys fall into one range, so a
vector that changes costs one such row, and a search reads all of them in few pieces.
The rows are written with their vectors, in one transaction. What was learned from the
vectors (their mean, and how deep sketches must be searched) is measured again when many
are new, after the write: it may be out of date, but never wrong.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np

from langchain_ragstore.config import (
    CODE_BLOCK_BYTES,
    SCAN_VALUES,
    SKETCH_LEAST_DIMENSION,
    SKETCH_STALE,
)
from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.model import Keys, Vector
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.resident import State
from langchain_ragstore.storage.sqlite.vector_rows import stacked
from langchain_ragstore.vectors.codes import Codes, encode, pack, unpack
from langchain_ragstore.vectors.depth import RANKS, Depth, measured

logger = logging.getLogger(__name__)

Rows: TypeAlias = Iterable[tuple[int, bytes]]
"""Keys of records and their vectors, ascending."""

_AT_ONCE = 64
"""Blocks that are encoded together."""

_READ_AT_ONCE = 12
"""Blocks that are read together: what is made of them stays in the second cache."""


def keep_up(connection: sqlite3.Connection, state: State, since: int) -> bool:
    """Code the vectors that were written after a generation.

    Args:
        connection: In the transaction that wrote them.
        state: As it is now.
        since: The generation before.

    Returns:
        Whether the collection is to be measured anew; see `measure`.
    """
    changed = connection.execute(sql.CHANGED, (state.collection, since)).fetchall()
    given = [(key, data) for key, _, data, _ in changed if data is not None]
    (written,) = connection.execute(
        sql.ADD_WRITTEN, (len(given), state.collection)
    ).fetchone()
    if state.coded:
        absent = [key for key, _, data, _ in changed if data is None]
        _put(connection, state, sorted(given), absent)
        rows, _, _ = connection.execute(sql.CODEBOOK, (state.collection,)).fetchone()
        return bool(written > SKETCH_STALE * rows)
    if not _worth_coding(state.dimension, written):
        return False
    (count,) = connection.execute(sql.COUNT_VECTORS, (state.collection,)).fetchone()
    if _worth_coding(state.dimension, count):
        rebuild(connection, state)
    else:
        connection.execute(sql.SET_CODED, (0, count, state.collection))
    return False


def _worth_coding(dimension: int, rows: int) -> bool:
    return dimension >= SKETCH_LEAST_DIMENSION and rows * dimension > SCAN_VALUES


def drop(connection: sqlite3.Connection, state: State, keys: Sequence[int]) -> None:
    """Forget the codes of records that leave."""
    if state.coded:
        _put(connection, state, [], keys)


def forget(connection: sqlite3.Connection, state: State) -> None:
    """Forget all codes of a collection."""
    connection.execute(sql.DROP_CODES, (state.collection,))
    connection.execute(sql.DROP_CODEBOOK, (state.collection,))
    connection.execute(sql.SET_CODED, (0, 0, state.collection))


def rebuild(connection: sqlite3.Connection, state: State) -> None:
    """Code all vectors anew, and measure them; without codes if they are few."""
    forget(connection, state)
    (count,) = connection.execute(sql.COUNT_VECTORS, (state.collection,)).fetchone()
    if not _worth_coding(state.dimension, count):
        connection.execute(sql.SET_CODED, (0, count, state.collection))
        return
    rows = connection.execute(sql.ALL_VECTORS, (state.collection,))
    for number, keys, codes in _blocks(rows, state.dimension):
        block = (state.collection, number, len(keys), pack(keys, codes))
        connection.execute(sql.PUT_CODE, block)
    note(connection, state, *measure(connection, state))


def _blocks(rows: Rows, dimension: int) -> Iterator[tuple[int, Keys, Codes]]:
    """Number, keys and codes of each block, of rows in ascending order of their keys."""
    span = block_rows(dimension)
    for _, together in groupby(rows, lambda row: row[0] // (span * _AT_ONCE)):
        some = list(together)
        keys = np.fromiter((key for key, _ in some), np.int64, len(some))
        codes = encode(stacked(some, dimension))
        numbers, starts = np.unique(keys // span, return_index=True)
        ends = [*starts[1:].tolist(), len(keys)]
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            part = slice(start, end)
            yield number, keys[part], Codes(codes.values[part], codes.scales[part])


def block_rows(dimension: int) -> int:
    """Keys whose codes share a row of the table."""
    return max(1, CODE_BLOCK_BYTES // (dimension + 12))


def _put(
    connection: sqlite3.Connection,
    state: State,
    given: list[tuple[int, bytes]],
    absent: Sequence[int],
) -> None:
    """Put codes of records into their blocks, and take those of others out."""
    span = block_rows(state.dimension)
    new = {number: (keys, codes) for number, keys, codes in _blocks(given, state.dimension)}
    gone = np.array(sorted(absent), np.int64)
    touched = np.union1d(np.array(list(new), np.int64), gone // span)
    for number in touched.tolist():
        known = connection.execute(sql.CODE, (state.collection, number)).fetchone()
        if known is None and number not in new:
            continue
        parts = [] if known is None else [_unpacked(known[0], state.dimension)]
        leaving = gone[gone // span == number] if len(gone) else gone
        if number in new:
            leaving = np.concatenate([leaving, new[number][0]])
            parts = [_without(*part, leaving) for part in parts] + [new[number]]
        else:
            parts = [_without(*part, leaving) for part in parts]
        keys, codes = _sorted(parts)
        if len(keys):
            block = (state.collection, number, len(keys), pack(keys, codes))
            connection.execute(sql.PUT_CODE, block)
        else:
            connection.execute(sql.DROP_CODE, (state.collection, number))


def _without(keys: Keys, codes: Codes, leaving: Keys) -> tuple[Keys, Codes]:
    stay = ~np.isin(keys, leaving)
    return keys[stay], Codes(codes.values[stay], codes.scales[stay])


def _sorted(parts: list[tuple[Keys, Codes]]) -> tuple[Keys, Codes]:
    keys = np.concatenate([keys for keys, _ in parts])
    values = np.concatenate([codes.values for _, codes in parts])
    scales = np.concatenate([codes.scales for _, codes in parts])
    if (keys[1:] > keys[:-1]).all():  # mostly
        return keys, Codes(values, scales)
    order = np.argsort(keys, kind="stable")
    return keys[order], Codes(values[order], scales[order])


def _unpacked(data: bytes, dimension: int) -> tuple[Keys, Codes]:
    try:
        return unpack(data, dimension)
    except ValueError as error:
        raise CorruptStoreError(f"codes of vectors cannot be read: {error}") from error


def count(connection: sqlite3.Connection, state: State) -> int:
    """How many vectors have codes."""
    (rows,) = connection.execute(sql.COUNT_CODES, (state.collection,)).fetchone()
    return int(rows)


def parts(connection: sqlite3.Connection, state: State) -> Iterator[tuple[Keys, Codes]]:
    """Keys and codes of all vectors, ascending by key, some thousand rows at a time."""
    cursor = connection.execute(sql.CODES, (state.collection,))
    while blocks := cursor.fetchmany(_READ_AT_ONCE):
        yield _sorted([_unpacked(data, state.dimension) for (data,) in blocks])


# --- what is learned from them ---------------------------------------------------------
def codebook(connection: sqlite3.Connection, state: State) -> tuple[Vector, Depth]:
    """The rotated mean and the depth that were measured last."""
    row = connection.execute(sql.CODEBOOK, (state.collection,)).fetchone()
    if row is None or len(row[2]) != 4 * state.dimension:
        raise CorruptStoreError("the codes of the vectors lack what was learned from them")
    return np.frombuffer(row[2], np.float32), Depth(row[0], tuple(json.loads(row[1])))


def measure(connection: sqlite3.Connection, state: State) -> tuple[Vector, Depth]:
    """Measure the codes that are in the file: their mean, and the depth they need."""
    rows = count(connection, state)
    if not rows:
        return np.zeros(state.dimension, np.float32), Depth(0, (1,) * len(RANKS))
    return measured(lambda: (codes for _, codes in parts(connection, state)), rows)


def note(connection: sqlite3.Connection, state: State, mean: Vector, depth: Depth) -> None:
    """Note what was measured, and let every copy in memory read it."""
    book = (state.collection, depth.rows, json.dumps(depth.needed), mean.tobytes())
    connection.execute(sql.PUT_CODEBOOK, book)
    connection.execute(sql.SET_CODED, (state.coded + 1, 0, state.collection))
    connection.execute(sql.NEXT_GENERATION, (state.collection,)).fetchone()
    logger.debug("measured %d codes: depth %s", depth.rows, depth.needed)


# --- whether they are right ------------------------------------------------------------
def check(connection: sqlite3.Connection, state: State) -> list[str]:
    """What is wrong with the codes of a collection; see `Backend`'s engines' `verify`.

    Reads every vector. A code may differ by a step from what this machine makes.
    """
    if not state.coded:
        return []
    try:
        codebook(connection, state)
        keys, codes = _all(connection, state)
        rows = connection.execute(sql.ALL_VECTORS, (state.collection,))
        wanted = list(_blocks(rows, state.dimension))
    except (CorruptStoreError, ValueError) as error:
        return [str(error)]
    there = np.concatenate([keys for _, keys, _ in wanted] or [np.empty(0, np.int64)])
    problems = [
        f"record {key} {wrong}"
        for wrong, some in (
            ("has a vector but no code", np.setdiff1d(there, keys)),
            ("has a code but no vector", np.setdiff1d(keys, there)),
        )
        for key in some.tolist()
    ]
    if len(np.unique(keys)) != len(keys):
        problems.append("a record has more than one code")
    if problems:
        return problems
    made = np.concatenate([c.values for *_, c in wanted] or [codes.values])
    scales = np.concatenate([c.scales for *_, c in wanted] or [codes.scales])
    apart = np.abs(made.astype(np.int16) - codes.values).max(axis=1, initial=0) > 1
    apart |= ~np.isclose(scales, codes.scales, rtol=1e-4)
    return [f"record {key} has the code of another vector" for key in keys[apart].tolist()]


def _all(connection: sqlite3.Connection, state: State) -> tuple[Keys, Codes]:
    found = list(parts(connection, state))
    empty = np.empty((0, state.dimension), np.int8), np.empty(0, np.float32)
    return _sorted([(np.empty(0, np.int64), Codes(*empty)), *found])
