"""Near duplicates: of hits that say the same, the best one stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from langchain_ragstore.config import DEDUP_THRESHOLD
from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval.hit_vectors import Embed, hit_matrix
from langchain_ragstore.retrieval.question import Choosing, Question, Shelf
from langchain_ragstore.vectors.arrays import cosines


@dataclass(frozen=True, slots=True)
class Deduplicate(Choosing):
    """Leaves out hits whose cosine to a better one that stays exceeds a threshold.

    Source: the seed's semantic deduplication. The others keep their order; what comes
    after them among the candidates moves up.

    Attributes:
        threshold: Reached is not exceeded: two hits with just this cosine stay.
        embed: Makes vectors for hits without; None if they all have one.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.dedup import Deduplicate

        rows = {"a": [1, 0], "b": [0.96, 0.28], "c": [0.6, 0.8]}
        hits = [
            Hit(Record(id, "", {}, np.array(row, np.float32)), 1.0)
            for id, row in rows.items()
        ]
        stage = Deduplicate(0.88)
        assert [hit.record.id for hit in stage.distinct(hits)] == ["a", "c"]
        assert stage.twins(hits) == {"b": ("a", 0.96)}
        ```
    """

    threshold: float = DEDUP_THRESHOLD
    embed: Embed | None = field(default=None, repr=False)
    vectors: ClassVar[bool] = True
    wants: ClassVar[int] = 0

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """See `distinct`."""
        return self.distinct(hits)

    def distinct(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits that stay.

        Raises:
            InvalidInputError: A hit has no vector, and none can be made.
        """
        twins = self.twins(hits)
        return [hit for hit in hits if hit.record.id not in twins]

    def twins(self, hits: Sequence[Hit]) -> dict[str, tuple[str, float]]:
        """Of each hit that is left out: the id of the one that stays, and the cosine.

        Of several that it is too like, the best one.
        """
        if len(hits) <= 1:
            return {}
        matrix = hit_matrix(hits, self.embed, "leaving out near duplicates")
        kept: list[int] = []
        twins: dict[str, tuple[str, float]] = {}
        for at, hit in enumerate(hits):
            likeness = cosines(matrix[kept], matrix[at]) if kept else np.empty(0)
            over = np.flatnonzero(likeness > self.threshold)
            if over.size:
                first = int(over[0])
                cosine = round(float(likeness[first]), 6)
                twins[hit.record.id] = hits[kept[first]].record.id, cosine
            else:
                kept.append(at)
        return twins

    def left_out(self, hit: Hit, rank: int, taken: Sequence[Hit]) -> str:
        """Of whom it is a duplicate."""
        other, cosine = self.twins(taken)[hit.record.id]
        return (
            f"a near duplicate of {other!r}: their cosine {cosine:.4g} is above "
            f"dedup_threshold={self.threshold:g}"
        )
