"""Plans as values, what each search is as a plan, and what running one costs."""

import dataclasses
import math

import numpy as np
import pytest

from fakes import Counting
from langchain_ragstore import (
    HashingEmbeddings,
    InvalidInputError,
    Plan,
    RagPipeline,
    SQLiteVectorStore,
)
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.cut import Threshold, Top
from langchain_ragstore.retrieval.diversify import Diversify
from langchain_ragstore.retrieval.fuse import Fused
from langchain_ragstore.retrieval.group import Group
from langchain_ragstore.retrieval.hybrid import ReciprocalRank, Weighted, WeightedByQuery
from langchain_ragstore.retrieval.neighbours import Neighbours
from langchain_ragstore.retrieval.question import Question
from langchain_ragstore.retrieval.sources import Dense, Lexical
from langchain_ragstore.search_request import to_search

KEY = ("source_id",)
PLANS = [
    ("similarity", {}, Plan((Dense(4),))),
    ("similarity_score_threshold", {}, Plan((Dense(4),))),
    ("text", {"k": 2}, Plan((Lexical(2),))),
    ("mmr", {}, Plan((Dense(20),), None, (Diversify(4, 0.5),))),
    (
        "hybrid",
        {},
        Plan((Dense(50), Lexical(50)), WeightedByQuery(), (Top(4),)),
    ),
    (
        "hybrid",
        {"k": 60, "weights": {"dense": 1, "text": 3}, "lambda_mult": 0.25},
        Plan((Dense(60), Lexical(60)), Weighted(1.0, 3.0), (Diversify(60, 0.25),)),
    ),
    (
        "hybrid",
        {"fusion": "rrf", "rrf_k": 10, "fetch_k": 7},
        Plan((Dense(7), Lexical(7)), ReciprocalRank(10.0, 1.0, 1.0), (Top(4),)),
    ),
    (
        "similarity",
        {"k": 3, "score_threshold": 0, "group_by": "source_id", "window": 2},
        Plan(
            (Dense(12),),
            stages=(Threshold(0.0), Group(KEY, 1, 3), Top(3), Neighbours(2)),
        ),
    ),
    (
        "mmr",
        {"k": 3, "fetch_k": 9, "group_by": ("a", "b"), "per_group": 2, "lambda_mult": 1},
        Plan((Dense(9),), stages=(Group(("a", "b"), 2, 3), Diversify(3, 1.0))),
    ),
    ("text", {"window": 0, "group_by": None, "per_group": None}, Plan((Lexical(4),))),
    ("mmr", {"k": 0}, Plan((Dense(0),), stages=(Diversify(0, 0.5),))),
]


@pytest.mark.parametrize(("kind", "keywords", "plan"), PLANS, ids=str)
def test_each_search_is_a_plan(kind, keywords, plan):
    assert to_search(kind, keywords).plan == plan
    assert hash(to_search(kind, keywords).plan) == hash(plan)


def test_plans_are_values():
    plan = Plan((Dense(4),), stages=(Threshold(0.5),))
    assert plan == Plan((Dense(4),), None, (Threshold(0.5),))
    assert plan != Plan((Dense(5),), None, (Threshold(0.5),))
    assert plan != Plan((Lexical(4),), None, (Threshold(0.5),))
    assert repr(plan) == (
        "Plan(sources=(Dense(depth=4, exact=False),), fuse=None, "
        "stages=(Threshold(least=0.5),))"
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.fuse = Weighted()
    assert len({plan, Plan((Dense(4),), None, (Threshold(0.5),))}) == 1


# --- what it costs --------------------------------------------------------------------


LEGS = ["dense", "lexical"]
HALVES = {"dense": 0.5, "text": 0.5}
DEEP = ["cosines", "mean", "reachable", "bm25"]
SCALES = ["mean", "reachable"]


class Watching:
    """Notes the reads of a backend, and of its views."""

    def __init__(self, backend, calls=None):
        self.backend, self.calls = backend, [] if calls is None else calls

    def __getattr__(self, name):
        method = getattr(self.backend, name)

        def noted(*args, **kwargs):
            if name == "within":
                collection, ask = args
                return method(collection, lambda view: ask(Watching(view, self.calls)))
            if name != "ids":
                self.calls.append(len(args[0]) if name == "records" else name)
            return method(*args, **kwargs)

        return noted


@pytest.fixture
def store():
    with SQLiteVectorStore(Counting()) as store:
        texts = [f"tea number {at} of many" for at in range(30)]
        metadatas = [
            {"source_id": f"s{at // 3}", "chunk_index": at % 3, "n": at} for at in range(30)
        ]
        ids = [f"s{at // 3}:chunk:{at % 3:04d}" for at in range(30)]
        store.add_texts(texts, metadatas, ids=ids)
        store._embedder.model.calls.clear()
        store._backend = Watching(store._backend)
        yield store


@pytest.mark.parametrize(
    ("kind", "keywords", "calls"),
    [
        ("similarity", {}, ["dense", 2]),
        ("similarity", {"score_threshold": 0.1}, ["dense", 2]),
        ("similarity", {"group_by": "n"}, ["dense", 8]),
        ("similarity", {"window": 1}, ["dense", 2, "get"]),
        ("mmr", {}, ["dense", 20]),
        ("text", {}, ["lexical", "reachable", 2]),
        ("hybrid", {}, [*LEGS, 10, *SCALES]),
        ("hybrid", {"score_threshold": 0.1}, [*LEGS, 10, *SCALES]),
        ("hybrid", {"lambda_mult": 0.5}, [*LEGS, 10, *SCALES, 20]),
        ("hybrid", {"fetch_k": 3}, [*LEGS, 10, *SCALES, "bm25"]),
        ("hybrid", {"fetch_k": 3, "weights": HALVES}, [*LEGS, *DEEP, 2]),
        ("hybrid", {"fusion": "rrf"}, [*LEGS, 2]),
    ],
    ids=str,
)
def test_a_search_reads_no_more_than_it_needs(store, kind, keywords, calls):
    store.search("tea number", kind, k=2, **keywords)
    assert store._backend.calls == calls
    embedded = [] if kind == "text" else ["embed_query"]
    assert store._embedder.model.calls == embedded


def test_explaining_embeds_once(store):
    store.explain("tea", search_type="hybrid", ids=["s1:chunk:0001", "nothing"])
    assert store._embedder.model.calls == ["embed_query"]


def test_other_ids_are_searched_for(store):
    """Chunks stored under ids of their own are found by their metadata."""
    plain = store.get()
    store.clear()
    for document in plain:
        document.id = f"own-{document.metadata['n']}"
    store.add_documents(plain)
    store._backend.calls.clear()
    (found,) = store.similarity_search("tea number 4", k=1, filter={"n": 4}, window=1)
    assert store._backend.calls == ["dense", 1, "get", "scan"]
    assert found.metadata["ragstore"]["joined"] == ["own-4"]  # the filter holds
    (found,) = store.text_search("4", k=1, window=1)
    assert found.metadata["ragstore"]["joined"] == ["own-3", "own-4", "own-5"]


def test_grouping_goes_deeper_only_if_it_must(store):
    assert len(store.similarity_search("tea", k=4, group_by="source_id")) == 4
    first = store._backend.calls.count("dense")
    assert first == 1
    why = store.explain(
        "tea", search_type="similarity", k=9, group_by="source_id", filter={"n": {"$gt": 2}}
    )
    assert len(why.hits) == 9
    alone = store.explain("tea", search_type="similarity", k=1, group_by="nothing")
    assert (alone.rounds, len(alone.hits)) == (1, 1)


def test_a_threshold_ends_the_search_for_groups(store):
    """Nothing further down can reach it, so nothing further down is fetched."""
    store.add_texts(["tea"] * 40, [{"same": 1, "n": 100 + at} for at in range(40)])
    best = store.similarity_search_with_score("tea", k=1)[0][1]
    for kind in ("similarity", "text", "hybrid"):
        asked = {"k": 3, "group_by": "same", "filter": {"n": {"$gte": 100}}}
        why = store.explain("tea", search_type=kind, score_threshold=0.0, **asked)
        assert len(why.hits) == 1
        assert why.rounds == (1 if kind == "hybrid" else 2)
    why = store.explain(
        "tea", search_type="similarity", k=9, group_by="same", score_threshold=best
    )
    assert (why.rounds, len(why.hits)) == (2, 1)
    assert why.steps[0].part == Dense(144)


# --- keywords are checked before anything is embedded -----------------------------------


@pytest.mark.parametrize("kind", ["similarity", "mmr", "text", "hybrid"])
@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"window": -1}, "window is a number of chunks from 0 to 100, got -1"),
        ({"window": 101}, "from 0 to 100, got 101"),
        ({"window": 1.5}, "window must be an integer, got 1.5"),
        ({"window": True}, "window must be an integer, got True"),
        ({"group_by": ""}, "group_by is a metadata key.*got ''"),
        ({"group_by": ()}, r"group_by is a metadata key.*got \(\)"),
        ({"group_by": ["a"]}, r"group_by is a metadata key.*got \['a'\]"),
        ({"group_by": ("a", 1)}, "group_by is a metadata key"),
        ({"group_by": 3}, "group_by is a metadata key.*got 3"),
        ({"group_by": "$id"}, r"got '\$id'.*\('\$id',\)"),
        ({"per_group": 2}, "per_group=2 needs group_by"),
        ({"group_by": "a", "per_group": 0}, "per_group must be at least 1, got 0"),
        ({"group_by": "a", "per_group": "2"}, "per_group must be an integer, got '2'"),
        ({"group_by": "a", "per_group": True}, "per_group must be an integer, got True"),
    ],
    ids=str,
)
def test_wrong_values(store, kind, keywords, words):
    pipeline = RagPipeline(store=store)
    for call in (
        lambda: store.search("tea", kind, **keywords),
        lambda: store.explain("tea", search_type=kind, **keywords),
        lambda: store.as_retriever(search_type=kind).invoke("tea", **keywords),
        lambda: pipeline.retrieve("tea", search_type=kind, **keywords),
    ):
        with pytest.raises(InvalidInputError, match=words):
            call()
    assert store._backend.calls == store._embedder.model.calls == []


@pytest.mark.parametrize("mult", [-0.1, 1.1, float("nan"), "half", True])
def test_lambda_mult_of_a_hybrid_search(store, mult):
    with pytest.raises(InvalidInputError, match="lambda_mult must be in"):
        store.hybrid_search("tea", lambda_mult=mult)


def test_a_mistyped_keyword(store):
    with pytest.raises(TypeError, match=r"text_search\(\) got .*did you mean 'window'"):
        store.text_search("tea", widow=1)
    with pytest.raises(TypeError, match=r"'groupby'; did you mean 'group_by'"):
        store.as_retriever(search_kwargs={"groupby": "a"})
    with pytest.raises(TypeError, match=r"explain\(\) got .*'widow'"):
        store.as_retriever().explain("tea", widow=1)
    with pytest.raises(TypeError, match=r"similarity_search\(\) got .*'search_type'"):
        store.similarity_search("tea", search_type="text")
    with pytest.raises(InvalidInputError, match="a query is a string, got int"):
        store.explain(5)


# --- diversity in a hybrid search ---------------------------------------------------------


def test_diversity_chooses_among_hybrid_candidates():
    """Of twins one is left for later; λ = 1 is the order by score."""
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        texts = ["green tea", "green tea!", "tea of the green hills", "paint"]
        store.add_texts(texts, ids=list("abcd"))
        plain = store.hybrid_search_with_score("green tea", k=4)
        by_score = store.hybrid_search_with_score("green tea", k=4, lambda_mult=1)
        assert by_score == plain
        assert {d.id for d, _ in plain[:2]} == {"a", "b"}
        first, second = store.hybrid_search_with_score("green tea", k=2, lambda_mult=0.3)
        assert first == plain[0]
        assert second in plain[2:]


def test_diversity_knows_documents_without_vectors(tmp_path):
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(None, path) as store:
        store.add_texts(["green tea only by words"], ids=["plain"])
    with SQLiteVectorStore(HashingEmbeddings(), path) as store:
        store.add_texts(["green tea", "paint"], ids=["a", "b"])
        found = store.hybrid_search("green tea", k=3, lambda_mult=0.5)
        assert sorted(d.id for d in found) == ["a", "b", "plain"]
        # It is as far away as can be: its words alone count.
        why = store.explain("green tea", search_type="hybrid", k=3)
        (plain,) = (hit for hit in why.hits if hit.id == "plain")
        assert (plain.signals["dense"], plain.contributions["dense"]) == (-1.0, 0.0)
        assert "dense" not in plain.ranks


def test_diversity_without_any_vector():
    hits = [Hit(Record(id, "", {}), 1.0) for id in "abc"]
    assert Diversify(2, 0.5)(hits, Question(), None) == hits[:2]


def test_the_best_that_is_no_candidate():
    """Of a list that goes on its last part, of one that has ended nothing: 1/4 · 1/2."""
    parts = {"dense": np.array([1.0, 0.5]), "text": np.array([0.25, 1.0])}
    fused = Fused(np.zeros(2), parts)
    fuse = Weighted(dense=1.0, text=3.0)
    assert fuse.beyond(fused, {"dense": 1}) == 0.125
    assert fuse.beyond(fused, {"text": 0}) == 0.1875
    assert fuse.beyond(fused, {"dense": 1, "text": 0}) == 0.3125
    assert ReciprocalRank().beyond(fused, {"dense": 1}) == math.inf


def test_scores_of_diverse_results(store):
    (found, *_) = store.max_marginal_relevance_search("tea", with_scores=True)
    assert found.metadata["relevance_score"] == found.metadata["ragstore"]["dense"]
