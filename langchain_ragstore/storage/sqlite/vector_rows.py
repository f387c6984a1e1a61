"""Vectors as the file has them: compared with their checksums, and as a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.model import Matrix
from langchain_ragstore.storage.sqlite.checksums import low, of_vector


def check_vectors(rows: Iterable[tuple[int, object, object]]) -> None:
    """Compare vectors that are read by key alone with their checksums.

    Args:
        rows: Key, bytes and checksum of each.

    Raises:
        CorruptStoreError: One is not what was written.
    """
    for key, data, checksum in rows:
        known = isinstance(data, bytes) and isinstance(checksum, int)
        if not known or of_vector(data) != low(checksum):  # type: ignore[arg-type]
            raise CorruptStoreError(
                f"the vector of record {key} is damaged in the file; verify() lists all "
                "that is, repair() saves the rest"
            )


def stacked(rows: Sequence[tuple[int, bytes]], dimension: int) -> Matrix:
    """Vectors one under the other, shape `(rows, dimension)`.

    Args:
        rows: Key and bytes of each.
        dimension: Of the collection.

    Raises:
        CorruptStoreError: One has another length.
    """
    width = np.dtype(np.float32).itemsize * dimension
    for key, data in rows:
        if len(data) != width:
            raise CorruptStoreError(
                f"record {key} has a vector of {len(data)} bytes instead of {width}"
            )
    data = b"".join(data for _, data in rows)
    return np.frombuffer(data, np.float32).reshape(-1, dimension)
