"""Full text with and without a segmenter: nDCG@10, recall, time.

Usage: python benchmarks/segmenters.py FOLDER [RESULT.json]

FOLDER has docs.LANG.jsonl {id, title, text} and queries.LANG.jsonl {id, text, relevant}.
Needs rjieba and icu4py. Nothing is tuned here; the two halves show how far a difference
carries.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rjieba
from icu4py.breakers import WordBreaker

from langchain_ragstore import SQLiteVectorStore, TextAnalyzer, evaluate

K = 10
Segmenter = Callable[[str], Iterable[str]] | None


def icu(language: str) -> Segmenter:
    """The words that ICU finds."""
    return lambda text: list(WordBreaker(text, language))


KINDS: list[tuple[str, str, Segmenter]] = [
    ("en", "none", None),
    ("zh", "none", None),
    ("zh", "rjieba", rjieba.cut),
    ("zh", "icu", icu("zh")),
    ("ja", "none", None),
    ("ja", "icu", icu("ja")),
]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def measured(folder: Path, language: str, segmenter: Segmenter) -> dict[str, Any]:
    documents = lines(folder / f"docs.{language}.jsonl")
    queries = lines(folder / f"queries.{language}.jsonl")
    name = None if segmenter is None else "benchmark"
    analyzer = TextAnalyzer(segmenter=segmenter, name=name)
    with SQLiteVectorStore(text_analyzer=analyzer) as store:
        started = time.process_time()
        store.add_texts(
            [document["text"] for document in documents],
            [{"title": document["title"]} for document in documents],
            ids=[document["id"] for document in documents],
        )
        figures: dict[str, Any] = {"index_s": time.process_time() - started}
        retriever = store.as_retriever(search_type="text", k=K)
        for half in (0, 1):
            result = evaluate(retriever, queries[half::2], k=K)
            figures[f"half {'AB'[half]}"] = result.mean | {"queries": len(result.per_query)}
    return figures


def main() -> None:
    folder = Path(sys.argv[1])
    results: dict[str, Any] = {
        f"{language}, {name}": measured(folder, language, segmenter)
        for language, name, segmenter in KINDS
    }
    results["machine"] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "rjieba": version("rjieba"),
        "icu4py": version("icu4py"),
    }
    print(json.dumps(results, indent=2))
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
