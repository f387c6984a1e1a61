"""How many sketches must be looked at, measured on the collection itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import (
    SKETCH_LEAST_DEPTH,
    SKETCH_MARGIN,
    SKETCH_RECALL,
    SKETCH_SAMPLE,
)
from langchain_ragstore.model import Matrix, Vector
from langchain_ragstore.vectors.codes import Codes
from langchain_ragstore.vectors.sketch import Words, distances, words

RANKS: Final = (10, 20, 50, 100)
"""Of a vector's so many nearest ones the sketches' ranks are measured: what searches ask
for by default, alone, for maximal marginal relevance and for hybrid search; and more."""

_AT_ONCE: Final = 1_024


@dataclass(frozen=True, slots=True)
class Depth:
    """How many candidates sketches must give.

    Attributes:
        rows: Vectors in the collection when it was measured.
        needed: For each of `RANKS`, in how many of the closest sketches all but
            1 − `config.SKETCH_RECALL` of so many nearest vectors were.
    """

    rows: int
    needed: tuple[int, ...]

    def candidates(self, k: int, rows: int, matching: int | None = None) -> int:
        """Candidates for the `k` nearest of all vectors, or of those that match a filter.

        What the next higher of the measured ranks needs, beyond the last in proportion.
        A collection that grew has as many more sketches before the same rank.

        Where one row in ten matches, the tenth of them is about the hundredth of all: so
        deep must sketches tell rows apart, and one in ten of those so near matches. Beyond
        the last measured rank nothing is known (a group of like rows may end there, and
        sketches hardly tell those behind it apart): then all that match are candidates,
        unless they are half of all or more.

        Args:
            k: At least 1.
            rows: In the collection.
            matching: How many of them the filter lets through; None for all.

        Example:
            ```python
            from langchain_ragstore.vectors.depth import Depth

            depth = Depth(100_000, (500, 600, 1_000, 2_000))
            assert depth.candidates(10, 100_000) == 1_000  # twice what was needed
            assert depth.candidates(11, 100_000) == 1_200
            assert depth.candidates(200, 150_000) == 12_000
            assert depth.candidates(10, 100_000, 10_000) == 400  # a tenth of rank 100's
            assert depth.candidates(10, 100_000, 9_000) == 9_000
            ```
        """
        found = rows if matching is None else matching
        rank = math.ceil(k * rows / max(1, found))
        if rank > max(2 * k, RANKS[-1]):
            return max(k, found)
        steps = zip(RANKS, self.needed, strict=True)
        beyond = self.needed[-1] * rank / RANKS[-1]
        needed = next((float(needed) for at, needed in steps if rank <= at), beyond)
        grown, share = max(1.0, rows / max(1, self.rows)), found / max(1, rows)
        wanted = math.ceil(SKETCH_MARGIN * grown * share * needed)
        return max(SKETCH_LEAST_DEPTH, k, wanted)


def measured(parts: Callable[[], Iterable[Codes]], count: int) -> tuple[Vector, Depth]:
    """Ask with vectors of the collection, and see where their neighbours' sketches rank.

    Reads everything twice and holds no more than the sketches, so that memory does not
    grow with the collection's codes.

    Args:
        parts: Gives the codes of all rows, in the same order each time.
        count: How many rows, at least 1.

    Returns:
        The rotated mean that sketches are to be compared with, and the depth they need.
    """
    sample = np.unique(np.linspace(0, count - 1, min(count, SKETCH_SAMPLE)).astype(np.intp))
    total: NDArray[np.float64] | float = 0.0
    asked: list[Matrix] = []
    for start, decoded in _decoded(parts()):
        total = total + decoded.sum(axis=0, dtype=np.float64)
        chosen = sample[(sample >= start) & (sample < start + len(decoded))]
        asked.append(decoded[chosen - start])
    mean = (np.asarray(total) / count).astype(np.float32)
    nearest, sketches = _nearest(parts, sample, np.concatenate(asked), mean, count)
    ranks = np.empty(nearest.shape, np.int64)
    for at, place in enumerate(sample):
        found = distances(sketches, tuple(word[place : place + 1] for word in sketches))
        # A row's rank is the number of rows that are no farther: ties come along.
        no_farther = np.cumsum(np.bincount(found, minlength=len(mean) + 1))
        ranks[at] = no_farther[found[nearest[at]]]
    needed = tuple(
        math.ceil(np.quantile(ranks[:, :rank], SKETCH_RECALL)) if ranks.size else 1
        for rank in RANKS
    )
    return mean, Depth(count, needed)


def _decoded(parts: Iterable[Codes]) -> Iterator[tuple[int, Matrix]]:
    """Rotated vectors, a few at a time, each time with the number of those before."""
    before = 0
    for part in parts:
        for start in range(0, len(part), _AT_ONCE):
            decoded = part.decoded(slice(start, start + _AT_ONCE))
            yield before, decoded
            before += len(decoded)


def _nearest(
    parts: Callable[[], Iterable[Codes]],
    sample: NDArray[np.intp],
    asked: Matrix,
    mean: Vector,
    count: int,
) -> tuple[NDArray[np.intp], Words]:
    """The rows nearest to each of some, nearest first, without itself; all sketches."""
    wanted = min(RANKS[-1], count - 1)
    places = np.empty((len(sample), 0), np.intp)
    scores = np.empty((len(sample), 0), np.float32)
    sketched: list[Words] = []
    for start, decoded in _decoded(parts()):
        sketched.append(words(decoded, mean))
        here = np.arange(start, start + len(decoded))
        found = asked @ decoded.T
        found[here == sample[:, np.newaxis]] = -np.inf
        scores = np.concatenate([scores, found], axis=1)
        places = np.concatenate([places, np.broadcast_to(here, found.shape)], axis=1)
        if scores.shape[1] > wanted:
            kept = np.argpartition(-scores, wanted - 1, axis=1)[:, :wanted]
            scores = np.take_along_axis(scores, kept, axis=1)
            places = np.take_along_axis(places, kept, axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.take_along_axis(places, order, axis=1)[:, :wanted]
    return places, tuple(np.concatenate(word) for word in zip(*sketched, strict=True))
