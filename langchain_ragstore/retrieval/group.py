"""Grouping: at most a few hits for each value of a metadata key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from langchain_ragstore.filters import Field, identity
from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval.question import Question, Shelf


@dataclass(frozen=True, slots=True)
class Group:
    """Keeps the first hits of each group, in the order in which they came.

    Two hits are of one group if a filter takes their values for equal, so that `True`, 1
    and `"1"` are three groups, 1 and 1.0 one. A hit without the key is a group of its
    own; a stored null is a value.

    Attributes:
        key: A path of metadata keys.
        per_group: How many of a group are kept.
        wants: How many hits the search is to find in all.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record, Terms
        from langchain_ragstore.retrieval.group import Group

        hits = [Hit(Record(id, "", {"page": id[0]}), 1.0) for id in ("a1", "a2", "b1")]
        kept = Group(("page",), 1, wants=2).kept(hits)
        assert [hit.record.id for hit in kept] == ["a1", "b1"]
        ```
    """

    key: tuple[str, ...]
    per_group: int
    wants: int
    vectors: ClassVar[bool] = False

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """See `kept`."""
        return self.kept(hits)

    def kept(self, hits: list[Hit]) -> list[Hit]:
        """The hits that come before too many others of their group."""
        seen: Counter[Hashable] = Counter()
        kept = []
        for hit in hits:
            group = self.group(hit)
            seen[group] += 1
            if seen[group] <= self.per_group:
                kept.append(hit)
        return kept

    def group(self, hit: Hit) -> Hashable:
        """What hits of one group have in common."""
        record = hit.record
        found, value = Field("metadata", self.key).find(
            record.id, record.content, record.metadata
        )
        return identity(value) if found else object()
