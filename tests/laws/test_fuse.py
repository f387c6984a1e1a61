"""Fusion invents nothing, repeats nothing, and does not depend on what it should not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.config import DEFAULT_FUSION_WEIGHTS
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.fuse import missing, rrf, weighted
from records import ids

names = st.sampled_from("abcdefgh")
legs = st.dictionaries(
    st.sampled_from(["dense", "text", "tags"]), st.none() | st.lists(names, max_size=8)
)
cosines = st.floats(-1, 1)
bm25 = st.floats(0, 10)
shares = st.floats(0.01, 1)
candidates = st.dictionaries(names, st.tuples(cosines, bm25), max_size=8)


def hits(ids):
    return [Hit(Record(id, "", {}), 0.0) for id in ids]


def lists(found):
    return {leg: None if ids is None else hits(ids) for leg, ids in found.items()}


def both(scored):
    """Hits of both legs with both scores."""
    full = [
        Hit(Record(i, "", {}), 0, {"dense": c, "lexical": b})
        for i, (c, b) in scored.items()
    ]
    return {"dense": full, "text": full}


def fuse(scored, mean=0.25, dense=DEFAULT_FUSION_WEIGHTS["dense"]):
    weights = {"dense": dense, "text": 1 - dense}
    return weighted(both(scored), top_bm25=10, mean_cosine=mean, weights=weights)


def check(fused, expected):
    assert sorted(ids(fused)) == sorted(expected)
    assert all(0 <= hit.score <= 1 for hit in fused)
    assert all(math.isfinite(v) for hit in fused for v in hit.signals.values())
    assert fused == sorted(fused, key=lambda hit: (-hit.score, hit.record.id))


@given(legs, st.floats(0, 1e6))
def test_rrf_invents_and_repeats_nothing(found, k):
    fused = rrf(lists(found), k=k)
    check(fused, {id for listed in found.values() for id in listed or ()})


@given(legs, st.randoms(use_true_random=False))
def test_the_order_of_the_legs_is_nothing(found, random):
    shuffled = list(found.items())
    random.shuffle(shuffled)
    assert rrf(lists(found)) == rrf(lists(dict(shuffled)))


@given(legs, st.floats(1e-300, 1e300))
def test_the_score_is_the_mean_of_the_parts(found, weight):
    asked = [leg for leg in found if found[leg] is not None]
    for hit in rrf(lists(found), weights=dict.fromkeys(found, weight)):
        parts = [hit.signals.get(f"{leg}_part", 0) for leg in asked]
        assert hit.score == pytest.approx(sum(parts) / len(asked))


@given(st.lists(names, unique=True), st.lists(names))
def test_rrf_of_one_leg_is_its_order(one, other):
    assert ids(rrf({"dense": hits(one)})) == one
    fused = rrf(lists({"dense": one, "text": other}), weights={"dense": 1, "text": 0})
    assert ids(fused)[: len(one)] == one
    assert all(hit.score == 0 for hit in fused[len(one) :])


@given(st.lists(names, unique=True, min_size=2), st.lists(names), st.data())
def test_a_better_rank_is_no_worse(one, other, data):
    place = data.draw(st.integers(1, len(one) - 1))
    id = one[place]
    risen = [*one[: place - 1], id, one[place - 1], *one[place + 1 :]]

    def score(listed):
        fused = rrf(lists({"dense": listed, "text": other}))
        return next(hit.score for hit in fused if hit.record.id == id)

    assert score(risen) > score(one)


@given(candidates, cosines, shares)
def test_weighted_invents_and_repeats_nothing(scored, mean, dense):
    check(fuse(scored, mean, dense), scored)


@given(candidates, st.randoms(use_true_random=False))
def test_the_order_of_legs_and_hits_is_nothing(scored, random):
    shuffled = list(scored.items())
    random.shuffle(shuffled)
    legs = both(dict(shuffled))
    swapped = {"text": legs["text"], "dense": legs["dense"]}
    assert weighted(swapped, top_bm25=10, mean_cosine=0.25) == fuse(scored)


@given(candidates, cosines, bm25, cosines)
def test_weighted_is_monotone_in_each_score(scored, cosine, lexical, mean):
    before = {hit.record.id: hit.score for hit in fuse(scored, mean)}
    raised = {id: (max(c, cosine), max(b, lexical)) for id, (c, b) in scored.items()}
    for hit in fuse(raised, mean):
        assert hit.score >= before[hit.record.id]


@given(candidates, candidates, cosines)
def test_more_candidates_change_no_score(scored, more, mean):
    alone = {hit.record.id: hit for hit in fuse(scored, mean)}
    together = fuse(more | scored, mean)
    assert [hit for hit in together if hit.record.id in alone] == list(alone.values())


@given(candidates, st.floats(-1, 0.99))
def test_a_weight_of_1_is_one_leg_s_order(scored, mean):
    """Of text exactly; of dense down to the mean cosine, below which all are equal."""
    by_text = sorted(scored, key=lambda id: (-(scored[id][1] / 10), id))
    assert ids(fuse(scored, mean, dense=0)) == by_text
    order = fuse(scored, mean, dense=1)
    alone = weighted({"dense": both(scored)["dense"]}, mean_cosine=mean)
    assert ids(order) == ids(alone)
    above = [hit.signals["dense"] for hit in order if hit.score > 0]
    # Scaling may round two cosines to one part, which the id then orders.
    assert above == pytest.approx(sorted(above, reverse=True), rel=1e-9, abs=1e-9)
    assert all(hit.signals["dense"] <= mean for hit in order if hit.score == 0)


@given(candidates, st.sets(names), st.sets(names))
def test_what_is_missing_is_all_that_is_needed(scored, dense, text):
    """Both legs' finds with the gaps filled score as if all had been scored at once."""
    legs = {
        "dense": [
            Hit(Record(i, "", {}), 0, {"dense": scored[i][0]}) for i in scored if i in dense
        ],
        "text": [
            Hit(Record(i, "", {}), 0, {"lexical": scored[i][1]})
            for i in scored
            if i in text
        ],
    }
    gaps = missing(legs)
    filled = {
        "dense": {id: scored[id][0] for id in gaps["dense"]},
        "text": {id: scored[id][1] for id in gaps["text"]},
    }
    fused = weighted(legs, top_bm25=10, mean_cosine=0.25, filled=filled)
    assert fused == [hit for hit in fuse(scored) if hit.record.id in dense | text]
