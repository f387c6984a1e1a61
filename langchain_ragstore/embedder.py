"""Texts to checked vectors: the only caller of a LangChain embedding model."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_ragstore.config import DEFAULT_EMBED_BATCH, DEPARTED_VECTORS, PROBE_TEXT
from langchain_ragstore.documents import to_count
from langchain_ragstore.embeddings.batched import BatchedEmbeddings, name_of
from langchain_ragstore.embeddings.named import to_model
from langchain_ragstore.errors import (
    EmbeddingFailedError,
    EmbeddingMismatchError,
    InvalidInputError,
)
from langchain_ragstore.made_vectors import Made
from langchain_ragstore.model import Fingerprint, Record, Vector, alike
from langchain_ragstore.storage.base import Backend, check_model
from langchain_ragstore.unstored import Unstored
from langchain_ragstore.vectors.arrays import unit_matrix, unit_vector

Calls: TypeAlias = Generator[list[str], Any, None]
"""Gives texts for the model, and is sent their vectors."""


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
        self._batched = None if self.model is None else BatchedEmbeddings.of(self.model)
        self._backend, self._collection, self._check = backend, collection, check
        self._unstored = Unstored(backend, collection, clock)
        self._departed: dict[bytes, tuple[Fingerprint, Vector]] = {}
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
        model = self._batched
        if model is None:
            return self._backend.known(self._collection, texts, None)
        size = to_batch_size(batch_size)
        if not texts:
            return {}
        made = Made(texts, self.introduce())
        made.vectors.update(self._known(texts, made.maker))
        with closing(model.answers(made.unknown(), size)) as answers:
            for answered in answers:
                self._unstored.add(made.take(answered), made.maker)
        self._check_same(model)
        return made.vectors

    async def aembed(
        self, texts: Mapping[bytes, str], batch_size: int | None = None
    ) -> dict[bytes, Vector]:
        """As `embed`, awaiting the model."""
        model = self._batched
        if model is None:
            return await run_in_executor(
                None, self._backend.known, self._collection, texts, None
            )
        size = to_batch_size(batch_size)
        if not texts:
            return {}
        made = Made(texts, await self.aintroduce())
        made.vectors.update(await run_in_executor(None, self._known, texts, made.maker))
        async with aclosing(model.aanswers(made.unknown(), size)) as answers:
            async for answered in answers:
                new = await run_in_executor(None, made.take, answered)
                await run_in_executor(None, self._unstored.add, new, made.maker)
        self._check_same(model)
        return made.vectors

    def _known(
        self, texts: Mapping[bytes, str], maker: Fingerprint | None
    ) -> dict[bytes, Vector]:
        found = self._backend.known(self._collection, texts, maker)
        for digest in texts.keys() - found.keys():
            model, vector = self._departed.get(digest, (None, None))
            if vector is not None and alike(model, maker):
                found[digest] = vector
        return found

    def remember(self, records: Iterable[Record], model: Fingerprint) -> None:
        """Have vectors at hand whose records are deleted next; see `DEPARTED_VECTORS`.

        Args:
            records: With their vectors.
            model: What made those that have a digest.
        """
        for record in records:
            if record.digest is not None and record.vector is not None:
                self._departed.pop(record.digest, None)  # its place is that of the last
                self._departed[record.digest] = model, record.vector
        while len(self._departed) > DEPARTED_VECTORS:
            self._departed.pop(next(iter(self._departed)), None)

    def at_once(self, batch_size: int | None = None) -> int:
        """How many texts the model can have under way, so that all its calls are full."""
        size = to_batch_size(batch_size)
        model = self._batched
        return size or DEFAULT_EMBED_BATCH if model is None else model.at_once(size)

    def _check_same(self, model: BatchedEmbeddings) -> None:
        """Refuse vectors of a model that was exchanged while it made them."""
        if self._batched is not model:
            raise EmbeddingMismatchError(
                f"collection {self._collection!r} was given another model by reembed() "
                "while texts were embedded for it; nothing was stored, try again"
            )

    @property
    def checks(self) -> bool:
        """Whether models are compared."""
        return self._check

    def introduce(self) -> Fingerprint | None:
        """Learn what the model is known by, if models are compared."""
        self._probe(self._before_use())
        return self.fingerprint

    async def aintroduce(self) -> Fingerprint | None:
        """As `introduce`, awaiting the model."""
        await self._aprobe(self._before_use())
        return self.fingerprint

    def _probe(self, calls: Calls) -> None:
        probe = next(calls, None)
        if probe is not None and self._batched is not None:
            with _explained(), closing(self._batched.answers(probe)) as answers:
                (answered,) = answers
            _send(calls, answered.vectors)

    async def _aprobe(self, calls: Calls) -> None:
        probe = await run_in_executor(None, next, calls, None)
        if probe is not None and self._batched is not None:
            with _explained():
                async with aclosing(self._batched.aanswers(probe)) as answers:
                    (answered,) = [answered async for answered in answers]
            await run_in_executor(None, _send, calls, answered.vectors)

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
        self.model, self._batched = other.model, other._batched
        self._introduced = other._introduced
        self._identity = other._identity

    def recognised(self, origin: str, maker: Fingerprint | None) -> Fingerprint | None:
        """What vectors from elsewhere are to be noted as the work of.

        Args:
            origin: The collection that they come from.
            maker: What made them, if that is known.

        Raises:
            EmbeddingMismatchError: Another model than this one.
        """
        if maker is None or self._batched is None:
            return maker
        if self._identity is not None:
            check_model(origin, maker, self._asked(self._batched))
            return self._identity
        if not self._check:
            return maker if self._noted() is None else None
        made = self.introduce()
        check_model(origin, maker, made)
        return made

    def portrait(self) -> Fingerprint | None:
        """What others can know the model of the collection's vectors by."""
        noted = self._noted()
        if noted is None or self._batched is None or self._identity is None:
            return noted
        return self._asked(self._batched) if noted.agrees(self._identity) else noted

    def _asked(self, model: BatchedEmbeddings) -> Fingerprint:
        """What a model is known by, from itself."""
        with _explained(), closing(model.answers([PROBE_TEXT])) as answers:
            (answered,) = answers
        (probe,) = unit_matrix(answered.vectors, [PROBE_TEXT])
        return Fingerprint(name_of(self.model), probe)

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
    def rescue(self, texts: Sequence[str | None] = ()) -> Iterator[None]:
        """If the block fails, keep what was embedded in it for the next try.

        Args:
            texts: What is embedded for each thing that the caller was given, to tell which
                of them the model failed at.
        """
        try:
            yield
        except BaseException as error:
            self._unstored.keep()
            if isinstance(error, EmbeddingFailedError):
                error.index = texts.index(error.text) if error.text in texts else None
                if self.fingerprint is not None:
                    error.add_note(
                        "What was embedded before is kept: the same call embeds the rest."
                    )
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
        self._probe(self._before_query())

    async def aagree(self) -> None:
        """As `agree`, awaiting the model."""
        await self._aprobe(self._before_query())

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

    def _introduction(self, stored: Fingerprint | None) -> Calls:
        """Learn the model's fingerprint, once, and compare it with the collection's."""
        if self.fingerprint is None:
            (probe,) = unit_matrix((yield [PROBE_TEXT]), [PROBE_TEXT])
            self._introduced.fingerprint = Fingerprint(name_of(self.model), probe)
        check_model(self._collection, stored, self.fingerprint)

    def _noted(self) -> Fingerprint | None:
        return self._backend.fingerprint(self._collection)


def new_identity(model: object) -> Fingerprint:
    """What tells a model from every other in this process, without asking it."""
    return Fingerprint(
        name_of(model), unit_vector(np.random.default_rng().normal(size=16).tolist())
    )


def _given(vector: Any) -> list[float]:
    if vector is None:
        raise InvalidInputError("the embedding model returned None for the query")
    return vector  # type: ignore[no-any-return]


def _send(calls: Calls, vectors: Sequence[Any]) -> None:
    """Give what was asked for last."""
    with suppress(StopIteration):
        calls.send(vectors)


@contextmanager
def _explained() -> Iterator[None]:
    """If the probe fails, say where it comes from."""
    try:
        yield
    except Exception as error:
        if isinstance(error, EmbeddingFailedError):
            error.index = None
        error.add_note(
            "The text is a probe: by its vector an embedding model is known again. "
            "check_model=False does without."
        )
        raise


def to_batch_size(given: int | None) -> int | None:
    """What a `batch_size` means; None for the model's own.

    Raises:
        InvalidInputError: It is below 1.
    """
    size = None if given is None else to_count("batch_size", given)
    if size is not None and size < 1:
        raise InvalidInputError(f"batch_size must be at least 1, got {given}")
    return size
