"""The sets on which stages are measured: a store, its queries, and what is told of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from changes import Change
from corpus import LANGUAGES, SETS, chunk_queries, chunks, indexed, pages, queries
from diversity import alpha_ndcg, subtopics_told
from langchain_core.documents import Document
from measure import opened
from models import Known, shown, vectors

from langchain_ragstore import RagRetriever, SQLiteVectorStore, evaluate
from langchain_ragstore.documents import with_titles
from langchain_ragstore.evaluation import Evaluation

DEPTH = 10
STATION = "station"
PARTS = (STATION, *LANGUAGES)
"""What is measured apart: ours, and LibreOffice's in each language."""


@dataclass(frozen=True)
class Case:
    """A set of queries over a store.

    Attributes:
        set: Its name.
        language: Of queries and documents.
        store: What is searched.
        asked: The queries, with `subtopics`.
        second: The model of a second stage.
        marked: Whether documents have sources, tags and importance.
    """

    set: str
    language: str
    store: SQLiteVectorStore
    asked: list[dict[str, Any]]
    second: Known | None
    marked: bool = False

    def searched(self, change: Change, tags: tuple[str, ...]) -> Any:
        """The search of a change, as a function of a text."""
        keywords = dict(change.keywords)
        if change.tagged and tags:
            keywords["core_tags"] = list(tags)
        if change.retriever:
            return RagRetriever(vectorstore=self.store, k=DEPTH).invoke
        return lambda text: self.store.hybrid_search(text, DEPTH, **keywords)

    def evaluated(self, change: Change) -> Evaluation:
        """All figures of a change, each query with the core tags of its own."""
        results = []
        for tags in dict.fromkeys(tuple(item.get("core_tags", ())) for item in self.asked):
            own = [i for i in self.asked if tuple(i.get("core_tags", ())) == tags]
            judged = [{k: item[k] for k in ("id", "text", "relevant")} for item in own]
            results += evaluate(self.searched(change, tags), judged, k=DEPTH).per_query
        subtopics = {item["id"]: item["subtopics"] for item in self.asked}
        both = (
            replace(
                result,
                metrics={
                    **result.metrics,
                    f"alpha_ndcg@{DEPTH}": alpha_ndcg(
                        result.found, subtopics[result.id], DEPTH
                    ),
                    "sources": len({source_of(id) for id in result.found[:DEPTH]}),
                },
            )
            for result in results
        )
        return Evaluation(tuple(both), (DEPTH,))


def source_of(id: str) -> str:
    """The source of a chunk; a page is its own."""
    return id.partition(":chunk:")[0]


def cases(folder: Path, models: Models, name: str) -> Iterator[Case]:
    """The weather station, or LibreOffice's sets in a language; open while looped over."""
    return _station(models) if name == STATION else _office(folder, models, name)


def _station(models: Models) -> Iterator[Case]:
    listed, asked = chunks(), chunk_queries()

    def read(model: str) -> list[str]:
        return [
            shown(model, chunk["metadata"]["lang"], with_titles(to_document(chunk)))
            for chunk in listed
        ]

    store, other = models.opened(STATION, listed, read, asked)
    yield Case(STATION, "en, zh, ja", store, asked, other, marked=True)
    store.close()


def to_document(chunk: dict[str, Any]) -> Document:
    """A chunk of the weather station."""
    return Document(chunk["text"], id=chunk["id"], metadata=chunk["metadata"])


def _office(folder: Path, models: Models, language: str) -> Iterator[Case]:
    listed = pages(folder, language)
    asked = {name: queries(folder, name, language) for name in SETS}
    every = [item for items in asked.values() for item in items]

    def read(model: str) -> list[str]:
        return [shown(model, language, indexed(page)) for page in listed]

    store, other = models.opened(language, listed, read, every)
    for name, items in asked.items():
        needs = [item | {"subtopics": {"need": item["relevant"]}} for item in items]
        yield Case(name, language, store, needs, other)
    store.close()


@dataclass(frozen=True)
class Models:
    """The models of a run, and where their vectors are kept."""

    cache: Path
    first: str
    second: str | None

    def opened(
        self,
        name: str,
        listed: list[dict[str, Any]],
        read: Callable[[str], list[str]],
        asked: list[dict[str, Any]],
    ) -> tuple[SQLiteVectorStore, Known | None]:
        """A store of documents, and the second model, which knows them by their text."""
        wanted = [item["text"] for item in asked]

        def known(model: str) -> dict[str, Any]:
            made = vectors(self.cache, model, f"queries-{name}", wanted)
            return dict(zip(wanted, made.tolist(), strict=True))

        def matrix(model: str) -> Any:
            return vectors(self.cache, model, f"pages-{name}", read(model))

        store = opened(listed, matrix(self.first), Known(known(self.first)))
        if self.second is None:
            return store, None
        rows = matrix(self.second).tolist()
        made = {page["text"]: row for page, row in zip(listed, rows, strict=True)}
        return store, Known(made | known(self.second))


def told(case: Case) -> list[dict[str, Any]]:
    """What neighbours bring: subtopics told by the results' text, and how long that is."""
    rows = []
    for k, window in ((3, 0), (5, 0), (8, 0), (10, 0), (3, 1), (5, 1)):
        shares, lengths = [], []
        for item in case.asked:
            found = case.store.hybrid_search(item["text"], k, window=window)
            ids = [id for d in found for id in _joined(d)]
            shares.append(subtopics_told(ids, item["subtopics"]))
            lengths.append(sum(len(d.page_content) for d in found))
        row = {"k": k, "window": window, "subtopics": round(fmean(shares), 4)}
        rows.append(row | {"characters": round(fmean(lengths))})
    return rows


def _joined(found: Document) -> list[str]:
    own = [found.id] if found.id else []
    joined: list[str] = found.metadata.get("ragstore", {}).get("joined", own)
    return joined
