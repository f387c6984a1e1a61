"""A store whose process is killed at random moments: what was acknowledged is there.

Usage: python benchmarks/kills.py [KILLS] [RESULT.json]

A child process writes to a file without end (documents are added, replaced, patched and
deleted in batches, other stores merged and exports imported, the file is compacted,
damaged and repaired, its model exchanged, its text index made anew) and tells of each
step before and after it. It is killed; then the file is opened and compared with what
the steps that were told of leave, with or without the one under way. A merge and an
import are written a page at a time: some of their pages may be there, in order and each
of them whole, and when the step is done again it leaves all of them. A repair is done
again, too.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from recorded import recorded

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore, exchange
from langchain_ragstore.caring import OnConflict
from langchain_ragstore.storage.sqlite import coding, reader

MODELS: Final = {size: HashingEmbeddings(size) for size in (16, 24)}
IDS: Final = [f"d{n:03}" for n in range(150)]
KINDS: Final = {
    "add": 6,
    "update": 4,
    "patch": 3,
    "delete": 3,
    "merge": 4,
    "import": 4,
    "compact": 1,
    "reembed": 1,
    "reindex": 1,
    "repair": 1,
}
"""What a child does, and how often beside the others."""

PAGED: Final = ("merge", "import")
"""What is written in more than one transaction."""

LONGEST: Final = 0.12
"""Seconds after which a child is killed at the latest; at once at the earliest."""

PAGE: Final = 20
"""Rows that a merge or an import writes at once here, so that small ones take several."""

SOURCE_ROWS: Final = 90
"""Rows of each store that is merged and of each export: some of them clash."""

DAMAGE: Final = (
    "UPDATE ragstore_posting SET data = x'00'",
    "UPDATE ragstore_collection SET stamp = 1",
    "DELETE FROM sqlite_schema WHERE name = 'ragstore_record_expiry'",
)
"""What `repair` mends without a loss: an index, a counter, and a page of nobody's, for
which the whole file is written anew."""

EVERYTHING: Final = 10_000
"""More than all rows: so many results are asked for."""

Rows: TypeAlias = dict[str, tuple[str, int]]
"""Text and metadata by id."""


class Step:
    """What a child does as its n-th step: the same whenever it is asked."""

    def __init__(self, seed: int, number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        self.kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
        self.ids = chance.sample(IDS, chance.randint(1, 40))
        self.number = number
        self.model = MODELS[chance.choice(list(MODELS))]
        self.on_conflict: OnConflict = chance.choice(["replace", "skip"])
        self.damage = chance.choice(DAMAGE)

    def texts(self) -> list[str]:
        return [
            f"row {id} written by step {self.number} 中文{id[1:]}x" * 3 for id in self.ids
        ]

    def run(self, store: SQLiteVectorStore) -> None:
        if self.kind in ("add", "update"):
            metadatas = [{"n": self.number}] * len(self.ids)
            store.add_texts(self.texts(), metadatas, ids=self.ids)
        elif self.kind == "patch":
            store.update_metadata(self.ids, patch={"n": self.number})
        elif self.kind == "delete":
            store.delete(self.ids)
        elif self.kind == "compact":
            store.compact()
        elif self.kind == "reembed":
            store.reembed(self.model, batch_size=20)
        elif self.kind == "merge":
            store.merge(source(store, ".db"), on_conflict=self.on_conflict)
        elif self.kind == "import":
            store.import_jsonl(source(store, ".jsonl"), on_conflict=self.on_conflict)
        elif self.kind == "repair":
            damaged(Path(store.path), self.damage)
            with SQLiteVectorStore(store.embeddings, store.path) as again:  # sees it
                again.repair()
        else:
            store.reindex_text()

    def after(self, rows: Rows) -> Rows:
        """What is stored after it."""
        if self.kind in ("add", "update"):
            new = zip(self.texts(), [self.number] * len(self.ids), strict=True)
            return rows | dict(zip(self.ids, new, strict=True))
        if self.kind == "patch":
            there = [id for id in self.ids if id in rows]
            return rows | {id: (rows[id][0], self.number) for id in there}
        if self.kind == "delete":
            return {id: row for id, row in rows.items() if id not in self.ids}
        if self.kind in PAGED:
            return self._taken(rows, SOURCE)
        return rows

    def broken_off(self, rows: Rows) -> list[Rows]:
        """What may be stored if it was killed: all of it, or some pages of several."""
        if self.kind not in PAGED:
            return [rows, self.after(rows)]
        ids = list(SOURCE)
        ends = [*range(0, len(ids), PAGE), len(ids)]
        return [self._taken(rows, {id: SOURCE[id] for id in ids[:end]}) for end in ends]

    def _taken(self, rows: Rows, others: Rows) -> Rows:
        return rows | others if self.on_conflict == "replace" else others | rows


SOURCE: Final[Rows] = {
    id: (f"row {id} written elsewhere 别处{id[1:]}x" * 3, -1)
    for id in [*IDS[: SOURCE_ROWS // 2], *(f"s{n:03}" for n in range(SOURCE_ROWS // 2))]
}
"""What is merged and imported, in the order in which it was stored there."""


def make_sources(folder: Path) -> None:
    """A store and an export of `SOURCE` for each model, in a folder of files to kill."""
    for size, model in MODELS.items():
        with SQLiteVectorStore(model, folder / f"source-{size}.db") as store:
            texts, numbers = zip(*SOURCE.values(), strict=True)
            store.add_texts(texts, [{"n": n} for n in numbers], ids=list(SOURCE))
            store.export_jsonl(folder / f"source-{size}.jsonl")


def source(store: SQLiteVectorStore, suffix: str) -> Path:
    """That of the store's present model."""
    model = store.embeddings
    assert isinstance(model, HashingEmbeddings)
    return Path(store.path).with_name(f"source-{model.dim}{suffix}")


def damaged(path: Path, statement: str) -> None:
    """Change a file behind the back of its store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute(statement)
        raw.execute("PRAGMA writable_schema = RESET")


def opened(path: Path) -> SQLiteVectorStore:
    """The store with the model that its vectors are of."""
    with SQLiteVectorStore(None, path) as store:
        size = store.stats()["dimension"] or 16
    return SQLiteVectorStore(MODELS[size], path)


def child(path: Path, seed: int, first: int, tell: Callable[[str], object]) -> None:
    """Write until killed."""
    with opened(path) as store:
        for number in range(first, sys.maxsize):
            step = Step(seed, number)
            tell(f"begin {number}\n")
            step.run(store)
            tell(f"done {number}\n")


def killed(path: Path, seed: int, first: int, delay: float) -> list[str]:
    """Let a child write, and kill it; what it told."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(reading)
            child(path, seed, first, lambda line: os.write(writing, line.encode()))
        except BaseException:  # noqa: BLE001 - told here, as nothing of the child is seen
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(delay)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself: what it did has failed"
    with os.fdopen(reading) as told:
        return told.read().splitlines()


def looked_through(path: Path) -> Rows:
    """What is stored, after everything about it was compared."""
    with opened(path) as store:
        assert store.verify() == [], "verify finds something"
        records = store._backend.scan("default", vectors=True)  # noqa: SLF001 - with vectors
        ids = {record.id for record in records}
        assert len(ids) == len(records)
        dense = store.similarity_search("row", k=EVERYTHING)
        assert sorted(d.id or "" for d in dense) == sorted(ids)
        text = store.search("written", "text", k=EVERYTHING)
        assert sorted(d.id or "" for d in text) == sorted(ids)
        model = MODELS[store.stats()["dimension"] or 16]
        made = model.embed_documents([record.content for record in records])
        for record, vector in zip(records, made, strict=True):
            assert np.allclose(record.vector, vector, atol=1e-6), "vectors are mixed"
        for record in records[:5]:
            (found,) = store.search(record.content, "text", k=1)
            assert found.page_content == record.content
        return {r.id: (r.content, int(r.metadata["n"])) for r in records}


@contextmanager
def small_as_large() -> Iterator[None]:
    """Let some dozens of rows have the codes, and fill the pages, that many have."""
    changes = (
        (coding, "SCAN_VALUES", 1_000),
        (coding, "SKETCH_LEAST_DIMENSION", 8),
        (reader, "RECORD_PAGE", PAGE),
        (exchange, "RECORD_PAGE", PAGE),
    )
    usual = [(module, name, getattr(module, name)) for module, name, _ in changes]
    try:
        for module, name, value in changes:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in usual:
            setattr(module, name, value)


def run(folder: Path, kills: int, seed: int = 7) -> dict[str, Any]:
    """Kill that many children; what they were at, and what was lost: nothing.

    Raises:
        AssertionError: Something was.
    """
    chance = random.Random(seed)
    at: Counter[str] = Counter()
    applied = acknowledged = files = parts = 0
    make_sources(folder)
    path, rows, number = folder / "0.db", Rows(), 0
    for turn in range(kills):
        if turn % 8 == 0:  # a new file: it may be killed while it is made
            files += 1
            path, rows = folder / f"{files}.db", {}
        delay = chance.uniform(0, LONGEST if turn % 8 else LONGEST / 8)
        told = killed(path, seed, number, delay)
        done = [int(line.split()[1]) for line in told if line.startswith("done")]
        for step in range(number, number + len(done)):
            rows = Step(seed, step).after(rows)
        acknowledged += len(done)
        number += len(done)
        under_way = told and told[-1].startswith("begin")
        step = Step(seed, number)
        at[step.kind if under_way else "opening" if not told else "between"] += 1
        if under_way and step.kind == "repair":
            with opened(path) as store:
                store.repair()
        found = looked_through(path)
        if found != rows:
            assert under_way, "what was acknowledged is lost"
            assert found in step.broken_off(rows), "a part of a batch is there"
            whole = found == step.after(rows)
            applied, parts = applied + whole, parts + (not whole)
        if under_way and step.kind in PAGED:
            with opened(path) as store:
                step.run(store)
            found = looked_through(path)
            assert found == step.after(rows), "done again, it does not leave all"
        rows = found
        number += 1
    return {
        "kills": kills,
        "killed during": dict(sorted(at.items())),
        "acknowledged steps": acknowledged,
        "unacknowledged but whole": applied,
        "some pages of a merge or an import": parts,
        "files": files,
        "rows lost": 0,
        "parts of batches": 0,
        "problems found by verify": 0,
    }


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 240
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, small_as_large():
        facts = run(Path(folder), kills)
    facts |= {
        "seconds": round(time.perf_counter() - begun),
        "seed": 7,
    }
    recorded(facts, sys.argv[2] if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    main()
