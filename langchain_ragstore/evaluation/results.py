"""What an evaluation gives: figures by query, their means, and a table of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
from typing_extensions import override

from langchain_ragstore.evaluation.metrics import MEASURES

_SHOWN: Final = 100
"""Queries that a notebook lists."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What one query gave.

    Attributes:
        id: The query's.
        text: What was searched for.
        relevant: The judgements: grades by id.
        found: The ids that came back, best first, each once.
        metrics: By name, such as `"ndcg@10"` and `"mrr"` (here, the reciprocal rank).
        seconds: How long the search took.
    """

    id: str
    text: str
    relevant: Mapping[str, float]
    found: tuple[str, ...]
    metrics: Mapping[str, float]
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """Figures of a retriever over judged queries; `print` and notebooks show a table.

    Attributes:
        per_query: One result for each query, in the order they were given.
        k: The ranks down to which results were judged, ascending.
    """

    per_query: tuple[QueryResult, ...]
    k: tuple[int, ...]

    @property
    def mean(self) -> dict[str, float]:
        """Each metric's mean over the queries, all of which weigh the same."""
        return {
            name: math.fsum(result.metrics[name] for result in self.per_query)
            / len(self.per_query)
            for name in self.per_query[0].metrics
        }

    @property
    def latency(self) -> dict[str, float]:
        """`"p50"` and `"p95"`: seconds that half, and 95 % of the queries stayed below."""
        seconds = [result.seconds for result in self.per_query]
        middle, high = np.percentile(seconds, [50, 95])
        return {"p50": float(middle), "p95": float(high)}

    @property
    def most_found(self) -> int:
        """The most ids that came back for a query; ranks beyond it were never filled."""
        return max(len(result.found) for result in self.per_query)

    def _rows(self) -> list[list[str]]:
        mean = self.mean
        rows = [
            [name, *(f"{mean[f'{name}@{k}']:.3f}" for k in self.k)] for name in MEASURES
        ]
        return [*rows, ["mrr", *("" for _ in self.k[1:]), f"{mean['mrr']:.3f}"]]

    def _notes(self) -> list[str]:
        count = len(self.per_query)
        middle, high = (1000 * value for value in self.latency.values())
        notes = [
            f"{count} {'query' if count == 1 else 'queries'}",
            f"{middle:.1f} ms a query (p50), {high:.1f} ms (p95)",
        ]
        if self.most_found < self.k[-1]:
            notes.append(
                f"no query got more than {self.most_found} ids; let the retriever return "
                f"{self.k[-1]} for what @{self.k[-1]} promises"
            )
        return notes

    @override
    def __str__(self) -> str:
        heads = ["", *(f"@{k}" for k in self.k)]
        lines = [
            f"{name:<9}" + "".join(f"{value:>8}" for value in values)
            for name, *values in [heads, *self._rows()]
        ]
        return "\n".join(line.rstrip() for line in [*lines, *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>@{k}</th>" for k in self.k)
        rows = "".join(
            f"<tr><th>{name}</th>"
            + "".join(f"<td>{value}</td>" for value in values)
            + "</tr>"
            for name, *values in self._rows()
        )
        notes = "".join(f"<div>{escape(note)}</div>" for note in self._notes())
        metric = f"ndcg@{self.k[-1]}"
        worst = sorted(
            self.per_query, key=lambda result: (result.metrics[metric], result.id)
        )
        queries = "".join(
            f'<tr><td dir="auto">{escape(result.text)}</td>'
            f"<td>{result.metrics[metric]:.3f}</td></tr>"
            for result in worst[:_SHOWN]
        )
        return (
            f"<table><tr><th></th>{heads}</tr>{rows}</table>{notes}<details>"
            f"<summary>by query, worst first</summary><table><tr><th>query</th>"
            f"<th>{metric}</th></tr>{queries}</table></details>"
        )
