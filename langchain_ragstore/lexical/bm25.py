"""BM25: how well a text answers a query, from how often its terms occur.

The score of a record is that of its body plus `TITLE_WEIGHT` times that of its title,
each a field with statistics of its own:

    idf(t) = ln(1 + (N − df + 0.5) / (df + 0.5))
    score  = Σ_t qtf · idf(t) · (k1 + 1) · tf / (tf + k1 · (1 − b + b · length / mean))

N counts the records in which the field is not empty, `mean` is their mean length, `df`
those that hold the term. Robertson and Zaragoza, The Probabilistic Relevance Framework,
2009, §3; the idf that is never negative is Lucene's.

Where an expression of the query may be said otherwise (`model.Alternatives`), a record
gets in place of the expression's score, in its field,

    max(score(exact), max over others of 0.8 · score(other) · most(exact) / most(other))

with `most` what a score can reach, Σ qtf · idf · (k1 + 1): at most what the expression
itself can reach, so what a whole query can reach stays as it is.

Every engine adds up in the same order (the body's terms by code point, then the
title's) with the same operations on float64, so scores are equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import (
    ALTERNATIVE_WEIGHT,
    BM25_B,
    BM25_K1,
    BM25_MAX_FREQUENCY,
    TITLE_WEIGHT,
)
from langchain_ragstore.lexical.keys import is_pair, is_single
from langchain_ragstore.model import Terms

_BLOCK: Final = 256
"""Scores in a block of `top`; of 64 to 1024 the fastest at 100 000 scores."""


@dataclass(frozen=True, slots=True)
class Field:
    """Statistics of a field over a collection.

    Attributes:
        records: How many records have it, with at least one term.
        length: How many terms these hold together.
    """

    records: int
    length: int

    def idf(self, df: int) -> float:
        """Weight of a term that `df` of the records hold."""
        return math.log(1 + (self.records - df + 0.5) / (df + 0.5))

    @property
    def mean(self) -> float:
        """Mean length; 1 where no record has the field."""
        return self.length / self.records if self.records else 1.0


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term of a query in one of the fields.

    Attributes:
        term: The term.
        title: Whether it is looked for in the title, not in the body.
        weight: How often it occurs in the query, times the field's weight.
    """

    term: str
    title: bool
    weight: float


def query_terms(query: Terms) -> Iterator[QueryTerm]:
    """The terms of a query in the order in which their scores are added up."""
    yield from field_terms(query.body, title=False)
    yield from field_terms(query.title, title=True)


def field_terms(terms: Mapping[str, int], *, title: bool) -> Iterator[QueryTerm]:
    """Terms in one field, in the order in which their scores are added up."""
    weight = TITLE_WEIGHT if title else 1
    for term in sorted(terms):
        yield QueryTerm(term, title=title, weight=weight * terms[term])


def worth(exact: float, other: float) -> float:
    """What the score of another expression is multiplied by; `most` of both, above 0."""
    return ALTERNATIVE_WEIGHT * exact / other


def frequency(body: Mapping[str, int], term: str) -> int:
    """How often a body counts as holding a term; at most 255.

    A single character of a script that is read in pairs is counted by the pairs it
    begins; only where it begins none, by those it ends. (Its last place in a stretch is
    not counted beside others: pairs do not tell that.)

    Args:
        body: Terms and how often each occurs.
        term: A query's term.

    Example:
        >>> frequency({"東京": 2, "京都": 1}, "京"), frequency({"東京": 2}, "京")
        (1, 2)
    """
    count = body.get(term, 0)
    if is_single(term):
        pairs = [other for other in body if is_pair(other)]
        begun = sum(body[pair] for pair in pairs if pair[0] == term)
        count += begun or sum(body[pair] for pair in pairs if pair[1] == term)
    return min(count, BM25_MAX_FREQUENCY)


def norms(lengths: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """What length adds to a term's frequency below the fraction line."""
    return BM25_K1 * ((1 - BM25_B) + BM25_B * (lengths / mean))


def factor(weight: float, idf: float) -> float:
    """What the fraction of a term is multiplied by: the limit of its score."""
    return weight * idf * (BM25_K1 + 1)


def contributions(
    limit: float, frequencies: NDArray[np.integer], norm: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What one term adds to the score of each row.

    Args:
        limit: The term's `factor`.
        frequencies: How often each row holds it.
        norm: The row's `norms`; overwritten.
    """
    result = frequencies.astype(np.float64)
    norm += result
    result *= limit
    result /= norm
    return result


def top(scores: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Places of the `k` highest positive scores, and of all that equal the last.

    The k-th highest of the maxima of blocks is no higher than the k-th highest score, so
    only scores from there on are looked at: a partition of all scores, most of them 0,
    costs 200 times as much.

    Args:
        scores: Shape `(count,)`; what is not positive is no hit.
        k: At least 1.

    Returns:
        Places in ascending order.
    """
    whole = len(scores) // _BLOCK
    floor = 0.0
    if whole > k:
        maxima = scores[: whole * _BLOCK].reshape(whole, _BLOCK).max(axis=1)
        floor = float(np.partition(maxima, whole - k)[whole - k])
    places = np.flatnonzero(scores >= floor) if floor > 0 else np.flatnonzero(scores > 0)
    if len(places) > k:
        found = scores[places]
        last = np.partition(found, len(found) - k)[len(found) - k]
        places = places[found >= last]
    return places
