"""Texts to checked vectors: the only caller of a LangChain embedding model."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_ragstore.config import DEFAULT_EMBED_BATCH, PROBE_TEXT
from langchain_ragstore.documents import to_count
from langchain_ragstore.errors import (
    DimensionMismatchError,
    EmbeddingMismatchError,
    InvalidInputError,
    MissingExtraError,
)
from langchain_ragstore.model import Fingerprint, Matrix, Vector
from langchain_ragstore.storage.base import Backend, check_model
from langchain_ragstore.unstored import Unstored
from langchain_ragstore.vectors.arrays import unit_matrix, unit_vector

Calls: TypeAlias = Generator[list[str], Any, None]
"""Gives texts for the model, and is sent what the model answers."""

_NAMES: Final = ("model", "model_name", "model_id", "deployment", "repo_id")
"""Attributes in which LangChain's classes keep the name of what they call."""


@dataclass(slots=True)
class _Introduced:
    """What a model is known by, for all who use it."""

    fingerprint: Fingerprint | None = None


class Embedder:
    """The embedding model of a collection, or its absence.

    The model is compared with the one that made the collection's vectors before it is
    first used, and texts that the collection has a vector of are not embedded again.

    Args:
        model: An `Embeddings`, a `"provider:model"` string, or None.
        backend: Where the collection's vectors are.
        collection: Its name.
        check: Whether to compare models.
        identity: What the model is known by, if it need not be asked: where nothing but
            this process knows the collection.
        clock: Seconds, of any beginning.

    Raises:
        InvalidInputError: Anything else as model.
        MissingExtraError: The string needs the `langchain` package.
    """

    def __init__(
        self,
        model: Embeddings | str | None,
        backend: Backend,
        collection: str,
        *,
        check: bool = True,
        identity: Fingerprint | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = to_model(model)
        self._backend, self._collection, self._check = backend, collection, check
        self._unstored = Unstored(backend, collection, clock)
        self._identity = identity
        self._introduced = _Introduced(identity if self.model is not None else None)

    @property
    def fingerprint(self) -> Fingerprint | None:
        """What the model is known by; None before it was needed, or if nobody asks."""
        return self._introduced.fingerprint

    # --- texts -------------------------------------------------------------------------

    def embed(
        self, texts: Mapping[bytes, str], batch_size: int | None = None
    ) -> dict[bytes, Vector]:
        """The unit vectors of texts; without a model, of those that have one already.

        Texts that the collection has no vector of are sent in batches. What follows must
        either store the vectors and say so (`stored`) or fail within `rescue`.

        Args:
            texts: By their digests (`documents.text_digest`).
            batch_size: How many are sent at once.

        Returns:
            Vectors by digest.

        Raises:
            InvalidInputError: The model returned a wrong number of vectors, or one that
                cannot be stored; names the text.
            EmbeddingMismatchError: Another model made the collection's vectors.
        """
        model = self.model
        if model is None:
            return self._backend.known(self._collection, texts, None)
        vectors: dict[bytes, Vector] = {}
        calls = self._calls(vectors, texts, batch_size)
        batch = next(calls, None)
        while batch is not None:
            with _explained(batch):
                answer = model.embed_documents(batch)
            batch = _sent(calls, answer)
        self._check_same(model)
        return vectors

    async def aembed(
        self, texts: Mapping[bytes, str], batch_size: int | None = None
    ) -> dict[bytes, Vector]:
        """As `embed`, awaiting the model."""
        model = self.model
        if model is None:
            return await run_in_executor(
                None, self._backend.known, self._collection, texts, None
            )
        vectors: dict[bytes, Vector] = {}
        calls = self._calls(vectors, texts, batch_size)
        batch = await run_in_executor(None, next, calls, None)
        while batch is not None:
            with _explained(batch):
                answer = await model.aembed_documents(batch)
            batch = await run_in_executor(None, _sent, calls, answer)
        self._check_same(model)
        return vectors

    def _check_same(self, model: Embeddings) -> None:
        """Refuse vectors of a model that was exchanged while it made them."""
        if self.model is not model:
            raise EmbeddingMismatchError(
                f"collection {self._collection!r} was given another model by reembed() "
                "while texts were embedded for it; nothing was stored, try again"
            )

    def _calls(
        self,
        vectors: dict[bytes, Vector],
        texts: Mapping[bytes, str],
        batch_size: int | None,
    ) -> Calls:
        """Fill in vectors, and ask for those that are not stored yet."""
        size = _batch_size(batch_size)
        if not texts:
            return
        yield from self._before_use()
        maker = self.fingerprint  # whatever becomes of this embedder meanwhile
        vectors.update(self._backend.known(self._collection, texts, maker))
        unknown = [digest for digest in texts if digest not in vectors]
        for start in range(0, len(unknown), size):
            digests = unknown[start : start + size]
            batch = [texts[digest] for digest in digests]
            matrix = unit_matrix(_as_many(batch, (yield list(batch))), batch)
            _check_length(matrix, vectors)
            new = dict(zip(digests, matrix, strict=True))
            vectors.update(new)
            self._unstored.add(new, maker)

    @property
    def checks(self) -> bool:
        """Whether models are compared."""
        return self._check

    def introduce(self) -> Fingerprint | None:
        """Learn what the model is known by, if models are compared."""
        return self._probed(self._before_use())

    async def aintroduce(self) -> Fingerprint | None:
        """As `introduce`, awaiting the model."""
        return await self._aprobed(self._before_use())

    def _before_use(self) -> Calls:
        if self._check or self.fingerprint is not None:
            yield from self._introduction(self._noted())

    def beside(self, model: Embeddings | str, collection: str) -> Embedder:
        """Another model for another collection of the same file."""
        fresh = None if self._identity is None else new_identity(model)
        return Embedder(model, self._backend, collection, check=self._check, identity=fresh)

    def elsewhere(self, collection: str) -> Embedder:
        """The same model for another collection of the same file; one probe for both."""
        other = copy.copy(self)
        other._collection = collection  # noqa: SLF001 - a copy of this very embedder
        other._unstored = self._unstored.elsewhere(collection)  # noqa: SLF001 - as above
        return other

    def become(self, other: Embedder) -> None:
        """Take over another one's model, whose vectors the collection has now."""
        self.model, self._introduced = other.model, other._introduced
        self._identity = other._identity

    def agrees(self, model: object) -> bool:
        """Whether a model is still this one and the collection's, as far as is known."""
        if self.model is not model:
            return False
        noted = self._noted() if self.fingerprint is not None else None
        return noted is None or noted.agrees(self.fingerprint or noted)

    def stored(self, digests: Iterable[bytes | None]) -> None:
        """Tell that texts have records now."""
        self._unstored.stored(digests)

    @contextmanager
    def rescue(self) -> Iterator[None]:
        """If the block fails, keep what was embedded in it for the next try."""
        try:
            yield
        except BaseException:
            self._unstored.keep()
            raise

    # --- queries -----------------------------------------------------------------------

    def embed_query(self, query: str) -> list[float]:
        """The vector of a query.

        Raises:
            InvalidInputError: There is no model, or the query is not a string.
            EmbeddingMismatchError: Another model made the collection's vectors.
        """
        model = self._for_query(query)
        self.agree()
        return _given(model.embed_query(query))

    async def aembed_query(self, query: str) -> list[float]:
        """As `embed_query`, awaiting the model."""
        model = self._for_query(query)
        await self.aagree()
        return _given(await model.aembed_query(query))

    def agree(self) -> None:
        """Compare the model with that of the collection's vectors, if there are any.

        Raises:
            EmbeddingMismatchError: Another model made them.
        """
        self._probed(self._before_query())

    async def aagree(self) -> None:
        """As `agree`, awaiting the model."""
        await self._aprobed(self._before_query())

    def _for_query(self, query: str) -> Embeddings:
        if not isinstance(query, str):
            raise InvalidInputError(f"a query is a string, got {type(query).__name__}")
        if self.model is None:
            raise InvalidInputError(
                "this store has no embedding to search with; give one to the constructor "
                "(embedding=...) or search by vector"
            )
        return self.model

    # --- the model -----------------------------------------------------------------------

    def _before_query(self) -> Calls:
        asked = self._check or self.fingerprint is not None
        if asked and (stored := self._noted()) is not None:
            yield from self._introduction(stored)

    def _probed(self, calls: Calls) -> Fingerprint | None:
        probe = next(calls, None)
        if probe is not None and self.model is not None:
            with _explained(probe):
                answer = self.model.embed_documents(probe)
            _sent(calls, answer)
        return self.fingerprint

    async def _aprobed(self, calls: Calls) -> Fingerprint | None:
        probe = await run_in_executor(None, next, calls, None)
        if probe is not None and self.model is not None:
            with _explained(probe):
                answer = await self.model.aembed_documents(probe)
            await run_in_executor(None, _sent, calls, answer)
        return self.fingerprint

    def _introduction(self, stored: Fingerprint | None) -> Calls:
        """Learn the model's fingerprint, once, and compare it with the collection's."""
        if self.fingerprint is None:
            answer = _as_many([PROBE_TEXT], (yield [PROBE_TEXT]))
            (probe,) = unit_matrix(answer, [PROBE_TEXT])
            self._introduced.fingerprint = Fingerprint(_name(self.model), probe)
        check_model(self._collection, stored, self.fingerprint)

    def _noted(self) -> Fingerprint | None:
        return self._backend.fingerprint(self._collection)


def new_identity(model: object) -> Fingerprint:
    """What tells a model from every other in this process, without asking it."""
    return Fingerprint(
        _name(model), unit_vector(np.random.default_rng().normal(size=16).tolist())
    )


def _given(vector: Any) -> list[float]:
    if vector is None:
        raise InvalidInputError("the embedding model returned None for the query")
    return vector  # type: ignore[no-any-return]


def _sent(calls: Calls, answer: Any) -> list[str] | None:
    """What is asked next; None at the end."""
    try:
        return calls.send(answer)
    except StopIteration:
        return None


@contextmanager
def _explained(texts: Sequence[str]) -> Iterator[None]:
    """If it is the probe that fails, say where it comes from."""
    try:
        yield
    except Exception as error:
        if texts == [PROBE_TEXT]:
            error.add_note(
                "The text is a probe: by its vector an embedding model is known again. "
                "check_model=False does without."
            )
        raise


def _name(model: object) -> str:
    """What people call a model: its class, and what the class says it calls."""
    found = (getattr(model, attribute, None) for attribute in _NAMES)
    given = next((name for name in found if name and isinstance(name, str)), None)
    return type(model).__name__ + (f" {given!r}" if given else "")


def to_model(given: Embeddings | str | None) -> Embeddings | None:
    """What an `embedding` argument means.

    Raises:
        InvalidInputError: It is no model and names none.
        MissingExtraError: A name needs the `langchain` package.
    """
    model = _named(given) if isinstance(given, str) else given
    if model is not None and not isinstance(model, Embeddings):
        raise InvalidInputError(
            f"embedding is a LangChain Embeddings, a 'provider:model' string or None, got "
            f"{type(given).__name__}: {given!r}"
        )
    return model


def _named(name: str) -> Embeddings:
    if ":" not in name:
        raise InvalidInputError(
            f"embedding={name!r} names no model: write 'provider:model', or an embedding "
            "such as HashingEmbeddings(); a file is given as path=..."
        )
    try:
        from langchain.embeddings import init_embeddings  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("langchain") from error
    model = init_embeddings(name)
    if not isinstance(model, Embeddings):
        raise InvalidInputError(f"{name!r} does not name an embedding model")
    return model


def _batch_size(given: int | None) -> int:
    size = DEFAULT_EMBED_BATCH if given is None else to_count("batch_size", given)
    if size < 1:
        raise InvalidInputError(f"batch_size must be at least 1, got {given}")
    return size


def _check_length(matrix: Matrix, earlier: Mapping[bytes, Vector]) -> None:
    first = next(iter(earlier.values()), matrix[0])
    if len(first) != len(matrix[0]):
        raise DimensionMismatchError(
            f"the embedding model returned vectors of {len(matrix[0])} dimensions after "
            f"ones of {len(first)}; an embedder must keep one length"
        )


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
