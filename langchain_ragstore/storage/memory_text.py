"""BM25 of texts in memory, term by term, text by text: what engines are compared with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from langchain_ragstore.config import BM25_B, BM25_K1, BM25_MAX_FREQUENCY
from langchain_ragstore.lexical.bm25 import (
    Field,
    QueryTerm,
    field_terms,
    frequency,
    query_terms,
    worth,
)
from langchain_ragstore.model import Terms


def scored(indexed: Mapping[str, Terms], query: Terms) -> tuple[dict[str, float], float]:
    """The score of each text for a query, and what it could reach; see `lexical.bm25`."""
    scores, reachable = _summed(indexed, query_terms(query))
    for group in query.alternatives:
        exact, most = _summed(indexed, field_terms(group.exact, title=group.title))
        best = dict(exact)
        for terms in group.others:
            asked = field_terms(terms, title=group.title)
            other, limit = _summed(indexed, asked)
            for id, score in other.items():
                if limit:
                    best[id] = max(best[id], score * worth(most, limit))
        scores = {id: score + (best[id] - exact[id]) for id, score in scores.items()}
    return scores, reachable


def _summed(
    indexed: Mapping[str, Terms], asked: Iterable[QueryTerm]
) -> tuple[dict[str, float], float]:
    """BM25 of each for some terms, and what it could reach."""
    scores = dict.fromkeys(indexed, 0.0)
    reachable = 0.0
    for term in asked:
        field = _field(list(indexed.values()), title=term.title)
        found = {id: _frequency(terms, term) for id, terms in indexed.items()}
        found = {id: often for id, often in found.items() if often}
        limit = term.weight * field.idf(len(found)) * (BM25_K1 + 1)
        reachable += limit if field.records else 0.0
        for id, often in found.items():
            length = _length(indexed[id], title=term.title) / field.mean
            norm = BM25_K1 * ((1 - BM25_B) + BM25_B * length)
            scores[id] += limit * often / (often + norm)
    return scores, reachable


def _length(terms: Terms, *, title: bool) -> int:
    return sum((terms.title if title else terms.body).values())


def _field(texts: Collection[Terms], *, title: bool) -> Field:
    lengths = [_length(terms, title=title) for terms in texts]
    return Field(sum(length > 0 for length in lengths), sum(lengths))


def _frequency(terms: Terms, wanted: QueryTerm) -> int:
    if wanted.title:
        return min(terms.title.get(wanted.term, 0), BM25_MAX_FREQUENCY)
    return frequency(terms.body, wanted.term)
