"""Whether one retriever is better than another, or was lucky with the queries."""

from __future__ import annotations

import math
from dataclasses import dataclass

from typing_extensions import override

from langchain_ragstore.config import DEFAULT_RESAMPLES, INTERVAL
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.evaluation.judgements import positive
from langchain_ragstore.evaluation.metrics import paired_bootstrap
from langchain_ragstore.evaluation.results import Evaluation, QueryResult


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """By how much one evaluation is better than another, and how sure that is.

    Attributes:
        metric: What is compared.
        first: Its mean in the first evaluation.
        second: Its mean in the second.
        difference: first − second; above 0 the first is better.
        low: The lower end of the interval of the difference, at 95 %.
        high: Its upper end.
        better: In how many queries the first is better.
        worse: In how many it is worse.
        queries: How many there are.
        resamples: Bootstrap samples behind the interval.
    """

    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    better: int
    worse: int
    queries: int
    resamples: int

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    @override
    def __str__(self) -> str:
        return (
            f"{self.metric}: {self.first:.3f} - {self.second:.3f} = "
            f"{self.difference:+.3f}, {INTERVAL:.0%} interval {self.low:+.3f} to "
            f"{self.high:+.3f}; better in {self.better}, worse in {self.worse} of "
            f"{self.queries} queries"
        )

    __repr__ = __str__


def compare(
    a: Evaluation,
    b: Evaluation,
    *,
    metric: str = "ndcg@10",
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Tell whether two evaluations of the same queries differ by more than chance.

    The queries are resampled with replacement, each with both its figures, and the middle
    95 % of the mean differences are the interval (paired bootstrap; Efron and Tibshirani
    1993; Sakai, SIGIR 2006). With few queries, some ten or less, it is too narrow.

    Args:
        a: The evaluation whose gain over the other is wanted.
        b: The other.
        metric: One of `Evaluation.mean`.
        resamples: How many samples.
        seed: The same gives the same interval.

    Returns:
        The difference a − b with its interval.

    Raises:
        InvalidInputError: They were not asked the same queries with the same judgements,
            there is but one query, or no such metric.

    Example:
        ```python
        from langchain_core.documents import Document

        from langchain_ragstore.evaluation import compare, evaluate

        page = Document("text", id="a")
        queries = {"first": "a", "second": "a", "third": "b"}
        good = evaluate(lambda text: [page], queries)
        none = evaluate(lambda text: [], queries)
        gain = compare(good, none, metric="mrr")
        assert (gain.difference, gain.better, gain.queries) == (2 / 3, 2, 3)
        assert not gain.certain  # three queries prove little
        ```
    """
    for name, value in (("a", a), ("b", b)):
        if not isinstance(value, Evaluation):
            raise InvalidInputError(f"{name} must be an Evaluation, got {value!r}")
    shared = [name for name in a.per_query[0].metrics if name in b.per_query[0].metrics]
    if metric not in shared:
        raise InvalidInputError(
            f"metric {metric!r} is not in both evaluations; what is: {', '.join(shared)}"
        )
    positive("resamples", resamples)
    if type(seed) is not int or seed < 0:
        raise InvalidInputError(f"seed must be an int of at least 0, got {seed!r}")
    pairs = _paired(a, b)
    values = [(one.metrics[metric], other.metrics[metric]) for one, other in pairs]
    gains = [one - other for one, other in values]
    low, high = paired_bootstrap(gains, resamples, seed, INTERVAL)
    return Comparison(
        metric=metric,
        first=a.mean[metric],
        second=b.mean[metric],
        difference=math.fsum(gains) / len(gains),
        low=low,
        high=high,
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
        queries=len(gains),
        resamples=resamples,
    )


def _paired(a: Evaluation, b: Evaluation) -> list[tuple[QueryResult, QueryResult]]:
    first, second = ({result.id: result for result in each.per_query} for each in (a, b))
    alone = [id for id in (*first, *second) if (id in first) != (id in second)]
    if alone:
        raise InvalidInputError(
            f"both evaluations must have the same queries; {len(alone)} are in one alone, "
            f"such as {alone[0]!r}"
        )
    for id, result in first.items():
        if (result.text, result.relevant) != (second[id].text, second[id].relevant):
            raise InvalidInputError(
                f"both evaluations must have the same queries; of {id!r}, text or "
                "relevant ids differ"
            )
    if len(first) < 2:  # noqa: PLR2004
        raise InvalidInputError("two queries or more are needed, got one")
    return [(result, second[id]) for id, result in first.items()]
