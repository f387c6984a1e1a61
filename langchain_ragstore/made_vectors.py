"""Vectors of texts, as a model makes them: which are lacking, and whether they fit."""

from __future__ import annotations

from collections.abc import Mapping

from langchain_ragstore.embeddings.running import Answered
from langchain_ragstore.errors import DimensionMismatchError
from langchain_ragstore.model import Fingerprint, Matrix, Vector
from langchain_ragstore.vectors.arrays import unit_matrix


class Made:
    """Vectors of texts, as far as there are some.

    Args:
        texts: By digest.
        maker: Of the vectors.
    """

    def __init__(self, texts: Mapping[bytes, str], maker: Fingerprint | None) -> None:
        self.texts, self.maker = texts, maker  # whatever becomes of the embedder meanwhile
        self.vectors: dict[bytes, Vector] = {}
        self._asked: list[bytes] = []

    def unknown(self) -> list[str]:
        """Texts without a vector."""
        self._asked = [digest for digest in self.texts if digest not in self.vectors]
        return [self.texts[digest] for digest in self._asked]

    def take(self, answered: Answered) -> dict[bytes, Vector]:
        """Check vectors of some of the unknown texts; returns them."""
        digests = self._asked[answered.start : answered.start + len(answered.vectors)]
        batch = [self.texts[digest] for digest in digests]
        matrix = unit_matrix(answered.vectors, batch)
        _check_length(matrix, self.vectors)
        new = dict(zip(digests, matrix, strict=True))
        self.vectors.update(new)
        return new


def _check_length(matrix: Matrix, earlier: Mapping[bytes, Vector]) -> None:
    first = next(iter(earlier.values()), matrix[0])
    if len(first) != len(matrix[0]):
        raise DimensionMismatchError(
            f"the embedding model returned vectors of {len(matrix[0])} dimensions after "
            f"ones of {len(first)}; an embedder must keep one length"
        )
