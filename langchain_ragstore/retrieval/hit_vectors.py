"""The vectors of hits, for the stages that compare hits with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from langchain_ragstore.errors import DimensionMismatchError, InvalidInputError
from langchain_ragstore.model import Hit, Matrix

Embed: TypeAlias = Callable[[list[str]], Matrix]
"""Makes unit vectors of texts."""


def hit_matrix(hits: Sequence[Hit], embed: Embed | None, reader: str) -> Matrix:
    """One vector a hit: its stored one, else one that is made of its text.

    Args:
        hits: At least one.
        embed: For hits that carry none; None if nothing can be embedded.
        reader: Who asks, for the error.

    Returns:
        Shape `(len(hits), dimension)`.

    Raises:
        InvalidInputError: A hit has no vector, and none can be made.
        DimensionMismatchError: The vectors that are made are of another model.
    """
    vectors = [hit.record.vector for hit in hits]
    lacking = [at for at, vector in enumerate(vectors) if vector is None]
    if lacking:
        hit = hits[lacking[0]]
        if embed is None:
            raise InvalidInputError(
                f"{reader} compares vectors, and document {hit.record.id!r} has none; "
                "store it with an embedding, or give an embedding model as embeddings="
            )
        made = embed([hits[at].record.content for at in lacking])
        for at, row in zip(lacking, made, strict=True):
            vectors[at] = row
    rows = [vector for vector in vectors if vector is not None]
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise DimensionMismatchError(
            f"{reader} got vectors of {lengths[0]} and of {lengths[-1]} dimensions; "
            "embeddings= must be the model that made the stored ones"
        )
    return np.stack(rows)
