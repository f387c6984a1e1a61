"""Fusion does not depend on what it should not, and scores stay scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.config import DEFAULT_FUSION_WEIGHTS
from langchain_ragstore.retrieval.fuse import rrf, weighted

names = st.sampled_from("abcdefgh")
legs = st.dictionaries(
    st.sampled_from(["dense", "text", "tags"]),
    st.lists(names, unique=True, max_size=8),
)
cosines = st.floats(-1, 1)
bm25 = st.floats(0, 10)
shares = st.floats(0.01, 1)
candidates = st.dictionaries(names, st.tuples(cosines, bm25), max_size=8)


def ranks(lists):
    """Of lists of ids, the ranks of all ids, in their order."""
    ids = sorted({id for listed in lists.values() for id in listed})
    return ids, {
        leg: np.array([listed.index(id) + 1 if id in listed else np.nan for id in ids])
        for leg, listed in lists.items()
    }


def rrf_of(lists, **options):
    """The score of each id."""
    ids, ranked = ranks(lists)
    return dict(zip(ids, rrf(ranked, **options).scores.tolist(), strict=True))


def legs_of(scored):
    both = np.array(list(scored.values()), np.float64).reshape(-1, 2)
    return {"dense": both[:, 0], "text": both[:, 1]}


def fuse(scored, mean=0.25, dense=DEFAULT_FUSION_WEIGHTS["dense"]):
    """The score of each id."""
    weights = {"dense": dense, "text": 1 - dense}
    fused = weighted(legs_of(scored), top_bm25=10, mean_cosine=mean, weights=weights)
    return dict(zip(scored, fused.scores.tolist(), strict=True))


@given(legs, st.floats(0, 1e6))
def test_rrf_scores_are_scores(found, k):
    scores = rrf_of(found, k=k)
    assert all(0 <= score <= 1 for score in scores.values())
    assert set(scores) == {id for listed in found.values() for id in listed}


@given(legs, st.randoms(use_true_random=False))
def test_the_order_of_the_legs_is_nothing(found, random):
    shuffled = list(found.items())
    random.shuffle(shuffled)
    assert rrf_of(found) == rrf_of(dict(shuffled))


@given(legs, st.floats(1e-300, 1e300))
def test_the_score_is_the_mean_of_the_parts(found, weight):
    fused = rrf(ranks(found)[1], weights=dict.fromkeys(found, weight))
    parts = [np.nan_to_num(part) for part in fused.parts.values()]
    assert sorted(fused.parts) == sorted(found)
    if parts:
        assert fused.scores == pytest.approx(sum(parts) / len(parts))


@given(st.lists(names, unique=True), st.lists(names, unique=True))
def test_rrf_of_one_leg_is_its_order(one, other):
    scores = rrf_of({"dense": one})
    assert sorted(scores, key=scores.get, reverse=True) == one
    scores = rrf_of({"dense": one, "text": other}, weights={"dense": 1, "text": 0})
    assert sorted(scores, key=scores.get, reverse=True)[: len(one)] == one
    assert all(scores[id] == 0 for id in other if id not in one)


@given(st.lists(names, unique=True, min_size=2), st.lists(names, unique=True), st.data())
def test_a_better_rank_is_no_worse(one, other, data):
    place = data.draw(st.integers(1, len(one) - 1))
    id = one[place]
    risen = [*one[: place - 1], id, one[place - 1], *one[place + 1 :]]
    before = rrf_of({"dense": one, "text": other})[id]
    assert rrf_of({"dense": risen, "text": other})[id] > before


@given(candidates, cosines, shares)
def test_weighted_scores_are_scores(scored, mean, dense):
    assert all(0 <= score <= 1 for score in fuse(scored, mean, dense).values())


@given(candidates, st.randoms(use_true_random=False))
def test_the_order_of_legs_and_candidates_is_nothing(scored, random):
    shuffled = list(scored.items())
    random.shuffle(shuffled)
    assert fuse(dict(shuffled)) == fuse(scored)
    swapped = dict(reversed(legs_of(scored).items()))
    again = weighted(swapped, top_bm25=10, mean_cosine=0.25)
    assert again.scores.tolist() == list(fuse(scored).values())


@given(candidates, cosines, bm25, cosines)
def test_weighted_is_monotone_in_each_score(scored, cosine, lexical, mean):
    before = fuse(scored, mean)
    raised = {id: (max(c, cosine), max(b, lexical)) for id, (c, b) in scored.items()}
    for id, score in fuse(raised, mean).items():
        assert score >= before[id]


@given(candidates, candidates, cosines)
def test_more_candidates_change_no_score(scored, more, mean):
    alone, together = fuse(scored, mean), fuse(more | scored, mean)
    assert {id: together[id] for id in alone} == alone


@given(candidates, st.floats(-1, 0.99))
def test_a_weight_of_1_is_one_leg_s_order(scored, mean):
    """Of text exactly; of dense down to the mean cosine, below which all are equal."""
    assert fuse(scored, mean, dense=0) == {id: b / 10 for id, (_, b) in scored.items()}
    scores = fuse(scored, mean, dense=1)
    alone = weighted({"dense": legs_of(scored)["dense"]}, mean_cosine=mean)
    assert list(scores.values()) == alone.scores.tolist()
    above = sorted((score, scored[id][0]) for id, score in scores.items() if score > 0)
    # Scaling may round two cosines to one part.
    found = [cosine for _, cosine in above]
    assert found == pytest.approx(sorted(found), rel=1e-9, abs=1e-9)
    assert all(scored[id][0] <= mean for id, score in scores.items() if score == 0)
