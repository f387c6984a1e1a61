"""Retrieval quality and speed of `LocalEmbeddings` on the LibreOffice help set.

Usage: `python benchmarks/local_quality.py FOLDER [--pages 400] [--queries 300]`, where
FOLDER holds `docs.LANG.jsonl` (`id`, `title`, `text`; the same ids in each language) and
`queries.LANG.jsonl` (`id`, `text`, `relevant`). The figures go to
`benchmarks/results/local_quality.json`.

Only vectors rank. The subset is drawn with `SEED`: pages by id, the same in every language;
then queries that one of these pages answers. Page and query may be of different languages.
A page is one vector: the whole text, or the mean of its windows where it is too long.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from langchain_ragstore.embeddings.local import LocalEmbeddings

LANGUAGES = ("en", "zh", "ja")
SEED = 7
DEPTH = 10
RESULT = Path(__file__).parent / "results" / "local_quality.json"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def ndcg(ranking: list[str], relevant: set[str]) -> float:
    """Return nDCG@10 with binary relevance; `ranking` is best first."""
    gain = sum(1 / math.log2(rank + 2) for rank, id in enumerate(ranking) if id in relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, len(relevant))))
    return gain / ideal


def drawn(folder: Path, pages: int) -> set[str]:
    """The ids of the subset of pages."""
    ids = sorted(document["id"] for document in read_lines(folder / "docs.en.jsonl"))
    random.Random(SEED).shuffle(ids)
    return set(ids[:pages])


def asked(folder: Path, language: str, kept: set[str], number: int) -> list[Any]:
    """Queries that a page of the subset answers, with these pages."""
    found = [
        (query["text"], kept & set(query["relevant"]))
        for query in read_lines(folder / f"queries.{language}.jsonl")
        if kept & set(query["relevant"])
    ]
    random.Random(SEED).shuffle(found)
    return found[:number]


def pages_of(folder: Path, language: str, kept: set[str]) -> dict[str, str]:
    """Id → title and text."""
    return {
        document["id"]: f"{document['title']}\n{document['text']}"
        for document in read_lines(folder / f"docs.{language}.jsonl")
        if document["id"] in kept
    }


def mean_ndcg(questions: Any, queries: list[Any], ids: list[str], matrix: Any) -> float:
    """Rank all pages by cosine for each query, and average nDCG@10."""
    order = np.argsort(-(questions @ matrix.T), axis=1, kind="stable")[:, :DEPTH]
    scores = [
        ndcg([ids[row] for row in rows], relevant)
        for rows, (_, relevant) in zip(order.tolist(), queries, strict=True)
    ]
    return round(float(np.mean(scores)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--queries", type=int, default=300, help="of each language")
    arguments = parser.parse_args()
    model = LocalEmbeddings(overflow="mean")
    start = time.perf_counter()
    model.embed_query("load")
    loading = time.perf_counter() - start
    kept = drawn(arguments.folder, arguments.pages)
    matrices: dict[str, Any] = {}
    speed: dict[str, Any] = {}
    ids: dict[str, list[str]] = {}
    for language in LANGUAGES:
        pages = pages_of(arguments.folder, language, kept)
        tokens = [model.count_tokens(text) for text in pages.values()]
        ids[language] = list(pages)
        start = time.perf_counter()
        matrices[language] = np.array(model.embed_documents(list(pages.values())))
        seconds = time.perf_counter() - start
        speed[language] = {
            "pages": len(pages),
            "median_tokens": int(np.median(tokens)),
            "pages_over_the_limit": sum(n > model.max_input_tokens for n in tokens),
            "pages_per_second": round(len(pages) / seconds, 1),
            "tokens_per_second": round(sum(tokens) / seconds),
        }
    quality: dict[str, Any] = {}
    for language in LANGUAGES:
        queries = asked(arguments.folder, language, kept, arguments.queries)
        start = time.perf_counter()
        questions = np.array([model.embed_query(text) for text, _ in queries])
        seconds = time.perf_counter() - start
        speed[language]["queries"] = len(queries)
        speed[language]["milliseconds_per_query"] = round(1000 * seconds / len(queries), 2)
        quality[language] = {
            there: mean_ndcg(questions, queries, ids[there], matrices[there])
            for there in LANGUAGES
        }
    report = {
        "model": repr(model),
        "seed": SEED,
        "machine": {
            "processors": os.cpu_count(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        },
        "seconds_to_load": round(loading, 2),
        "speed": speed,
        "ndcg_at_10_of_queries_in_on_pages_in": quality,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
