"""Ingest, size and searches of a whole store; ingest beside SQLiteVec's LangChain class.

Usage: python benchmarks/hybrid_speed.py CORPUS.jsonl [COUNT] [RESULT.json]

CORPUS has one object with "title" and "text" a line; COUNT chunks are made of it as in
text_index.py, with clustered vectors of 384 dimensions, which a table gives out instead of
a model. Each engine runs in a process of its own, in turns; figures are medians over the
rounds. SQLiteVec needs langchain-community, sqlite-vec and pysqlite3-binary (group
`bench`); it has neither full text nor ids.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from langchain_core.embeddings import Embeddings
from text_index import chunks, queries

DIMENSION, CLUSTERS, SPREAD, BATCH, K = 384, 200, 0.7, 1_000, 10
ROUNDS, SEED, WORDS, REINDEXED = 3, 11, (2, 5, 10, 20), 100


Opened: TypeAlias = tuple[Callable[..., Any], Callable[[], None], Any]
"""How to add, how to close, and the store."""


class Table(Embeddings):
    """Gives out the vectors of a matrix, in order; a query's is near a row's."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(SEED)
        centres = rng.normal(size=(CLUSTERS, DIMENSION))
        noise = SPREAD * rng.normal(size=(count, DIMENSION))
        self.rows = (centres[rng.integers(0, CLUSTERS, count)] + noise).tolist()
        self.noise = (SPREAD * rng.normal(size=(count, DIMENSION))).tolist()
        self.at = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The next rows; from the first one again after the last."""
        start = self.at % len(self.rows)
        self.at = start + len(texts)
        return self.rows[start : self.at]

    def embed_query(self, text: str) -> list[float]:
        """Near the row that the text's length points at."""
        row = len(text) * 7_919 % len(self.rows)
        return [a + b for a, b in zip(self.rows[row], self.noise[row], strict=True)]


def ours(path: str, model: Table) -> Opened:
    """This package's store."""
    from langchain_ragstore import SQLiteVectorStore

    # The table cannot embed a probe.
    store = SQLiteVectorStore(model, path, check_model=False)
    return store.add_texts, store.close, store


def sqlite_vec(
    path: str, model: Table
) -> tuple[Callable[..., Any], Callable[[], None], Any]:
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3  # one that can load extensions
    warnings.simplefilter("ignore")
    from langchain_community.vectorstores import SQLiteVec

    connection = SQLiteVec.create_connection(db_file=path)
    store = SQLiteVec(table="t", connection=connection, db_file=path, embedding=model)
    model.at = 0

    def add(texts: list[str], metadatas: list[dict[str, Any]], **_: Any) -> None:
        store.add_texts(texts, metadatas)

    return add, connection.close, store


def work(engine: str, corpus: str, count: int) -> dict[str, Any]:
    """What one engine does with the corpus, in this process."""
    texts, model = chunks(corpus, count), Table(count)
    metadatas = [{"title": title, "n": n} for n, (title, _) in enumerate(texts)]
    bodies = [body for _, body in texts]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "kb.db")
        add, close, _ = {"ours": ours, "sqlite_vec": sqlite_vec}[engine](path, model)
        # The table's millions of numbers are in no application's memory; looking through
        # them for garbage once took 0.8 s at 100 000.
        gc.collect()
        gc.freeze()
        started, cpu = time.perf_counter(), time.process_time()
        for start in range(0, count, BATCH):
            part = slice(start, start + BATCH)
            ids = [str(n) for n in range(start, min(start + BATCH, count))]
            add(bodies[part], metadatas[part], ids=ids, batch_size=BATCH)
        figures = {
            "ingest_s": time.perf_counter() - started,
            "ingest_cpu_s": time.process_time() - cpu,
        }
        close()
        raw = count * DIMENSION * 4 + sum(len(body.encode()) for body in bodies)
        figures["file_per_raw"] = Path(path).stat().st_size / raw
        if engine == "ours":
            figures |= searches(path, model, texts)
    return figures


def searches(path: str, model: Table, texts: list[tuple[str, str]]) -> dict[str, Any]:
    """Medians of single searches, in turns; memory; one document indexed anew."""
    started = time.perf_counter()
    _, close, store = ours(path, model)
    empty = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    store.hybrid_search(texts[0][1][:40], K)
    figures: dict[str, Any] = {
        "open_and_first_hybrid_ms": 1000 * (time.perf_counter() - started)
    }
    for words in WORDS:
        asked = queries(texts, words)
        kinds = {
            "dense": store.similarity_search,
            "text": store.text_search,
            "hybrid": store.hybrid_search,
        }
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        for query in asked:
            store.hybrid_search(query, K)  # blocks into the cache
        # By kind: a query right after itself would find its scores made.
        for kind, search in kinds.items():
            for query in asked:
                began = time.perf_counter()
                search(query, K)
                times[kind].append(1000 * (time.perf_counter() - began))
        p50 = {kind: statistics.median(each) for kind, each in times.items()}
        p50["hybrid_per_sum"] = p50["hybrid"] / (p50["dense"] + p50["text"])
        figures[f"{words}_words_p50_ms"] = p50
    figures["grown_mb"] = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - empty
    ) / 1024
    each = []
    for n in range(REINDEXED):
        began = time.perf_counter()
        store.add_texts([texts[n][1]], [{"title": texts[n + 1][0], "n": n}], ids=[str(n)])
        each.append(1000 * (time.perf_counter() - began))
    figures["one_document_ms"] = {"p50": statistics.median(each), "max": max(each)}
    close()
    return figures


def medians(rounds: list[Any]) -> Any:
    """The median of each figure."""
    if isinstance(rounds[0], dict):
        return {key: medians([each[key] for each in rounds]) for key in rounds[0]}
    return statistics.median(rounds)


def main() -> None:
    corpus, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    found: dict[str, list[Any]] = {"ours": [], "sqlite_vec": []}
    for _ in range(ROUNDS):
        for engine, rounds in found.items():
            command = [sys.executable, __file__, "--worker", engine, corpus, str(count)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            rounds.append(json.loads(done.stdout.splitlines()[-1]))
    figures = {engine: medians(rounds) for engine, rounds in found.items()}
    result = {
        "corpus": Path(corpus).name,
        "chunks": count,
        "dimension": DIMENSION,
        "rounds": ROUNDS,
        "seed": SEED,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
        **figures,
        "ingest_ratio": statistics.median(
            a["ingest_s"] / b["ingest_s"]
            for a, b in zip(found["ours"], found["sqlite_vec"], strict=True)
        ),
        "ingest_cpu_ratio": statistics.median(
            a["ingest_cpu_s"] / b["ingest_cpu_s"]
            for a, b in zip(found["ours"], found["sqlite_vec"], strict=True)
        ),
    }
    print(json.dumps(result, indent=2))
    if len(sys.argv) > 3:
        path = Path(sys.argv[3])
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        known[f"{result['corpus']} x {count}"] = result
        path.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        print(json.dumps(work(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        main()
