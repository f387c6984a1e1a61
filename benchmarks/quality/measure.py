"""What is measured on the pages of one language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus import LANGUAGES, SETS, half, indexed, pages, queries
from langchain_core.documents import Document
from models import MODELS, Known, shown, vectors
from peers import DEPTH, Search, ensemble, text_peers

from langchain_ragstore import SQLiteVectorStore, config, evaluate
from langchain_ragstore.evaluation import Evaluation, compare

ACROSS = 20
"""Depth where query and page are of different languages."""

RANKS = (5, 10, ACROSS, DEPTH)
SHOWN = ("ndcg@10", "recall@5", "recall@10", "recall@20", f"recall@{DEPTH}", "mrr")
FIXED = dict(config.DEFAULT_FUSION_WEIGHTS)
"""The weights of every query before each query decided; now a setting like any other."""


def searches(store: SQLiteVectorStore, depth: int) -> dict[str, Search]:
    """Our searches, by name."""

    def hybrid(**keywords: Any) -> Search:
        return lambda text: store.hybrid_search(text, depth, **keywords)

    return {
        "text": lambda text: store.text_search(text, depth),
        "dense": lambda text: store.similarity_search(text, depth),
        "rrf": hybrid(fusion="rrf"),
        "weighted": hybrid(),
        "fixed weights": hybrid(weights=FIXED),
    }


def opened(listed: list[dict[str, Any]], matrix: Any, known: Known) -> SQLiteVectorStore:
    """A store of the pages, or chunks with metadata, with their vectors."""
    store = SQLiteVectorStore(known)
    store.add_embeddings(
        [page["text"] for page in listed],
        matrix.tolist(),
        [page.get("metadata") or {"title": page["title"]} for page in listed],
        ids=[page["id"] for page in listed],
    )
    return store


Asked = tuple[str, str, str | None, Search]
"""Name, language of the queries, model if one takes part, and the search itself."""


def systems(folder: Path, cache: Path, there: str, asked: Any) -> Iterator[Asked]:
    """Everything that is measured on the pages of a language."""
    listed = pages(folder, there)
    bm25 = None
    for name, search in text_peers(listed):
        bm25 = bm25 or search
        yield name, there, None, search
    for model in MODELS:
        texts = [shown(model, there, indexed(page)) for page in listed]
        matrix = vectors(cache, model, f"pages-{there}", texts)
        known: dict[str, Any] = {}
        for language in LANGUAGES:
            wanted = [item["text"] for name in SETS for item in asked[name, language]]
            made = vectors(cache, model, f"queries-{language}", wanted)
            known |= dict(zip(wanted, made.tolist(), strict=True))
        store = opened(listed, matrix, Known(known))
        for language in LANGUAGES:
            alike = language == there
            ours = searches(store, DEPTH if alike else ACROSS)
            for name, search in ours.items():
                if name == "text" and model != next(iter(MODELS)):
                    continue  # text is the same with every model
                if alike or name != "rrf":
                    yield name, language, None if name == "text" else model, search
        assert bm25 is not None
        dense = searches(store, DEPTH)["dense"]

        def named(text: str, dense: Search = dense) -> list[Document]:
            return [Document("", id=d.id, metadata={"page": d.id}) for d in dense(text)]

        yield "LangChain EnsembleRetriever", there, model, ensemble(bm25.__self__, named)
        store.close()


def measured(folder: Path, cache: Path, there: str, part: str) -> list[dict[str, Any]]:
    """All figures on the pages of one language."""
    asked = {
        (name, language): half(queries(folder, name, language), part)
        for name in SETS
        for language in LANGUAGES
    }
    rows = []
    results: dict[Any, Evaluation] = {}
    for name, language, model, search in systems(folder, cache, there, asked):
        for of in SETS:
            ranks = RANKS if language == there else RANKS[:-1]
            result = evaluate(search, asked[of, language], k=ranks)
            results[of, language, model, name] = result
            rows.append(
                {
                    "set": of,
                    "queries_in": language,
                    "pages_in": there,
                    "model": model,
                    "system": name,
                    "queries": len(result.per_query),
                }
                | {f: round(result.mean[f], 4) for f in SHOWN if f in result.mean}
            )
            print(*list(rows[-1].values())[:7], flush=True)
    return rows + comparisons(there, results)


def comparisons(there: str, results: dict[Any, Evaluation]) -> list[dict[str, Any]]:
    """Differences of nDCG@10 with their intervals, of what the decisions rest on."""
    rows = []

    def add(of: str, language: str, a: tuple[Any, str], b: tuple[Any, str]) -> None:
        one, other = results.get((of, language, *a)), results.get((of, language, *b))
        if one is None or other is None:
            return
        found = compare(one, other)
        rows.append(
            {
                "set": of,
                "queries_in": language,
                "pages_in": there,
                "model": a[0] or b[0],
                "gain_of": a[1],
                "over": b[1],
                "difference": round(found.difference, 4),
                "low": round(found.low, 4),
                "high": round(found.high, 4),
                "better": found.better,
                "worse": found.worse,
            }
        )

    for of in SETS:
        for language in LANGUAGES:
            for peer in ("FTS5, our terms", "LangChain BM25Retriever, our terms", "bm25s"):
                add(of, language, (None, "text"), (None, peer))
            for model in MODELS:
                for name in ("weighted", "fixed weights"):
                    add(of, language, (model, name), (None, "text"))
                    add(of, language, (model, name), (model, "dense"))
                for name in ("rrf", "fixed weights", "LangChain EnsembleRetriever"):
                    add(of, language, (model, "weighted"), (model, name))
    return rows
