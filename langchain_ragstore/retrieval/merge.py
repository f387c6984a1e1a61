"""Merging: hits of several collections as one list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from langchain_ragstore.model import Hit, ranked


@dataclass(frozen=True, slots=True)
class Finds:
    """What a search of one collection found.

    Attributes:
        collection: Where; tells the collections of one merging apart.
        weight: What its scores are multiplied by, at least 0.
        hits: In any order.
    """

    collection: str
    weight: float
    hits: list[Hit]


@dataclass(frozen=True, slots=True)
class Placed:
    """A hit of a merged list.

    Attributes:
        hit: With its weighted score.
        collection: Where it was found.
    """

    hit: Hit
    collection: str


def merged(lists: Iterable[Finds]) -> list[Placed]:
    """The hits of all collections, by weighted score; the better of two equal ones.

    Hits are equal if id and text are. Scores below 0 stay as they are: what is unlike the
    query would otherwise fall behind the more it weighs. So the order within a collection
    is kept (a weight of 0 makes all of it equal), and the first `n` depend on no more than
    the first `n` of each.

    Args:
        lists: Of equal scores, those of the earlier list come first.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.merge import Finds, merged

        a, b = Hit(Record("a", "tea", {}), 1.0), Hit(Record("b", "milk", {}), 0.75)
        found = merged([Finds("plain", 0.5, [a, b]), Finds("important", 2.0, [b])])
        assert [(p.hit.record.id, p.hit.score) for p in found] == [("b", 1.5), ("a", 0.5)]
        assert found[0].collection == "important"
        ```
    """
    best: dict[tuple[str, str], Placed] = {}
    for found in lists:
        for hit in found.hits:
            weighted = replace(hit, score=_weighted(hit.score, found.weight))
            key = hit.record.id, hit.record.content
            if key not in best or weighted.score > best[key].hit.score:
                best[key] = Placed(weighted, found.collection)
    place = {id(placed.hit): placed for placed in best.values()}
    return [place[id(hit)] for hit in ranked(placed.hit for placed in best.values())]


def _weighted(score: float, weight: float) -> float:
    return score * weight if score > 0 else score
