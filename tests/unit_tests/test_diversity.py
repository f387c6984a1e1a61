"""The measures of `benchmarks/quality/diversity.py`, by hand."""

import importlib.util
import itertools
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


diversity = loaded(BENCHMARKS / "quality" / "diversity.py")

# a tells x and y, b tells x again, c tells z.
SUBTOPICS = {"x": ["a", "b"], "y": ["a"], "z": ["c"]}
BEST = 2 + 1 / math.log2(3) + 0.5 / 2  # a: x and y; c: z; b: x again, at rank 3
GIVEN = st.dictionaries(
    st.sampled_from("xyz"), st.sets(st.sampled_from("abcde"), min_size=1), min_size=1
)


@pytest.mark.parametrize(
    ("ranking", "gain"),
    [
        ("acb", BEST),
        ("abc", 2 + 0.5 / math.log2(3) + 1 / 2),  # b repeats x: half of it
        ("bac", 1 + (0.5 + 1) / math.log2(3) + 1 / 2),  # now a repeats x, and tells y
        ("qqa", 2 / 2),
        ("", 0.0),
    ],
)
def test_alpha_ndcg_by_hand(ranking, gain):
    assert diversity.alpha_ndcg(ranking, SUBTOPICS, 10) == pytest.approx(gain / BEST)


def test_only_the_first_k_count():
    assert diversity.alpha_ndcg("bac", SUBTOPICS, 1) == pytest.approx(1 / 2)
    assert diversity.alpha_ndcg("acb", SUBTOPICS, 1) == 1.0


def test_alpha():
    assert diversity.ALPHA == 0.5
    assert diversity.alpha_ndcg("ab", {"x": "ab"}, 2, alpha=0) == 1.0
    one_of_two = diversity.alpha_ndcg("a", {"x": "ab"}, 2, alpha=0)
    assert one_of_two == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert diversity.alpha_ndcg("a", {"x": "ab"}, 2, alpha=1) == 1.0  # b tells nothing new


def test_the_best_order_is_greedy_and_breaks_ties_by_id():
    assert diversity.best_order(SUBTOPICS, 10) == ["a", "c", "b"]
    assert diversity.best_order({"x": ["b", "a"]}, 1) == ["a"]


def test_subtopics_told():
    assert diversity.subtopics_told("b", SUBTOPICS) == pytest.approx(1 / 3)
    assert diversity.subtopics_told("ac", SUBTOPICS) == 1.0
    assert diversity.subtopics_told("", SUBTOPICS) == 0.0


@given(GIVEN)
def test_the_best_order_reaches_one_and_none_is_above(subtopics):
    best = diversity.best_order(subtopics, 5)
    assert diversity.alpha_ndcg(best, subtopics, 5) == 1.0
    for order in itertools.permutations("abcde"):
        assert 0 <= diversity.alpha_ndcg(order, subtopics, 5) <= 1


def read(name):
    lines = (BENCHMARKS / "data" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_weather_station_is_whole():
    chunks, queries = read("station.docs.jsonl"), read("station.queries.jsonl")
    ids = {chunk["id"] for chunk in chunks}
    assert len(ids) == len({chunk["text"] for chunk in chunks}) == len(chunks) == 213
    assert len({query["id"] for query in queries}) == len(queries) == 170
    for query in queries:
        told = {id for listed in query["subtopics"].values() for id in listed}
        assert told == set(query["relevant"]) <= ids
        assert set(query["relevant"].values()) <= {1, 2}
        assert (query["kind"] == "tagged") == ("core_tags" in query)
    tags = {tag for chunk in chunks for tag in chunk["metadata"]["tags"]}
    assert {tag for query in queries for tag in query.get("core_tags", [])} <= tags
