"""Topics: which hits belong together, and what to call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import LEAST_SILHOUETTE, MAX_TOPICS, TOPIC_ROUNDS
from langchain_ragstore.model import Hit, Matrix
from langchain_ragstore.retrieval.hit_vectors import Embed, hit_matrix
from langchain_ragstore.retrieval.labels import labels
from langchain_ragstore.retrieval.question import Question, Shelf

Places: TypeAlias = NDArray[np.intp]
"""The cluster of each point, shape `(count,)`."""

Figures: TypeAlias = NDArray[np.floating[Any]]

SIGNAL = "topic"
"""Signal (the number, from 1) and note (the label) of a hit's topic."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tells each hit its topic; order and scores stay.

    Source: the seed's semantic buckets. The hits' vectors are clustered by spherical
    k-means (Dhillon and Modha, Concept Decompositions for Large Sparse Text Data, 2001),
    begun as k-means++ does; of 2 to `most` clusters it takes the number with the highest
    mean silhouette (Rousseeuw, Silhouettes, 1987), and one if none reaches
    `config.LEAST_SILHOUETTE`. Topics are numbered by their best hit. Hits in another
    order are of the same topics, under the same labels.

    Attributes:
        most: How many topics there are at most.
        seed: Of the random numbers.
        embed: Makes vectors for hits without; None if they all have one.

    Example:
        ```python
        import numpy as np

        from langchain_ragstore.model import Hit, Record
        from langchain_ragstore.retrieval.buckets import Bucket

        texts = {"green tea": 0, "white tea": 0, "steel pipe": 1, "iron pipe": 1}
        hits = [
            Hit(Record(text, text, {}, np.eye(2, dtype=np.float32)[axis]), 1.0)
            for text, axis in texts.items()
        ]
        found = [dict(hit.notes)["topic"] for hit in Bucket().bucketed(hits)]
        assert found == ["tea", "tea", "pipe", "pipe"]
        ```
    """

    most: int = MAX_TOPICS
    seed: int = 0
    embed: Embed | None = field(default=None, repr=False)
    vectors: ClassVar[bool] = True
    wants: ClassVar[int] = 0

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """See `bucketed`."""
        return self.bucketed(hits)

    def bucketed(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits with their topics.

        Raises:
            InvalidInputError: A hit has no vector, and none can be made.
        """
        if not hits:
            return []
        matrix = hit_matrix(hits, self.embed, "sorting into topics")
        order = sorted(range(len(hits)), key=lambda at: hits[at].record.id)
        places = np.empty(len(hits), np.intp)
        places[order] = clusters(matrix[order], self.most, self.seed)
        number = {place: at for at, place in enumerate(dict.fromkeys(places.tolist()))}
        groups: list[list[str]] = [[] for _ in number]
        for at in order:
            groups[number[int(places[at])]].append(_read(hits[at]))
        named = labels(groups)
        found = []
        for place, hit in zip(places.tolist(), hits, strict=True):
            at = number[place]
            signals = {**hit.signals, SIGNAL: at + 1.0}
            found.append(replace(hit, signals=signals, notes=hit.noted(SIGNAL, named[at])))
        return found


def _read(hit: Hit) -> str:
    title = hit.record.metadata.get("title")
    return (
        f"{title}\n{hit.record.content}" if isinstance(title, str) else hit.record.content
    )


def clusters(points: Matrix, most: int, seed: int) -> Places:
    """The clusters of unit vectors; how many there are the silhouettes decide."""
    rng = np.random.default_rng(seed)
    count = len(np.unique(points, axis=0))
    wide = points.astype(np.float64)
    apart = 1.0 - np.clip(wide @ wide.T, -1.0, 1.0)
    best, chosen = LEAST_SILHOUETTE, np.zeros(len(points), np.intp)
    for k in range(2, min(most, count) + 1):
        places = _spherical(wide, k, rng)
        found = silhouette(apart, places)
        if found > best:
            best, chosen = found, places
    return chosen


def _spherical(points: NDArray[np.float64], k: int, rng: np.random.Generator) -> Places:
    """Spherical k-means: each point with the centre that it has the highest cosine to."""
    centres = points[_begun(points, k, rng)]
    places = np.full(len(points), -1, np.intp)
    for _ in range(TOPIC_ROUNDS):
        likeness = points @ centres.T
        nearest = np.argmax(likeness, axis=1)
        if np.array_equal(nearest, places):
            break
        places = nearest
        for at in range(k):
            own = points[places == at]
            total = (
                own.sum(axis=0)
                if len(own)
                else points[int(np.argmin(likeness.max(axis=1)))]
            )
            length = float(np.sqrt(total @ total))
            centres[at] = total / length if length else total
    return places


def _begun(points: NDArray[np.float64], k: int, rng: np.random.Generator) -> list[int]:
    """The first centres: each far from the others with the odds of k-means++.

    Source: Arthur and Vassilvitskii, k-means++: The Advantages of Careful Seeding, 2007.
    """
    chosen = [int(rng.integers(len(points)))]
    while len(chosen) < k:
        apart = np.clip(1.0 - (points @ points[chosen].T).max(axis=1), 0.0, None)
        apart[chosen] = 0.0
        total = float(apart.sum())
        odds = apart / total if total > 0 else None
        chosen.append(int(rng.choice(len(points), p=odds)))
    return chosen


def silhouette(apart: Figures, places: Places) -> float:
    """The mean silhouette of a clustering, in [-1, 1]; a cluster of one point has 0.

    Args:
        apart: How far the points are from each other, shape `(count, count)`.
        places: The cluster of each point.
    """
    names = np.unique(places)
    if len(names) <= 1:
        return 0.0
    members = places[None, :] == names[:, None]
    sums = apart @ members.T
    sizes = members.sum(axis=1)
    own = np.searchsorted(names, places)
    at = np.arange(len(places))
    inside = sums[at, own] / np.maximum(1, sizes[own] - 1)
    means = sums / sizes
    means[at, own] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    safe = np.where(larger > 0, larger, 1.0)
    return float(np.where(sizes[own] > 1, (outside - inside) / safe, 0.0).mean())
