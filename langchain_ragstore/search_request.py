"""What is asked of a search, checked before anything is embedded or read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

from langchain_ragstore.config import DEFAULT_HYBRID_CANDIDATES, DEFAULT_RRF_K
from langchain_ragstore.documents import to_count
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import Filter
from langchain_ragstore.retrieval.fuse import SIGNALS
from langchain_ragstore.retrieval.hybrid import Fusion

SEARCH_KEYWORDS: Final = ("k", "filter", "score_threshold", "with_scores")
MMR_KEYWORDS: Final = ("k", "fetch_k", "lambda_mult", "filter", "score_threshold")
FUSION_KEYWORDS: Final = ("fusion", "weights", "rrf_k", "fetch_k")
FUSIONS: Final = ("weighted", "rrf")


@dataclass(frozen=True, slots=True)
class Search:
    """One search.

    Attributes:
        k: How many.
        where: Of which records.
        threshold: How relevant at least; None for any.
        marked: Whether results carry their scores in the metadata.
    """

    k: int
    where: Filter
    threshold: float | None
    marked: bool = False


def to_threshold(value: Any) -> float | None:
    """A `score_threshold`.

    Raises:
        InvalidInputError: It is no number.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise InvalidInputError(f"score_threshold must be a number, got {value!r}")
    return float(value)


def to_fusion(keywords: Mapping[str, Any]) -> Fusion:
    """The keywords `fusion`, `weights`, `rrf_k` and `fetch_k` of a hybrid search.

    Raises:
        InvalidInputError: One of them is none.
    """
    method = keywords.get("fusion", "weighted")
    if method not in FUSIONS:
        raise InvalidInputError(f"fusion is one of {', '.join(FUSIONS)}, got {method!r}")
    weights = keywords.get("weights")
    if weights is not None:
        weights = _weights(weights)
    rrf_k = _at_least_0("rrf_k", keywords.get("rrf_k", DEFAULT_RRF_K))
    depth = to_count("fetch_k", keywords.get("fetch_k", DEFAULT_HYBRID_CANDIDATES))
    return Fusion(method, weights, rrf_k, depth)


def _at_least_0(name: str, value: Any) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value < math.inf:
        raise InvalidInputError(f"{name} must be a number of at least 0, got {value!r}")
    return float(value)


def _weights(weights: Any) -> dict[str, float]:
    if not isinstance(weights, Mapping) or set(weights) != set(SIGNALS):
        raise InvalidInputError(
            f"weights must be {{'dense': number, 'text': number}}, got {weights!r}"
        )
    checked = {
        leg: _at_least_0(f"the weight of {leg!r}", weight)
        for leg, weight in weights.items()
    }
    if not any(checked.values()):
        raise InvalidInputError(f"one of the weights must be above 0, got {weights!r}")
    return checked
