"""`RetrievalConfig`: what it is by default, the seed's figures, and what it refuses."""

import dataclasses
import re

import pytest

from langchain_ragstore import InvalidInputError, RetrievalConfig

DEFAULTS = {
    "rerank": False,
    "code_weights": (0.55, 0.35, 0.10),
    "table_weights": (0.50, 0.30, 0.20),
    "conversational_weights": (0.85, 0.10, 0.05),
    "other_weights": (0.70, 0.20, 0.10),
    "schema_bonus": 0.25,
    "core_factor": 1.33,
    "importance_threshold": None,
    "dedup_threshold": None,
    "topics": False,
    "max_topics": 8,
    "topic_seed": 0,
    "candidates": 50,
    "reranked": 50,
    "rerank_batch": 32,
    "rerank_seconds": 30.0,
}


def test_defaults():
    assert dataclasses.asdict(RetrievalConfig()) == DEFAULTS
    assert RetrievalConfig().needs_vectors == []


def test_the_seed():
    on = {"rerank": True, "importance_threshold": 0.0, "dedup_threshold": 0.88}
    assert dataclasses.asdict(RetrievalConfig.phase_r()) == DEFAULTS | on
    assert RetrievalConfig.phase_r().needs_vectors == ["rerank", "dedup_threshold"]
    assert RetrievalConfig(topics=True).needs_vectors == ["topics"]


def test_it_is_a_value():
    config = RetrievalConfig(code_weights=[1, 2, 3])
    assert config == RetrievalConfig(code_weights=(1.0, 2.0, 3.0))
    assert hash(config) == hash(RetrievalConfig(code_weights=(1, 2, 3)))
    assert repr(RetrievalConfig()) == "RetrievalConfig()"
    assert repr(config) == "RetrievalConfig(code_weights=(1.0, 2.0, 3.0))"
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.rerank = True
    with pytest.raises(TypeError, match="positional"):
        RetrievalConfig(True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rerank": 1}, "rerank is True or False, got 1"),
        ({"topics": "yes"}, "topics is True or False, got 'yes'"),
        ({"table_weights": (1, 2)}, r"table_weights are three numbers.*got \(1, 2\)"),
        ({"other_weights": "abc"}, "other_weights are three numbers.*got 'abc'"),
        ({"code_weights": None}, "code_weights are three numbers.*got None"),
        (
            {"code_weights": (1, -1, 0)},
            "each of code_weights must be a number, finite, at least 0; got -1",
        ),
        (
            {"conversational_weights": (1, 0, float("nan"))},
            "each of conversational_weights .* got nan",
        ),
        (
            {"schema_bonus": -0.1},
            "schema_bonus must be a number, finite, at least 0; got -0.1",
        ),
        ({"core_factor": float("inf")}, "core_factor must be .* got inf"),
        ({"core_factor": True}, "core_factor must be .* got True"),
        (
            {"importance_threshold": "high"},
            "importance_threshold must be a number, finite; got 'high'",
        ),
        (
            {"dedup_threshold": 1.1},
            "dedup_threshold must be a number, finite, at least -1, at most 1; got 1.1",
        ),
        ({"rerank_seconds": 0}, "rerank_seconds is more than 0, or None"),
        ({"rerank_seconds": -1}, "rerank_seconds must be .* got -1"),
        ({"max_topics": 0}, "max_topics must be an integer, at least 1; got 0"),
        ({"candidates": 2.5}, "candidates must be an integer, at least 1; got 2.5"),
        ({"reranked": False}, "reranked must be an integer, at least 1; got False"),
        ({"rerank_batch": 0}, "rerank_batch must be an integer"),
        ({"topic_seed": -1}, "topic_seed must be an integer, at least 0; got -1"),
    ],
    ids=str,
)
def test_what_is_no_value(values, words):
    with pytest.raises(InvalidInputError, match=words):
        RetrievalConfig(**values)


def test_what_just_is_one():
    RetrievalConfig(dedup_threshold=-1, importance_threshold=-5, rerank_seconds=None)
    RetrievalConfig(
        dedup_threshold=1, schema_bonus=0, core_factor=0, code_weights=(0, 0, 0)
    )


def test_a_wrong_keyword():
    with pytest.raises(TypeError, match=re.escape("unexpected keyword argument 'weights'")):
        RetrievalConfig(weights=(1, 2, 3))
