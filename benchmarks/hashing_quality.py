"""Retrieval quality and speed of `HashingEmbeddings` on the LibreOffice help set.

Usage: `python benchmarks/hashing_quality.py FOLDER [--dim 512] [--sample 0]`, where
FOLDER holds `docs.LANG.jsonl` (`id`, `title`, `text`) and `queries.LANG.jsonl` (`id`,
`text`, `relevant`). The figures go to `benchmarks/results/hashing_quality.json`.

The weights of the features were chosen on at most 500 queries a language of the half
that `split` calls tuning; `held_out` is the figure to quote.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from langchain_ragstore.embeddings.hashing import HashingEmbeddings

LANGUAGES = ("en", "zh", "ja")
SEED = 7
DEPTH = 10
RESULT = Path(__file__).parent / "results" / "hashing_quality.json"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def split(queries: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Shuffle the queries with `SEED` and cut them into tuning and held-out halves."""
    shuffled = list(queries)
    random.Random(SEED).shuffle(shuffled)
    return shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]


def ndcg(ranking: list[str], relevant: set[str]) -> float:
    """Return nDCG@10 with binary relevance; `ranking` is best first."""
    gain = sum(1 / math.log2(rank + 2) for rank, id in enumerate(ranking) if id in relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, len(relevant))))
    return gain / ideal


def mean_ndcg(
    model: HashingEmbeddings, ids: list[str], matrix: Any, queries: list[Any]
) -> float:
    """Embed the queries, rank all documents by cosine, and average nDCG@10."""
    vectors = np.array(model.embed_documents([query["text"] for query in queries]))
    order = np.argsort(-(vectors @ matrix.T), axis=1, kind="stable")[:, :DEPTH]
    scores = [
        ndcg([ids[row] for row in rows], set(query["relevant"]))
        for rows, query in zip(order.tolist(), queries, strict=True)
    ]
    return round(float(np.mean(scores)), 4)


def measure(
    folder: Path, language: str, model: HashingEmbeddings, sample: int
) -> dict[str, Any]:
    """Measure one language; `sample` limits each half of the queries, 0 does not."""
    documents = read_lines(folder / f"docs.{language}.jsonl")
    queries = read_lines(folder / f"queries.{language}.jsonl")
    ids = [document["id"] for document in documents]
    texts = [f"{document['title']}\n{document['text']}" for document in documents]
    seconds = []
    for _ in range(2):  # the first round fills the cache of terms
        start = time.perf_counter()
        matrix = np.array(model.embed_documents(texts))
        seconds.append(time.perf_counter() - start)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    tuning, held_out = (half[: sample or None] for half in split(queries))
    return {
        "documents": len(documents),
        "megabytes": round(megabytes, 3),
        "megabytes_per_second_cold": round(megabytes / seconds[0], 2),
        "megabytes_per_second_warm": round(megabytes / seconds[1], 2),
        "queries_tuning": len(tuning),
        "queries_held_out": len(held_out),
        "ndcg_at_10_tuning": mean_ndcg(model, ids, matrix, tuning),
        "ndcg_at_10_held_out": mean_ndcg(model, ids, matrix, held_out),
        "ndcg_at_10_all": mean_ndcg(model, ids, matrix, tuning + held_out),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--sample", type=int, default=0, help="queries of each half")
    arguments = parser.parse_args()
    model = HashingEmbeddings(arguments.dim)
    report = {
        "model": repr(model),
        "seed": SEED,
        "machine": {
            "processors": os.cpu_count(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "languages": {
            language: measure(arguments.folder, language, model, arguments.sample)
            for language in LANGUAGES
        },
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
