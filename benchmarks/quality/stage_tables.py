"""Writes the tables about stages from `benchmarks/results/stages.json`.

Usage: `python benchmarks/quality/stage_tables.py`. They stand in `docs/retrieval.md` and in
decision 25, each between `<!-- name -->` and `<!-- end -->`. A star is at a difference
whose 95 % interval leaves out 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tables import LANGUAGES, PAGE, fill, short, signed, table

RESULT = Path(__file__).parents[1] / "results" / "stages.json"
GUIDE = PAGE.with_name("retrieval.md")
DECISION = PAGE.parent / "decisions" / "0025-stages.md"
OFFICE = [(name, language) for name in ("index", "questions") for language in LANGUAGES]
PLAIN = "as it is"
EVERY = "all without a second stage"


def cell(row: dict[str, Any] | None, key: str) -> str:
    """A difference with its star; nothing where a stage has nothing to read."""
    if row is None or key not in row:
        return ""
    difference, low, high = row[key]
    return signed(difference) + ("*" if low > 0 or high < 0 else "")


class Figures:
    """The rows of a half."""

    def __init__(self, report: dict[str, Any], half: str) -> None:
        self._rows = {
            (row["set"], row["language"], row["search"]): row
            for row in report["figures"]
            if row["half"] == half
        }

    def of(self, name: str, search: str) -> dict[str, Any] | None:
        """Of our set (`"station"`) or of one of LibreOffice's (`"index en"`)."""
        of, _, language = name.partition(" ")
        wanted = (language,) if language else ("en, zh, ja",)
        return self._rows.get((of, *wanted, search))

    def searches(self) -> list[str]:
        """All searches that stand for themselves, in order."""
        names = dict.fromkeys(search for *_, search in self._rows)
        return [name for name in names if ", but " not in name and name != PLAIN]

    def left_out(self) -> list[str]:
        """The searches with all stages but one and without a second one."""
        names = dict.fromkeys(search for *_, search in self._rows)
        return [name for name in names if name.startswith(f"{EVERY}, but ")]


def alone(figures: Figures) -> str:
    """Each search beside the one as it is."""
    sets = [f"{name} {language}" for name, language in OFFICE]
    plain = [figures.of(name, PLAIN) or {} for name in ("station", *sets)]
    first = plain[0]
    rows = [
        [
            PLAIN,
            *(short(first[metric]) for metric in ("ndcg", "alpha_ndcg")),
            first["sources"],
            *(short(row["ndcg"]) for row in plain[1:]),
        ]
    ]
    for search in figures.searches():
        own = figures.of("station", search)
        rows.append(
            [
                search,
                *(cell(own, f"{metric}_gain") for metric in ("ndcg", "alpha_ndcg")),
                own["sources"] if own else "",
                *(cell(figures.of(name, search), "ndcg_gain") for name in sets),
            ]
        )
    head = ["", "station", "its α-nDCG", "its sources", *sets]
    return table(head, rows)


def beside(figures: Figures) -> str:
    """What each stage adds to all others."""
    sets = [f"{name} {language}" for name, language in OFFICE]
    rows = [
        [
            search.removeprefix(f"{EVERY}, but "),
            *(
                cell(figures.of("station", search), f"{metric}_worth")
                for metric in ("ndcg", "alpha_ndcg")
            ),
            *(cell(figures.of(name, search), "ndcg_worth") for name in sets),
        ]
        for search in figures.left_out()
    ]
    return table(["", "station", "its α-nDCG", *sets], rows)


def windows(report: dict[str, Any]) -> str:
    """Results with and without their neighbours."""
    rows = [
        [row["k"], row["window"], short(row["subtopics"]), row["characters"]]
        for row in report["neighbours"]
    ]
    return table(["`k`", "`window`", "subtopics told", "characters"], rows)


def main() -> None:
    report = json.loads(RESULT.read_text(encoding="utf-8"))
    tuning, reporting = (Figures(report, half) for half in ("tuning", "reporting"))
    fill(
        GUIDE,
        {
            "stages alone": alone(reporting),
            "stages beside": beside(reporting),
            "neighbours": windows(report),
        },
    )
    fill(DECISION, {"tuning": alone(tuning), "reporting": alone(reporting)})


if __name__ == "__main__":
    main()
