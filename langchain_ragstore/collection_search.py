"""One question to several collections: what is asked of each, and one list of it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor

from langchain_ragstore.collection_names import Kinds
from langchain_ragstore.config import DEFAULT_COLLECTION, DEFAULT_KIND_DEPTH
from langchain_ragstore.documents import to_count
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.numeric import number
from langchain_ragstore.retrieval.cut import Top
from langchain_ragstore.retrieval.group import Group
from langchain_ragstore.retrieval.importance import Importance
from langchain_ragstore.retrieval.merge import Finds, Placed, merged
from langchain_ragstore.retrieval.neighbours import Neighbours
from langchain_ragstore.search_request import SEARCH_KEYWORDS, Search, to_search
from langchain_ragstore.searching import (
    Scored,
    Searcher,
    aembed_once,
    agree,
    embed_once,
    result,
)

OF_SEARCH: Final = tuple(keyword for keyword in SEARCH_KEYWORDS if keyword != "k")
"""Keywords of a search of several collections that are those of every search."""

_OWN: Final = ("k", "user_id", "kinds", "importance_threshold", "search_type")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of several collections, but for the query and the kind of search.

    Attributes:
        k: How many results.
        user_id: Whose collections.
        kinds: Which kinds of them.
        least: The least importance.

    Raises:
        InvalidInputError: `k` or `least` is no number.
    """

    k: int
    user_id: str | None
    kinds: Kinds
    least: float

    def __post_init__(self) -> None:
        to_count("k", self.k)
        number("importance_threshold", self.least, finite=False)

    def search(self, kind: str, default: str, keywords: Mapping[str, Any]) -> Search:
        """What is asked of the collection of one kind.

        Args:
            kind: Which.
            default: The search where `keywords` name none.
            keywords: `search_type`, and what that search takes but for `k`.

        Raises:
            InvalidInputError: A value that is none.
            TypeError: A keyword that nothing reads.
        """
        unknown = {k: None for k in keywords if k not in (*OF_SEARCH, "search_type")}
        refuse_unknown("retrieve", unknown, (*_OWN, *OF_SEARCH))
        given = dict(keywords)
        search_type = given.pop("search_type", None) or default
        depth = self.k * (DEFAULT_KIND_DEPTH if kind == DEFAULT_COLLECTION else 1)
        search = to_search(search_type, {**given, "k": depth})
        stages = search.plan.stages
        last = [stage for stage in stages if isinstance(stage, Neighbours)]
        first = [stage for stage in stages if not isinstance(stage, Neighbours)]
        chain = (Importance(self.least, depth), *first, Top(depth), *last)
        return replace(search, plan=replace(search.plan, stages=chain))


@dataclass(frozen=True, slots=True)
class Part:
    """What is asked of one collection.

    Attributes:
        kind: Its kind; every part has another.
        weight: What its scores are multiplied by.
        store: Its store.
        search: What is asked of it.
    """

    kind: str
    weight: float
    store: Searcher
    search: Search


def answer(query: str, parts: Sequence[Part], k: int) -> Scored:
    """The best documents of several collections.

    Args:
        query: What to look for.
        parts: The collections; of equal scores, those of an earlier one come first.
        k: How many.
    """
    stores = [part.store for part in parts if part.search.embeds]
    if not stores:
        return _searched(query, [None] * len(parts), parts, k)
    models = [store.embeddings for store in stores]
    found = _searched(query, embed_once(stores, query), parts, k)
    if agree(stores, models):
        return found
    # One of them was embedded anew meanwhile; see `Searcher`.
    return _searched(query, embed_once(stores, query), parts, k)


async def aanswer(query: str, parts: Sequence[Part], k: int) -> Scored:
    """As `answer`, awaiting the models."""
    stores = [part.store for part in parts if part.search.embeds]
    if not stores:
        return await run_in_executor(None, _searched, query, [None] * len(parts), parts, k)
    models = [store.embeddings for store in stores]
    vectors = await aembed_once(stores, query)
    found = await run_in_executor(None, _searched, query, vectors, parts, k)
    if await run_in_executor(None, agree, stores, models):
        return found
    vectors = await aembed_once(stores, query)
    return await run_in_executor(None, _searched, query, vectors, parts, k)


def _searched(
    query: str,
    vectors: Sequence[Sequence[float] | None],
    parts: Sequence[Part],
    k: int,
) -> Scored:
    """The best documents for a query that is embedded for each part, if need be."""
    found = [
        Finds(part.kind, part.weight, part.store.hits(query, vector, part.search))
        for part, vector in zip(parts, vectors, strict=True)
    ]
    part_of = {part.kind: part for part in parts}
    return [
        (_document(placed, part_of[placed.collection]), placed.hit.score)
        for placed in _grouped(merged(found), parts)[: max(0, k)]
    ]


def _document(placed: Placed, part: Part) -> Document:
    document = result(placed.hit, marked=part.search.marked)
    if part.search.marked:
        document.metadata["ragstore"] |= {
            "collection": part.store.collection_name,
            "kind": part.kind,
            "weight": part.weight,
        }
    return document


def _grouped(found: list[Placed], parts: Sequence[Part]) -> list[Placed]:
    """What is left by groups, which each collection formed for itself, over all."""
    for stage in parts[0].search.plan.stages if parts else ():
        if isinstance(stage, Group):
            kept = {id(hit) for hit in stage.kept([placed.hit for placed in found])}
            return [placed for placed in found if id(placed.hit) in kept]
    return found
