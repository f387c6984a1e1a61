"""Checks, norms and scores of vectors, by hand."""

from decimal import Decimal

import numpy as np
import pytest

from fakes import label
from langchain_ragstore.errors import DimensionMismatchError, InvalidInputError
from langchain_ragstore.vectors import arrays
from langchain_ragstore.vectors.arrays import (
    best,
    cosines,
    rounding_slack,
    unit_matrix,
    unit_vector,
)


def test_unit_length_by_hand():
    matrix = unit_matrix([[3, 4], [0, -2], [0, 0], [1, 1]])
    expected = [[0.6, 0.8], [0, -1], [0, 0], [0.5**0.5, 0.5**0.5]]
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    assert matrix.tolist() == np.float32(expected).tolist()
    assert unit_vector([3.0, 4.0]).tolist() == np.float32([0.6, 0.8]).tolist()


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-30, 1e30, 1e200, 1.7e308])
def test_no_size_over_or_underflows(size):
    assert unit_vector([size, 0.0, -size]) == pytest.approx([0.5**0.5, 0, -(0.5**0.5)])


@pytest.mark.parametrize(
    "vectors",
    [
        [(3, 4)],
        np.array([[3, 4]]),
        [np.array([3, 4], np.float16)],
        [[np.float32(3), np.int8(4)]],
        [[Decimal(3), Decimal(4)]],
        [range(3, 5)],
    ],
    ids=lambda vectors: type(vectors[0]).__name__,
)
def test_any_sequence_of_numbers_will_do(vectors):
    assert unit_matrix(vectors).tolist() == np.float32([[0.6, 0.8]]).tolist()


def test_what_is_given_is_left_alone():
    given = np.array([[3.0, 4.0]], np.float32)
    unit_matrix(given)[0, 0] = 9
    assert given.tolist() == [[3.0, 4.0]]


def test_no_vectors_at_all():
    assert unit_matrix([]).shape == (0, 0)


@pytest.mark.parametrize(
    "bad",
    [
        [1.0, float("nan")],
        [float("inf"), 1.0],
        [1.0, -float("inf")],
        [1.0, None],
        [10**400, 1],
        ["1", "2"],
        [1j, 1],
        [object(), 1],
        [[1.0], [2.0]],
        [1, [2, 3]],
        None,
        5.0,
        "12",
    ],
    ids=label,
)
def test_bad_vectors_are_named_by_place_and_text(bad):
    with pytest.raises(InvalidInputError, match=r"embedding 1 .*text 1: 'the culprit'"):
        unit_matrix([[1.0, 2.0], bad], ["fine", "the culprit"])
    with pytest.raises(InvalidInputError, match="embedding 1 "):
        unit_matrix([[1.0, 2.0], bad])


def test_long_texts_are_cut_in_messages():
    with pytest.raises(InvalidInputError) as raised:
        unit_matrix([[float("nan")]], ["x" * 500])
    assert "x" * 60 in str(raised.value)
    assert "x" * 61 not in str(raised.value)


def test_empty_vectors():
    with pytest.raises(InvalidInputError, match=r"embedding 0 is empty \(text 0: 'a'\)"):
        unit_matrix([[], []], ["a", "b"])
    with pytest.raises(InvalidInputError, match="embedding 0 is empty"):
        unit_vector([])


def test_lengths_that_differ():
    words = r"embedding 0 has 2 dimensions but embedding 2 has 3 \(text 2: 'c'\)"
    with pytest.raises(DimensionMismatchError, match=words):
        unit_matrix([[1, 2], [3, 4], [1, 2, 3]], ["a", "b", "c"])
    with pytest.raises(DimensionMismatchError, match="embedding 1 has 0"):
        unit_matrix([[1, 2], []])


def test_cosines_by_hand():
    matrix = unit_matrix([[1, 0], [0, 1], [-1, 0], [3, 4], [0, 0]])
    assert cosines(matrix, unit_vector([1, 0])) == pytest.approx([1, 0, -1, 0.6, 0])
    assert cosines(np.empty((0, 2), np.float32), unit_vector([1, 0])).shape == (0,)


def test_cosines_never_leave_their_range():
    vectors = unit_matrix(np.random.default_rng(0).normal(size=(500, 7)))
    for vector in vectors[:50]:
        scores = cosines(vectors, vector)
        assert scores.max() <= 1.0
        assert cosines(-vectors, vector).min() >= -1.0


def test_a_cosine_depends_on_its_row_alone(monkeypatch):
    vectors = unit_matrix(np.random.default_rng(2).normal(size=(101, 19)))
    whole = cosines(vectors, vectors[3])
    for at in range(101):
        assert cosines(vectors[at : at + 1], vectors[3])[0] == whole[at]
    monkeypatch.setattr(arrays, "_RESCORE_VALUES", 40)  # two rows at a time
    assert cosines(vectors, vectors[3]).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("k", "slack", "places"),
    [
        (1, 0.0, [2]),
        (2, 0.0, [0, 2, 4]),
        (3, 0.0, [0, 2, 4]),
        (4, 0.0, [0, 2, 3, 4]),
        (5, 0.0, [0, 2, 3, 4]),
        (9, 0.0, [0, 2, 3, 4]),
        (1, 0.25, [0, 2, 4]),
        (1, 0.75, [0, 2, 3, 4]),
    ],
)
def test_best(k, slack, places):
    scores = np.array([0.75, -np.inf, 1.0, 0.25, 0.75])
    assert best(scores, k, slack).tolist() == places


def test_best_of_nothing():
    assert best(np.array([]), 3).tolist() == []
    assert best(np.array([-np.inf]), 3).tolist() == []


def test_the_slack_covers_what_rounding_does():
    assert rounding_slack(1) == pytest.approx(2.0**-23)
    assert rounding_slack(1024) == pytest.approx(2 * 1024 / (2**24 - 1024))
    vectors = unit_matrix(np.random.default_rng(4).normal(size=(400, 384)))
    rough = vectors @ vectors[0]
    assert np.abs(rough - cosines(vectors, vectors[0])).max() <= rounding_slack(384) / 2
