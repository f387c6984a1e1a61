"""Any embedding model, called in batches that its service takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any, Final, TypeAlias

from langchain_core.embeddings import Embeddings

from langchain_ragstore.config import (
    DEFAULT_EMBED_BATCH,
    DEFAULT_EMBED_CONCURRENCY,
    DEFAULT_EMBED_RETRIES,
    EXCERPT,
)
from langchain_ragstore.embeddings.batching import Limits, Policy, Work, estimated_tokens
from langchain_ragstore.embeddings.running import Answered, Timing, arun, run
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.numeric import whole

Progress: TypeAlias = Callable[[int, int], Any]
"""Is told how many texts are done, and how many there are."""

_NAMES: Final = ("model", "model_name", "model_id", "deployment", "repo_id")
"""Attributes in which LangChain's classes keep the name of what they call."""


class BatchedEmbeddings(Embeddings):
    """Another model, called with as much at once as its service takes, and patiently.

    Texts go out in batches, several of which are under way at once; the vectors come back
    in the order of the texts. A service that refuses a batch for its size is asked for
    less, and that is remembered: by the number that it names, else by halves. One that is
    busy (HTTP 429, 503 and the like) is asked again after what `Retry-After` says, else
    after a time that doubles. A batch that is refused for what is in it (HTTP 400, 422) is
    halved until the text at fault is found and named.

    Until a first answer has come, and after a refusal, there is one call under way. A
    text that has more tokens than `batch_tokens` is sent alone. Nothing is left running
    after an error or an interruption: tasks are cancelled, and threads waited for.

    A store does all this by itself, with one call at a time. Give it a model in this class
    to have several, or other limits.

    Attributes:
        inner: The model.
        limits: What its service was found to take: `items` and `tokens` of a call.

    Example:
        ```python
        from langchain_ragstore import BatchedEmbeddings, HashingEmbeddings

        model = BatchedEmbeddings(HashingEmbeddings(64), batch_size=2, max_concurrency=2)
        texts = ["green tea", "black tea", "late fee"]
        assert model.embed_documents(texts) == HashingEmbeddings(64).embed_documents(texts)
        ```
    """

    def __init__(
        self,
        inner: Embeddings,
        *,
        batch_size: int = DEFAULT_EMBED_BATCH,
        batch_tokens: int | None = None,
        max_concurrency: int = DEFAULT_EMBED_CONCURRENCY,
        max_retries: int = DEFAULT_EMBED_RETRIES,
        length_function: Callable[[str], int] = estimated_tokens,
        progress: Progress | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Choose the model and how it is called.

        Args:
            inner: Any LangChain embedding model.
            batch_size: Texts of a call at most.
            batch_tokens: Tokens of a call at most; None for as many as the service takes.
            max_concurrency: Calls under way at most. More than 1 call the model from
                several threads at once, or in the async methods from several tasks.
            max_retries: How often a batch is sent again to a service that is busy or out
                of reach.
            length_function: Counts the tokens of a text. By default two bytes of UTF-8
                are one, which is about twice too many in English, to be on the safe side.
            progress: Called with the texts that are done and those there are, after
                each batch of `embed_documents` and `aembed_documents`.
            timing: Stands in for clock, sleep and chance in tests.

        Raises:
            InvalidInputError: No model, or a number that is none.
        """
        if not isinstance(inner, Embeddings):
            msg = f"inner is a LangChain Embeddings, got {type(inner).__name__}: {inner!r}"
            raise InvalidInputError(msg)
        self.inner: Final = inner
        self.limits: Final = Limits()
        self._progress = progress
        self._timing = timing or Timing()
        self._policy = Policy(
            model=name_of(inner),
            items=whole("batch_size", batch_size, 1),
            tokens=None if batch_tokens is None else whole("batch_tokens", batch_tokens, 1),
            length=length_function,
            at_once=whole("max_concurrency", max_concurrency, 1),
            retries=whole("max_retries", max_retries, 0),
            reconnects=True,
            now=self._timing.now,
            random=self._timing.random,
        )

    @classmethod
    def of(cls, model: Embeddings) -> BatchedEmbeddings:
        """A model as a store calls it: itself if it is batched, else carefully.

        That is: one call at a time in the caller's thread, and nothing is sent again on
        the mere suspicion that the network is at fault.
        """
        if isinstance(model, cls):
            return model
        batched = cls(model, max_concurrency=1)
        batched._policy = replace(batched._policy, reconnects=False)
        return batched

    def at_once(self, batch_size: int | None = None) -> int:
        """How many texts can be under way.

        Args:
            batch_size: Texts of a call, if it is not that of the constructor.
        """
        return (batch_size or self._policy.items) * self._policy.at_once

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in order; no texts give no vectors.

        Raises:
            EmbeddingFailedError: The model failed for good; names the text.
            InvalidInputError: The model returned too few or too many vectors.
        """
        vectors = _Vectors(_checked(texts), self._progress)
        with closing(self.answers(texts)) as answers:
            for answered in answers:
                vectors.put(answered)
        return vectors.made

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As `embed_documents`, awaiting the model."""
        vectors = _Vectors(_checked(texts), self._progress)
        async with aclosing(self.aanswers(texts)) as answers:
            async for answered in answers:
                vectors.put(answered)
        return vectors.made

    def embed_query(self, text: str) -> list[float]:
        """Return the model's vector of a query, asking again as for documents.

        Raises:
            EmbeddingFailedError: The model failed for good.
        """

        def call(texts: list[str]) -> list[Any]:
            return [self.inner.embed_query(query) for query in texts]

        with closing(run(self._work([text]), call, self._timing.sleep)) as given:
            ((vector,),) = (answered.vectors for answered in given)
        return vector  # type: ignore[no-any-return]

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`, awaiting the model."""

        async def call(texts: list[str]) -> list[Any]:
            return [await self.inner.aembed_query(query) for query in texts]

        async with aclosing(arun(self._work([text]), call, self._timing.asleep)) as given:
            ((vector,),) = [answered.vectors async for answered in given]
        return vector  # type: ignore[no-any-return]

    def answers(
        self, texts: Sequence[str], batch_size: int | None = None
    ) -> Generator[Answered, None, None]:
        """The vectors batch by batch as they come; to be closed by `closing`.

        Args:
            texts: To be embedded.
            batch_size: Texts of a call, if not as in the constructor.

        Yields:
            Batches, in any order.
        """
        work = self._work(texts, batch_size)
        return run(work, self.inner.embed_documents, self._timing.sleep)

    def aanswers(
        self, texts: Sequence[str], batch_size: int | None = None
    ) -> AsyncGenerator[Answered, None]:
        """As `answers`, awaiting the model; to be closed by `aclosing`."""
        work = self._work(texts, batch_size)
        return arun(work, self.inner.aembed_documents, self._timing.asleep)

    def _work(self, texts: Sequence[str], batch_size: int | None = None) -> Work:
        items = batch_size or self._policy.items
        return Work(texts, replace(self._policy, items=items), self.limits)

    def __repr__(self) -> str:
        policy = self._policy
        return (
            f"{type(self).__name__}({self.inner!r}, batch_size={policy.items}, "
            f"batch_tokens={policy.tokens}, max_concurrency={policy.at_once})"
        )


def name_of(model: object) -> str:
    """What people call a model: its class, and what the class says it calls."""
    while isinstance(model, BatchedEmbeddings):
        model = model.inner
    found = (getattr(model, attribute, None) for attribute in _NAMES)
    given = next((name for name in found if name and isinstance(name, str)), None)
    return type(model).__name__ + (f" {given!r}" if given else "")


class _Vectors:
    """Places for vectors, filled as they come."""

    def __init__(self, texts: Sequence[str], progress: Progress | None) -> None:
        self.made: list[Any] = [None] * len(texts)
        self._done, self._progress = 0, progress

    def put(self, answered: Answered) -> None:
        count = len(answered.vectors)
        self.made[answered.start : answered.start + count] = answered.vectors
        self._done += count
        if self._progress is not None:
            self._progress(self._done, len(self.made))


def _checked(texts: list[str]) -> list[str]:
    if isinstance(texts, str):
        raise InvalidInputError(f"texts is one string, not a list: {texts[:EXCERPT]!r}")
    return texts
