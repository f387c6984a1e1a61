"""Boosts: what the caller's core tags are worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from langchain_ragstore.config import CORE_FACTOR
from langchain_ragstore.model import Hit, ranked
from langchain_ragstore.retrieval.question import Question, Rescoring, Shelf

SIGNAL = "core"
"""The signal of a boosted hit: the factor."""


@dataclass(frozen=True, slots=True)
class CoreBoost(Rescoring):
    """Multiplies the scores of hits that share a core tag, or are core themselves.

    Source: the seed's core tags, ×1.33 once. Without tags nothing is boosted, whatever is
    marked as core.

    Attributes:
        tags: What the caller holds for the core, folded (`folded`).
        factor: At least 0; 1 changes nothing.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.boost import CoreBoost, folded

        plain = Hit(Record("plain", "", {}), 0.5)
        tagged = Hit(Record("tagged", "", {"tags": ["Tea", "cup"]}), 0.4)
        first, second = CoreBoost(folded(["TEA"])).boosted([plain, tagged])
        assert (first.record.id, first.score) == ("tagged", 0.4 * 1.33)
        assert second is plain
        ```
    """

    tags: tuple[str, ...]
    factor: float = CORE_FACTOR
    vectors: ClassVar[bool] = False
    wants: ClassVar[int] = 0

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """See `boosted`."""
        return self.boosted(hits)

    def boosted(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits, ranked by their new scores.

        A hit is boosted once, however often this is called, unless a stage in between made
        its score anew. Scores below 0 stay as they
        are: what is unlike the query would otherwise fall behind for being core.
        """
        if not self.tags or self.factor == 1:
            return list(hits)
        return ranked(map(self._one, hits))

    def _one(self, hit: Hit) -> Hit:
        done = SIGNAL in hit.signals
        if done or hit.score <= 0 or not is_core(hit.record.metadata, self.tags):
            return hit
        signals = {**hit.signals, SIGNAL: self.factor}
        return replace(hit, score=hit.score * self.factor, signals=signals)

    def parts(self, before: Mapping[str, float], hit: Hit) -> Mapping[str, float]:
        """What the boost adds."""
        if SIGNAL not in hit.signals:
            return before
        rest = {name: part for name, part in before.items() if name != SIGNAL}
        return {**rest, SIGNAL: hit.score - sum(rest.values())}


def folded(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are compared: case folded, each once, in order."""
    return tuple(sorted({tag.casefold() for tag in tags}))


def is_core(metadata: Mapping[str, Any], tags: Sequence[str]) -> bool:
    """Whether a document shares one of the folded tags, or says that it is core.

    Values of other kinds under `tags` and `is_core` mean nothing.
    """
    if metadata.get("is_core") is True:
        return True
    own = metadata.get("tags")
    if not isinstance(own, (list, tuple)):
        return False
    return any(isinstance(tag, str) and tag.casefold() in tags for tag in own)
