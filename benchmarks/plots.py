"""Draws what `results/search_speed.json` says: beside other stores, and as it grows.

Usage: python benchmarks/plots.py

Writes `docs/images/speed.svg` and `docs/images/growth.svg`. Needs matplotlib (group
`peers`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "search_speed.json"
IMAGES = ROOT / "docs" / "images"

BESIDE, GROWTH = "clustered 100000 x 384", (1_000, 10_000, 100_000, 1_000_000)
NAMES = {
    "ours": "this store",
    "chroma": "Chroma",
    "faiss": "FAISS",
    "sqlite_vec": "SQLiteVec",
    "lance": "LanceDB",
}
OURS, OTHERS, LACKING = "#1b7f5c", "#b8bec4", "#e3e6e8"
LEAST_RECALL = 0.9
"""Below it a time is not worth comparing: the bar is drawn pale, with its recall."""

PANELS = {
    "search, ms": ("search", "plain", "p50_ms"),
    "search where 1 in 10 matches, ms": ("search", "group", "p50_ms"),
    "opening and first search, ms": ("search", "open_and_first_ms"),
    "memory, of the vectors' bytes": ("search", "memory_per_raw"),
}


def found(figures: dict[str, Any], path: tuple[str, ...]) -> float | None:
    """The figure at a path of keys; None where the engine has none."""
    value: Any = figures
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, (int, float)) else None


def said(value: float) -> str:
    """Two digits, or whole numbers."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def panel(axes: Axes, title: str, report: dict[str, Any], path: tuple[str, ...]) -> None:
    """One figure of every store, on a logarithmic scale."""
    shown = {name: found(report[name], path) for name in NAMES if name in report}
    values = {name: value for name, value in shown.items() if value}
    least, most = min(values.values()), max(values.values())
    for row, name in enumerate(shown):
        value = values.get(name)
        if value is None:
            beside_name = axes.get_yaxis_transform()
            axes.text(0, row, " has none", va="center", transform=beside_name)
            continue
        recall = found(report[name], (*path[:-1], "recall"))
        poor = recall is not None and recall < LEAST_RECALL
        color = LACKING if poor else OURS if name == "ours" else OTHERS
        axes.barh(row, value, color=color, height=0.7)
        note = f"  {said(value)}" + (f" (finds {recall:.0%})" if poor else "")
        axes.text(value, row, note, va="center")
    axes.set_xscale("log")
    axes.set_xlim(least / 3, most * 12)
    axes.set_yticks(range(len(shown)), [NAMES[name] for name in shown])
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.minorticks_off()
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_title(title, loc="left")


def beside(report: dict[str, Any]) -> None:
    """Four figures of all stores."""
    figure, grid = plt.subplots(2, 2, figsize=(9, 4.6), layout="constrained")
    for axes, (title, path) in zip(grid.flat, PANELS.items(), strict=True):
        panel(axes, title, report, path)
    save(figure, "speed.svg")


def growth(known: dict[str, Any]) -> None:
    """Ours from a thousand vectors to a million."""
    reports = {n: known[f"clustered {n} x 384"]["ours"] for n in GROWTH}
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    lines = {
        "opening and first search": ("search", "open_and_first_ms"),
        "search where 1 in 10 matches": ("search", "group", "p50_ms"),
        "search": ("search", "plain", "p50_ms"),
    }
    for shade, (name, path) in zip((OTHERS, "#6fb59c", OURS), lines.items(), strict=True):
        values = [found(report, path) for report in reports.values()]
        axes.plot(list(reports), values, marker="o", color=shade, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("vectors of 384 dimensions")
    axes.set_ylabel("ms")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save(figure, "growth.svg")


def save(figure: plt.Figure, name: str) -> None:
    """The same bytes for the same figures."""
    figure.savefig(IMAGES / name, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def main() -> None:
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "ragstore", "font.size": 9}
    known = json.loads(RESULT.read_text(encoding="utf-8"))
    beside(known[BESIDE])
    if all(f"clustered {n} x 384" in known for n in GROWTH):
        growth(known)


if __name__ == "__main__":
    main()
