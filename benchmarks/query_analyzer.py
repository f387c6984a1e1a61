"""How often `QueryAnalyzer` is right on labelled queries, and how long it takes.

Usage: `python benchmarks/query_analyzer.py`. Reads `data/query_labels.jsonl`, writes
`results/query_analyzer.json`. Rules may be tuned on what `held_out` says is not held out.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

from langchain_ragstore import QueryAnalyzer

DATA = Path(__file__).parent / "data" / "query_labels.jsonl"
RESULT = Path(__file__).parent / "results" / "query_analyzer.json"
FLAGS = {
    "code": "is_code_related",
    "table": "is_table_related",
    "conversational": "is_conversational",
}
LANGUAGES = ("en", "zh", "ja", "ko")
ROUNDS = 5


def read_queries() -> list[dict[str, Any]]:
    """Read the labelled queries."""
    with DATA.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def held_out(query: dict[str, Any]) -> bool:
    """Tell whether nothing may be tuned on a query: a third of them, by a hash."""
    return hashlib.sha256(query["id"].encode()).digest()[0] % 3 == 0


def judge(queries: list[dict[str, Any]], flag: str) -> dict[str, float | None]:
    """Accuracy, precision and recall of a flag."""
    analyze = QueryAnalyzer().analyze
    pairs = [(getattr(analyze(q["text"]), FLAGS[flag]), q[flag]) for q in queries]
    both = pairs.count((True, True))
    said = both + pairs.count((True, False))
    true = both + pairs.count((False, True))
    return {
        "accuracy": round(sum(a == b for a, b in pairs) / len(pairs), 4),
        "precision": round(both / said, 4) if said else None,
        "recall": round(both / true, 4) if true else None,
    }


def table(queries: list[dict[str, Any]]) -> dict[str, Any]:
    """The judgement of each flag, over all languages and for each."""
    parts = {"all": queries}
    parts |= {lang: [q for q in queries if q["lang"] == lang] for lang in LANGUAGES}
    return {
        "queries": {name: len(part) for name, part in parts.items()},
        **{
            flag: {name: judge(part, flag) for name, part in parts.items()}
            for flag in FLAGS
        },
    }


def seconds(queries: list[dict[str, Any]]) -> list[float]:
    """How long each query takes, the median of the rounds."""
    analyze = QueryAnalyzer().analyze
    rounds = []
    for _ in range(ROUNDS):
        taken = []
        for query in queries:
            start = time.perf_counter()
            analyze(query["text"])
            taken.append(time.perf_counter() - start)
        rounds.append(taken)
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def main() -> None:
    queries = read_queries()
    table(queries)  # warm
    taken = sorted(seconds(queries))
    long = "why does the third column of my spreadsheet not add up? " * 1000
    start = time.perf_counter()
    QueryAnalyzer().analyze(long)
    report = {
        "machine": {
            "processors": os.cpu_count(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
        },
        "microseconds_a_query": {
            "p50": round(taken[len(taken) // 2] * 1e6, 1),
            "p95": round(taken[len(taken) * 95 // 100] * 1e6, 1),
            "max": round(taken[-1] * 1e6, 1),
            "of_11_000_words": round((time.perf_counter() - start) * 1e6),
        },
        "held_out": table([q for q in queries if held_out(q)]),
        "development": table([q for q in queries if not held_out(q)]),
        "held_out_of_each_set": {
            str(number): table([q for q in queries if held_out(q) and q["set"] == number])
            for number in sorted({q["set"] for q in queries})
        },
    }
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
