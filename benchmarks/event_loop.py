"""How long an event loop is kept waiting while a store of 50 000 rows works.

Usage: python benchmarks/event_loop.py [ROWS] [RESULT.json]

A task sleeps for a millisecond, again and again; the longest time between two of its turns
is the gap. Meanwhile the awaited methods run: searches with an embedding that takes half a
second, the first search, which reads the vectors, and what looks after the file.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ragstore import SQLiteVectorStore

DIMENSION: Final = 384
ROUNDS: Final = 5


class Slow(Embeddings):
    """Random vectors; a query takes half a second, and has no method to be awaited."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rng = np.random.default_rng(len(texts[0]))
        return rng.normal(size=(len(texts), DIMENSION)).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        time.sleep(0.5)
        return self.embed_documents([text])[0]


async def gap_of(work: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """The longest gap while something runs, and how long that took, in seconds."""
    gaps = [0.0]

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.05)
    gaps.clear()
    begun = time.perf_counter()
    await work()
    took = time.perf_counter() - begun
    await asyncio.sleep(0.01)
    ticking.cancel()
    return max(gaps), took


async def measured(path: Path, rows: int) -> dict[str, dict[str, float]]:
    store = SQLiteVectorStore(Slow(), path, check_model=False)
    rng = np.random.default_rng(0)
    words = [f"word{n}" for n in range(5_000)]
    for _ in range(0, rows, 5_000):
        texts = [" ".join(rng.choice(words, 40)) for _ in range(5_000)]
        store.add_embeddings(texts, rng.normal(size=(5_000, DIMENSION)).tolist())
    many = [f"text {n} about word{n % 5_000}" for n in range(1_000)]
    works: dict[str, Callable[[], Awaitable[Any]]] = {
        "first search": lambda: store.asimilarity_search("word7 word9"),
        "dense search": lambda: store.asimilarity_search("word7 word9"),
        "first hybrid search": lambda: store.asearch("word7 word9", "hybrid"),
        "hybrid search": lambda: store.asearch("word7 word9", "hybrid"),
        "20 searches at once": lambda: asyncio.gather(
            *(store.asearch(f"word{n}", "hybrid") for n in range(20))
        ),
        "1 000 texts added": lambda: store.aadd_texts(many),
        "compact": store.acompact,
        "backup": lambda: store.abackup(path.with_suffix(".copy"), overwrite=True),
        "verify": store.averify,
    }
    found = {}
    for name, work in works.items():
        rounds = 1 if name.startswith("first") else ROUNDS
        pairs = [await gap_of(work) for _ in range(rounds)]
        found[name] = {
            "longest_gap_ms": round(1_000 * max(gap for gap, _ in pairs), 1),
            "took_s": round(max(took for _, took in pairs), 2),
        }
        print(f"{name:22} {found[name]}")
    store.close()
    return found


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder) / "rag.db", rows))
    facts = {
        "rows": rows,
        "dimension": DIMENSION,
        "rounds": ROUNDS,
        "works": found,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
    }
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
