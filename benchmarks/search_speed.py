"""Searches by vector beside Chroma, FAISS, SQLiteVec and LanceDB: time, recall, memory.

Usage: python benchmarks/search_speed.py [--vectors FILE.npy] [--count N] [--dimension D]
           [--rounds R] [--engines ours,chroma,...] [--result RESULT.json]

Without a file, vectors are clustered. Each engine stores the same vectors with two keys of
metadata, in a process of its own; then, in turns, fresh processes open what was stored,
search, search with filters, and search what is left after 15 % were deleted and as many
replaced. Figures are medians over the rounds, ratios are taken within a round. FAISS
keeps nothing in a file: it is filled anew each time, and its opening is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

K, QUERIES, CLUSTERS, SPREAD, SEED, BATCH = 10, 200, 200, 0.7, 11, 5_000
GROUPS, RARE, MEMORY_SEARCHES = 10, 100, 1_000
WORDS = ["alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "iota", "mu", "nu"]


def clustered(count: int, dimension: int) -> Any:
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(CLUSTERS, dimension))
    rows = centres[rng.integers(0, CLUSTERS, count)]
    return (rows + SPREAD * rng.normal(size=(count, dimension))).astype(np.float32)


def prepared(arguments: argparse.Namespace, folder: Path) -> None:
    """Vectors, queries, and what replaces some of them, in files for every process."""
    total = arguments.count + QUERIES + int(arguments.count * 0.15)
    if arguments.vectors:
        known = np.load(arguments.vectors).astype(np.float32)
        known = np.random.default_rng(SEED).permutation(known)
        count = min(arguments.count, int((len(known) - QUERIES) / 1.15))
    else:
        known, count = clustered(total, arguments.dimension), arguments.count
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    np.save(folder / "rows.npy", known[:count])
    np.save(folder / "queries.npy", known[count : count + QUERIES])
    np.save(folder / "new.npy", known[count + QUERIES :][: int(count * 0.15)])


def changed(rows: Any, new: Any) -> tuple[Any, Any, Any]:
    """Which rows are deleted, which replaced, and all vectors afterwards."""
    chosen = np.random.default_rng(SEED).permutation(len(rows))
    gone, other = chosen[: len(new)], chosen[len(new) : 2 * len(new)]
    after = rows.copy()
    after[other] = new
    return gone, other, after


def text(n: int) -> str:
    return " ".join(WORDS[(n // 10**digit) % 10] for digit in range(6)) + f" {n}"


def metadata(n: int) -> dict[str, Any]:
    return {"n": n, "group": n % GROUPS, "rare": n * 7_919 % RARE, "page": n * 31 % 1_000}


# --- engines: how to open, add, delete, search ------------------------------------------
class Ours:
    """This package's store, through LangChain's methods."""

    persistent = True

    def __init__(self, folder: Path) -> None:
        from langchain_ragstore import SQLiteVectorStore

        self.store = SQLiteVectorStore(None, folder / "kb.db")

    def add(self, numbers: Any, vectors: Any) -> None:
        texts, metadatas = [text(n) for n in numbers], [metadata(n) for n in numbers]
        self.store.add_embeddings(texts, vectors, metadatas, ids=[str(n) for n in numbers])

    def delete(self, numbers: Any) -> None:
        self.store.delete([str(n) for n in numbers])

    def search(self, query: list[float], filter: dict[str, Any] | None = None) -> list[int]:
        found = self.store.similarity_search_by_vector(query, K, filter=filter)
        return [document.metadata["n"] for document in found]

    def close(self) -> None:
        self.store.close()


class Chroma:
    """langchain-chroma with its defaults but for the cosine."""

    persistent = True

    def __init__(self, folder: Path) -> None:
        from langchain_chroma import Chroma as Store

        self.store = Store(
            persist_directory=str(folder),
            collection_configuration={"hnsw": {"space": "cosine"}},
        )

    def add(self, numbers: Any, vectors: Any) -> None:
        self.store._collection.upsert(  # noqa: SLF001 - with given vectors
            [str(n) for n in numbers],
            vectors.tolist(),
            [metadata(n) for n in numbers],
            [text(n) for n in numbers],
        )

    def delete(self, numbers: Any) -> None:
        for start in range(0, len(numbers), BATCH):
            self.store.delete([str(n) for n in numbers[start : start + BATCH]])

    def search(self, query: list[float], filter: dict[str, Any] | None = None) -> list[int]:
        if filter and any(isinstance(value, dict) for value in filter.values()):
            parts = [
                {key: {op: operand}}
                for key, value in filter.items()
                for op, operand in value.items()
            ]
            filter = {"$and": parts}
        found = self.store.similarity_search_by_vector(query, K, filter=filter)
        return [document.metadata["n"] for document in found]

    def close(self) -> None:
        pass


class Faiss:
    """A flat index through langchain-community."""

    persistent = False

    def __init__(self, folder: Path) -> None:
        import faiss
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.vectorstores import FAISS

        rows = np.load(folder.parent / "rows.npy")
        self.store = FAISS(
            lambda _: [], faiss.IndexFlatIP(rows.shape[1]), InMemoryDocstore(), {}
        )
        self._rows = rows

    def fill(self) -> None:
        numbers = range(len(self._rows))
        pairs = ((text(n), self._rows[n].tolist()) for n in numbers)
        self.store.add_embeddings(pairs, [metadata(n) for n in numbers])

    def search(self, query: list[float], filter: dict[str, Any] | None = None) -> list[int]:
        found = self.store.similarity_search_by_vector(query, K, filter=filter)
        return [document.metadata["n"] for document in found]

    def close(self) -> None:
        pass


class SQLiteVec:
    """langchain-community's class over sqlite-vec; it has no filters and no ids."""

    persistent = True

    def __init__(self, folder: Path) -> None:
        import pysqlite3

        sys.modules["sqlite3"] = pysqlite3  # one that can load extensions
        from langchain_community.vectorstores import SQLiteVec as Store

        class Model:
            rows: Any = np.zeros((1, np.load(folder.parent / "rows.npy").shape[1]))

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return self.rows[: len(texts)].tolist()

            def embed_query(self, _: str) -> list[float]:
                return self.rows[0].tolist()

        self.model = Model()
        path = str(folder / "vec.db")
        connection = Store.create_connection(db_file=path)
        self.store = Store(
            table="t", connection=connection, db_file=path, embedding=self.model
        )

    def add(self, numbers: Any, vectors: Any) -> None:
        self.model.rows = vectors
        self.store.add_texts([text(n) for n in numbers], [metadata(n) for n in numbers])

    def search(self, query: list[float], _: Any = None) -> list[int]:
        found = self.store.similarity_search_with_score_by_vector(query, K)
        return [document.metadata["n"] for document, _ in found]

    def close(self) -> None:
        pass


class Lance:
    """lancedb itself, without an index, which is its default."""

    persistent = True

    def __init__(self, folder: Path) -> None:
        import lancedb

        self.database = lancedb.connect(str(folder / "lance"))
        names = self.database.list_tables().tables
        self.table = self.database.open_table("t") if "t" in names else None

    def add(self, numbers: Any, vectors: Any) -> None:
        rows = [
            {"vector": vector, "text": text(n), **metadata(n)}
            for n, vector in zip(numbers, vectors, strict=True)
        ]
        if self.table is None:
            self.table = self.database.create_table("t", rows)
        else:
            self.table.add(rows)

    def search(self, query: list[float], filter: dict[str, Any] | None = None) -> list[int]:
        asked = self.table.search(query).distance_type("cosine").limit(K)
        for key, value in (filter or {}).items():
            if isinstance(value, dict):
                asked = asked.where(
                    f"{key} >= {value['$gte']} AND {key} < {value['$lt']}", prefilter=True
                )
            else:
                asked = asked.where(f"{key} = {value}", prefilter=True)
        return [row["n"] for row in asked.to_list()]

    def close(self) -> None:
        pass


ENGINES: dict[str, Any] = {
    "ours": Ours,
    "chroma": Chroma,
    "faiss": Faiss,
    "sqlite_vec": SQLiteVec,
    "lance": Lance,
}


# --- work in a process of its own -------------------------------------------------------
def fill(engine: Any, folder: Path) -> dict[str, float]:
    """Store everything; a second copy is changed."""
    rows, new = np.load(folder.parent / "rows.npy"), np.load(folder.parent / "new.npy")
    started = time.perf_counter()
    store = engine(folder)
    for start in range(0, len(rows), BATCH):
        part = range(start, min(start + BATCH, len(rows)))
        store.add(part, rows[part.start : part.stop])
    store.close()
    return {
        "fill_s": time.perf_counter() - started,
        "file_per_raw": size(folder)
        / (rows.nbytes + sum(len(text(n)) for n in range(len(rows)))),
        "new": len(new),
    }


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def change(engine: Any, folder: Path) -> dict[str, float]:
    rows, new = np.load(folder.parent / "rows.npy"), np.load(folder.parent / "new.npy")
    gone, other, after = changed(rows, new)
    store = engine(folder)
    store.delete(gone.tolist())
    for start in range(0, len(other), BATCH):
        part = other[start : start + BATCH]
        store.add(part.tolist(), after[part])
    store.close()
    return {}


def resident() -> float:
    """Bytes of this process's memory, now."""
    status = Path("/proc/self/status").read_text("utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


FILTERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "group": lambda at: {"group": at % GROUPS},
    "range": lambda at: {"page": {"$gte": at * 4 % 900, "$lt": at * 4 % 900 + 100}},
    "rare": lambda at: {"rare": at % RARE},
}


def matching(count: int, filter: dict[str, Any] | None) -> Any:
    if filter is None:
        return np.ones(count, bool)
    numbers = np.arange(count)
    columns = {
        "group": numbers % GROUPS,
        "rare": numbers * 7_919 % RARE,
        "page": numbers * 31 % 1_000,
    }
    ((key, value),) = filter.items()
    if isinstance(value, dict):
        return (columns[key] >= value["$gte"]) & (columns[key] < value["$lt"])
    return columns[key] == value


def search(engine: Any, folder: Path, *, after: bool) -> dict[str, Any]:
    """Open, search, search with filters."""
    rows, queries = (np.load(folder.parent / f"{name}.npy") for name in ("rows", "queries"))
    alive = np.ones(len(rows), bool)
    if after:
        gone, _, rows = changed(rows, np.load(folder.parent / "new.npy"))
        alive[gone] = False
    asked = queries.tolist()
    if engine is Ours:
        import langchain_ragstore  # noqa: F401 - imports are not counted
        from langchain_ragstore import SQLiteVectorStore

        empty = SQLiteVectorStore(None, folder / "empty.db")
        empty.similarity_search_by_vector(asked[0])
        empty.close()
    else:
        engine(Path(tempfile.mkdtemp(dir=folder.parent)) if engine.persistent else folder)
    before = resident()
    started = time.perf_counter()
    store = engine(folder)
    if not engine.persistent:
        store.fill()
        started = time.perf_counter()
    store.search(asked[0])
    figures: dict[str, Any] = {"open_and_first_ms": 1000 * (time.perf_counter() - started)}
    figures["plain"] = timed(store, rows, alive, asked, lambda _: None)
    if not after:
        for _ in range(MEMORY_SEARCHES // QUERIES - 1):
            for query in asked:
                store.search(query)
        figures["memory_per_raw"] = (resident() - before) / rows.nbytes
    for name, filter in FILTERS.items() if engine is not SQLiteVec else ():
        began = time.perf_counter()
        store.search(asked[0], filter(7))
        first = 1000 * (time.perf_counter() - began)
        few = asked if engine in (Ours, Chroma) else asked[:20]
        figures[name] = {"first_ms": first, **timed(store, rows, alive, few, filter)}
    if engine is Ours and not after:
        figures["after_one_write"] = one_write(store, rows, asked)
    store.close()
    return figures


def timed(
    store: Any, rows: Any, alive: Any, asked: list[Any], filter: Callable[[int], Any]
) -> dict[str, float]:
    times, found, recalls = [], [], []
    for at, query in enumerate(asked):
        began = time.perf_counter()
        found.append(store.search(query, filter(at)))
        times.append(1000 * (time.perf_counter() - began))
    # Afterwards: the truth takes 150 MB through the caches.
    for at, query in enumerate(asked):
        mask = matching(len(rows), filter(at)) & alive
        scores = np.where(mask, rows @ np.array(query, np.float32), -2)
        truth = np.argpartition(-scores, K)[:K]
        recalls.append(len(set(found[at]) & set(truth.tolist())) / K)
    return {"p50_ms": statistics.median(times), "recall": statistics.fmean(recalls)}


def one_write(store: Any, rows: Any, asked: list[Any]) -> dict[str, float]:
    """A search right after a write, and the write; the document is an old one."""
    writes, searches = [], []
    for at, query in enumerate(asked[:50]):
        began = time.perf_counter()
        store.add([at], rows[at : at + 1])
        wrote = time.perf_counter()
        store.search(query)
        searches.append(1000 * (time.perf_counter() - wrote))
        writes.append(1000 * (wrote - began))
    return {
        "search_p50_ms": statistics.median(searches),
        "write_p50_ms": statistics.median(writes),
    }


# --- all of them, in turns ----------------------------------------------------------------
def call(task: str, name: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", task, name, str(folder)]
    environment = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise SystemExit(f"{task} {name}: {done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def work(task: str, name: str, folder: Path) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    engine = ENGINES[name]
    if task == "fill":
        return fill(engine, folder)
    if task == "change":
        return change(engine, folder)
    return search(engine, folder, after=task == "search_after")


def medians(rounds: list[Any]) -> Any:
    if isinstance(rounds[0], dict):
        return {key: medians([each[key] for each in rounds]) for key in rounds[0]}
    return statistics.median(rounds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--result")
    arguments = parser.parse_args()
    names = arguments.engines.split(",")
    found: dict[str, dict[str, list[Any]]] = {name: {} for name in names}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepared(arguments, folder)
        shape = np.load(folder / "rows.npy", mmap_mode="r").shape
        filled = {}
        for name in names:
            (folder / name).mkdir()
            if ENGINES[name].persistent:
                filled[name] = call("fill", name, folder / name)
                print(name, filled[name], flush=True)
            if hasattr(ENGINES[name], "delete"):
                shutil.copytree(folder / name, folder / f"{name}_after")
                call("change", name, folder / f"{name}_after")
        for turn in range(arguments.rounds):
            for name in names:
                tasks = [("search", folder / name)]
                if hasattr(ENGINES[name], "delete"):
                    tasks.append(("search_after", folder / f"{name}_after"))
                for task, place in tasks:
                    result = call(task, name, place)
                    found[name].setdefault(task, []).append(result)
                    print(turn, name, task, json.dumps(result), flush=True)
    figures = {
        name: filled.get(name, {}) | {task: medians(r) for task, r in tasks.items()}
        for name, tasks in found.items()
    }
    print(json.dumps(figures, indent=1))
    if "ours" in found:
        ratios = {
            name: statistics.median(
                a["plain"]["p50_ms"] / b["plain"]["p50_ms"]
                for a, b in zip(found["ours"]["search"], tasks["search"], strict=True)
            )
            for name, tasks in found.items()
        }
        print("p50 of ours per theirs:", ratios)
        figures["ratios"] = ratios
    if arguments.result:
        path = Path(arguments.result)
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        source = Path(arguments.vectors).stem if arguments.vectors else "clustered"
        known[f"{source} {shape[0]} x {shape[1]}"] = {
            "rounds": arguments.rounds,
            "seed": SEED,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "sqlite": sqlite3.sqlite_version,
            **figures,
        }
        path.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(work(sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
    else:
        main()
