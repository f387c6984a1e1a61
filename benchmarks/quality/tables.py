"""Writes the tables of `docs/quality.md` from `benchmarks/results/quality.json`.

Usage: `python benchmarks/quality/tables.py`. A table stands between `<!-- name -->` and
`<!-- end -->`; what is around them is written by hand.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh", "ja")
RESULT = Path(__file__).parents[1] / "results" / "quality.json"
PAGE = Path(__file__).parents[2] / "docs" / "quality.md"
FIGURES = ("ndcg@10", "recall@5", "recall@20", "recall@100", "mrr")
MODELS = {"use": "USE", "e5": "e5"}


def row(cells: list[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def table(head: list[str], rows: list[list[Any]]) -> str:
    return "\n".join([row(head), row(["---"] * len(head)), *map(row, rows)])


def short(value: float) -> str:
    """Three decimals without the nought before them: .123."""
    text = f"{value:.3f}"
    return text.removeprefix("0")


def signed(value: float) -> str:
    """Three decimals with a sign."""
    return f"{value:+.3f}".replace("0.", ".").replace("-", "−")


def name_of(figure: dict[str, Any]) -> str:
    model = f", {MODELS[figure['model']]}" if figure["model"] else ""
    ours = figure["system"] in ("text", "dense", "rrf", "weighted", "fixed weights")
    return f"**{figure['system']}{model}**" if ours else figure["system"] + model


def one_language(report: dict[str, Any], of: str) -> str:
    """nDCG@10, recall and MRR of every system, queries and pages in one language."""
    found: dict[str, dict[str, Any]] = {}
    for figure in report["figures"]:
        if figure["set"] == of and figure["queries_in"] == figure["pages_in"]:
            found.setdefault(name_of(figure), {})[figure["queries_in"]] = figure
    rows = [
        [name, *("/".join(short(by[lang][f]) for lang in LANGUAGES) for f in FIGURES)]
        for name, by in found.items()
    ]
    return table(["en/zh/ja", *FIGURES], rows)


def gains(report: dict[str, Any], of: str, *, across: bool) -> str:
    """Differences of nDCG@10 with their intervals."""
    found: dict[str, dict[str, str]] = {}
    for entry in report["comparisons"]:
        there = entry["queries_in"], entry["pages_in"]
        if entry["set"] != of or across != (there[0] != there[1]):
            continue
        if across and (entry["over"], entry["gain_of"][:5]) not in (
            ("dense", "weigh"),
            ("dense", "fixed"),
        ):
            continue
        model = f", {MODELS[entry['model']]}" if entry["model"] else ""
        name = f"{entry['gain_of']} − {entry['over']}{model}"
        cell = " ".join(
            [
                signed(entry["difference"]),
                f"({signed(entry['low'])} … {signed(entry['high'])})",
            ]
        )
        found.setdefault(name, {})["→".join(dict.fromkeys(there))] = cell
    columns = list(dict.fromkeys(column for by in found.values() for column in by))
    columns.sort(key=lambda c: [LANGUAGES.index(part) for part in c.split("→")])
    rows = [
        [name, *(by.get(column, "") for column in columns)] for name, by in found.items()
    ]
    return table(["nDCG@10", *columns], rows)


def main() -> None:
    report = json.loads(RESULT.read_text(encoding="utf-8"))
    tables = {
        f"{of} {kind}": text
        for of in ("index", "questions")
        for kind, text in (
            ("figures", one_language(report, of)),
            ("gains", gains(report, of, across=False)),
            ("across", gains(report, of, across=True)),
        )
    }
    fill(PAGE, tables)


def fill(path: Path, tables: dict[str, str]) -> None:
    """Put tables into their places in a page."""
    page = path.read_text(encoding="utf-8")
    for name, text in tables.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not pattern.search(page):
            raise SystemExit(f"{path} has no place for {name!r}")
        page = pattern.sub(
            lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}", page
        )
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
