"""How long an event loop is kept waiting while a store of 50 000 rows works.

Usage: python benchmarks/event_loop.py [ROWS] [RESULT.json]

A task sleeps for a millisecond, again and again; the longest time between two of its turns
is the gap. Meanwhile the awaited methods run: searches with an embedding that takes half a
second, the first search of a store, which reads what it keeps in memory, writes of one and
of all rows, and what looks after the file.

Python's garbage collector stops every thread. A full collection looks at all objects, most
of them LangChain's modules; how long the longest one took is told apart. Then everything is
measured again after `gc.freeze()`, with which an application can take what is there at its
start out of what is looked at.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

import numpy as np
from langchain_core.embeddings import Embeddings
from recorded import recorded

from langchain_ragstore import SQLiteVectorStore

DIMENSION: Final = 384
ROUNDS: Final = 5
LONG: Final = ("all texts added", "re-embed", "export", "import")
"""What takes long, and is therefore done fewer times."""
LONG_ROUNDS: Final = 2

Work: TypeAlias = Callable[[], Awaitable[Any]]


class Slow(Embeddings):
    """Random vectors; a query takes half a second, and has no method to be awaited."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rng = np.random.default_rng(len(texts[0]))
        return rng.normal(size=(len(texts), DIMENSION)).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        time.sleep(0.5)
        return self.embed_documents([text])[0]


class Collector:
    """How long the garbage collector's longest run took, in seconds."""

    def __init__(self) -> None:
        self.longest = self._begun = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, _info: object) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._begun = now
        else:
            self.longest = max(self.longest, now - self._begun)


COLLECTOR: Final = Collector()


async def gap_of(work: Work) -> tuple[float, float, float]:
    """The longest gap while something runs, the collector's part, the whole, in seconds."""
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
    COLLECTOR.longest = 0.0
    begun = time.perf_counter()
    await work()
    took = time.perf_counter() - begun
    await asyncio.sleep(0.01)
    ticking.cancel()
    return max(gaps), COLLECTOR.longest, took


class Other(Slow):
    """Another model, for what exchanges it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector[::-1] for vector in super().embed_documents(texts)]


def opened(path: Path, model: Embeddings | None = None) -> SQLiteVectorStore:
    return SQLiteVectorStore(model or Slow(), path, check_model=False)


def filled(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{n}" for n in range(5_000)]
    with opened(path) as store:
        for start in range(0, rows, 5_000):
            texts = [" ".join(rng.choice(words, 40)) for _ in range(5_000)]
            numbers = [{"n": n} for n in range(start, start + 5_000)]
            store.add_embeddings(
                texts, rng.normal(size=(5_000, DIMENSION)).tolist(), numbers
            )


async def measured(folder: Path, rows: int) -> dict[str, dict[str, float]]:
    path = folder / "rag.db"
    filled(path, rows)
    found = {}

    async def note(
        name: str, work: Callable[[SQLiteVectorStore], Work], **own: Any
    ) -> None:
        """Measure what is done with a store: a `warm` one has been searched before."""
        rounds = []
        for turn in range(LONG_ROUNDS if name in LONG else ROUNDS):
            place = folder / f"{turn}.new" if own.get("empty") else path
            with opened(place) as store:
                if own.get("warm", True):
                    store.search("word1", "hybrid")
                rounds.append(await gap_of(work(store)))
        gaps, collections, times = zip(*rounds, strict=True)
        found[name] = {
            "longest_gap_ms": round(1_000 * max(gaps), 1),
            "median_gap_ms": round(1_000 * median(gaps), 1),
            "longest_collection_ms": round(1_000 * max(collections), 1),
            "took_s": round(median(times), 2),
        }
        print(f"{name:22} {found[name]}", flush=True)

    query = "word7 word9"
    many = [f"text {n} about word{n % 5_000}" for n in range(1_000)]
    all_texts = [f"text {n} about word{n % 5_000} and word{n % 77}" for n in range(rows)]
    exported = folder / "all.jsonl"
    await note("first search", lambda s: lambda: s.asimilarity_search(query), warm=False)
    await note("first text search", lambda s: lambda: s.asearch(query, "text"), warm=False)
    await note(
        "first hybrid search", lambda s: lambda: s.asearch(query, "hybrid"), warm=False
    )
    await note("dense search", lambda s: lambda: s.asimilarity_search(query))
    await note("hybrid search", lambda s: lambda: s.asearch(query, "hybrid"))
    await note(
        "filtered search",
        lambda s: lambda: s.asearch(query, "hybrid", filter={"n": {"$gte": rows // 2}}),
    )
    await note(
        "20 searches at once",
        lambda s: (
            lambda: asyncio.gather(*(s.asearch(f"word{n}", "hybrid") for n in range(20)))
        ),
    )
    await note("1 000 texts added", lambda s: lambda: s.aadd_texts(many))
    await note(
        "delete by filter",
        lambda s: lambda: s.adelete(filter={"n": {"$lt": rows // 10}}),
    )
    await note("all texts added", lambda s: lambda: s.aadd_texts(all_texts), empty=True)
    await note("compact", lambda s: s.acompact)
    await note("verify", lambda s: s.averify)
    await note("backup", lambda s: lambda: s.abackup(folder / "copy.db", overwrite=True))
    await note("export", lambda s: lambda: s.aexport_jsonl(exported, overwrite=True))
    await note("import", lambda s: lambda: s.aimport_jsonl(exported))
    await note("re-embed", lambda s: lambda: s.areembed(Other()))
    return found


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder), rows))
    gc.collect()
    gc.freeze()
    with tempfile.TemporaryDirectory() as folder:
        frozen = asyncio.run(measured(Path(folder), rows))
    facts = {
        "rows": rows,
        "dimension": DIMENSION,
        "rounds": ROUNDS,
        "works": found,
        "works after gc.freeze()": frozen,
    }
    recorded(facts, sys.argv[2] if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    main()
