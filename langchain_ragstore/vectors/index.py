"""Which few vectors are worth being compared exactly, found by sketches and codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import CODE_ERRORS, SKETCH_WORTH
from langchain_ragstore.model import Vector
from langchain_ragstore.vectors import sketch
from langchain_ragstore.vectors.arrays import best
from langchain_ragstore.vectors.codes import Codes, bound, spread
from langchain_ragstore.vectors.depth import Depth
from langchain_ragstore.vectors.rotation import rotation

Places: TypeAlias = NDArray[np.intp]

Strategy: TypeAlias = Literal["all", "codes", "sketches", "rows"]
"""What a search compared first: whole vectors of all rows in memory, the codes of all
rows, sketches, or whole vectors of all rows as the file has them."""


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Sketches and codes of the same rows.

    Attributes:
        sketches: One bit a dimension.
        codes: One byte a dimension; None if memory is short.
        mean: Rotated, shape `(dimension,)`; see `sketch.words`.
        depth: How many candidates sketches must give.
    """

    sketches: sketch.Words
    codes: Codes | None
    mean: Vector
    depth: Depth

    def survivors(
        self,
        query: Vector,
        k: int,
        among: NDArray[np.bool_],
        *,
        present: int | None = None,
        exact: bool = False,
    ) -> tuple[Places, Strategy]:
        """Rows of which the `k` nearest are to be chosen by their whole vectors.

        Args:
            query: Unit length, not rotated.
            k: At least 1.
            among: Which rows may be found, shape `(rows,)`.
            present: Of how many that is a part; None for all rows.
            exact: Whether none of the nearest may be missed; needs codes.

        Returns:
            Places, ascending, with all that tie; and how they were found.
        """
        turned = rotation(len(query))(query[np.newaxis])
        count = int(np.count_nonzero(among))
        rows = len(among) if present is None else present
        wanted = self.depth.candidates(k, rows, count)
        whole = count == len(among)
        if exact or SKETCH_WORTH * wanted >= count:
            strategy: Strategy = "codes"
            places = None if whole else np.flatnonzero(among)
        else:
            strategy = "sketches"
            asked = sketch.words(turned, self.mean)
            found = sketch.distances(self.sketches, asked)
            places = sketch.closest(found, wanted, None if whole else among)
        if self.codes is None:
            return (np.arange(count) if places is None else places), strategy
        kept = _kept(self.codes, turned[0], k, places, exact=exact)
        return (kept if places is None else places[kept]), strategy


def _kept(
    codes: Codes, query: Vector, k: int, places: Places | None, *, exact: bool
) -> Places:
    """Of rows, those whose vectors may be among the `k` nearest, by their codes."""
    scores = codes.scores(query, places)
    if len(scores) <= k:
        return np.arange(len(scores))
    scales = codes.scales if places is None else codes.scales[places]
    if not exact:
        return best(scores, k, CODE_ERRORS * spread(scales))
    error = bound(scales, len(query))
    least = np.partition(scores - error, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores + error >= least)
