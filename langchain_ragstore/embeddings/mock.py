"""Vectors from a formula: an embedding model for tests, without meaning.

The formula is that of the seed design (Phase 14, `MockEmbedding`). Two of its traits
make it unfit for anything but tests:

* *Rank 2.* `sin(s + i)` is `sin(s)·cos(i) + cos(s)·sin(i)`, so every vector lies (up to
  rounding) in one plane, whatever the dimension. In that plane most texts are close to
  others, and the ranking says nothing about what they say.
* *Anagrams collide.* A text enters through the sum of its bytes alone, so "listen" and
  "silent" have the same vector.

Use `HashingEmbeddings` for a real lexical signal without any dependency.
"""

from __future__ import annotations

import math
import operator
from typing import Final

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Vector

_AMPLITUDE: Final = np.float32(10_000.0)
"""Factor before normalising (the seed's; it survives only where a norm is tiny)."""

_MINIMUM_NORM: Final = 1e-10
"""A vector that is no longer than this is left as it is (the seed's guard)."""


class MockEmbeddings(Embeddings):
    """Deterministic vectors for tests: same text, same vector, on every machine.

    With `s` the sum of the text's UTF-8 bytes plus their number, component `i` is
    `sin(float32(float32(s) + float32(i)))·10000` and the whole is scaled to length 1.
    The sine is taken in float64 and then rounded to float32, because the float32 sines
    of different processors differ in their last bit. Lone surrogates are encoded as
    if they were characters (`surrogatepass`), so no text raises.

    Attributes:
        dim: Number of components of every vector.

    Example:
        >>> MockEmbeddings(4).embed_query("abc") == MockEmbeddings(4).embed_query("cab")
        True
    """

    def __init__(self, dim: int) -> None:
        """Choose the dimension.

        Args:
            dim: Number of components of every vector, at least 1.

        Raises:
            InvalidInputError: `dim` is below 1 (a `ValueError`).
            TypeError: `dim` is not an integer.
        """
        self.dim: Final = operator.index(dim)
        if self.dim < 1:
            raise InvalidInputError(f"dim must be at least 1, not {dim}")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in order; no texts give no vectors."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `text`; the same as `embed_documents` gives it."""
        components: list[float] = self._embed(text).tolist()
        return components

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return what `embed_documents` returns; too quick to be worth a thread."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return what `embed_query` returns; too quick to be worth a thread."""
        return self.embed_query(text)

    def _embed(self, text: str) -> Vector:
        encoded = text.encode("utf-8", "surrogatepass")
        seed = np.float32(sum(encoded) + len(encoded))
        angles = seed + np.arange(self.dim, dtype=np.float32)
        # math.sin, not np.sin: numpy's vectorised float64 sine may be several units in
        # the last place off, depending on the processor's instruction set.
        sines = np.array([math.sin(angle) for angle in angles.tolist()], dtype=np.float32)
        vector = sines * _AMPLITUDE
        # fsum is exactly rounded: the order in which a CPU adds does not matter.
        norm = math.sqrt(math.fsum(x * x for x in vector.tolist()))
        return vector / np.float32(norm) if norm > _MINIMUM_NORM else vector

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.dim == other.dim

    def __hash__(self) -> int:
        return hash((type(self), self.dim))
