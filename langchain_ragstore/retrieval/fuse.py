"""Fusion: one ranking out of a dense and a lexical one.

Both functions here take the same thing, each leg's hits by the leg's name, and give hits
whose `score` is in [0, 1] and is the weighted mean of the legs' parts, which the hits
keep as signals: `score = Σ weight · part / Σ weight`, with the part of a leg under
`"<leg>_part"`. A leg that was not asked (no word in the query, no vector) is None: it
drops out, and the others' weights count as if it did not exist. A leg that was asked and
found nothing is an empty list.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Final, TypeAlias

from langchain_ragstore.config import (
    DEFAULT_FUSION_WEIGHTS,
    DEFAULT_RRF_K,
    LEAST_SPREAD,
    SCORE_SLACK,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Hit, ranked

Legs: TypeAlias = Mapping[str, Sequence[Hit] | None]
"""Each leg's hits, best first; None for a leg that was not asked."""

SIGNALS: Final[Mapping[str, str]] = {"dense": "dense", "text": "lexical"}
"""The signal that holds a leg's score: a cosine, and BM25."""


def rrf(
    lists: Legs, *, weights: Mapping[str, float] | None = None, k: float = DEFAULT_RRF_K
) -> list[Hit]:
    """Reciprocal rank fusion: what stands high in several lists stands high.

    Source: Cormack, Clarke and Büttcher, Reciprocal Rank Fusion Outperforms Condorcet
    and Individual Rank Learning Methods, SIGIR 2009: the sum of weight/(k + rank) over
    the lists that hold the document, ranks from 1. It is divided here by its largest
    possible value, Σ weight/(k + 1), which changes no order: 1 is for what comes first
    in every list. A list's part is thus (k + 1)/(k + rank).

    Args:
        lists: Hits by leg, best first; any legs. Their scores are not read. A document
            that is listed twice counts once, where it comes first.
        weights: One for each leg; None for equal ones. Only their ratios matter. If
            all legs that were asked weigh 0, they weigh the same.
        k: At least 0. The larger, the less the first ranks stand out.

    Returns:
        Every listed document once, ranked. Signals: those of all legs, and of each leg
        that holds the document `"<leg>_rank"` and `"<leg>_part"`.

    Raises:
        InvalidInputError: A weight or `k` that is none, or a signal that is not finite.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.fuse import rrf

        a, b = (Hit(Record(id, "text", {}), 0.5) for id in "ab")
        first, second = rrf({"dense": [a, b], "text": [b]})
        assert (first.record.id, second.record.id) == ("b", "a")
        assert second.score == 0.5  # first in one of two lists
        assert first.score == (61 / 62 + 1) / 2
        ```
    """
    k = _number("k", k, 0, math.inf)
    shares = _shares(lists, lists, weights)
    ranks = {
        leg: {id: rank for rank, id in enumerate(_ids(lists[leg] or ()), start=1)}
        for leg in shares
    }
    fused = []
    for id, hit in _union(lists).items():
        own = {leg: places[id] for leg, places in ranks.items() if id in places}
        parts = {leg: (k + 1) / (k + rank) for leg, rank in own.items()}
        signals = {f"{leg}_rank": float(rank) for leg, rank in own.items()}
        fused.append(_fused(hit, shares, parts, signals))
    return ranked(fused)


def weighted(
    lists: Legs,
    *,
    top_bm25: float | None = None,
    mean_cosine: float | None = None,
    filled: Mapping[str, Mapping[str, float]] | None = None,
    weights: Mapping[str, float] = DEFAULT_FUSION_WEIGHTS,
) -> list[Hit]:
    """The weighted mean of two scores, each on a scale that the query alone sets.

    * text: BM25 / the highest BM25 that any document could reach for the query,
      (k1 + 1)·Σ qtf·idf.
    * dense: max(0, (cos − m)/(1 − m)) with m the query's mean cosine, q·c for c the mean
      of the collection's unit vectors. A document that is no closer to the query than
      the average has a part of 0. Where 1 − m is next to nothing (all documents point
      where the query points) there is nothing to scale by, and the part is max(0, cos).

    Neither scale depends on which candidates were fetched, so that fetching more of them
    changes no score. The usual choices were measured and lost: min-max scaling over the
    candidates, narrowly, and reciprocal rank fusion (see `DEFAULT_FUSION_WEIGHTS`).

    Args:
        lists: Hits of `"dense"` (with the cosine as signal `"dense"`) and of `"text"`
            (with BM25 as signal `"lexical"`); their scores and order are not read.
        top_bm25: The highest BM25 that is possible; needed if `"text"` was asked.
        mean_cosine: m; needed if `"dense"` was asked.
        filled: The scores that hits lack, by leg and id; `missing` tells which. What a
            hit has is not replaced.
        weights: Of both legs; only their ratio matters. The weight of the only leg that
            was asked is 1, whatever it is here.

    Returns:
        Every candidate once, ranked. Signals: those of both legs, the filled ones, and
        `"dense_part"` and `"text_part"` of the legs that were asked.

    Raises:
        InvalidInputError: A leg or weight that is none; a score or scale that is missing
            or out of its range; names it.

    Example:
        ```python
        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.fuse import missing, weighted

        tea, cup = Record("tea", "green tea", {}), Record("cup", "a cup", {})
        lists = {
            "dense": [Hit(tea, 0.8, {"dense": 0.8}), Hit(cup, 0.6, {"dense": 0.6})],
            "text": [Hit(tea, 3.0, {"lexical": 3.0})],
        }
        assert missing(lists) == {"dense": [], "text": ["cup"]}
        best, _ = weighted(
            lists, top_bm25=6.0, mean_cosine=0.6, filled={"text": {"cup": 0.0}}
        )
        # .65 · 3/6 + .35 · (.8 − .6)/(1 − .6)
        assert best.record.id == "tea"
        assert abs(best.score - 0.5) < 1e-12
        ```
    """
    _check_legs("lists", lists)
    _check_legs("filled", filled or {})
    shares = _shares(SIGNALS, lists, weights)
    union = _union(lists)
    lacking = _missing(union, lists, filled or {})
    if any(lacking.values()):
        raise InvalidInputError(
            f"scores are missing: {lacking}; give them as filled={{leg: {{id: score}}}}"
        )
    scales = {}
    if "text" in shares:
        scales["text"] = _number("top_bm25", top_bm25, 0, math.inf)
        if not scales["text"]:
            raise InvalidInputError(
                "top_bm25 is 0, so no word of the query can match; pass None as the "
                "hits of 'text', since it was not asked"
            )
    if "dense" in shares:
        scales["dense"] = _number("mean_cosine", mean_cosine, -1, 1)
    fused = []
    for id, hit in union.items():
        signals = {
            SIGNALS[leg]: _score(leg, id, hit, (filled or {}).get(leg, {}))
            for leg in shares
        }
        parts = {leg: _part(leg, id, signals[SIGNALS[leg]], scales[leg]) for leg in shares}
        fused.append(_fused(hit, shares, parts, signals))
    return ranked(fused)


def missing(
    lists: Legs, filled: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, list[str]]:
    """Which candidates lack which leg's score, for the caller to fetch before `weighted`.

    A document that only one leg found has a score by the other, too; to count it as 0
    was measured to cost up to .005 of nDCG@10.

    Args:
        lists: As for `weighted`.
        filled: Scores that are known already.

    Returns:
        Of each leg that was asked, the ids without its score, sorted.

    Raises:
        InvalidInputError: A leg that is not `"dense"` or `"text"`.
    """
    _check_legs("lists", lists)
    return _missing(_union(lists), lists, filled or {})


def _missing(
    union: Mapping[str, Hit], lists: Legs, filled: Mapping[str, Mapping[str, float]]
) -> dict[str, list[str]]:
    return {
        leg: sorted(
            id
            for id, hit in union.items()
            if signal not in hit.signals and id not in filled.get(leg, {})
        )
        for leg, signal in SIGNALS.items()
        if lists.get(leg) is not None
    }


def _check_legs(name: str, given: Iterable[str]) -> None:
    strange = [leg for leg in given if leg not in SIGNALS]
    if strange:
        raise InvalidInputError(
            f"{name}: unknown leg {strange[0]!r}; the legs are {', '.join(SIGNALS)}"
        )


def _ids(hits: Iterable[Hit]) -> list[str]:
    return list(dict.fromkeys(hit.record.id for hit in hits))


def _union(lists: Legs) -> dict[str, Hit]:
    """Every document once, with the signals of all legs.

    Legs are read in the order of their names, so that the order in which they were given
    decides nothing: not which of two values of one signal is kept, nor which record. A
    record with a vector is preferred, since later stages read it.
    """
    union: dict[str, Hit] = {}
    for leg in sorted(lists):
        for hit in lists[leg] or ():
            id = hit.record.id
            for name, value in hit.signals.items():
                if not _is_plain(value):
                    _number(f"signal {name!r} of {id!r}", value, -math.inf, math.inf)
            known = union.setdefault(id, hit)
            record = known.record if known.record.vector is not None else hit.record
            union[id] = Hit(record, 0.0, {**hit.signals, **known.signals})
    return union


def _shares(
    known: Collection[str], lists: Legs, weights: Mapping[str, float] | None
) -> dict[str, float]:
    """The weight of each leg that was asked, relative to the largest, which is 1.

    Relative, so that no sum overflows and no product of a tiny weight vanishes.
    """
    if weights is None:
        weights = dict.fromkeys(known, 1.0)
    if not isinstance(weights, Mapping):
        raise InvalidInputError(f"weights must be a mapping of legs, got {weights!r}")
    strange = [leg for leg in weights if leg not in known]
    lacking = [leg for leg in known if leg not in weights]
    if strange or lacking:
        problem = f"unknown leg {strange[0]!r}" if strange else f"none for {lacking[0]!r}"
        raise InvalidInputError(
            f"weights {dict(weights)!r}: {problem}; the legs are {', '.join(sorted(known))}"
        )
    checked = {
        leg: _number(f"the weight of {leg!r}", weights[leg], 0, math.inf) for leg in known
    }
    if checked and not any(checked.values()):
        raise InvalidInputError(f"weights {dict(weights)!r}: at least one must be above 0")
    asked = [leg for leg in sorted(known) if lists.get(leg) is not None]
    largest = max((checked[leg] for leg in asked), default=0.0)
    return {leg: checked[leg] / largest if largest else 1.0 for leg in asked}


def _fused(
    hit: Hit,
    shares: Mapping[str, float],
    parts: Mapping[str, float],
    signals: Mapping[str, float],
) -> Hit:
    # Both sums run over the same legs in the same order: parts of at most 1 make a score
    # of at most 1, to the last bit.
    total = sum(shares.values())
    score = sum(share * parts.get(leg, 0.0) for leg, share in shares.items()) / total
    named = {f"{leg}_part": part for leg, part in parts.items()}
    return Hit(hit.record, score, {**hit.signals, **signals, **named})


def _score(leg: str, id: str, hit: Hit, filled: Mapping[str, float]) -> float:
    signal = SIGNALS[leg]
    value = hit.signals[signal] if signal in hit.signals else filled[id]
    if _is_plain(value):
        return value
    return _number(f"the {signal} score of {id!r}", value, -math.inf, math.inf)


def _part(leg: str, id: str, score: float, scale: float) -> float:
    """A score on its leg's scale from 0 to 1."""
    if leg == "text":
        top = score / scale
        if not 0 <= top <= 1 + SCORE_SLACK:
            _number(f"BM25/top_bm25 of {id!r}", top, 0, 1 + SCORE_SLACK)
        return min(1.0, top)
    if not -1 - SCORE_SLACK <= score <= 1 + SCORE_SLACK:
        _number(f"the cosine of {id!r}", score, -1 - SCORE_SLACK, 1 + SCORE_SLACK)
    spread = 1 - scale
    if spread <= LEAST_SPREAD:
        return min(1.0, max(0.0, score))
    return min(1.0, max(0.0, (score - scale) / spread))


def _is_plain(value: object) -> bool:
    """Whether a value is what nearly all are: to check the rest takes ten times as long."""
    return type(value) is float and math.isfinite(value)


def _number(name: str, value: object, low: float, high: float) -> float:
    """`value` as a finite float between two bounds.

    Raises:
        InvalidInputError: It is none; names it and the bounds.
    """
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an int that no float holds
            number = math.inf
    if not (math.isfinite(number) and low <= number <= high):
        bounds = [f"at least {low:g}"] * (low > -math.inf)
        bounds += [f"at most {high:g}"] * (high < math.inf)
        wanted = ", ".join(["finite", *bounds])
        raise InvalidInputError(f"{name} must be a number, {wanted}; got {value!r}")
    return number
