"""Searches by vector beside other stores: time, recall, memory, ingest, opening, size.

Usage: python benchmarks/search_speed.py [--vectors FILE.npy] [--count N] [--dimension D]
           [--rounds R] [--engines ours,chroma,...] [--result RESULT.json]

Without a file, vectors are clustered. Each engine (`search_engines.py`) stores the same
documents with four keys of metadata, in a process of its own; then, in turns, fresh
processes open what was stored, search, search with filters, and search what is left after
15 % were deleted and as many replaced. Figures are medians over the rounds, ratios are
taken within a round; engines that take minutes to fill are filled once. The packages are
those of the groups `bench` and `peers`.

Of the other rows of speed, hybrid_speed.py has hybrid search, and ingest and size with
real texts; text_index.py has full text.
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
from search_engines import BATCH, ENGINES, GROUPS, RARE, Engine, K, documents, text

QUERIES, CLUSTERS, SPREAD, SEED, MEMORY_SEARCHES, WRITES = 100, 200, 0.7, 11, 1_000, 50


# --- what is stored ---------------------------------------------------------------------
def clustered(count: int, dimension: int) -> Any:
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(CLUSTERS, dimension)).astype(np.float32)
    rows = centres[rng.integers(0, CLUSTERS, count)]
    for start in range(0, count, BATCH):
        part = rows[start : start + BATCH]
        part += SPREAD * rng.normal(size=part.shape)
    return rows


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


def chosen(rows: Any, new: Any) -> tuple[Any, Any]:
    """Which rows are deleted, which replaced."""
    mixed = np.random.default_rng(SEED).permutation(len(rows))
    return mixed[: len(new)], mixed[len(new) : 2 * len(new)]


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


# --- work in a process of its own -------------------------------------------------------
def fill(engine: type[Engine], folder: Path) -> dict[str, float]:
    """Store everything by `add_documents`."""
    rows = np.load(folder.parent / "rows.npy", mmap_mode="r")
    opened = engine(folder)
    seconds = 0.0
    for start in range(0, len(rows), BATCH):
        given = documents(range(start, min(start + BATCH, len(rows))))
        began = time.perf_counter()
        opened.add(given)
        seconds += time.perf_counter() - began
    began = time.perf_counter()
    opened.close()
    seconds += time.perf_counter() - began
    raw = rows.nbytes + sum(len(text(n)) for n in range(len(rows)))
    return {"fill_s": seconds, "file_per_raw": size(folder) / raw}


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def change(engine: type[Engine], folder: Path) -> dict[str, float]:
    rows, new = (np.load(folder.parent / f"{name}.npy") for name in ("rows", "new"))
    gone, other = (some.tolist() for some in chosen(rows, new))
    opened = engine(folder)
    opened.model.change(other)
    for start in range(0, len(gone), BATCH):
        part = slice(start, start + BATCH)
        opened.delete([str(n) for n in gone[part]])
        opened.add(documents(other[part], changed=True))
    opened.close()
    return {}


def resident() -> float:
    """Bytes of this process's memory, now."""
    status = Path("/proc/self/status").read_text("utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def search(engine: type[Engine], folder: Path, *, after: bool) -> dict[str, Any]:
    """Open, search, search with filters."""
    queries = np.load(folder.parent / "queries.npy")
    asked = queries[: engine.queries].tolist()
    # An empty store first, so that imports are neither in the time nor in the memory.
    aside = Path(tempfile.mkdtemp(dir=folder.parent))
    empty = engine(aside)
    empty.add(documents([0]))
    empty.search(asked[0])
    empty.close()
    rows = np.load(folder.parent / "rows.npy", mmap_mode="r")
    before, began = resident(), time.perf_counter()
    opened = engine(folder)
    opened.search(asked[0])
    figures: dict[str, Any] = {"open_and_first_ms": 1000 * (time.perf_counter() - began)}
    plain = timed(opened, asked, lambda _: None)
    if not after:
        for at in range(min(MEMORY_SEARCHES, 5 * len(asked)) - len(asked)):
            opened.search(asked[at % len(asked)])
        figures["memory_per_raw"] = (resident() - before) / rows.nbytes
    done = {}
    for name, filter in FILTERS.items() if engine.filtered else ():
        began = time.perf_counter()
        opened.search(asked[0], filter(7))
        first = 1000 * (time.perf_counter() - began)
        done[name] = first, timed(opened, asked, filter)
    cosines = true_cosines(folder.parent, queries[: engine.queries], after=after)
    figures["plain"] = judged(plain, cosines, lambda _: None)
    for name, (first, found) in done.items():
        figures[name] = {"first_ms": first, **judged(found, cosines, FILTERS[name])}
    if engine is ENGINES["ours"] and not after:
        figures["after_one_write"] = one_write(opened, asked)
        figures["stats"] = opened.store.stats()["searches"]  # type: ignore[attr-defined]
    opened.close()
    return figures


def true_cosines(folder: Path, queries: Any, *, after: bool) -> Any:
    """Of each query with each row; −2 for one that was deleted."""
    rows = np.load(folder / "rows.npy")
    if not after:
        return queries @ rows.T
    new = np.load(folder / "new.npy")
    gone, other = chosen(rows, new)
    rows[other] = new
    cosines = queries @ rows.T
    cosines[:, gone] = -2
    return cosines


Timed = tuple[list[float], list[list[int]]]


def timed(opened: Engine, asked: list[Any], filter: Callable[[int], Any]) -> Timed:
    """What was found; what is right is computed later, since that fills the caches."""
    times, found = [], []
    for at, query in enumerate(asked):
        began = time.perf_counter()
        found.append(opened.search(query, filter(at)))
        times.append(1000 * (time.perf_counter() - began))
    return times, found


def judged(
    done: Timed, cosines: Any, filter: Callable[[int], dict[str, Any] | None]
) -> dict[str, float]:
    """Median time, recall, and how many of k came back."""
    times, found = done
    recalls, full = [], []
    for at, row in enumerate(cosines):
        scores = np.where(matching(len(row), filter(at)), row, -2)
        there = min(K, int((scores > -2).sum()))
        truth = np.argpartition(-scores, there)[:there]
        recalls.append(len(set(found[at]) & set(truth.tolist())) / there)
        full.append(len(found[at]) / there)
    return {
        "p50_ms": statistics.median(times),
        "recall": statistics.fmean(recalls),
        "full": statistics.fmean(full),
    }


def one_write(opened: Engine, asked: list[Any]) -> dict[str, float]:
    """A search right after a write, and the write; the document replaces an old one."""
    writes, searches = [], []
    opened.model.change(list(range(WRITES)))
    for at, query in enumerate(asked[:WRITES]):
        (document,) = documents([at], changed=True)
        began = time.perf_counter()
        opened.add([document])
        wrote = time.perf_counter()
        opened.search(query)
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
    print(name, task, json.dumps(result), flush=True)
    return result


def work(task: str, name: str, folder: Path) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    engine = ENGINES[name]
    if task == "fill":
        return fill(engine, folder)
    if task == "change":
        return change(engine, folder)
    return search(engine, folder, after=task == "search_after")


def turn(names: list[str], folder: Path, *, first: bool) -> dict[str, dict[str, Any]]:
    """One round: every engine filled (again), and searched."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for name in names:
        place = folder / name
        if first or ENGINES[name].fills:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            found[name]["fill"] = call("fill", name, place)
        if first and ENGINES[name].changes:
            shutil.copytree(place, folder / f"{name}_after")
            call("change", name, folder / f"{name}_after")
    for name in names:
        found[name]["search"] = call("search", name, folder / name)
        if ENGINES[name].changes:
            found[name]["search_after"] = call(
                "search_after", name, folder / f"{name}_after"
            )
    return found


def medians(rounds: list[Any]) -> Any:
    if isinstance(rounds[0], dict):
        keys = dict.fromkeys(key for each in rounds for key in each)
        return {key: medians([each[key] for each in rounds if key in each]) for key in keys}
    return statistics.median(rounds)


def ratios(rounds: list[dict[str, Any]], name: str) -> dict[str, float]:
    """What ours takes per what another takes, each within a round."""

    def ratio(*path: str) -> float:
        pairs = []
        for each in rounds:
            mine, theirs = each["ours"], each[name]
            for key in path:
                mine, theirs = mine.get(key, {}), theirs.get(key, {})
            if mine and theirs:
                pairs.append(mine / theirs)
        return statistics.median(pairs) if pairs else float("nan")

    rows = {
        "search": ("search", "plain", "p50_ms"),
        **{f"where {kind}": ("search", kind, "p50_ms") for kind in FILTERS},
        "open and first": ("search", "open_and_first_ms"),
        "ingest": ("fill", "fill_s"),
        "file": ("fill", "file_per_raw"),
    }
    found = {row: ratio(*path) for row, path in rows.items()}
    return {row: value for row, value in found.items() if value == value}  # noqa: PLR0124


def within(rounds: list[dict[str, Any]]) -> dict[str, float]:
    """Ratios of ours to ours: filters and a search after a write, per a search."""

    def per_plain(kind: str, figure: str) -> float:
        searches = [each["ours"]["search"] for each in rounds]
        return statistics.median(s[kind][figure] / s["plain"]["p50_ms"] for s in searches)

    kinds = {f"where {kind}": per_plain(kind, "p50_ms") for kind in FILTERS}
    return {**kinds, "after one write": per_plain("after_one_write", "search_p50_ms")}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--result")
    parser.add_argument("--note", help="kept with the figures")
    arguments = parser.parse_args()
    names = arguments.engines.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepared(arguments, folder)
        shape = np.load(folder / "rows.npy", mmap_mode="r").shape
        rounds = [turn(names, folder, first=not n) for n in range(arguments.rounds)]
    figures: dict[str, Any] = {
        name: medians([each[name] for each in rounds]) for name in names
    }
    if "ours" in names:
        others = [name for name in names if name != "ours"]
        figures["ours_per_theirs"] = {name: ratios(rounds, name) for name in others}
        figures["ours_per_own_search"] = within(rounds)
    print(json.dumps(figures, indent=1))
    if arguments.result:
        path = Path(arguments.result)
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        source = Path(arguments.vectors).stem if arguments.vectors else "clustered"
        about = {
            "rounds": arguments.rounds,
            "seed": SEED,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "sqlite": sqlite3.sqlite_version,
        }
        if arguments.note:
            about["note"] = arguments.note
        known[f"{source} {shape[0]} x {shape[1]}"] = {**about, **figures}
        path.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(work(sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
    else:
        main()
