"""An explanation as HTML: bars for each signal, no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from langchain_ragstore.notebook.characters import attribute
from langchain_ragstore.notebook.findings_plain import (
    measured,
    noted,
    short,
    where,
    written,
)
from langchain_ragstore.notebook.page import COLOURS, PREFIX
from langchain_ragstore.retrieval.findings import Account, Finding

_PARTS: Final = (
    "dense",
    "text",
    "semantic",
    "keyword",
    "title",
    "schema",
    "core",
    "reranker",
)

_COLOUR: Final = dict(
    zip(_PARTS, (*COLOURS[:2], *COLOURS, COLOURS[3], COLOURS[2]), strict=True)
)
"""Of each part of a score; of one score they differ, but for both boosts."""

_STYLE: Final = """
.@why{font-size:14px;line-height:1.5;color:inherit;text-align:left}
.@why table{border-collapse:collapse;margin:6px 0;color:inherit;background:transparent}
.@why th,.@why td{text-align:left;vertical-align:top;padding:3px 10px 3px 0;
border-top:1px solid rgb(128 128 128/.35);background:transparent;color:inherit}
.@why th{font-weight:600;font-size:12px}
.@why .@n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.@facts{font-size:12px;line-height:1.5;opacity:.85;overflow-wrap:anywhere}
.@meter{display:flex;width:12em;height:10px;margin:5px 0;
background:rgb(128 128 128/.2)}
.@meter>span{display:block;height:100%}
.@word{border-bottom:2px solid rgb(128 128 128/.6);margin-right:6px;white-space:nowrap}
"""


def render(account: Account, search_type: str, filter: str | None) -> str:
    """The query, the results with their bars, what is no result, and the steps."""
    facts = [f"terms: {', '.join(account.terms) or 'none'}", f"plan: {written(account)}"]
    if filter is not None:
        facts.append(f"filter: {filter}")
    top = max((hit.score or 0.0 for hit in account.hits), default=0.0)
    query = f"<b><bdi>{attribute(short(account.query))}</bdi></b>"
    body = "".join(
        [
            f"<div><b>{attribute(search_type)}</b> search for {query}</div>",
            *(f'<div class="{PREFIX}facts">{attribute(short(f))}</div>' for f in facts),
            _table("rank score parts document", _hits(account.hits, top)),
            _table("asked score parts why", _hits(account.asked, top)),
            _table("step in out ms", _steps(account)),
        ]
    )
    style = _STYLE.replace("@", PREFIX)
    return f'<style>{style}</style><div class="{PREFIX}why" dir="ltr">{body}</div>'


def _table(heads: str, rows: Iterable[str]) -> str:
    listed = "".join(rows)
    if not listed:
        return ""
    row = "".join(f"<th>{head}</th>" for head in heads.split())
    return f"<table><thead><tr>{row}</tr></thead><tbody>{listed}</tbody></table>"


def _hits(findings: Iterable[Finding], top: float) -> Iterator[str]:
    for finding in findings:
        score = "" if finding.score is None else f"{finding.score:.4f}"
        rank = "" if finding.rank is None else f"{finding.rank}"
        yield (
            f'<tr><td class="{PREFIX}n">{rank}</td><td class="{PREFIX}n">{score}</td>'
            f"<td>{_bars(finding, top)}</td><td>{_document(finding)}</td></tr>"
        )


def _bars(finding: Finding, top: float) -> str:
    """The score as one bar of its parts, and below it a bar for each signal."""
    if finding.score is None:
        return ""
    scale = max(top, abs(finding.score)) or 1.0
    pieces = "".join(
        _piece(leg, amount / scale) for leg, amount in finding.contributions.items()
    )
    rows = [f'<div class="{PREFIX}meter" title="score {finding.score:.4f}">{pieces}</div>']
    for leg, amount in finding.contributions.items():
        facts = [f"{leg} adds {amount:.4f}", *measured(finding, leg)]
        part = finding.signals.get(f"{leg}_part", amount)
        rows.append(
            f'<div class="{PREFIX}facts">{attribute(", ".join(facts))}</div>'
            f'<div class="{PREFIX}meter">{_piece(leg, part)}</div>'
        )
    return "".join(rows)


def _piece(leg: str, share: float) -> str:
    width = 100 * min(1.0, max(0.0, share))
    return f'<span style="width:{width:.1f}%;background:rgb({_COLOUR[leg]})"></span>'


def _document(finding: Finding) -> str:
    words = "".join(
        f'<span class="{PREFIX}word">{attribute(where(word))}</span>'
        for word in finding.words
    )
    joined = f"joined from {', '.join(finding.joined)}" if finding.joined else ""
    notes = ", ".join(noted(finding))
    lines = [finding.reason, short(finding.text), joined, notes]
    return f"<b><bdi>{attribute(short(finding.id))}</bdi></b>" + "".join(
        [
            *(f"<div><bdi>{attribute(line)}</bdi></div>" for line in lines if line),
            f'<div class="{PREFIX}facts">{words}</div>' if words else "",
        ]
    )


def _steps(account: Account) -> Iterator[str]:
    for step in account.steps:
        taken = "" if step.taken is None else f"{step.taken:,}"
        given = "–" if step.hits is None else f"{step.given:,}"
        yield (
            f"<tr><td>{attribute(repr(step.part))}</td>"
            f'<td class="{PREFIX}n">{taken}</td><td class="{PREFIX}n">{given}</td>'
            f'<td class="{PREFIX}n">{1000 * step.seconds:.2f}</td></tr>'
        )
