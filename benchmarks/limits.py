"""Load and search of 10 000 x 1536 vectors, and the cost of the import.

Usage: python benchmarks/limits.py [RESULT.json]
"""

from __future__ import annotations

import json
import os
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

from langchain_ragstore import SQLiteVectorStore

COUNT, DIMENSION, ROUNDS, SEED = 10_000, 1536, 5, 7

THIRD_PARTY = """
import sqlite3, numpy, numpy.typing, pydantic
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import RecordManager
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import BasePromptTemplate, ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough, run_in_executor
from langchain_core.stores import ByteStore
from langchain_core.structured_query import Visitor
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_core.vectorstores import VectorStoreRetriever
from langchain_text_splitters import TextSplitter
"""


def milliseconds(action: Any, *arguments: Any) -> float:
    started = time.perf_counter()
    action(*arguments)
    return (time.perf_counter() - started) * 1000


def store_figures(folder: str) -> dict[str, float]:
    rng = np.random.default_rng(SEED)
    vectors = rng.normal(size=(COUNT, DIMENSION))
    path = str(Path(folder) / "limits.db")
    with SQLiteVectorStore(None, path) as store:
        texts = [f"text {i}" for i in range(COUNT)]
        ingest = milliseconds(store.add_embeddings, texts, vectors)
    loads, searches = [], []
    for turn in range(ROUNDS):
        with SQLiteVectorStore(None, path) as store:
            search = store.similarity_search_by_vector
            loads.append(milliseconds(search, vectors[turn].tolist(), 10))
            for at in range(20):
                query = vectors[100 * turn + at].tolist()
                searches.append(milliseconds(search, query, 10))
    return {
        "ingest_ms": ingest,
        "first_search_ms": statistics.median(loads),
        "search_p50_ms": statistics.median(searches),
        "search_max_ms": max(searches),
    }


def import_figures() -> dict[str, float]:
    def seconds(statement: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - started

    ratios, ours, theirs = [], [], []
    for _ in range(ROUNDS + 1):
        theirs.append(seconds(THIRD_PARTY))
        ours.append(seconds("import langchain_ragstore"))
        ratios.append(ours[-1] / theirs[-1])
    return {
        "import_ratio": statistics.median(ratios[1:]),
        "import_s": statistics.median(ours[1:]),
        "third_party_s": statistics.median(theirs[1:]),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        figures: dict[str, Any] = {
            "vectors": [COUNT, DIMENSION],
            "rounds": ROUNDS,
            "seed": SEED,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "sqlite": sqlite3.sqlite_version,
            **store_figures(folder),
            **import_figures(),
        }
    text = json.dumps(figures, indent=2)
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
