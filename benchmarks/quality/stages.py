"""What each stage after a hybrid search changes, on the LibreOffice set.

Usage: `python benchmarks/quality/stages.py FOLDER [--cache DIR] [--half tuning]
[--model use] [--result FILE]`, with FOLDER and the cache as for `__main__.py`. Each row is
one change to `hybrid_search`, its figures, the difference in nDCG@10 to the search as it is
with a 95 % interval; the median time of a query is printed beside them. Defaults are chosen
by the tuning half and told by the reporting half.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from corpus import LANGUAGES, SETS, half, indexed, pages, queries
from measure import opened
from models import MODELS, Known, shown, vectors

from langchain_ragstore import RetrievalConfig, SQLiteVectorStore, evaluate
from langchain_ragstore.evaluation import compare

DEPTH = 10
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "formula": {"retrieval_config": RetrievalConfig(rerank=True)},
    "near duplicates, .88": {"retrieval_config": RetrievalConfig(dedup_threshold=0.88)},
    "near duplicates, .95": {"retrieval_config": RetrievalConfig(dedup_threshold=0.95)},
    "phase r": {"retrieval_config": RetrievalConfig.phase_r()},
}


def measured(
    store: SQLiteVectorStore, asked: list[dict[str, Any]], second: Known | None
) -> list[dict[str, Any]]:
    """A row for each change; with `second`, also for it as a second stage."""
    changes = dict(CHANGES)
    if second is not None:
        changes["second stage: other model"] = {"reranker": second}
    rows: list[dict[str, Any]] = []
    plain = None
    for name, keywords in changes.items():

        def search(text: str, keywords: dict[str, Any] = keywords) -> Any:
            return store.hybrid_search(text, DEPTH, **keywords)

        result = evaluate(search, asked, k=(DEPTH,))
        plain = plain or result
        found = compare(result, plain)
        row = {"change": name, "queries": len(asked)}
        row |= {
            f: round(result.mean[f], 4) for f in (f"ndcg@{DEPTH}", f"recall@{DEPTH}", "mrr")
        }
        row |= {
            "difference": round(found.difference, 4),
            "low": round(found.low, 4),
            "high": round(found.high, 4),
            "ms": round(1000 * _median(search, asked), 2),
        }
        rows.append(row)
    return rows


def _median(search: Any, asked: list[dict[str, Any]]) -> float:
    times = []
    for item in asked[:100]:
        started = time.perf_counter()
        search(item["text"])
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="of vectors")
    parser.add_argument("--half", choices=("tuning", "reporting"), default="tuning")
    parser.add_argument("--model", choices=tuple(MODELS), default="use")
    parser.add_argument("--second", choices=tuple(MODELS), help="reranks by its cosines")
    parser.add_argument("--result", type=Path)
    given = parser.parse_args()
    rows = []
    for language in LANGUAGES:
        listed = pages(given.folder, language)
        wanted = [i["text"] for name in SETS for i in queries(given.folder, name, language)]

        def read(model: str, listed: Any = listed, language: str = language) -> Any:
            texts = [shown(model, language, indexed(page)) for page in listed]
            return vectors(given.cache, model, f"pages-{language}", texts)

        def known(
            model: str, wanted: Any = wanted, language: str = language
        ) -> dict[str, Any]:
            made = vectors(given.cache, model, f"queries-{language}", wanted)
            return dict(zip(wanted, made.tolist(), strict=True))

        store = opened(listed, read(given.model), Known(known(given.model)))
        second = None
        if given.second:
            texts = [page["text"] for page in listed]
            made = dict(zip(texts, read(given.second).tolist(), strict=True))
            second = Known(made | known(given.second))
        for name in SETS:
            asked = half(queries(given.folder, name, language), given.half)
            for row in measured(store, asked, second):
                rows.append({"set": name, "language": language, "model": given.model} | row)
                print(*rows[-1].values(), flush=True)
        store.close()
    if given.result:
        kept = ({k: v for k, v in row.items() if k != "ms"} for row in rows)
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in kept)
        given.result.write_text(f"[\n  {lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
