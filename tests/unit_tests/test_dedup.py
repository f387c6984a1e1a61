"""Near duplicates: which stays, where the threshold is, and where vectors come from."""

import numpy as np
import pytest

from langchain_ragstore import (
    DimensionMismatchError,
    InvalidInputError,
    RetrievalConfig,
)
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.dedup import Deduplicate
from langchain_ragstore.retrieval.question import Question


def hit(id, *vector):
    row = np.array(vector, np.float32) if vector else None
    return Hit(Record(id, f"text {id}", {}, row), 1.0)


def ids(hits):
    return [h.record.id for h in hits]


def test_the_threshold_of_the_seed():
    """cos(a, b) = .8750 stays, cos(a, c) = .8844 goes."""
    assert Deduplicate().threshold == RetrievalConfig.phase_r().dedup_threshold == 0.88
    b = hit("b", 0.875, (1 - 0.875**2) ** 0.5)
    c = hit("c", 0.8844, -((1 - 0.8844**2) ** 0.5))
    assert ids(Deduplicate().distinct([hit("a", 1, 0), b, c])) == ["a", "b"]


def test_exceeded_is_not_reached():
    half = [hit("a", 1, 0), hit("b", 0.5, 0.75**0.5)]
    assert ids(Deduplicate(0.5).distinct(half)) == ["a", "b"]
    assert ids(Deduplicate(0.4999).distinct(half)) == ["a"]
    same = [hit("a", 1, 0), hit("b", 1, 0)]
    assert ids(Deduplicate(1.0).distinct(same)) == ["a", "b"]
    assert ids(Deduplicate(-1.0).distinct([hit("a", 1, 0), hit("b", 0, 1)])) == ["a"]


def test_only_what_stays_counts():
    """c is like b, which is out for being like a; a and c are not alike."""
    turned = [(np.cos(a), np.sin(a)) for a in (0.0, 0.4, 0.8)]
    hits = [hit(id, *row) for id, row in zip("abc", turned, strict=True)]
    stage = Deduplicate(0.9)
    assert ids(stage.distinct(hits)) == ["a", "c"]
    assert stage.twins(hits) == {"b": ("a", pytest.approx(np.cos(0.4), abs=1e-6))}
    assert ids(stage.distinct([hits[1], hits[0], hits[2]])) == ["b"]
    assert stage.left_out(hits[1], 2, hits) == (
        "a near duplicate of 'a': their cosine 0.9211 is above dedup_threshold=0.9"
    )


def test_the_best_of_several_twins_is_named():
    hits = [hit("a", 1, 0), hit("b", 0.6, 0.8), hit("c", 0.8, 0.6)]
    assert Deduplicate(0.7).twins(hits)["c"][0] == "a"


def test_zero_vectors_are_like_nothing():
    zeros = [hit("a", 0, 0), hit("b", 0, 0), hit("c", 1, 0)]
    assert ids(Deduplicate(0.5).distinct(zeros)) == ["a", "b", "c"]


def test_vectors_that_lack_are_made():
    asked = []

    def embed(texts):
        asked.append(texts)
        return np.array([[1, 0]] * len(texts), np.float32)

    stage = Deduplicate(0.9, embed)
    hits = [hit("a", 1, 0), hit("b"), hit("c", 0, 1), hit("d")]
    assert ids(stage(hits, Question(), None)) == ["a", "c"]
    assert asked == [["text b", "text d"]]
    assert stage.distinct([hit("a")]) == [hit("a")]  # nothing to compare
    assert stage.distinct([]) == []
    with pytest.raises(InvalidInputError, match=r"document 'b' has none.*embeddings="):
        Deduplicate(0.9).distinct(hits)
    with pytest.raises(DimensionMismatchError, match="of 2 and of 3 dimensions"):
        stage.distinct([hit("a", 1, 0, 0), hit("b")])
