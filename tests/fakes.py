"""Stand-ins for what a test must control: embedding models and time."""

import re

from langchain_core.embeddings import Embeddings

from langchain_ragstore import HashingEmbeddings
from langchain_ragstore.config import PROBE_TEXT


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Counting(Embeddings):
    """`HashingEmbeddings` that counts what it is asked."""

    def __init__(self, dim: int = 64) -> None:
        self.model = HashingEmbeddings(dim)
        self.batches: list[list[str]] = []
        self.texts: list[str] = []
        self.calls: list[str] = []

    def _documents(self, name, texts):
        self.calls.append(name)
        self.batches.append(list(texts))
        self.texts += texts
        return self.model.embed_documents(texts)

    def embed_documents(self, texts):
        return self._documents("embed_documents", texts)

    def embed_query(self, text):
        self.calls.append("embed_query")
        return self.model.embed_query(text)

    async def aembed_documents(self, texts):
        return self._documents("aembed_documents", texts)

    async def aembed_query(self, text):
        self.calls.append("aembed_query")
        return self.model.embed_query(text)


class Turned(Counting):
    """Another model of the same dimension: the axes are in another order."""

    def __init__(self, dim=64, name="turned"):
        super().__init__(dim)
        self.model_name = name

    def _documents(self, name, texts):
        return [vector[::-1] for vector in super()._documents(name, texts)]

    def embed_query(self, text):
        return super().embed_query(text)[::-1]

    async def aembed_query(self, text):
        return (await super().aembed_query(text))[::-1]


class Breaking(Counting):
    """Fails in its n-th call."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def _documents(self, name, texts):
        if len(self.calls) + 1 == self.call:
            raise ConnectionError("the service is down")
        return super()._documents(name, texts)


class Table(Embeddings):
    """Vectors from a dictionary."""

    def __init__(self, vectors) -> None:
        self.vectors = vectors

    def embed_documents(self, texts):
        return [self.vectors[text] if text != PROBE_TEXT else [1.0] for text in texts]

    def embed_query(self, text):
        return self.vectors[text]


class Answering(Embeddings):
    """Returns what a function makes of the texts, however wrong that is."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def embed_documents(self, texts):
        return [[1.0, 0.0]] if texts == [PROBE_TEXT] else self.answer(texts)

    def embed_query(self, text):
        return self.answer([text])[0]


def label(value) -> str:
    """The name of a test's case: its value, without addresses in memory."""
    return re.sub(r" at 0x\w+", "", str(value))


class ServiceError(Exception):
    """What the clients of services raise: a status, headers, and what the service said."""

    def __init__(self, message, status=None, headers=None):
        super().__init__(message)
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}, "text": ""})()


class Service(Counting):
    """A service that takes so many texts, or tokens, in a call, and says so or not.

    Attributes:
        refused: Sizes of the calls that were refused.
        errors: What the next calls raise instead of answering; None to answer.
    """

    def __init__(self, items=None, tokens=None, numbers=True, errors=()):
        super().__init__(8)
        self.items, self.tokens, self.numbers = items, tokens, numbers
        self.errors, self.refused = list(errors), []

    def _documents(self, name, texts):
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        if self.items is not None and len(texts) > self.items:
            self.refused.append(len(texts))
            limit = f"should not be larger than {self.items}" if self.numbers else ""
            raise ServiceError(f"batch size is invalid, it {limit}", 400)
        total = sum(map(len, texts))
        if self.tokens is not None and total > self.tokens:
            self.refused.append(len(texts))
            raise ServiceError(
                f"Requested {total} tokens, max {self.tokens} tokens per request"
                if self.numbers
                else "Too many tokens overall, split into more batches.",
                400,
            )
        return super()._documents(name, texts)
