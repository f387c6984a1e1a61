"""Memory of 1 000 users' collections: before, loaded, unloaded; and what a search costs.

Usage: python benchmarks/collections_memory.py [COLLECTIONS] [DOCUMENTS] [RESULT.json]

The file is written in one process and searched in others, one for each way of unloading.
RSS is what /proc tells before, after a search of each collection, and after unloading;
every collection must then answer as before. (A file named collections.py would stand in
the way of Python's own module of this name.)
"""

from __future__ import annotations

import gc
import json
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ragstore import CollectionManager

DIMENSION, SEED, K, BUDGET = 384, 7, 5, 16_000_000
MODES = ("ttl", "budget", "never")


class Drawn(Embeddings):
    """Vectors drawn at random, seeded by the text's length and first letters."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        seed = [SEED, *text.encode()]
        return np.random.default_rng(seed).normal(size=DIMENSION).tolist()


def rss() -> int:
    """Bytes of memory that the process has."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def write(path: str, collections: int, documents: int) -> None:
    with CollectionManager(path, Drawn(), check_model=False) as manager:
        for user in range(collections):
            manager.get(user_id=str(user)).add_texts(
                [
                    f"document {n} of user {user} about subject {n % 17}"
                    for n in range(documents)
                ]
            )


def search(manager: CollectionManager, collections: int) -> tuple[dict[int, Any], float]:
    """The answers, and the median milliseconds of a search."""
    answers, seconds = {}, []
    for user in range(collections):
        store = manager.get(user_id=str(user))
        start = time.perf_counter()
        found = store.search_with_score("subject 3", "hybrid", k=K)
        seconds.append(time.perf_counter() - start)
        answers[user] = [(document.id, score) for document, score in found]
    return answers, statistics.median(seconds) * 1000


def measure(path: str, collections: int, mode: str) -> dict[str, Any]:
    now = [0.0]
    manager = CollectionManager(
        path,
        Drawn(),
        check_model=False,
        clock=lambda: now[0],
        memory_budget=BUDGET if mode == "budget" else None,
    )
    # One search first: what the libraries allocate once is not the collections'.
    search(manager, 1)
    manager.get(user_id="0").close()
    before = rss()
    answers, cold = search(manager, collections)
    loaded, counted = rss(), manager.stats()["resident_bytes"]
    again, warm = search(manager, collections)
    swept = 0
    if mode == "ttl":
        now[0] = 10_000.0
        swept = len(manager.sweep())
    after = rss()
    same = answers == again == search(manager, collections)[0]
    manager.close()
    return {
        "mode": mode,
        "rss_before_mb": round(before / 1e6, 1),
        "rss_loaded_mb": round(loaded / 1e6, 1),
        "rss_after_mb": round(after / 1e6, 1),
        "resident_bytes_loaded_mb": round(counted / 1e6, 1),
        "returned": round((loaded - after) / max(1, loaded - before), 3),
        "swept": swept,
        "search_cold_ms": round(cold, 3),
        "search_again_ms": round(warm, 3),
        "same_answers_after": same,
    }


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["measure"]:
        print(json.dumps(measure(arguments[1], int(arguments[2]), arguments[3])))
        return
    collections = int(arguments[0]) if arguments else 1_000
    documents = int(arguments[1]) if len(arguments) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rag.db")
        write(path, collections, documents)
        rows = []
        for mode in MODES:
            command = [sys.executable, __file__, "measure", path, str(collections), mode]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout))
            print(rows[-1], flush=True)
    result = {
        "collections": collections,
        "documents_each": documents,
        "dimension": DIMENSION,
        "vectors_mb": round(collections * documents * DIMENSION * 4 / 1e6, 1),
        "budget_mb": BUDGET / 1e6,
        "seed": SEED,
        "machine": f"{platform.machine()}, {platform.system()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
        "figures": rows,
    }
    if len(arguments) > 2:
        Path(arguments[2]).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
