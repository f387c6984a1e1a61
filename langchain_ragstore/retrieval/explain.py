"""Why a search found what it found: its run, and what each score is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from langchain_ragstore.config import EXPLAINED_TERMS
from langchain_ragstore.filters import Filter
from langchain_ragstore.model import Hit, Record, Terms
from langchain_ragstore.retrieval.cut import Threshold, Top, relevance
from langchain_ragstore.retrieval.diversify import Diversify
from langchain_ragstore.retrieval.findings import Account, Finding, Word
from langchain_ragstore.retrieval.group import Group
from langchain_ragstore.retrieval.hybrid import ReciprocalRank, Weighted, legs, shares_of
from langchain_ragstore.retrieval.importance import Importance
from langchain_ragstore.retrieval.plan import Plan, run
from langchain_ragstore.retrieval.question import Choosing, Question, Rescoring, Shelf
from langchain_ragstore.retrieval.sources import Dense, Lexical
from langchain_ragstore.retrieval.trace import Step, Trace


def explained(
    plan: Plan,
    question: Question,
    shelf: Shelf,
    scope: Filter,
    read: Callable[[str], Terms],
    ids: Iterable[str] = (),
) -> Account:
    """Run a plan and account for it.

    Args:
        plan: How.
        question: What is looked for; with its terms, whether or not the plan reads them.
        shelf: Where.
        scope: What may be told of at all.
        read: The terms of a text, as of the query.
        ids: Documents to account for besides the results.
    """
    trace = Trace()
    hits = run(plan, question, shelf, trace)
    wanted = list(dict.fromkeys(ids))
    named_ids = [*(hit.record.id for hit in hits), *wanted]
    words = _words(question, shelf, shelf.get(named_ids, scope) if named_ids else [], read)
    found = _Run(plan, trace.steps)
    results = [
        replace(found.finding(hit, rank), words=words.get(hit.record.id, ()))
        for rank, hit in enumerate(hits, start=1)
    ]
    asked = _Asked(found, question, shelf, scope, results)
    return Account(
        query=question.text,
        terms=tuple(_in_order(question)),
        plan=plan,
        steps=tuple(trace.steps),
        rounds=trace.rounds,
        hits=tuple(results),
        asked=tuple(
            replace(finding, words=words.get(finding.id, ()))
            for finding in asked.findings(wanted)
        ),
    )


class _Run:
    """A traced run, read for what it says of single documents."""

    def __init__(self, plan: Plan, steps: Sequence[Step]) -> None:
        self.plan = plan
        self.sources = [s for s in steps if isinstance(s.part, (Dense, Lexical))]
        number = len(self.sources) + (plan.fuse is not None)
        self.stages = steps[number:]
        self.candidates = {
            hit.record.id: (rank, hit)
            for rank, hit in enumerate(steps[number - 1].hits or (), start=1)
        }
        self.scores = {id: hit.score for id, (_, hit) in self.candidates.items()}
        for step in self.stages:  # what they scored anew goes by that from then on
            if isinstance(step.part, Rescoring):
                self.candidates |= {
                    hit.record.id: (rank, hit)
                    for rank, hit in enumerate(step.hits or (), start=1)
                }
        self.ranks: dict[str, dict[str, int]] = {}
        for step in self.sources:
            for rank, hit in enumerate(step.hits or (), start=1):
                self.ranks.setdefault(hit.record.id, {})[_leg(step)] = rank
        self.fusion = steps[number - 1].part if plan.fuse is not None else None
        self.shares = self._shares()

    def _shares(self) -> dict[str, float]:
        """What each leg counts."""
        asked = [_leg(step) for step in self.sources if step.hits is not None]
        if not isinstance(self.fusion, (Weighted, ReciprocalRank)):
            return dict.fromkeys(asked, 1.0)
        if isinstance(self.fusion, Weighted):  # each candidate has all parts there are
            asked = [
                leg for _, hit in self.candidates.values() for leg in legs(hit.signals)
            ]
        return shares_of(self.fusion.weights, list(dict.fromkeys(asked)))

    def finding(self, hit: Hit, rank: int | None, reason: str = "") -> Finding:
        """What the run says of a candidate."""
        id = hit.record.id
        return Finding(
            id=id,
            rank=rank,
            score=hit.score,
            text=hit.record.content,
            signals=dict(hit.signals),
            ranks=self.ranks.get(id, {}),
            contributions=self._contributions(hit),
            joined=hit.joined,
            notes=dict(hit.notes),
            reason=reason,
        )

    def _contributions(self, hit: Hit) -> dict[str, float]:
        """What the score of a hit is made of, after the last stage that scored it."""
        first = self.scores.get(hit.record.id, hit.score)
        alone = self.plan.fuse is None
        parts: Mapping[str, float] = {
            leg: first if alone else share * hit.signals.get(f"{leg}_part", 0.0)
            for leg, share in self.shares.items()
        }
        for step in self.stages:
            if isinstance(step.part, Rescoring):
                after = {found.record.id: found for found in step.hits or ()}
                if hit.record.id in after:
                    parts = step.part.parts(parts, after[hit.record.id])
        return dict(parts)


class _Asked:
    """Why documents are results of a run, or not."""

    def __init__(
        self,
        found: _Run,
        question: Question,
        shelf: Shelf,
        scope: Filter,
        results: Sequence[Finding],
    ) -> None:
        self.found, self.question, self.shelf, self.scope = found, question, shelf, scope
        self.results = {finding.id: finding for finding in results}
        self.part_of = {chunk: finding for finding in results for chunk in finding.joined}
        self._deep: _Run | None = None

    def findings(self, ids: Sequence[str]) -> list[Finding]:
        """One for each id."""
        if not ids:
            return []
        stored = {record.id for record in self.shelf.get(ids, self.scope)}
        matching = {record.id for record in self.shelf.get(ids, self.question.where)}
        return [self._of(id, stored, matching) for id in ids]

    def _of(self, id: str, stored: Collection[str], matching: Collection[str]) -> Finding:
        if id in self.results:
            known = self.results[id]
            return replace(known, reason=f"result {known.rank}")
        if id in self.part_of:
            rank = self.part_of[id].rank
            return Finding(id, reason=f"its text is part of result {rank}")
        if id not in stored:
            return Finding(id, reason="no document has this id")
        if id not in matching:
            return Finding(id, reason="the filter leaves it out")
        if id in self.found.candidates:
            rank, hit = self.found.candidates[id]
            return self.found.finding(hit, rank, self._dropped(rank, hit))
        if id in self.deep.candidates:
            rank, hit = self.deep.candidates[id]
            return self.deep.finding(hit, rank, self._too_far(rank, hit))
        lacks = {"dense": "it has no vector", "text": "it holds no word of the query"}
        asked = [_leg(step) for step in self.found.sources if step.hits is not None]
        reason = " and ".join(lacks[leg] for leg in asked)
        return Finding(id, reason=reason or "the query has nothing to look for")

    @property
    def deep(self) -> _Run:
        """A run that ranks everything that the filter lets through."""
        if self._deep is None:
            plan = self.found.plan
            depth = max(1, self.shelf.count(self.question.where))
            sources = tuple(replace(source, depth=depth) for source in plan.sources)
            trace = Trace()
            run(Plan(sources, plan.fuse), self.question, self.shelf, trace)
            self._deep = _Run(plan, trace.steps)
        return self._deep

    def _too_far(self, rank: int, hit: Hit) -> str:
        """Why a document is no candidate."""
        least = self.found.plan.least
        if relevance(hit.score) < least:
            return f"its score {hit.score:.4g} is below score_threshold={least:g}"
        depth = max(step.part.depth for step in self.found.sources)  # type: ignore[attr-defined]
        if self.found.plan.fuse is None:
            return f"rank {rank}, below the first {depth}"
        return f"rank {rank}, not among the first {depth} by meaning or by words"

    def _dropped(self, rank: int, hit: Hit) -> str:
        """Which stage dropped a candidate."""
        taken = [found for _, found in self.found.candidates.values()]
        for step in self.found.stages:
            given = list(step.hits or ())
            if hit.record.id not in {kept.record.id for kept in given}:
                return self._because(step.part, rank, hit, taken)
            taken = given
        return f"rank {rank}"

    def _because(self, stage: object, rank: int, hit: Hit, taken: Sequence[Hit]) -> str:
        """Why a stage did not keep one of the hits that it took."""
        if isinstance(stage, Importance):
            return f"its importance is below importance_threshold={stage.least:g}"
        if isinstance(stage, Choosing):
            return stage.left_out(hit, rank, taken)
        if isinstance(stage, Threshold):
            return f"its score {hit.score:.4g} is below score_threshold={stage.least:g}"
        if isinstance(stage, Top):
            return f"rank {rank}, below the first {stage.k}"
        if isinstance(stage, Group):
            kept = [
                other.record.id for other in taken if stage.group(other) == stage.group(hit)
            ][: stage.per_group]
            return f"of its group {', '.join(map(repr, kept))} ranked before it"
        if isinstance(stage, Diversify):
            return (
                f"rank {rank}, but others add more that is different "
                f"(lambda_mult={stage.lambda_mult:g})"
            )
        return f"left out by {stage!r}"


def _leg(step: Step) -> str:
    leg: str = step.part.leg  # type: ignore[attr-defined]
    return leg


def _in_order(question: Question) -> list[str]:
    """The query's terms in its order, as far as they stand in it as they are."""
    text = question.text.casefold()

    def key(term: str) -> tuple[int, str]:
        at = text.find(term)
        return (len(text) if at < 0 else at), term

    return sorted(question.terms.body, key=key)


def _words(
    question: Question,
    shelf: Shelf,
    records: Collection[Record],
    read: Callable[[str], Terms],
) -> dict[str, tuple[Word, ...]]:
    """The terms that each document holds, each with its share of the document's BM25.

    The index itself is asked, term by term and field by field: what it says is what the
    search went by, whatever was indexed. Words that match as synonyms are not listed.
    """
    visible = list(dict.fromkeys(record.id for record in records))
    if not visible:
        return {}
    # The title's terms hold single characters, too, which a text is found by.
    shown = {record.id: read(record.content).title for record in records}
    body, title = question.terms.body, question.terms.title
    order = _in_order(question)
    order += sorted(term for term in title if term not in body)
    found: dict[str, list[Word]] = {id: [] for id in visible}
    # Without what may stand for several terms at once (synonyms), which is no one's part.
    plain = replace(question.terms, body={}, title={}, alternatives=())
    for term in order[:EXPLAINED_TERMS]:
        none: Mapping[str, float] = {}
        in_body = in_title = none
        if term in body:
            asked = replace(plain, body={term: body[term]})
            in_body = shelf.lexical_scores(asked, visible).scores
        if term in title:
            asked = replace(plain, title={term: title[term]})
            in_title = shelf.lexical_scores(asked, visible).scores
        for id, words in found.items():
            amounts = in_body.get(id, 0.0), in_title.get(id, 0.0)
            word = Word(term, *amounts, shown=term in shown[id])
            if word.body or word.title:
                words.append(word)
    return {id: tuple(words) for id, words in found.items()}
