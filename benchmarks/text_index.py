"""Full text against FTS5 over the same terms: queries, ingest, size.

Usage: python benchmarks/text_index.py CORPUS.jsonl [COUNT] [RESULT.json]

CORPUS has one object with "title" and "text" a line. Its sentences are shuffled into
COUNT chunks of about 640 characters, each with the title of a page. FTS5 gets the terms
in a table without content, and each query as an OR of the same terms in the same fields.
Both keep the texts in the same file and answer with ids and texts.
"""

from __future__ import annotations

import json
import os
import platform
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from langchain_ragstore.model import Record, Terms
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.text.terms import term_counts

LENGTH, BATCH, SEED, K = 640, 1_000, 11, 10
WORDS, QUERIES = (2, 5, 10, 20), 21


def chunks(path: str, count: int) -> list[tuple[str, str]]:
    """Title and text of each chunk; every sentence of the corpus comes equally often."""
    rng = random.Random(SEED)
    pages = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    titles = [page["title"] for page in pages]
    sentences = [
        sentence
        for page in pages
        for sentence in re.split(r"(?<=[。！？])|(?<=[.!?]) |\n", page["text"])
        if sentence
    ]
    wide = sum(map(len, sentences)) < 2 * sum(len(s.encode()) for s in sentences) / 3
    length = LENGTH // 2 if wide else LENGTH  # Chinese says the same in fewer characters
    made: list[tuple[str, str]] = []
    queue: list[str] = []
    while len(made) < count:
        text: list[str] = []
        size = 0
        while size < length:
            if not queue:
                queue = rng.sample(sentences, len(sentences))
            text.append(queue.pop())
            size += len(text[-1]) + 1
        made.append((rng.choice(titles), "\n".join(text)))
    return made


def queries(texts: list[tuple[str, str]], words: int) -> list[str]:
    """Spans of the chunks; a word is two characters where words are not spaced."""
    rng = random.Random(SEED + words)
    made = []
    while len(made) < QUERIES:
        text = rng.choice(texts)[1]
        spaced = text.split()
        wide = len(text.encode()) > 1.5 * len(text)
        if wide and len(text) > 2 * words:
            at = rng.randrange(len(text) - 2 * words)
            made.append(text[at : at + 2 * words])
        elif not wide and len(spaced) > words:
            at = rng.randrange(len(spaced) - words)
            made.append(" ".join(spaced[at : at + words]))
    return made


def tokenised(text: str, title: str) -> Terms:
    return Terms(term_counts(text), term_counts(title, singles=True))


def seconds(action: Any, *arguments: Any) -> float:
    started = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - started


def ours(texts: list[tuple[str, str]], terms: list[Terms], folder: str) -> dict[str, Any]:
    """Rows, texts and index in one file."""
    path = str(Path(folder) / "ours.db")
    batches = []
    with_store = SQLiteBackend(path)
    for start in range(0, len(texts), BATCH):
        records = [
            Record(str(at), texts[at][1], {}, terms=terms[at])
            for at in range(start, min(start + BATCH, len(texts)))
        ]
        batches.append(seconds(with_store.upsert, "c", records))
    figures: dict[str, Any] = {
        "ingest_s": sum(batches),
        "slowest_batch_ms": max(batches) * 1000,
    }
    plain = SQLiteBackend(str(Path(folder) / "plain.db"))
    figures["of_that_rows_and_texts_s"] = sum(
        seconds(
            plain.upsert,
            "c",
            [
                Record(str(at), texts[at][1], {})
                for at in range(start, min(start + BATCH, len(texts)))
            ],
        )
        for start in range(0, len(texts), BATCH)
    )
    plain.close()
    figures["one_record_ms"] = small_writes(with_store, texts, terms)
    with_store.close()
    reopened = SQLiteBackend(path)
    first = queries(texts, 10)[0]
    query = Terms(term_counts(first), term_counts(first, singles=True))
    figures["open_and_first_query_ms"] = 1000 * seconds(reopened.lexical, "c", query, K)
    figures["merged"] = state(reopened, texts)
    figures["query_p50_ms"] = times(reopened, texts)
    figures["compact_s"] = seconds(reopened.compact_text, "c")
    figures["compacted"] = state(reopened, texts)
    figures["compacted_query_p50_ms"] = times(reopened, texts)
    reopened.close()
    return figures


def small_writes(
    store: SQLiteBackend, texts: list[tuple[str, str]], terms: list[Terms]
) -> dict[str, float]:
    """Index records anew, one at a time."""
    each = [
        1000
        * seconds(store.upsert, "c", [Record(str(at), texts[at][1], {}, terms=terms[at])])
        for at in range(300)
    ]
    return {"p50": statistics.median(each), "max": max(each)}


def state(store: SQLiteBackend, texts: list[tuple[str, str]]) -> dict[str, Any]:
    """How large the index is."""
    with store.database.read() as connection:
        (segments,) = connection.execute(
            "SELECT count(*) FROM ragstore_segment WHERE merging IS NULL"
        ).fetchone()
        (blocks,) = connection.execute(
            "SELECT sum(length(data)) FROM ragstore_posting"
        ).fetchone()
        (slots,) = connection.execute(
            "SELECT sum(length(slots) + length(fences)) FROM ragstore_segment"
        ).fetchone()
    size = blocks + slots
    total = sum(len(text.encode()) for _, text in texts)
    return {"segments": segments, "index_bytes": size, "index_per_text": size / total}


def times(store: SQLiteBackend, texts: list[tuple[str, str]]) -> dict[str, float]:
    found = {}
    for words in WORDS:
        asked = [
            Terms(term_counts(text), term_counts(text, singles=True))
            for text in queries(texts, words)
        ]
        for query in asked:  # pages into the cache; not twice the same one after another
            store.lexical("c", query, K)
        each = [1000 * seconds(store.lexical, "c", query, K) for query in asked]
        found[str(words)] = statistics.median(each)
    return found


def fts5(texts: list[tuple[str, str]], terms: list[Terms], folder: str) -> dict[str, Any]:
    """The same terms of the bodies, and of the titles as a second column."""
    names: dict[str, str] = {}

    def spelled(counts: Counter[str]) -> str:
        # One token each, whatever the tokenizer takes for a letter.
        return " ".join(
            names.setdefault(term, f"t{len(names)}")
            for term, count in counts.items()
            for _ in range(count)
        )

    path = str(Path(folder) / "fts5.db")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE record (key INTEGER PRIMARY KEY, id, content)")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(body, title, content='')")
    ingest = 0.0
    for start in range(0, len(texts), BATCH):
        places = range(start, min(start + BATCH, len(texts)))
        rows = [(at, spelled(terms[at].body), spelled(terms[at].title)) for at in places]
        kept = [(at, str(at), texts[at][1]) for at in places]
        started = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO record VALUES (?, ?, ?)", kept)
        connection.executemany("INSERT INTO f (rowid, body, title) VALUES (?, ?, ?)", rows)
        connection.execute("COMMIT")
        ingest += time.perf_counter() - started
    (size,) = connection.execute("SELECT sum(length(block)) FROM f_data").fetchone()
    total = sum(len(text.encode()) for _, text in texts)
    statement = (
        "SELECT r.id, r.content, bm25(f, 1.0, 0.2) FROM f JOIN record r ON r.key = f.rowid "
        "WHERE f MATCH ? ORDER BY bm25(f, 1.0, 0.2) LIMIT ?"
    )
    found = {}
    for words in WORDS:
        each = []
        for text in queries(texts, words)[:9]:
            match = " OR ".join(
                f"{column}: ({' OR '.join(names[t] for t in counts if t in names)})"
                for column, counts in (
                    ("body", term_counts(text)),
                    ("title", term_counts(text, singles=True)),
                )
                if any(t in names for t in counts)
            )
            each.append(
                1000
                * seconds(
                    lambda m=match or '""': connection.execute(statement, (m, K)).fetchall()
                )
            )
        found[str(words)] = statistics.median(each)
    connection.close()
    return {"ingest_s": ingest, "index_per_text": size / total, "query_p50_ms": found}


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    texts = chunks(path, count)
    started = time.perf_counter()
    terms = [tokenised(text, title) for title, text in texts]
    tokenising = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        figures: dict[str, Any] = {
            "corpus": Path(path).name,
            "chunks": count,
            "text_bytes": sum(len(text.encode()) for _, text in texts),
            "terms_per_chunk": statistics.mean(len(t.body) for t in terms[:1_000]),
            "seed": SEED,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "sqlite": sqlite3.sqlite_version,
            "tokenise_s": tokenising,
            "ours": ours(texts, terms, folder),
            "fts5": fts5(texts, terms, folder),
        }
    ratios = {
        words: figures["ours"]["query_p50_ms"][words] / slow
        for words, slow in figures["fts5"]["query_p50_ms"].items()
    }
    figures["query_ratio_to_fts5"] = ratios
    print(json.dumps(figures, indent=2, ensure_ascii=False))
    if len(sys.argv) > 3:
        target = Path(sys.argv[3])
        results = json.loads(target.read_text("utf-8")) if target.exists() else {}
        results[f"{figures['corpus']} x {count}"] = figures
        target.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
