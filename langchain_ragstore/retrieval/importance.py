"""Importance: what the metadata say about how much a record matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from langchain_ragstore.filters import is_number
from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval.question import Question, Shelf


@dataclass(frozen=True, slots=True)
class Importance:
    """Keeps what is important enough, in the order in which it came.

    A record's importance is the number under `importance` in its metadata; without one,
    or with anything but a number, it is 0.

    Attributes:
        least: The least importance.
        wants: How many hits are to be left; candidates are fetched until they are.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.importance import Importance

        values = {"a": 3, "b": "high", "c": 0.5}
        hits = [Hit(Record(id, "", {"importance": v}), 1.0) for id, v in values.items()]
        assert [h.record.id for h in Importance(0.5, wants=2).kept(hits)] == ["a", "c"]
        assert [h.record.id for h in Importance(0, wants=3).kept(hits)] == ["a", "b", "c"]
        ```
    """

    least: float
    wants: int
    vectors: ClassVar[bool] = False

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """See `kept`."""
        return self.kept(hits)

    def kept(self, hits: list[Hit]) -> list[Hit]:
        """Those that are important enough."""
        return [hit for hit in hits if _importance(hit) >= self.least]


def _importance(hit: Hit) -> float:
    value = hit.record.metadata.get("importance")
    return value if is_number(value) else 0  # type: ignore[return-value]
