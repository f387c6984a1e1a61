"""Vectors from hashed words and pieces of words: no model, no download, no training.

Signed feature hashing (Weinberger, Dasgupta, Langford, Smola, Attenberg, "Feature
Hashing for Large Scale Multitask Learning", ICML 2009): each feature adds its weight to
one component that a hash chooses, with a sign that the same hash chooses, so collisions
cancel on average and the inner product of two texts estimates that of their features.

The features of a text are its terms, and pieces of them that bring related forms
together: three and four letters in a row, single characters of Chinese or Japanese.
What is common in every text of a language by its very shape (English function words,
pairs of hiragana) counts less. The weights were set on half of the queries of the
LibreOffice help set; nothing is learnt from the texts that are embedded.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Vector
from langchain_ragstore.text.terms import is_compound, is_unspaced, stem, term_counts

_PIECE_SIZES: Final = (3, 4)
"""Letters of the pieces of a word, its borders included (3 to 5 and 4 to 5 did worse)."""

_PIECES_WEIGHT: Final = 0.5
"""Length of all pieces of a word together, beside 1 for the word itself."""

_LONGEST_WORD: Final = 64
"""Letters of a word that pieces are taken from, and of a term that is remembered: what
is longer is encoded data, found as a whole or not at all."""

_CHARACTER_WEIGHT: Final = 0.45
"""Weight of each character of a pair, beside 1 for the pair."""

_HIRAGANA_WEIGHT: Final = 0.2
"""Factor for pairs and characters of hiragana, which mostly carry grammar."""

_FUNCTION_WORD_WEIGHT: Final = 0.3
"""Factor for English function words."""

_FUNCTION_WORDS: Final = (
    "a an and any are as at be been but by can could did do does for from had has have he "
    "her his how i if in into is it its may me more my no not of on or our she should so "
    "some such than that the their them then there these they this those to too up us was "
    "we were what when where which while who why will with would you your"
)
_FUNCTION_STEMS: Final = frozenset(map(stem, _FUNCTION_WORDS.split()))

_HIRAGANA: Final = re.compile("[\u3041-\u309f\u30fc]+")

_PIECE_MARK: Final = "\0"
"""Precedes the pieces of words, so that none is taken for a word: no term has a NUL."""

_CACHED_TERMS: Final = 1 << 16
"""Terms whose features are remembered; 16 MB when full of common words."""

_FEATURE: Final = np.dtype([("hash", "<u4"), ("weight", "<f4")])
_HASH_BYTES: Final = 4
_SIGN_BIT: Final = np.uint32(1 << 31)

_UNIT: Final = float(1 << 16)
"""Weights are rounded to whole multiples of its inverse. Sums of whole numbers are
exact, so neither the order of the words nor the processor changes the last bit."""


class HashingEmbeddings(Embeddings):
    """A real lexical signal without dependencies; the same vector everywhere.

    Texts are close when they share words, parts of words or (Chinese, Japanese, Korean)
    pairs of characters. Repeated terms count `1 + log(count)`. It knows nothing of
    meaning: synonyms and translations are strangers. Any `str` is taken; a text without
    letters or digits gives the zero vector, every other one a vector of length 1 (save
    that in very few dimensions all features may happen to cancel).

    The vector depends on the text alone, not on the process, its hash seed or its
    processor. (Characters younger than the Unicode tables of a Python may be read as
    letters by a later one.)

    Attributes:
        dim: Number of components of every vector. More components, fewer collisions:
            long texts gain most.

    Example:
        >>> import numpy as np
        >>> model = HashingEmbeddings()
        >>> query = model.embed_query("fast trains")
        >>> texts = ["The train was faster than the bus.", "Soup needs salt."]
        >>> int(np.argmax(np.array(model.embed_documents(texts)) @ query))
        0
    """

    def __init__(self, dim: int = 512) -> None:
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

    async def aembed_query(self, text: str) -> list[float]:
        """Return what `embed_query` returns; one query is not worth a thread."""
        return self.embed_query(text)

    def _embed(self, text: str) -> Vector:
        counts = term_counts(text)
        codes = list(map(_FEATURES_OF.__getitem__, counts))
        sizes = np.fromiter(map(len, codes), np.intp, len(codes)) // _FEATURE.itemsize
        features = np.frombuffer(b"".join(codes), dtype=_FEATURE)
        # math.log, not np.log: the vectorised one may differ between processors.
        damped = [1.0 if n == 1 else 1.0 + math.log(n) for n in counts.values()]
        weights = np.rint(np.repeat(damped, sizes) * features["weight"] * _UNIT)
        signed = np.where(features["hash"] & _SIGN_BIT, -weights, weights)
        components = (features["hash"] & ~_SIGN_BIT) % np.uint32(self.dim)
        sums = np.bincount(components, signed, minlength=self.dim)
        # fsum is exactly rounded: the order in which a processor adds does not matter.
        norm = math.sqrt(math.fsum((sums * sums).tolist()))
        return (sums / norm if norm else sums).astype(np.float32)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.dim == other.dim

    def __hash__(self) -> int:
        return hash((type(self), self.dim))


class _FeatureCache(dict[str, bytes]):
    """The features of each term as the bytes of an array of `_FEATURE`.

    A dictionary answers three times as fast as `functools.lru_cache`. When it is full
    it starts anew, which costs a few microseconds a term; threads may share it, since
    each entry has only one possible value.
    """

    def __missing__(self, term: str) -> bytes:
        encoded = _encoded(term)
        if len(term) <= _LONGEST_WORD:
            if len(self) >= _CACHED_TERMS:
                self.clear()
            self[term] = encoded
        return encoded


_FEATURES_OF: Final = _FeatureCache()


def _encoded(term: str) -> bytes:
    features = _stretch_features(term) if is_unspaced(term) else _word_features(term)
    hashed = [(_hash(name), weight) for name, weight in features]
    return np.array(hashed, dtype=_FEATURE).tobytes()


def _hash(name: str) -> int:
    """Hash a feature to 32 bits: component below, sign on top."""
    encoded = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=_HASH_BYTES).digest(), "little")


def _stretch_features(term: str) -> Iterator[tuple[str, float]]:
    """Yield a pair and its characters; a lone character meets the pairs it is in."""
    yield term, _HIRAGANA_WEIGHT if _HIRAGANA.fullmatch(term) else 1.0
    if len(term) == 1:
        return
    for char in term:
        factor = _HIRAGANA_WEIGHT if _HIRAGANA.fullmatch(char) else 1.0
        yield char, _CHARACTER_WEIGHT * factor


def _word_features(term: str) -> Iterator[tuple[str, float]]:
    """Yield a word and its pieces, which share the length `_PIECES_WEIGHT`."""
    weight = _FUNCTION_WORD_WEIGHT if term in _FUNCTION_STEMS else 1.0
    yield term, weight
    if is_compound(term) or len(term) <= min(_PIECE_SIZES):
        return
    framed = f"<{term[:_LONGEST_WORD]}>"
    pieces = [
        framed[start : start + size]
        for size in _PIECE_SIZES
        for start in range(len(framed) - size + 1)
    ]
    for piece in pieces:
        yield _PIECE_MARK + piece, weight * _PIECES_WEIGHT / math.sqrt(len(pieces))
