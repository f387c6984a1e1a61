"""Fusion by hand."""

import math

import numpy as np
import pytest

from langchain_ragstore import config
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.fuse import missing, rrf, weighted
from records import AXES, ids


def hit(id, vector=None, score=0.0, **signals):
    return Hit(Record(id, f"text of {id}", {}, vector), score, signals)


def listed(names):
    return [hit(id) for id in names]


def scores(hits):
    return {hit.record.id: hit.score for hit in hits}


def test_the_defaults():
    assert config.DEFAULT_RRF_K == 60
    assert dict(config.DEFAULT_FUSION_WEIGHTS) == {"dense": 0.3, "text": 0.7}


# --- reciprocal rank fusion --------------------------------------------------------------


def test_rrf_golden():
    """The sums 1/61 + 1/63, 1/62 + 1/61, 1/63, 1/62 of the paper, over 2/61."""
    fused = rrf({"dense": listed("abc"), "text": listed("bda")})
    assert ids(fused) == ["b", "a", "d", "c"]
    top = 2 / 61
    assert scores(fused) == pytest.approx(
        {
            "a": (1 / 61 + 1 / 63) / top,
            "b": (1 / 62 + 1 / 61) / top,
            "c": (1 / 63) / top,
            "d": (1 / 62) / top,
        },
        rel=1e-12,
    )


def test_rrf_golden_with_weights_and_k():
    """k = 1, weights 3 and 1: parts 2/2, 2/3; a: 3·1/4, b: (3·2/3 + 1·1)/4."""
    fused = rrf(
        {"dense": listed("ab"), "text": listed("b")}, weights={"dense": 3, "text": 1}, k=1
    )
    assert ids(fused) == ["a", "b"]
    assert scores(fused) == {"a": 0.75, "b": 0.75}


def test_rrf_k_0_is_the_reciprocal_rank():
    assert scores(rrf({"only": listed("ab")}, k=0)) == {"a": 1.0, "b": 0.5}


def test_the_best_of_two_ranks_counts_and_takes_one_place():
    fused = rrf({"dense": listed("abab" + "c")}, k=0)
    assert [hit.signals["dense_rank"] for hit in fused] == [1.0, 2.0, 3.0]
    assert ids(fused) == ["a", "b", "c"]


def test_rrf_keeps_the_signals_of_all_legs():
    dense = [hit("a", dense=0.5), hit("b", dense=0.25)]
    text = [hit("b", lexical=7.0)]
    b, a = rrf({"dense": dense, "text": text}, k=0)
    assert b.signals == {
        "dense": 0.25,
        "dense_part": 0.5,
        "dense_rank": 2.0,
        "lexical": 7.0,
        "text_part": 1.0,
        "text_rank": 1.0,
    }
    assert a.signals == {"dense": 0.5, "dense_part": 1.0, "dense_rank": 1.0}


def test_a_leg_that_was_not_asked_drops_out_and_an_empty_one_does_not():
    assert scores(rrf({"dense": listed("a"), "text": None})) == {"a": 1.0}
    assert scores(rrf({"dense": listed("a"), "text": []})) == {"a": 0.5}
    weights = {"dense": 0, "text": 2}
    assert scores(rrf({"dense": listed("a"), "text": None}, weights=weights)) == {"a": 1.0}
    assert scores(rrf({"dense": listed("a"), "text": []}, weights=weights)) == {"a": 0.0}


@pytest.mark.parametrize("lists", [{}, {"dense": None}, {"dense": [], "text": []}])
def test_nothing_in_nothing_out(lists):
    assert rrf(lists) == []
    assert weighted(lists, top_bm25=1, mean_cosine=0) == []


def test_three_legs_and_any_names():
    fused = rrf({"q1": listed("ab"), "q2": listed("ab"), "q3": listed("ba")})
    assert ids(fused) == ["a", "b"]


@pytest.mark.parametrize("order", [("dense", "text"), ("text", "dense")])
def test_the_record_with_a_vector_is_kept(order):
    legs = {"dense": [hit("a", AXES[0])], "text": [hit("a")]}
    swapped = {"dense": [hit("a")], "text": [hit("a", AXES[0])]}
    for lists in (legs, swapped):
        (fused,) = rrf({leg: lists[leg] for leg in order})
        assert np.array_equal(fused.record.vector, AXES[0])


# --- weighted scores ---------------------------------------------------------------------

DENSE = [hit("a", dense=0.9), hit("b", dense=0.7), hit("c", dense=0.2)]
TEXT = [hit("b", lexical=8.0), hit("d", lexical=2.0)]
FILLED = {"dense": {"d": 0.6}, "text": {"a": 0.0, "c": 5.0}}


def test_weighted_golden():
    """m = .5 and top 10: dense parts .8 .4 0 .2, text parts 0 .8 .5 .2 of a b c d."""
    lists = {"dense": DENSE, "text": TEXT}
    fused = weighted(lists, top_bm25=10, mean_cosine=0.5, filled=FILLED)
    assert ids(fused) == ["b", "c", "a", "d"]
    assert scores(fused) == pytest.approx(
        {
            "a": 0.3 * 0.8,
            "b": 0.3 * 0.4 + 0.7 * 0.8,
            "c": 0.7 * 0.5,
            "d": 0.3 * 0.2 + 0.7 * 0.2,
        },
        rel=1e-12,
    )
    assert fused[2].signals == pytest.approx(
        {"dense": 0.9, "dense_part": 0.8, "lexical": 0.0, "text_part": 0.0}
    )


def test_weights_are_relative():
    lists = {"dense": DENSE, "text": TEXT}
    search = {"top_bm25": 10, "mean_cosine": 0.5, "filled": FILLED}
    fused = weighted(lists, weights={"dense": 3, "text": 1}, **search)
    assert scores(fused)["b"] == pytest.approx(0.75 * 0.4 + 0.25 * 0.8)
    huge = weighted(lists, weights={"dense": 1.5e308, "text": 0.5e308}, **search)
    tiny = weighted(lists, weights={"dense": 3e-320, "text": 1e-320}, **search)
    assert scores(huge) == pytest.approx(scores(fused), rel=1e-12)
    assert scores(tiny) == pytest.approx(scores(fused), rel=1e-3)  # 1e-320 has few digits


def test_the_only_leg_asked_weighs_1():
    (a, b, _) = weighted({"dense": DENSE, "text": None}, mean_cosine=0.5)
    assert (a.score, b.score) == pytest.approx((0.8, 0.4))
    assert "text_part" not in a.signals
    assert "lexical" not in a.signals
    b, d = weighted({"text": TEXT}, top_bm25=10, weights={"dense": 1, "text": 0})
    assert (b.score, d.score) == (0.8, 0.2)


@pytest.mark.parametrize(
    ("cosine", "mean", "part"),
    [
        (1.0, 0.0, 1.0),
        (0.3, 0.0, 0.3),
        (-0.4, 0.0, 0.0),
        (0.2, 0.2, 0.0),
        (0.0, -1.0, 0.5),  # (0 + 1)/2
        (-1.0, -1.0, 0.0),
        (1.0, 1.0, 1.0),  # nothing to scale by: the cosine itself
        (0.5, 1.0, 0.5),
        (-0.5, 1 - 1e-7, 0.0),
        (1.00001, 0.5, 1.0),  # float32's rounding
        (1.00001, 1.0, 1.0),
    ],
)
def test_the_dense_part(cosine, mean, part):
    (fused,) = weighted({"dense": [hit("a", dense=cosine)]}, mean_cosine=mean)
    assert fused.score == fused.signals["dense_part"] == pytest.approx(part)


def test_the_text_part_may_exceed_its_top_by_rounding_alone():
    (fused,) = weighted({"text": [hit("a", lexical=5.00001)]}, top_bm25=5)
    assert fused.score == 1.0
    with pytest.raises(InvalidInputError, match=r"BM25/top_bm25 of 'a' .* got 1\.2"):
        weighted({"text": [hit("a", lexical=6.0)]}, top_bm25=5)


def test_equal_scores_are_ordered_by_id():
    fused = weighted({"text": [hit(id, lexical=1.0) for id in "cab"]}, top_bm25=2)
    assert ids(fused) == ["a", "b", "c"]


def test_missing():
    lists = {"dense": DENSE, "text": TEXT}
    assert missing(lists) == {"dense": ["d"], "text": ["a", "c"]}
    assert missing(lists, FILLED) == {"dense": [], "text": []}
    assert missing({"dense": DENSE, "text": None}) == {"dense": []}
    assert missing({}) == {}


def test_a_filled_score_does_not_replace_a_measured_one():
    fused = weighted(
        {"text": [hit("a", lexical=1.0)]}, top_bm25=2, filled={"text": {"a": 2.0}}
    )
    assert scores(fused) == {"a": 0.5}


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"dense": 1, "lexical": 1}, "unknown leg 'lexical'; the legs are dense, text"),
        ({"dense": 1}, "none for 'text'"),
        ({"dense": 1, "text": -0.5}, "the weight of 'text' .* at least 0; got -0.5"),
        ({"dense": 1, "text": math.nan}, "the weight of 'text' .* finite.* got nan"),
        ({"dense": 1, "text": math.inf}, "the weight of 'text' .* finite.* got inf"),
        ({"dense": 1, "text": 10**400}, "the weight of 'text' .* finite"),
        ({"dense": True, "text": 1}, "the weight of 'dense' .* got True"),
        ({"dense": "1", "text": 1}, "the weight of 'dense' .* got '1'"),
        ({"dense": 0, "text": 0.0}, "at least one must be above 0"),
        ([0.5, 0.5], "must be a mapping"),
    ],
)
def test_weights_that_are_none(weights, message):
    lists = {"dense": DENSE, "text": TEXT}
    with pytest.raises(InvalidInputError, match=message):
        rrf(lists, weights=weights)
    with pytest.raises(InvalidInputError, match=message):
        weighted(lists, top_bm25=9, mean_cosine=0, filled=FILLED, weights=weights)


@pytest.mark.parametrize("k", [-1, math.inf, math.nan, None, "60", True])
def test_k_that_is_none(k):
    with pytest.raises(InvalidInputError, match=f"k must be .*{k!r}"):
        rrf({"dense": DENSE}, k=k)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"filled": None}, r"missing: \{'dense': \['d'\], 'text': \['a', 'c'\]\}"),
        ({"filled": {"lexical": {}}}, "filled.*'lexical'"),
        ({"filled": FILLED | {"dense": {"d": math.nan}}}, "dense score of 'd' .* nan"),
        ({"filled": FILLED | {"dense": {"d": 1.1}}}, "cosine of 'd' .* at most"),
        ({"filled": FILLED | {"text": {"a": -1, "c": 0}}}, "BM25.* of 'a' .* at least 0"),
        ({"top_bm25": None}, "top_bm25 must be a number.* got None"),
        ({"top_bm25": 0}, "pass None as the hits of 'text'"),
        ({"mean_cosine": None}, "mean_cosine must be a number.* got None"),
        ({"mean_cosine": -1.5}, "mean_cosine .* at least -1.* got -1.5"),
        ({"lists": {"dense": [], "words": []}}, "lists.*'words'"),
        ({"lists": {"dense": [hit("a", dense=math.inf)]}}, "signal 'dense' of 'a' .* inf"),
        ({"lists": {"dense": [hit("a", dense=0.5, x=math.nan)]}}, "signal 'x' of 'a'"),
    ],
)
def test_scores_and_scales_that_are_none(change, message):
    given = {"lists": {"dense": DENSE, "text": TEXT}, "top_bm25": 10, "mean_cosine": 0.5}
    with pytest.raises(InvalidInputError, match=message):
        weighted(**(given | {"filled": FILLED} | change))
