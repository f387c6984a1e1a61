"""Measures keep their bounds and do not look where they should not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_ragstore.evaluation import compare, evaluate
from langchain_ragstore.evaluation.metrics import measure, ndcg

ids = st.sampled_from("abcdefgh")
rankings = st.lists(ids, unique=True)
grades = st.dictionaries(ids, st.integers(0, 4) | st.floats(0, 100), min_size=1).filter(
    lambda graded: any(graded.values())
)
ranks = st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True).map(sorted)


def plain_ndcg(ranking, graded, k):
    """The formula, written out without any care."""

    def dcg(values):
        total = 0.0
        for place in range(min(k, len(values))):
            total += (2 ** values[place] - 1) / (math.log(place + 2) / math.log(2))
        return total

    found = [graded.get(id, 0) for id in ranking]
    return dcg(found) / dcg(sorted(graded.values())[::-1])


@given(
    rankings,
    st.dictionaries(ids, st.sampled_from([0, 0.5, 1, 2, 3, 10]), min_size=1),
    st.integers(1, 12),
)
def test_ndcg_against_the_plain_formula(ranking, graded, k):
    if any(graded.values()):
        assert ndcg(ranking, graded, k) == pytest.approx(plain_ndcg(ranking, graded, k))


@given(rankings, grades, ranks)
def test_bounds(ranking, graded, ks):
    assert all(0 <= value <= 1 for value in measure(ranking, graded, ks).values())


@given(grades, ranks, st.randoms(use_true_random=False))
def test_the_ideal_order_is_perfect_and_ties_may_be_swapped(graded, ks, random):
    ideal = list(graded)
    random.shuffle(ideal)
    ideal.sort(key=lambda id: -graded[id])
    found = measure(ideal, graded, ks)
    assert all(found[f"ndcg@{k}"] == 1 and found[f"hit@{k}"] == 1 for k in ks)
    assert found["mrr"] == 1
    relevant = sum(grade > 0 for grade in graded.values())
    assert all(found[f"recall@{k}"] == min(k, relevant) / relevant for k in ks)


@given(rankings, grades, ranks, st.lists(st.sampled_from("uvwxyz"), unique=True))
def test_an_irrelevant_tail_changes_nothing(ranking, graded, ks, tail):
    assert measure(ranking + tail, graded, ks) == measure(ranking, graded, ks)


@given(rankings, grades, st.integers(1, 6), rankings)
def test_what_is_beyond_k_changes_nothing(ranking, graded, k, other):
    tail = [id for id in other if id not in ranking[:k]]
    if len(ranking) >= k:
        assert measure(ranking[:k] + tail, graded, [k]) == measure(ranking, graded, [k])


@given(rankings, grades, st.integers(1, 12), st.data())
def test_swapping_equal_grades_changes_nothing(ranking, graded, k, data):
    if len(ranking) > 1:
        one, other = (data.draw(st.sampled_from(ranking)) for _ in "12")
        swapped = [{one: other, other: one}.get(id, id) for id in ranking]
        if graded.get(one, 0) == graded.get(other, 0):
            assert measure(swapped, graded, [k]) == measure(ranking, graded, [k])


@given(rankings, grades, st.integers(1, 11))
def test_recall_and_hits_grow_with_k(ranking, graded, k):
    found = measure(ranking, graded, [k, k + 1])
    for name in ("recall", "hit"):
        assert found[f"{name}@{k}"] <= found[f"{name}@{k + 1}"]


found = st.dictionaries(
    st.sampled_from("123456"), st.tuples(rankings, rankings, ids), min_size=2
)


@given(found, st.sampled_from(["ndcg@5", "mrr", "recall@10"]))
def test_comparing_the_other_way_round_changes_the_sign(queries, metric):
    judged = {text: relevant for text, (_, _, relevant) in queries.items()}
    one, other = (
        evaluate(
            lambda text, at=at: [Document("", id=id) for id in queries[text][at]], judged
        )
        for at in (0, 1)
    )
    forth = compare(one, other, metric=metric, resamples=50)
    back = compare(other, one, metric=metric, resamples=50)
    assert (back.difference, back.low, back.high) == pytest.approx(
        (-forth.difference, -forth.high, -forth.low)
    )
    assert (back.better, back.worse) == (forth.worse, forth.better)
    assert forth.low <= forth.high
    assert -1 <= forth.low <= forth.high <= 1
    assert forth.difference == pytest.approx(forth.first - forth.second)
