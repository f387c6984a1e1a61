"""BM25: examples worked out by hand, and the top of a list of scores."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from langchain_ragstore import config
from langchain_ragstore.lexical.bm25 import (
    Field,
    contributions,
    factor,
    frequency,
    norms,
    query_terms,
    top,
)
from langchain_ragstore.model import Terms


def test_constants():
    assert (config.BM25_K1, config.BM25_B, config.TITLE_WEIGHT) == (1.2, 0.5, 0.2)
    assert config.BM25_MAX_FREQUENCY == 255


def test_idf_by_hand():
    # 3 records, 1 holds the term: ln(1 + 2.5 / 1.5) = ln(8/3)
    assert Field(3, 10).idf(1) == pytest.approx(math.log(8 / 3))
    assert Field(3, 10).idf(0) == pytest.approx(math.log(8))
    assert Field(3, 10).idf(3) == pytest.approx(math.log(8 / 7))
    assert Field(3, 10).mean == pytest.approx(10 / 3)
    assert Field(0, 0).mean == 1.0


def test_a_score_by_hand():
    # tf 2 in a text of 6 terms where the mean is 4: 1.2 · (0.5 + 0.5 · 1.5) = 1.5
    norm = norms(np.array([6.0]), 4.0)
    assert norm.tolist() == [1.5]
    # idf 2, once in the query: 2 · 2.2 · 2 / (2 + 1.5)
    (score,) = contributions(factor(1, 2.0), np.array([2]), norm)
    assert score == pytest.approx(8.8 / 3.5)


def test_query_terms_come_in_order_the_body_first():
    found = list(query_terms(Terms({"b": 2, "a": 1}, {"c": 3})))
    assert [(t.term, t.title, t.weight) for t in found] == [
        ("a", False, 1),
        ("b", False, 2),
        ("c", True, pytest.approx(0.6)),
    ]


@pytest.mark.parametrize(
    ("body", "term", "expected"),
    [
        ({"cat": 3}, "cat", 3),
        ({"cat": 3}, "dog", 0),
        ({"cat": 3}, "c", 0),
        ({"cat": 1000}, "cat", 255),
        ({"雪": 2}, "雪", 2),
        ({"雪": 1, "雪国": 2}, "雪", 3),
        ({"東京": 2, "京都": 1}, "京", 1),
        ({"東京": 2}, "京", 2),
        ({"京京": 2}, "京", 2),
        ({"東京": 2}, "東京", 2),
        ({"東京": 200, "東西": 200}, "東", 255),
        ({"東\x00": 2}, "東", 0),
    ],
)
def test_frequencies(body, term, expected):
    assert frequency(body, term) == expected


@given(
    arrays.arrays(np.int64, st.integers(0, 1500), elements=st.integers(0, 6)),
    st.integers(1, 12),
)
def test_top_is_what_sorting_finds_with_all_ties(values, k):
    scores = values / 2.0
    order = sorted((-score, at) for at, score in enumerate(scores) if score > 0)
    last = order[:k][-1][0] if order else 0.0
    expected = sorted(at for score, at in order if score <= last)
    assert top(scores, k).tolist() == expected


def test_top_of_a_long_sparse_list():
    scores = np.zeros(100_000)
    scores[[5, 6, 70_000, 99_999]] = [1.0, 3.0, 2.0, 2.0]
    assert top(scores, 2).tolist() == [6, 70_000, 99_999]
    assert top(scores, 10).tolist() == [5, 6, 70_000, 99_999]
    rng = np.random.default_rng(3)
    scores = rng.random(100_001)
    assert top(scores, 7).tolist() == sorted(np.argsort(-scores)[:7].tolist())
