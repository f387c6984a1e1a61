"""Fusion by hand."""

import math

import numpy as np
import pytest

from langchain_ragstore import config
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.retrieval.fuse import rrf, weighted

NAN = math.nan


def array(*numbers):
    return np.array(numbers, np.float64)


def test_the_defaults():
    assert config.DEFAULT_RRF_K == 60
    assert dict(config.DEFAULT_FUSION_WEIGHTS) == {"dense": 0.3, "text": 0.7}


# --- reciprocal rank fusion --------------------------------------------------------------

RANKS = {"dense": array(1, 2, 3, NAN), "text": array(3, 1, NAN, 2)}
"""Of a, b, c, d, listed as a b c and as b d a."""


def test_rrf_golden():
    """The sums 1/61 + 1/63, 1/62 + 1/61, 1/63, 1/62 of the paper, over 2/61."""
    expected = array(1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63, 1 / 62) / (2 / 61)
    assert rrf(RANKS).scores == pytest.approx(expected, rel=1e-12)


def test_rrf_golden_with_weights_and_k():
    """k = 1, weights 3 and 1: parts 2/2, 2/3; a: 3·1/4, b: (3·2/3 + 1·1)/4."""
    ranks = {"dense": array(1, 2), "text": array(NAN, 1)}
    fused = rrf(ranks, weights={"dense": 3, "text": 1}, k=1)
    assert fused.scores.tolist() == [0.75, 0.75]
    assert fused.parts["dense"].tolist() == [1, 2 / 3]
    assert fused.parts["text"][1] == 1
    assert np.isnan(fused.parts["text"][0])


def test_rrf_k_0_is_the_reciprocal_rank():
    assert rrf({"only": array(1, 2, 4)}, k=0).scores.tolist() == [1.0, 0.5, 0.25]


def test_a_leg_that_was_not_asked_drops_out_and_an_empty_one_does_not():
    assert rrf({"dense": array(1)}).scores.tolist() == [1.0]
    assert rrf({"dense": array(1), "text": array(NAN)}).scores.tolist() == [0.5]
    weights = {"dense": 0, "text": 2}
    assert rrf({"dense": array(1)}, weights=weights).scores.tolist() == [1.0]
    both = {"dense": array(1), "text": array(NAN)}
    assert rrf(both, weights=weights).scores.tolist() == [0.0]


@pytest.mark.parametrize(
    "legs", [{}, {"dense": array()}, {"dense": array(), "text": array()}]
)
def test_nothing_in_nothing_out(legs):
    assert rrf(legs).scores.tolist() == []
    assert weighted(legs, top_bm25=1, mean_cosine=0).scores.tolist() == []


def test_three_legs_and_any_names():
    fused = rrf({"q1": array(1, 2), "q2": array(1, 2), "q3": array(2, 1)})
    assert fused.scores[0] > fused.scores[1]


# --- weighted scores ---------------------------------------------------------------------

SCORES = {"dense": array(0.9, 0.7, 0.2, 0.6), "text": array(0.0, 8.0, 5.0, 2.0)}
SCALES = {"top_bm25": 10, "mean_cosine": 0.5}


def test_weighted_golden():
    """m = .5 and top 10: dense parts .8 .4 0 .2, text parts 0 .8 .5 .2."""
    fused = weighted(SCORES, **SCALES)
    assert fused.parts["dense"] == pytest.approx([0.8, 0.4, 0, 0.2])
    assert fused.parts["text"] == pytest.approx([0, 0.8, 0.5, 0.2])
    expected = [
        0.3 * 0.8,
        0.3 * 0.4 + 0.7 * 0.8,
        0.7 * 0.5,
        0.3 * 0.2 + 0.7 * 0.2,
    ]
    assert fused.scores == pytest.approx(expected, rel=1e-12)


def test_weights_are_relative():
    fused = weighted(SCORES, weights={"dense": 3, "text": 1}, **SCALES)
    assert fused.scores[1] == pytest.approx(0.75 * 0.4 + 0.25 * 0.8)
    huge = weighted(SCORES, weights={"dense": 1.5e308, "text": 0.5e308}, **SCALES)
    tiny = weighted(SCORES, weights={"dense": 3e-320, "text": 1e-320}, **SCALES)
    assert huge.scores == pytest.approx(fused.scores, rel=1e-12)
    assert tiny.scores == pytest.approx(fused.scores, rel=1e-3)  # 1e-320 has few digits


def test_the_only_leg_asked_weighs_1():
    fused = weighted({"dense": array(0.9, 0.7)}, mean_cosine=0.5)
    assert fused.scores == pytest.approx([0.8, 0.4])
    assert list(fused.parts) == ["dense"]
    weights = {"dense": 1, "text": 0}
    fused = weighted({"text": array(8, 2)}, top_bm25=10, weights=weights)
    assert fused.scores.tolist() == [0.8, 0.2]


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
    fused = weighted({"dense": array(cosine)}, mean_cosine=mean)
    assert fused.scores[0] == fused.parts["dense"][0] == pytest.approx(part)


def test_the_text_part_may_exceed_its_top_by_rounding_alone():
    assert weighted({"text": array(5.00001)}, top_bm25=5).scores.tolist() == [1.0]
    with pytest.raises(InvalidInputError, match=r"BM25/top_bm25 .* got 1\.2"):
        weighted({"text": array(1.0, 6.0)}, top_bm25=5)


def test_equal_scores_stay_what_they_are():
    """Report 68: where all scores were equal, scaling made every one of them 1."""
    legs = {"dense": array(0.6, 0.6, 0.6), "text": array(5, 5, 5)}
    fused = weighted(legs, **SCALES)
    assert fused.parts["dense"] == pytest.approx([0.2] * 3)
    assert fused.parts["text"] == pytest.approx([0.5] * 3)


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
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
    with pytest.raises(InvalidInputError, match=message):
        rrf(RANKS, weights=weights)
    with pytest.raises(InvalidInputError, match=message):
        weighted(SCORES, weights=weights, **SCALES)


def test_a_weight_of_no_leg():
    message = "unknown leg 'lexical'; the legs are dense, text"
    with pytest.raises(InvalidInputError, match=message):
        weighted(SCORES, weights={"dense": 1, "lexical": 1}, **SCALES)


@pytest.mark.parametrize("k", [-1, math.inf, math.nan, None, "60", True])
def test_k_that_is_none(k):
    with pytest.raises(InvalidInputError, match=f"k must be .*{k!r}"):
        rrf(RANKS, k=k)


@pytest.mark.parametrize("rank", [0, -1, math.inf])
def test_a_rank_that_is_none(rank):
    with pytest.raises(InvalidInputError, match=r"the rank by 'text' must be a number"):
        rrf({"text": array(1, rank)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dense": array(math.nan, 0, 0, 0)}, "the cosine must be .* got nan"),
        ({"dense": array(0, 1.1, 0, 0)}, "the cosine .* at most 1.* got 1.1"),
        ({"text": array(0, 0, -1, 0)}, "BM25.* at least 0.* got -0.1"),
        ({"text": array(0, 0, math.inf, 0)}, "BM25.* got inf"),
        ({"top_bm25": None}, "top_bm25 must be a number.* got None"),
        ({"top_bm25": 0}, "leave 'text' out"),
        ({"mean_cosine": None}, "mean_cosine must be a number.* got None"),
        ({"mean_cosine": -1.5}, "mean_cosine .* at least -1.* got -1.5"),
        ({"words": array(0, 0, 0, 0)}, "scores.*'words'; the legs are dense, text"),
    ],
)
def test_scores_and_scales_that_are_none(change, message):
    scales = SCALES | {name: change[name] for name in SCALES if name in change}
    scores = SCORES | {name: change[name] for name in change if name not in SCALES}
    with pytest.raises(InvalidInputError, match=message):
        weighted(scores, **scales)
