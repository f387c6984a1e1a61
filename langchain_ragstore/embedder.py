"""Texts to checked vectors: the only caller of a LangChain embedding model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ragstore.config import DEFAULT_EMBED_BATCH
from langchain_ragstore.documents import to_count
from langchain_ragstore.errors import InvalidInputError, MissingExtraError
from langchain_ragstore.model import Vector
from langchain_ragstore.vectors.arrays import unit_matrix


class Embedder:
    """An embedding model, or the absence of one.

    Args:
        model: An `Embeddings`, a `"provider:model"` string, or None.

    Raises:
        InvalidInputError: Anything else.
        MissingExtraError: The string needs the `langchain` package.
    """

    def __init__(self, model: Embeddings | str | None) -> None:
        self.model = _named(model) if isinstance(model, str) else model
        if self.model is not None and not isinstance(self.model, Embeddings):
            kind = type(model).__name__
            raise InvalidInputError(
                f"embedding is a LangChain Embeddings, a 'provider:model' string or None, "
                f"got {kind}: {model!r}"
            )

    def embed(
        self, texts: Sequence[str], batch_size: int | None = None
    ) -> list[Vector | None]:
        """One unit vector for each text, or None for each without a model.

        Equal texts are sent once, in batches.

        Raises:
            InvalidInputError: The model returned a wrong number of vectors, or one that
                cannot be stored; names the text.
        """
        if self.model is None:
            return [None] * len(texts)
        vectors: list[Any] = []
        for batch in _batches(texts, batch_size):
            vectors.extend(_as_many(batch, self.model.embed_documents(batch)))
        return _spread(texts, vectors)

    async def aembed(
        self, texts: Sequence[str], batch_size: int | None = None
    ) -> list[Vector | None]:
        """As `embed`, awaiting the model."""
        if self.model is None:
            return [None] * len(texts)
        vectors: list[Any] = []
        for batch in _batches(texts, batch_size):
            vectors.extend(_as_many(batch, await self.model.aembed_documents(batch)))
        return _spread(texts, vectors)

    def embed_query(self, query: str) -> list[float]:
        """The vector of a query.

        Raises:
            InvalidInputError: There is no model, or the query is not a string.
        """
        return self._for_query(query).embed_query(query)

    async def aembed_query(self, query: str) -> list[float]:
        """As `embed_query`, awaiting the model."""
        return await self._for_query(query).aembed_query(query)

    def _for_query(self, query: str) -> Embeddings:
        if not isinstance(query, str):
            raise InvalidInputError(f"a query is a string, got {type(query).__name__}")
        if self.model is None:
            raise InvalidInputError(
                "this store has no embedding to search with; give one to the constructor "
                "(embedding=...) or search by vector"
            )
        return self.model


def _named(name: str) -> Embeddings:
    try:
        from langchain.embeddings import init_embeddings  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("langchain") from error
    model = init_embeddings(name)
    if not isinstance(model, Embeddings):
        raise InvalidInputError(f"{name!r} does not name an embedding model")
    return model


def _batches(texts: Sequence[str], batch_size: int | None) -> Iterator[list[str]]:
    size = DEFAULT_EMBED_BATCH if batch_size is None else to_count("batch_size", batch_size)
    if size < 1:
        raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
    unique = list(dict.fromkeys(texts))
    for start in range(0, len(unique), size):
        yield unique[start : start + size]


def _as_many(batch: list[str], vectors: Any) -> Sequence[Any]:
    if not isinstance(vectors, (Sequence, np.ndarray)):
        kind = type(vectors).__name__
        raise InvalidInputError(
            f"the embedding model returned a {kind}, not a list of vectors"
        )
    if len(vectors) != len(batch):
        raise InvalidInputError(
            f"the embedding model returned {len(vectors)} vectors for {len(batch)} texts; "
            "nothing was stored"
        )
    return list(vectors)


def _spread(texts: Sequence[str], vectors: Sequence[Any]) -> list[Vector | None]:
    unique = list(dict.fromkeys(texts))
    if not unique:
        return []
    of_text = dict(zip(unique, unit_matrix(vectors, unique), strict=True))
    return [of_text[text] for text in texts]
