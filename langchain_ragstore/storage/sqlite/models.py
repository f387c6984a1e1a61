"""Which model made a collection's vectors, and its vectors that have no record yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from langchain_ragstore.model import Fingerprint, Vector, alike
from langchain_ragstore.storage.base import check_dimension, check_model
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.checksums import low, of_vector
from langchain_ragstore.storage.sqlite.connection import bound
from langchain_ragstore.storage.sqlite.resident import State


def noted(connection: sqlite3.Connection, collection: int) -> Fingerprint | None:
    """The model that was last noted for a collection, by key."""
    name, probe = connection.execute(sql.MODEL, (collection,)).fetchone()
    return None if probe is None else Fingerprint(name, np.frombuffer(probe, np.float32))


def agree(
    connection: sqlite3.Connection,
    collection: int,
    name: str,
    model: Fingerprint | None,
    *,
    empty: bool,
) -> None:
    """Check the model of vectors that are to be stored, or note it.

    Args:
        connection: In a transaction that writes.
        collection: By key.
        name: By name, for the error message.
        model: What made the vectors, if that is known.
        empty: Whether the collection holds no vector, so that any model will do.

    Raises:
        EmbeddingMismatchError: Another model made the vectors that are there.
    """
    stored = noted(connection, collection)
    if empty:
        if not alike(stored, model):
            connection.execute(sql.DROP_ALL_KEPT, (collection,))
            note(connection, collection, model)
        return
    check_model(name, stored, model)
    if stored is None and model is not None:
        note(connection, collection, model)


def note(
    connection: sqlite3.Connection, collection: int, model: Fingerprint | None
) -> None:
    """Note the model of a collection, by key; None for one that is not known."""
    name, probe = (
        (None, None) if model is None else (bound(model.name), model.probe.tobytes())
    )
    connection.execute(sql.SET_MODEL, (name, probe, collection))


def known(
    connection: sqlite3.Connection,
    state: State,
    now: float,
    digests: Collection[bytes],
    model: Fingerprint | None,
) -> dict[bytes, Vector]:
    """See `Backend.known`."""
    found: dict[bytes, Vector] = {}
    any_kept = connection.execute(sql.ANY_KEPT, (state.collection,)).fetchone()
    if any_kept and alike(noted(connection, state.collection), model):
        found |= _vectors(connection, sql.KEPT, (state.collection,), digests)
    return found | _vectors(
        connection, sql.VECTORS_BY_DIGEST, (state.collection, now), digests
    )


def _vectors(
    connection: sqlite3.Connection,
    statement: str,
    parameters: Iterable[object],
    digests: Collection[bytes],
) -> dict[bytes, Vector]:
    """Vectors by digest; a damaged one is none, so that its text is embedded again."""
    return {
        digest: np.frombuffer(data, np.float32)
        for fitted, batch in sql.fitting(statement, list(digests))
        for digest, data, checksum in connection.execute(fitted, [*parameters, *batch])
        if of_vector(data) == low(checksum)
    }


def keep(
    connection: sqlite3.Connection,
    state: State,
    name: str,
    vectors: Mapping[bytes, Vector],
    model: Fingerprint | None,
) -> None:
    """See `Backend.keep`."""
    empty = not connection.execute(sql.ANY_VECTOR, (state.collection,)).fetchone()
    for vector in vectors.values():
        if not empty:
            check_dimension(name, state.dimension, len(vector))
    agree(connection, state.collection, name, model, empty=empty)
    other = connection.execute(sql.ANY_KEPT, (state.collection,)).fetchone()
    if other and any(len(other[0]) != vector.nbytes for vector in vectors.values()):
        connection.execute(sql.DROP_ALL_KEPT, (state.collection,))
    connection.executemany(
        sql.KEEP,
        [
            (state.collection, digest, data, of_vector(data))
            for digest, data in ((d, v.tobytes()) for d, v in vectors.items())
        ],
    )


def settle(
    connection: sqlite3.Connection, collection: int, digests: Iterable[bytes | None]
) -> None:
    """Forget the kept vectors of texts that records hold now."""
    if connection.execute(sql.ANY_KEPT, (collection,)).fetchone():
        connection.executemany(
            sql.DROP_KEPT, [(collection, digest) for digest in digests if digest]
        )
