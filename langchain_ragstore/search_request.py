"""What is asked of a search, checked before anything is embedded or read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

from langchain_ragstore.config import (
    DEFAULT_FETCH_K,
    DEFAULT_HYBRID_CANDIDATES,
    DEFAULT_K,
    DEFAULT_LAMBDA_MULT,
    DEFAULT_RRF_K,
    FUSION_HITS_READ,
    GROUP_CANDIDATES,
    MAX_WINDOW,
)
from langchain_ragstore.documents import FilterLike, to_count, to_filter
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import Filter
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.numeric import number
from langchain_ragstore.retrieval.cut import Threshold, Top
from langchain_ragstore.retrieval.diversify import Diversify
from langchain_ragstore.retrieval.fuse import SIGNALS
from langchain_ragstore.retrieval.group import Group
from langchain_ragstore.retrieval.hybrid import (
    Fusion,
    ReciprocalRank,
    Weighted,
    WeightedByQuery,
)
from langchain_ragstore.retrieval.neighbours import Neighbours
from langchain_ragstore.retrieval.plan import Plan
from langchain_ragstore.retrieval.question import Stage
from langchain_ragstore.retrieval.sources import Dense, Lexical, Source
from langchain_ragstore.stage_request import STAGE_KEYWORDS, to_chosen

COMMON: Final = (
    *("k", "filter", "score_threshold", "with_scores"),
    *("window", "group_by", "per_group"),
    *STAGE_KEYWORDS,
)
"""Keywords of every search; with a stage that chooses, `fetch_k` is one more."""

_DENSE: Final = (*COMMON, "exact")
_MMR: Final = (*_DENSE, "fetch_k", "lambda_mult")
_HYBRID: Final = (*_DENSE, "fusion", "weights", "rrf_k", "fetch_k", "lambda_mult")

KINDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "similarity": ("similarity_search", _DENSE),
    "similarity_score_threshold": ("similarity_search", _DENSE),
    "mmr": ("max_marginal_relevance_search", _MMR),
    "text": ("text_search", COMMON),
    "hybrid": ("hybrid_search", _HYBRID),
}
"""Of each `search_type`, the method that does it and its keywords."""

SEARCH_KEYWORDS: Final = tuple(dict.fromkeys([*_MMR, *_HYBRID]))
"""The keywords of all searches."""

FUSIONS: Final = ("weighted", "rrf")


@dataclass(frozen=True, slots=True)
class Search:
    """One search.

    Attributes:
        plan: How it is done.
        where: Of which records.
        marked: Whether results carry their scores in the metadata.
        reads_meaning: Whether a stage compares with the query's vector.
    """

    plan: Plan
    where: Filter
    marked: bool = False
    reads_meaning: bool = False

    @property
    def embeds(self) -> bool:
        """Whether the query is embedded: for a source, or to rerank by meaning."""
        by_meaning = any(isinstance(source, Dense) for source in self.plan.sources)
        return by_meaning or self.reads_meaning


def known_kind(search_type: str) -> str:
    """A `search_type`.

    Raises:
        InvalidInputError: There is no such search.
    """
    if search_type not in KINDS:
        raise InvalidInputError(
            f"search_type is one of {', '.join(KINDS)}, got {search_type!r}"
        )
    return search_type


def to_search(search_type: str, keywords: Mapping[str, Any]) -> Search:
    """A search from the keywords of a call.

    Args:
        search_type: One of `KINDS`.
        keywords: Those of that search; absent ones have their defaults.

    Raises:
        InvalidInputError: A value that is none.
        FilterError: The filter does not parse.
        TypeError: A keyword that this search does not read.
    """
    function, known = KINDS[known_kind(search_type)]
    chosen = to_chosen(keywords)
    if "fetch_k" not in known and chosen.anything:
        known = (*known, "fetch_k")  # there are candidates to choose from
    refuse_unknown(function, {key: None for key in keywords if key not in known}, known)
    k = to_count("k", keywords.get("k", DEFAULT_K))
    exact = _flag("exact", keywords.get("exact", False))
    group = _group(keywords, 0 if chosen.reranker is not None else k)
    stages = [
        *chosen.scoring(k),
        *_threshold(keywords),
        *chosen.choosing(k),
        *group,
    ]
    sources: tuple[Source, ...]
    fuse: Fusion | None = None
    if search_type == "hybrid":
        depth = _fetch_k(keywords, k, DEFAULT_HYBRID_CANDIDATES)
        fuse = to_fusion(keywords)
        read = FUSION_HITS_READ if depth and isinstance(fuse, WeightedByQuery) else 0
        sources = Dense(max(depth, read), exact), Lexical(depth)
        balance = keywords.get("lambda_mult")
        stages.append(Top(k) if balance is None else _diversify(k, balance))
    elif search_type == "mmr":
        sources = (Dense(_fetch_k(keywords, k, DEFAULT_FETCH_K), exact),)
        stages.append(_diversify(k, keywords.get("lambda_mult", DEFAULT_LAMBDA_MULT)))
    else:
        depth = GROUP_CANDIDATES * k if group else k
        if chosen.anything:
            depth = max(depth, _fetch_k(keywords, k, chosen.config.candidates))
        sources = (Lexical(depth) if search_type == "text" else Dense(depth, exact),)
        stages += [Top(k)] if group or chosen.anything else []
    plan = Plan(sources, fuse, (*stages, *chosen.telling(), *_neighbours(keywords)))
    return Search(
        plan,
        to_filter(_filter(keywords)),
        marked=bool(keywords.get("with_scores", False)),
        reads_meaning=chosen.config.rerank,
    )


def _filter(keywords: Mapping[str, Any]) -> FilterLike:
    filter: FilterLike = keywords.get("filter")
    return filter


def _fetch_k(keywords: Mapping[str, Any], k: int, default: int) -> int:
    """Candidates: at least as many as are wanted, and none if none are."""
    wanted = to_count("fetch_k", keywords.get("fetch_k", default))
    return max(k, wanted) if k > 0 else 0


def _threshold(keywords: Mapping[str, Any]) -> list[Stage]:
    value = keywords.get("score_threshold")
    if value is None:
        return []
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise InvalidInputError(f"score_threshold must be a number, got {value!r}")
    try:
        return [Threshold(float(value))]
    except OverflowError:  # an int that no float holds
        raise InvalidInputError(
            f"score_threshold must be a number, got {value!r:.80}"
        ) from None


def _group(keywords: Mapping[str, Any], wants: int) -> list[Stage]:
    key, per_group = keywords.get("group_by"), keywords.get("per_group")
    if key is None:
        if per_group is not None:
            raise InvalidInputError(
                f"per_group={per_group!r} needs group_by, a metadata key whose values "
                "make the groups"
            )
        return []
    path = (key,) if isinstance(key, str) else key
    strings = isinstance(path, tuple) and all(isinstance(part, str) for part in path)
    if not strings or not path or key == "":
        raise InvalidInputError(
            f"group_by is a metadata key, or a tuple of keys for a nested one, got {key!r}"
        )
    if isinstance(key, str) and key.startswith("$"):
        raise InvalidInputError(
            f"group_by takes metadata keys, got {key!r}; a key that begins with $ is "
            f"written as a tuple: ({key!r},)"
        )
    number = 1 if per_group is None else _whole("per_group", per_group)
    if number < 1:
        raise InvalidInputError(f"per_group must be at least 1, got {per_group!r}")
    return [Group(path, number, wants=wants)]


def _neighbours(keywords: Mapping[str, Any]) -> list[Stage]:
    window = keywords.get("window")
    if window is None:
        return []
    number = _whole("window", window)
    if not 0 <= number <= MAX_WINDOW:
        raise InvalidInputError(
            f"window is a number of chunks from 0 to {MAX_WINDOW}, got {window!r}; get("
            "filter={'source_id': ...}, order_by='chunk_index') reads a whole source"
        )
    return [Neighbours(number)] if number else []


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be True or False, got {value!r:.80}")
    return value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool):
        raise InvalidInputError(f"{name} must be an integer, got {value!r} (bool)")
    return to_count(name, value)


def _diversify(k: int, lambda_mult: Any) -> Stage:
    number = isinstance(lambda_mult, Real) and not isinstance(lambda_mult, bool)
    if not number or not 0 <= lambda_mult <= 1:
        raise InvalidInputError(f"lambda_mult must be in [0, 1], got {lambda_mult!r}")
    return Diversify(k, float(lambda_mult))


def to_fusion(keywords: Mapping[str, Any]) -> Fusion:
    """The keywords `fusion`, `weights` and `rrf_k` of a hybrid search.

    Raises:
        InvalidInputError: One of them is none.
    """
    method = keywords.get("fusion", "weighted")
    if method not in FUSIONS:
        raise InvalidInputError(f"fusion is one of {', '.join(FUSIONS)}, got {method!r}")
    given = keywords.get("weights")
    weights = {} if given is None else _weights(given)
    if method == "rrf":
        rrf_k = number("rrf_k", keywords.get("rrf_k", DEFAULT_RRF_K), 0)
        return ReciprocalRank(rrf_k, **weights)
    if "rrf_k" in keywords:
        raise InvalidInputError(
            f"rrf_k={keywords['rrf_k']!r} is read with fusion='rrf' alone, got {method!r}"
        )
    return Weighted(**weights) if weights else WeightedByQuery()


def _weights(weights: Any) -> dict[str, float]:
    if not isinstance(weights, Mapping) or set(weights) != set(SIGNALS):
        raise InvalidInputError(
            f"weights must be {{'dense': number, 'text': number}}, got {weights!r}"
        )
    checked = {
        leg: number(f"the weight of {leg!r}", weight, 0) for leg, weight in weights.items()
    }
    if not any(checked.values()):
        raise InvalidInputError(f"one of the weights must be above 0, got {weights!r}")
    return checked
