"""Candidates: what is read of them, and in which order they come out."""

import numpy as np
import pytest

from langchain_ragstore.model import Record
from langchain_ragstore.retrieval.candidates import Candidates
from langchain_ragstore.retrieval.fuse import Fused

NAMES = {1: "d", 2: "c", 3: "b", 4: "a"}


class View:
    """Keeps account of the ids that are asked for."""

    def __init__(self):
        self.asked = []

    def ids(self, keys):
        self.asked += keys.tolist()
        return [NAMES[key] for key in keys.tolist()]

    def records(self, keys, *, vectors):
        return [Record(NAMES[key], "", {}) for key in keys.tolist()]


@pytest.mark.parametrize(
    ("scores", "limit", "order", "asked"),
    [
        ([0.1, 0.4, 0.2, 0.3], None, "cabd", []),
        ([0.1, 0.4, 0.2, 0.3], 2, "ca", []),
        ([0.3, 0.3, 0.9, 0.3], None, "bacd", [1, 2, 4]),
        ([0.3, 0.3, 0.9, 0.3], 2, "ba", [1, 2, 4]),
        ([0.1, 0.2, 0.9, 0.2], 1, "b", []),
        ([0.2, 0.9, 0.2, 0.9], None, "acbd", [1, 2, 3, 4]),
        ([0.2, 0.9, 0.2, 0.9], 2, "ac", [2, 4]),
    ],
)
def test_ids_are_read_where_scores_are_equal_alone(scores, limit, order, asked):
    view, keys, scores = View(), np.array([*NAMES]), np.array(scores)
    known = Candidates(view, None, {"dense": (keys, scores)}, vectors=False)
    hits = known.hits(Fused(scores, {}), {"dense": scores}, limit)
    assert "".join(hit.record.id for hit in hits) == order
    assert sorted(view.asked) == asked
    assert [hit.score for hit in hits] == sorted(scores.tolist(), reverse=True)[:limit]
