"""Maximal marginal relevance invents nothing, repeats nothing, and is greedy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.retrieval.diversify import maximal_marginal_relevance
from langchain_ragstore.vectors.arrays import unit_matrix

numbers = st.integers(-3, 3).map(float)
rows = st.lists(st.tuples(numbers, numbers, numbers), max_size=8)
queries = st.tuples(numbers, numbers, numbers)
mults = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def unit(rows):
    return unit_matrix(rows) if rows else np.empty((0, 3), np.float32)


@given(queries, rows, st.integers(-2, 10), mults)
def test_invents_and_repeats_nothing(query, rows, k, mult):
    chosen = maximal_marginal_relevance(unit([query])[0], unit(rows), k, mult)
    assert len(chosen) == len(set(chosen)) == max(0, min(k, len(rows)))
    assert all(isinstance(place, int) and 0 <= place < len(rows) for place in chosen)


@given(queries, rows, st.integers(0, 8), mults)
def test_a_smaller_k_is_a_prefix(query, rows, k, mult):
    query, rows = unit([query])[0], unit(rows)
    chosen = maximal_marginal_relevance(query, rows, 8, mult)
    assert maximal_marginal_relevance(query, rows, k, mult) == chosen[:k]


@given(queries, rows)
def test_relevance_alone_ranks(query, rows):
    query, rows = unit([query])[0], unit(rows)
    chosen = maximal_marginal_relevance(query, rows, 8, 1.0)
    scores = (rows @ query)[chosen]
    assert np.all(np.diff(scores) <= 0)


@given(queries, rows, mults)
def test_each_choice_is_the_best_of_what_is_left(query, rows, mult):
    """Against the formula written out pair by pair, up to float32 rounding."""
    query, rows = unit([query])[0], unit(rows)
    chosen = maximal_marginal_relevance(query, rows, 8, mult)
    for step, place in enumerate(chosen):

        def gain(candidate, before=chosen[:step]):
            relevance = float(rows[candidate] @ query)
            if not before:
                return relevance
            closest = max(float(rows[candidate] @ rows[other]) for other in before)
            return mult * relevance - (1 - mult) * closest

        left = set(range(len(rows))) - set(chosen[:step])
        assert gain(place) >= max(map(gain, left)) - 1e-6
