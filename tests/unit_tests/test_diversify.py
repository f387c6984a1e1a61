"""Maximal marginal relevance by hand."""

import numpy as np
import pytest
from langchain_core.vectorstores.utils import maximal_marginal_relevance as reference

from langchain_ragstore.retrieval.diversify import maximal_marginal_relevance

QUERY = np.array([1, 0], np.float32)
# Cosines to the query .8 .8 .6 .28; a and b are twins, a·c = 0, a·d = .8, c·d = -.6.
CANDIDATES = np.array([[0.8, 0.6], [0.8, 0.6], [0.6, -0.8], [0.28, 0.96]], np.float32)


@pytest.mark.parametrize(
    ("k", "mult", "chosen"),
    [
        (1, 0.5, [0]),
        (2, 0.5, [0, 2]),
        # against a and c: b .5·.8 - .5·1 = -.1, d .5·.28 - .5·.8 = -.26
        (4, 0.5, [0, 2, 1, 3]),
        (4, 1.0, [0, 1, 2, 3]),
        # difference alone: c (0), then d (.8), then the twin (1)
        (4, 0.0, [0, 2, 3, 1]),
        # .95·.8 - .05·1 = .71 beats .95·.6 - .05·0 = .57; at λ = .8, .44 loses to .48
        (2, 0.95, [0, 1]),
        (2, 0.8, [0, 2]),
        (99, 1.0, [0, 1, 2, 3]),
        (0, 0.5, []),
        (-1, 0.5, []),
    ],
)
def test_golden(k, mult, chosen):
    assert maximal_marginal_relevance(QUERY, CANDIDATES, k, mult) == chosen


def test_no_candidates():
    assert maximal_marginal_relevance(QUERY, CANDIDATES[:0], 3, 0.5) == []


@pytest.mark.parametrize("mult", [0.0, 0.5, 1.0])
def test_the_first_of_equals_is_taken(mult):
    same = np.tile(QUERY, (4, 1))
    assert maximal_marginal_relevance(QUERY, same, 3, mult) == [0, 1, 2]


def test_zero_vectors_are_unlike_everything():
    vectors = np.array([[1, 0], [1, 0], [0, 0]], np.float32)
    assert maximal_marginal_relevance(QUERY, vectors, 3, 0.4) == [0, 2, 1]


@pytest.mark.parametrize("mult", [0.1, 0.5, 0.9])
def test_agrees_with_langchain(mult):
    """Its function computes the same formula; here no two candidates tie."""
    random = np.random.default_rng(7)
    vectors = random.normal(size=(30, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query, rest = vectors[0], vectors[1:]
    rest = rest[np.argsort(-(rest @ query))]
    expected = reference(query, list(rest), lambda_mult=mult, k=12)
    assert maximal_marginal_relevance(query, rest, 12, mult) == expected
