"""An explanation for a terminal: aligned, whatever the width of its characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from langchain_ragstore.notebook.characters import columns, fitted, to_terminal
from langchain_ragstore.retrieval.findings import Account, Finding, Word

_BAR: Final = 12
_LONGEST_ID: Final = 32
_LONGEST_STEP: Final = 80
_TEXT: Final = 60
_LINE: Final = 200
"""Columns of a score's bar; at most of an id, a step, a text's beginning, the rest."""

UNITS: Final = {
    "dense": ("dense", "cosine {:.4g}"),
    "text": ("lexical", "BM25 {:.4g}"),
    "semantic": ("semantic", "cosine {:.4g}"),
    "keyword": ("keyword", "{:.0%} of the words"),
    "title": ("title", "{:.0%} of the words"),
    "core": ("core", "×{:.4g}"),
}
"""The signal that is behind a part of a score, and what it is."""


def render(account: Account, search_type: str, filter: str | None) -> str:
    """The query, the plan, a line for each step, the results and what is none."""
    lines = [
        f'{search_type} search for "{short(account.query)}"',
        f"terms   {short(', '.join(account.terms)) or 'none'}",
    ]
    if filter is not None:
        lines.append(f"filter  {short(filter)}")
    lines += [f"plan    {written(account)}", "", *_steps(account), ""]
    width = min(
        _LONGEST_ID,
        max((columns(short(f.id)) for f in (*account.hits, *account.asked)), default=0),
    )
    top = max((hit.score or 0.0 for hit in account.hits), default=0.0)
    for hit in account.hits:
        lines += _finding(hit, width, top)
    if not account.hits:
        lines.append("no results")
    if account.asked:
        lines.append("")
        for finding in account.asked:
            lines += _asked(finding, width)
    return "\n".join(lines)


def short(text: str, width: int = _LINE) -> str:
    """Text as the one line that there is room for."""
    line = " ".join(text[: 10 * width].split())
    return fitted(to_terminal(line), width).rstrip()


def written(account: Account) -> str:
    """The plan in one line."""
    plan = account.plan
    sources = " + ".join(map(repr, plan.sources))
    rest = [repr(part) for part in (plan.fuse, *plan.stages) if part is not None]
    return to_terminal(" → ".join([sources, *rest]))


def _steps(account: Account) -> Iterator[str]:
    names = [to_terminal(repr(step.part)) for step in account.steps]
    width = min(_LONGEST_STEP, max(map(columns, names), default=0))
    yield f"{'step':{width}}  {'in':>6}  {'out':>6}  {'ms':>8}"
    for name, step in zip(names, account.steps, strict=True):
        taken = "" if step.taken is None else f"{step.taken:,}"
        given = "–" if step.hits is None else f"{step.given:,}"
        ms = f"{1000 * step.seconds:.2f}"
        yield f"{fitted(name, width)}  {taken:>6}  {given:>6}  {ms:>8}"
    if account.rounds > 1:
        yield f"(round {account.rounds}: grouping needed deeper candidates)"


def _finding(hit: Finding, width: int, top: float) -> Iterator[str]:
    score = hit.score or 0.0
    filled = round(_BAR * max(0.0, score) / top) if top > 0 else 0
    bar = "█" * filled + "░" * (_BAR - filled)
    id = fitted(short(hit.id), width)
    yield f"{hit.rank:>3}  {score:7.4f}  {bar}  {id}  {sum_of(hit)}"
    yield from _details(hit)


def _asked(finding: Finding, width: int) -> Iterator[str]:
    score = "" if finding.score is None else f"{finding.score:.4f}"
    id = fitted(short(finding.id), width)
    yield f"  ?  {score:>7}  {id}  {short(finding.reason)}"
    if finding.score is not None:
        yield f"{'':14}{sum_of(finding)}"
        yield from _details(finding)


def _details(finding: Finding) -> Iterator[str]:
    if finding.notes:
        yield f"{'':14}{short(', '.join(noted(finding)))}"
    if finding.words:
        yield f"{'':14}{short(', '.join(map(where, finding.words)))}"
    if finding.joined:
        yield f"{'':14}joined from {short(', '.join(finding.joined))}"
    text = short(finding.text, _TEXT)
    if text:
        yield f"{'':14}{text}"


def sum_of(finding: Finding) -> str:
    """What the score is made of: `text 0.41 (BM25 2.1, rank 1) + dense 0.2 (…)`."""
    parts = []
    for leg, amount in finding.contributions.items():
        facts = ", ".join(measured(finding, leg))
        parts.append(f"{leg} {amount:.4f}" + (f" ({facts})" if facts else ""))
    return " + ".join(parts)


def measured(finding: Finding, leg: str) -> Iterator[str]:
    """What a part of a score rests on: its measure, and the rank that a source gave."""
    signal, unit = UNITS.get(leg, ("", ""))
    if signal in finding.signals:
        yield unit.format(finding.signals[signal])
    if leg in finding.ranks:
        yield f"rank {finding.ranks[leg]}"


def noted(finding: Finding) -> Iterator[str]:
    """What stages say of a document."""
    named = {"about": "query about: ", "reranker_failed": "not reranked: "}
    for name, words in finding.notes.items():
        yield f"{named.get(name, f'{name}: ')}{words}"


def where(word: Word) -> str:
    """A word and where it stands."""
    places = ["text"] * (word.body > 0 and word.shown) + ["title"] * (word.title > 0)
    if not places:  # `index_text` put it there
        places = ["indexed text"]
    return f"{word.term} in {' and '.join(places)}"
