"""Texts into batches, and what becomes of those that are refused: no calls, no waiting."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np

from langchain_ragstore.config import (
    BYTES_A_TOKEN,
    EMBED_BACKOFF,
    EMBED_PATIENCE,
    TOKEN_MARGIN,
)
from langchain_ragstore.embeddings.refusals import Answer, Refusal, read
from langchain_ragstore.errors import (
    EmbeddingFailedError,
    EmbeddingUnreachableError,
    InvalidInputError,
    RagStoreError,
)

logger = logging.getLogger(__name__)

Vectors: TypeAlias = Sequence[Any]

_SHOWN: Final = 300
"""Characters of a model's own error that ours repeats."""


@dataclass(slots=True)
class Limits:
    """What a service was found to take in one call; shared by all work for a model.

    Attributes:
        items: Texts; None while nothing was refused.
        tokens: Their tokens, as the length function counts them.
        proven: Whether the last thing that was heard of it was an answer.
    """

    items: int | None = None
    tokens: int | None = None
    proven: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """How a model is called.

    Attributes:
        model: Its name, for messages.
        items: Texts of a call at most.
        tokens: Tokens of a call at most; None for any number.
        length: Counts the tokens of a text.
        at_once: Calls under way at most.
        retries: Times that the same batch is sent again.
        reconnects: Whether that is done also where nobody answers.
        now: Seconds since the epoch.
        random: A number from 0 to 1.
    """

    model: str
    items: int
    tokens: int | None
    length: Callable[[str], int]
    at_once: int
    retries: int
    reconnects: bool
    now: Callable[[], float]
    random: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts that are next to each other.

    Attributes:
        start: Place of the first.
        stop: Place after the last.
        tries: How often it was sent in vain.
        most: How many of them may go together, while a bad text is looked for.
    """

    start: int
    stop: int
    tries: int = 0
    most: int | None = None

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(slots=True)
class Work:
    """Texts that are to be embedded, and how far that has come.

    Whoever runs it takes batches and tells what became of them, from one thread at a time.

    Attributes:
        texts: All of them.
        policy: How to call.
        limits: What the service takes; learned further.
    """

    texts: Sequence[str]
    policy: Policy
    limits: Limits
    _pending: deque[Batch] = field(init=False)
    _guess: int | None = field(init=False, default=None)
    _unanswered: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._pending = deque([Batch(0, len(self.texts))] if self.texts else [])
        self._unanswered = len(self.texts)

    @property
    def window(self) -> int:
        """How many calls may be under way: one, until the service is known to answer."""
        return self.policy.at_once if self.limits.proven else 1

    @property
    def waiting(self) -> bool:
        """Whether there is something to take."""
        return bool(self._pending)

    def take(self) -> Batch | None:
        """The next batch; None if there is none now."""
        if not self._pending:
            return None
        first = self._pending.popleft()
        stop = self._fitting(first)
        if stop == first.stop:
            return first
        self._pending.appendleft(replace(first, start=stop, tries=0))
        return replace(first, stop=stop, tries=0)

    def of(self, batch: Batch) -> list[str]:
        """Its texts."""
        return list(self.texts[batch.start : batch.stop])

    def answered(self, batch: Batch, vectors: Any) -> list[Any]:
        """Note that a batch is done.

        Returns:
            Its vectors.

        Raises:
            InvalidInputError: They are not as many as the texts.
        """
        made = _as_many(len(batch), vectors)
        self.limits.proven = True
        self._unanswered -= len(batch)
        if not self._unanswered:  # nothing was wrong but the size
            self.limits.items = _least(self.limits.items, self._guess)
        return made

    def failed(self, batch: Batch, error: Exception) -> float:
        """Note that a batch failed, and put it back if there is hope.

        Returns:
            Seconds to wait before anything is sent again.

        Raises:
            EmbeddingFailedError: There is none; from `error`.
        """
        if isinstance(error, RagStoreError):
            raise _moved(error, batch)
        refusal = read(error, self.policy.now())
        wait = self._wait(batch, refusal)
        self.limits.proven = False
        if wait is not None:
            self._back(replace(batch, tries=batch.tries + 1))
            logger.warning(
                "%s: %s; trying again in %.1f s (%d of %d)",
                *(self.policy.model, _said(error), wait),
                *(batch.tries + 1, self.policy.retries),
            )
            return wait
        if refusal.answer is Answer.SMALLER and len(batch) > 1:
            self._learn(batch, refusal)
            self._back(replace(batch, tries=0))
            return 0.0
        if refusal.answer is Answer.BAD_TEXT and len(batch) > 1:
            half = (len(batch) + 1) // 2
            self._pending.appendleft(Batch(batch.start + half, batch.stop, most=half))
            self._pending.appendleft(Batch(batch.start, batch.start + half, most=half))
            return 0.0
        raise self._failure(batch, refusal, error) from error

    def _fitting(self, batch: Batch) -> int:
        """Where to end a batch that begins where this one does; one text always fits."""
        most = min(
            size
            for size in (self.policy.items, self.limits.items, self._guess, batch.most)
            if size is not None
        )
        stop = min(batch.stop, batch.start + most)
        limit = _least(self.policy.tokens, self.limits.tokens)
        if limit is None:
            return stop
        total = 0
        for at in range(batch.start, stop):
            total += self.policy.length(self.texts[at])
            if total > limit:
                return max(at, batch.start + 1)
        return stop

    def _back(self, batch: Batch) -> None:
        """Put a batch back, together with its neighbour if nothing keeps them apart."""
        if batch.tries == 0 and self._pending:
            after = self._pending[0]
            if after == Batch(batch.stop, after.stop, most=batch.most):
                self._pending.popleft()
                batch = replace(batch, stop=after.stop)
        self._pending.appendleft(batch)

    def _learn(self, batch: Batch, refusal: Refusal) -> None:
        """What a refusal says of the next batches; they get smaller in any case."""
        limits = self.limits
        if refusal.tokens is not None:
            counted = sum(map(self.policy.length, self.of(batch)))
            limits.tokens = max(1, _least(limits.tokens, _rescaled(counted, refusal)))
        elif refusal.items is not None and 0 < refusal.items < len(batch):
            limits.items = _least(limits.items, refusal.items)
        else:
            # Remembered only if all goes well with it: one text may be at fault.
            self._guess = _least(self._guess, len(batch) // 2)
        logger.info(
            "%s refused %d texts at once; from now on %s texts and %s tokens at most",
            *(self.policy.model, len(batch)),
            *(_least(limits.items, self._guess) or self.policy.items, limits.tokens),
        )

    def _wait(self, batch: Batch, refusal: Refusal) -> float | None:
        """Seconds until it is worth to send a batch again; None if it is not."""
        again = (Answer.LATER, Answer.UNREACHABLE)[: 1 + self.policy.reconnects]
        if refusal.answer not in again or batch.tries >= self.policy.retries:
            return None
        first, longest = EMBED_BACKOFF
        wait = min(longest, first * 2.0**batch.tries)
        if refusal.wait is None:
            return wait * (1 - self.policy.random() / 2)
        if refusal.wait > EMBED_PATIENCE:
            return None
        return refusal.wait + first * self.policy.random() / 2

    def _failure(
        self, batch: Batch, refusal: Refusal, error: Exception
    ) -> EmbeddingFailedError:
        unreachable = refusal.answer is Answer.UNREACHABLE
        kind = EmbeddingUnreachableError if unreachable else EmbeddingFailedError
        return kind(
            _said(error),
            _way_out(refusal, batch.tries),
            model=self.policy.model,
            text=self.texts[batch.start],
            index=batch.start,
            count=len(batch),
        )


def estimated_tokens(text: str) -> int:
    """How many tokens a text has at most, about: one for every two bytes of UTF-8.

    Example:
        >>> estimated_tokens("green tea"), estimated_tokens("绿茶"), estimated_tokens("")
        (5, 3, 1)
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return max(1, -(-size // BYTES_A_TOKEN))


def _rescaled(counted: int, refusal: Refusal) -> int:
    """A limit in the service's tokens in ours; below what was refused."""
    limit, found = refusal.tokens or 1, refusal.found
    if found and found > limit:
        return int(counted * limit / found * TOKEN_MARGIN)
    return limit if limit < counted else counted // 2


def _least(one: int | None, other: int | None) -> Any:
    given = [value for value in (one, other) if value is not None]
    return min(given, default=None)


def _way_out(refusal: Refusal, tries: int) -> str:
    if refusal.answer is Answer.SMALLER:
        return (
            "it is too much although it is alone: split it, e.g. with "
            "CJKRecursiveTextSplitter or TokenAwareTextSplitter"
        )
    if refusal.answer is Answer.BAD_TEXT:
        return "split it, change it or leave it out"
    if refusal.wait is not None and refusal.wait > EMBED_PATIENCE:
        return f"the service asks to come back in {refusal.wait:.0f} s"
    if refusal.answer is Answer.LATER:
        return f"it was sent {tries + 1} times: try again later, or with less at once"
    if refusal.answer is Answer.UNREACHABLE:
        return "is the service running, and is there a network? then try again"
    ways = {
        401: "check the API key",
        403: "check what the API key may use",
        404: "check the name of the model and the address",
    }
    return ways.get(refusal.status or 0, "see the error that this one was raised from")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:_SHOWN]}"


def _moved(error: RagStoreError, batch: Batch) -> RagStoreError:
    """An error of this package's own models, which count from the batch's first text."""
    if isinstance(error, EmbeddingFailedError):
        error.index = None if error.index is None else error.index + batch.start
    elif isinstance(error, InvalidInputError) and batch.start:
        error.add_note(f"Its text 0 is text {batch.start} of what was to be embedded.")
    return error


def _as_many(count: int, vectors: Any) -> list[Any]:
    if not isinstance(vectors, (Sequence, np.ndarray)):
        kind = type(vectors).__name__
        raise InvalidInputError(
            f"the embedding model returned a {kind}, not a list of vectors"
        )
    if len(vectors) != count:
        raise InvalidInputError(
            f"the embedding model returned {len(vectors)} vectors for {count} texts; "
            "nothing was stored"
        )
    return list(vectors)
