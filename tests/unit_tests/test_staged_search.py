"""Stages in searches: keywords, plans, retrievers, other packages' stores, explanations."""

import asyncio
import json

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from fakes import Counting, Table
from langchain_ragstore import (
    HashingEmbeddings,
    InvalidInputError,
    Plan,
    RagPipeline,
    RagRetriever,
    RetrievalConfig,
    SQLiteVectorStore,
    StorageError,
    TextAnalyzer,
)
from langchain_ragstore.retrieval.boost import CoreBoost
from langchain_ragstore.retrieval.buckets import Bucket
from langchain_ragstore.retrieval.cut import Threshold, Top
from langchain_ragstore.retrieval.dedup import Deduplicate
from langchain_ragstore.retrieval.diversify import Diversify
from langchain_ragstore.retrieval.group import Group
from langchain_ragstore.retrieval.hybrid import WeightedByQuery
from langchain_ragstore.retrieval.importance import Importance
from langchain_ragstore.retrieval.neighbours import Neighbours
from langchain_ragstore.retrieval.rerank import Rerank
from langchain_ragstore.retrieval.rerank_model import RerankByModel
from langchain_ragstore.retrieval.sources import Dense, Lexical
from langchain_ragstore.search_request import to_search

PHASE_R = RetrievalConfig.phase_r()
TEXTS = {
    "green": ("green tea is green", {"title": "Tea", "importance": 2}),
    "again": ("green tea is green!", {"importance": -1}),
    "black": ("black tea", {"tags": ["House"]}),
    "paint": ("paint dries", {}),
    "table": ("columns of the table: tea, price", {"content_type": "table_schema"}),
}
KINDS = ["similarity", "mmr", "text", "hybrid"]


def longest(query, texts):
    return [len(text) for text in texts]


async def longest_later(query, texts):
    await asyncio.sleep(0)
    return longest(query, texts)


def filled(store):
    texts, metadatas = zip(*TEXTS.values(), strict=True)
    store.add_texts(list(texts), list(metadatas), ids=list(TEXTS))
    return store


@pytest.fixture
def store():
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        yield filled(store)


@pytest.fixture
def foreign():
    return filled(InMemoryVectorStore(HashingEmbeddings()))


def ids(found):
    return [document.id for document in found]


# --- plans ------------------------------------------------------------------------------


def test_without_stages_nothing_changes():
    """The default configuration is the search as it is."""
    for kind in KINDS:
        plain = to_search(kind, {})
        for nothing in (
            {"retrieval_config": RetrievalConfig()},
            {"retrieval_config": None, "core_tags": None, "reranker": None},
            {"core_tags": []},
        ):
            assert to_search(kind, nothing) == plain
    assert to_search("hybrid", {}).plan.stages == (Top(4),)


def test_the_seeds_plan():
    chain = (Importance(0.0, 4), Rerank(), Deduplicate(0.88))
    plan = to_search("hybrid", {"retrieval_config": PHASE_R}).plan
    assert plan == Plan((Dense(50), Lexical(50)), WeightedByQuery(), (*chain, Top(4)))
    plan = to_search("similarity", {"retrieval_config": PHASE_R}).plan
    assert plan == Plan((Dense(50),), None, (*chain, Top(4)))
    plan = to_search("text", {"retrieval_config": PHASE_R, "fetch_k": 9}).plan
    assert plan == Plan((Lexical(9),), None, (*chain, Top(4)))
    plan = to_search("mmr", {"retrieval_config": PHASE_R}).plan
    assert plan == Plan((Dense(20),), None, (*chain, Diversify(4, 0.5)))
    assert hash(plan) == hash(to_search("mmr", {"retrieval_config": PHASE_R}).plan)


def test_the_order_of_all_stages():
    keywords = {
        "retrieval_config": RetrievalConfig(
            rerank=True,
            importance_threshold=1,
            dedup_threshold=0.9,
            topics=True,
            candidates=30,
            reranked=20,
            rerank_batch=5,
            rerank_seconds=2.0,
        ),
        "core_tags": ["B", "a", "b"],
        "reranker": longest,
        "score_threshold": 0.1,
        "group_by": "source",
        "window": 1,
        "k": 3,
    }
    assert to_search("similarity", keywords).plan.stages == (
        Importance(1, 0),
        Rerank(),
        CoreBoost(("a", "b"), 1.33),
        Threshold(0.1),
        RerankByModel(longest, 20, 5, 2.0),
        Deduplicate(0.9),
        Group(("source",), 1, 0),
        Top(3),
        Bucket(8, 0),
        Neighbours(1),
    )
    assert to_search("similarity", keywords).plan.sources == (Dense(30),)
    assert to_search("text", {**keywords, "k": 99}).plan.sources == (Lexical(396),)


def test_figures_come_from_the_configuration():
    weights = {
        "code_weights": (1, 2, 3),
        "table_weights": (4, 5, 6),
        "conversational_weights": (7, 8, 9),
        "other_weights": (10, 11, 12),
    }
    config = RetrievalConfig(
        rerank=True,
        schema_bonus=13,
        core_factor=14,
        topics=True,
        max_topics=2,
        topic_seed=3,
        **weights,
    )
    stages = to_search("hybrid", {"retrieval_config": config, "core_tags": "x"}).plan.stages
    rerank = Rerank((1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12), 13)
    assert stages == (rerank, CoreBoost(("x",), 14), Top(4), Bucket(2, 3))


def test_a_model_sees_what_is_wanted():
    (model, _) = to_search("hybrid", {"reranker": longest, "k": 70}).plan.stages
    assert model.most == 70


def test_a_threshold_is_no_bound_of_scores_that_are_made_anew():
    plan = to_search("similarity", {"score_threshold": 0.5, "core_tags": ["x"]}).plan
    assert plan.least == -np.inf
    assert to_search("similarity", {"score_threshold": 0.5}).plan.least == 0.5
    config = RetrievalConfig(importance_threshold=0)
    assert (
        to_search("text", {"score_threshold": 0.5, "retrieval_config": config}).plan.least
        == 0.5
    )


def test_the_query_is_embedded_if_it_is_compared():
    with SQLiteVectorStore(Counting()) as store:
        filled(store)
        calls = store._embedder.model.calls
        for keywords, number in [
            ({}, 0),
            ({"retrieval_config": RetrievalConfig(dedup_threshold=0.9)}, 0),
            ({"retrieval_config": RetrievalConfig(rerank=True)}, 1),
        ]:
            calls.clear()
            assert store.text_search("tea", **keywords)
            store.explain("tea", search_type="text", **keywords)
            assert calls == ["embed_query"] * (2 * number)


# --- results ----------------------------------------------------------------------------


def test_the_formula_in_each_search(store):
    """The same score, whichever search found a document."""
    wanted = None
    for kind in KINDS:
        found = store.search_with_score(
            "tea price", kind, k=5, retrieval_config=RetrievalConfig(rerank=True)
        )
        found = {d.id: score for d, score in found if d.id in ("green", "black", "table")}
        wanted = wanted or found
        assert found == pytest.approx(wanted)
    vector = HashingEmbeddings().embed_query("tea price")
    by_vector = store.similarity_search_with_score_by_vector(
        vector, 5, retrieval_config=RetrievalConfig(rerank=True)
    )
    assert {d.id for d, _ in by_vector} == set(TEXTS)


def test_terms_are_the_stores():
    table = {"fee": [1, 0], "Fees!": [1, 0]}
    for analyzer, keyword in ((None, 1.0), (TextAnalyzer(stemmer=None), 0.0)):
        with SQLiteVectorStore(Table(table), text_analyzer=analyzer) as store:
            store.add_texts(["Fees!"])
            (found,) = store.similarity_search(
                "fee", retrieval_config=RetrievalConfig(rerank=True), with_scores=True
            )
            assert found.metadata["ragstore"]["keyword"] == keyword


@pytest.mark.parametrize("kind", ["similarity", "text", "hybrid"])
def test_core_tags(store, kind):
    plain = {d.id: s for d, s in store.search_with_score("tea", kind, k=5)}
    found = store.search_with_score("tea", kind, k=5, core_tags=["HOUSE"])
    boosted = {d.id: score for d, score in found}
    assert boosted["black"] == plain["black"] * 1.33
    assert {id: s for id, s in boosted.items() if id != "black"} == {
        id: s for id, s in plain.items() if id != "black"
    }
    assert [s for _, s in found] == sorted((s for _, s in found), reverse=True)
    assert ids(store.search("tea", kind, k=1, core_tags="house", fetch_k=5)) == ids(
        d for d, _ in found[:1]
    )


def test_near_duplicates_are_refilled(store):
    config = RetrievalConfig(dedup_threshold=0.88)
    for kind in KINDS:
        found = ids(
            store.search("green tea", kind, k=2, retrieval_config=config, fetch_k=5)
        )
        assert len(found) == 2
        assert not {"green", "again"} <= set(found)
    assert ids(store.search("green tea", "similarity", k=2)) == ["green", "again"]
    few = store.similarity_search("green tea", 2, retrieval_config=config, fetch_k=2)
    assert ids(few) == ["green"]  # nothing else was fetched


def test_copies_in_another_case_width_or_with_other_blanks_are_one_result():
    """Report 34: results were copies of one text that a comparison of texts told apart."""
    copies = ["green tea is hot", "Green  tea is\nhot", "ＧＲＥＥＮ ＴＥＡ is hot"]
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        store.add_texts([*copies, "rain"], ids=["a", "b", "c", "rain"])
        config = RetrievalConfig(dedup_threshold=0.88)
        for kind in ("similarity", "hybrid"):
            found = store.search("green tea", kind, k=2, retrieval_config=config)
            assert ids(found) == ["a", "rain"]


def test_near_duplicates_without_vectors(tmp_path):
    with SQLiteVectorStore(None) as store:
        filled(store)
        with pytest.raises(InvalidInputError, match="near duplicates compares vectors"):
            store.text_search("tea", retrieval_config=RetrievalConfig(dedup_threshold=0.88))
        with pytest.raises(InvalidInputError, match="no embedding to search with"):
            store.text_search("tea", retrieval_config=RetrievalConfig(rerank=True))


def test_importance(store):
    config = RetrievalConfig(importance_threshold=0)
    assert set(ids(store.search("tea", "hybrid", k=5, retrieval_config=config))) == set(
        TEXTS
    ) - {"again"}
    config = RetrievalConfig(importance_threshold=1)
    assert ids(store.search("tea", "hybrid", k=5, retrieval_config=config)) == ["green"]


def test_importance_goes_deeper(store):
    """The important one is far down: candidates are fetched until it is found."""
    config = RetrievalConfig(importance_threshold=5, candidates=1)
    store.add_texts(["unlike"], [{"importance": 9}], ids=["far"])
    why = store.explain("green tea", search_type="similarity", k=1, retrieval_config=config)
    assert [hit.id for hit in why.hits] == ["far"]
    assert why.rounds > 1


def test_topics(store):
    found = store.search(
        "tea", "hybrid", k=5, retrieval_config=RetrievalConfig(topics=True)
    )
    assert all(isinstance(d.metadata["ragstore"]["topic"], str) for d in found)
    assert all("relevance_score" not in d.metadata for d in found)


def test_scores_are_told_on_request_alone(store):
    keywords = {
        "retrieval_config": RetrievalConfig(rerank=True),
        "core_tags": ["house"],
        "k": 5,
    }
    assert store.search("tea", "hybrid", **keywords)[0].metadata.keys() <= {
        *("title", "importance", "tags", "content_type"),
    }
    found = {d.id: d for d in store.search("tea", "hybrid", with_scores=True, **keywords)}
    told = found["black"].metadata["ragstore"]
    assert told["about"] == "other"
    assert (told["core"], told["keyword"], told["title"]) == (1.33, 1.0, 0.0)
    score = (0.7 * told["semantic"] + 0.2) * 1.33
    assert found["black"].metadata["relevance_score"] == pytest.approx(score)


@pytest.mark.parametrize("model", [longest, longest_later], ids=["sync", "async"])
@pytest.mark.parametrize("kind", ["similarity", "text", "hybrid"])
async def test_rerankers(store, model, kind):
    best = ["table", "again", "green"]
    given = {"k": 3, "reranker": model}
    assert ids(store.search("tea green", kind, **given)) == best
    assert ids(await store.asearch("tea green", kind, **given)) == best
    assert ids(await asyncio.to_thread(store.search, "tea green", kind, **given)) == best
    ((first, score), *_) = await store.asearch_with_score("tea green", kind, **given)
    assert (first.id, score) == ("table", len(TEXTS["table"][0]))
    why = await store.aexplain("tea green", search_type=kind, **given)
    assert [hit.id for hit in why.hits] == best


async def test_an_async_reranker_runs_on_the_callers_loop(store):
    loops = set()

    async def model(query, texts):
        loops.add(asyncio.get_running_loop())
        return longest(query, texts)

    await store.asearch("tea", "hybrid", reranker=model)
    await RagRetriever(vectorstore=store, reranker=model).ainvoke("tea")
    assert loops == {asyncio.get_running_loop()}


def test_an_embedding_model_reranks(store):
    better = Table(
        {"tea": [1, 0]}
        | {text: [0, 1] for text, _ in TEXTS.values()}
        | {"paint dries": [1, 0]}
    )
    found = store.search_with_score("tea", "similarity", k=1, reranker=better)
    assert [(d.id, s) for d, s in found] == [("paint", 1.0)]


def test_a_reranker_that_fails(store):
    def failing(query, texts):
        raise ConnectionError("down")

    plain = store.search_with_score("tea", "hybrid", k=3)
    found = store.search_with_score("tea", "hybrid", k=3, reranker=failing)
    assert [(d.id, s) for d, s in found] == [(d.id, s) for d, s in plain]
    for document, _ in found:
        assert document.metadata["ragstore"] == {"reranker_failed": "ConnectionError: down"}
    store.add_documents([d for d, _ in found])  # and it is not stored
    assert "ragstore" not in store.get_by_ids([found[0][0].id])[0].metadata


def test_a_model_is_asked_once_for_groups(store):
    asked = []

    def model(query, texts):
        asked.append(len(texts))
        return longest(query, texts)

    found = store.similarity_search("tea", 4, reranker=model, group_by="nothing", fetch_k=3)
    assert len(asked) == 1
    assert len(found) == 4


# --- keywords ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        (
            {"retrieval_config": {"rerank": True}},
            "retrieval_config is a RetrievalConfig.*got {'rerank': True}",
        ),
        ({"retrieval_config": RetrievalConfig}, "retrieval_config is a RetrievalConfig"),
        ({"core_tags": 5}, "core_tags is a list of tags, got 5"),
        ({"core_tags": ["a", 5]}, "core_tags are strings, got 5"),
        ({"reranker": 5}, "reranker is a BaseCrossEncoder, a function.*got 5"),
        ({"reranker": "cohere"}, "reranker is a BaseCrossEncoder.*got 'cohere'"),
    ],
    ids=str,
)
def test_wrong_values(kind, keywords, words):
    with SQLiteVectorStore(Counting()) as store:
        for call in (
            lambda: store.search("tea", kind, **keywords),
            lambda: store.explain("tea", search_type=kind, **keywords),
            lambda: RagRetriever(vectorstore=store, search_type=kind).invoke(
                "tea", **keywords
            ),
            lambda: RagPipeline(store=store).retrieve("tea", search_type=kind, **keywords),
        ):
            with pytest.raises(InvalidInputError, match=words):
                call()
        with pytest.raises(ValidationError, match=words.replace("{", "{").split(".*")[0]):
            RagRetriever(vectorstore=store, **keywords)
        assert store._embedder.model.calls == []


def test_a_compressor_is_no_reranker(store):
    from langchain_ragstore import CoreTagBoost

    with pytest.raises(InvalidInputError, match="goes into ContextualCompressionRetriever"):
        store.search("tea", "hybrid", reranker=CoreTagBoost(core_tags=["x"]))


def test_fetch_k_is_read_where_something_chooses(store):
    for kind in ("similarity", "text"):
        with pytest.raises(TypeError, match="unexpected keyword 'fetch_k'"):
            store.search("tea", kind, fetch_k=9)
        assert store.search("tea", kind, fetch_k=9, core_tags=["x"])
        with pytest.raises(InvalidInputError, match="fetch_k must be an integer, got '9'"):
            store.search("tea", kind, fetch_k="9", core_tags=["x"])
    assert store.search("tea", "similarity", k=0, core_tags=["x"]) == []


# --- the retriever ----------------------------------------------------------------------


async def test_fields_of_the_retriever(store):
    config = RetrievalConfig(dedup_threshold=0.88)
    retriever = RagRetriever(
        vectorstore=store, k=2, retrieval_config=config, core_tags=["HOUSE"]
    )
    assert (retriever.retrieval_config, retriever.core_tags) == (config, ("house",))
    bound = {"k": 2, "retrieval_config": config, "core_tags": ["house"]}
    wanted = store.search("green tea", "hybrid", **bound)
    assert retriever.invoke("green tea") == await retriever.ainvoke("green tea") == wanted
    assert retriever.explain("green tea").plan == to_search("hybrid", bound).plan
    # what a call gives wins
    plain = store.search("green tea", "hybrid", k=2, core_tags=["house"])
    assert retriever.invoke("green tea", retrieval_config=RetrievalConfig()) == plain
    assert ids(retriever.invoke("green tea", reranker=longest, k=1)) == ["table"]
    assert ids((retriever | (lambda found: found[:1])).invoke("green tea")) == ids(
        wanted[:1]
    )
    assert store.as_retriever(core_tags="a", reranker=longest).core_tags == ("a",)
    assert RagRetriever(vectorstore=store).retrieval_config is None


def test_keywords_of_a_pipeline(store):
    pipeline = RagPipeline(store=store)
    retriever = pipeline.as_retriever(k=1, reranker=longest)
    assert ids(retriever.invoke("tea")) == ["table"]
    assert ids(d for d, _ in pipeline.retrieve("tea", 1, reranker=longest)) == ["table"]
    # what is unrelated is told by the search's score, not by the model's
    below = pipeline.retrieve("tea", 9, reranker=lambda query, texts: [-1.0] * len(texts))
    assert [score for _, score in below] == [-1.0] * len(below)
    assert len(below) == len(pipeline.retrieve("tea", 9))


async def test_other_stores(foreign):
    retriever = RagRetriever(vectorstore=foreign, core_tags=["house"], k=2)
    plain = {d.id: s for d, s in RagRetriever(vectorstore=foreign, k=9).scored("tea")}
    found = retriever.scored("tea")
    assert len(found) == 2
    boosted = {**plain, "black": plain["black"] * 1.33}
    assert [s for _, s in found] == sorted(boosted.values(), reverse=True)[:2]
    assert await retriever.ascored("tea") == found
    for model in (longest, longest_later):
        assert ids(retriever.invoke("tea", reranker=model)) == ["table", "again"]
        assert ids(await retriever.ainvoke("tea", reranker=model)) == ["table", "again"]
    important = RetrievalConfig(importance_threshold=0)
    assert "again" not in ids(retriever.invoke("tea", retrieval_config=important, k=9))
    assert ids(retriever.invoke("paint", k=1, fetch_k=1)) == ["paint"]
    assert all("ragstore" not in d.metadata for d, _ in found)


def test_scores_of_other_stores(foreign):
    retriever = RagRetriever(vectorstore=foreign)
    (found,) = retriever.invoke("black tea", k=1, with_scores=True)
    assert found.metadata["relevance_score"] == pytest.approx(1.0)
    (found,) = retriever.invoke("black tea", k=1, with_scores=True, core_tags=["house"])
    assert found.metadata["ragstore"] == {"core": 1.33}
    stored = foreign.get_by_ids(["black"])[0].metadata
    assert stored == {"tags": ["House"]}

    def failing(query, texts):
        raise ConnectionError("down")

    (found,) = retriever.invoke("black tea", k=1, reranker=failing)
    assert found.metadata["ragstore"] == {"reranker_failed": "ConnectionError: down"}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (PHASE_R, "rerank and dedup_threshold of retrieval_config= compare"),
        (RetrievalConfig(topics=True), "which topics of retrieval_config= compare"),
    ],
    ids=["phase r", "topics"],
)
def test_what_other_stores_cannot_give(foreign, config, words):
    retriever = RagRetriever(vectorstore=foreign, retrieval_config=config)
    with pytest.raises(
        StorageError, match=f"InMemoryVectorStore gives no vectors.*{words}"
    ):
        retriever.invoke("tea")
    with pytest.raises(TypeError, match="unexpected keyword 'fetch_k'"):
        retriever.invoke("tea", fetch_k=3, retrieval_config=RetrievalConfig())


def test_documents_of_other_stores_without_ids():
    class Anonymous(InMemoryVectorStore):
        def similarity_search_with_score(self, query, k=4, **kwargs):
            return [(Document("same", metadata={"n": n}), 0.5) for n in range(k)]

    retriever = RagRetriever(
        vectorstore=Anonymous(HashingEmbeddings()), core_tags=["x"], k=3
    )
    assert [d.metadata["n"] for d in retriever.invoke("x")] == [0, 1, 2]


# --- why --------------------------------------------------------------------------------

ALL = {"retrieval_config": PHASE_R, "core_tags": ["house"]}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "keywords",
    [ALL, {**ALL, "reranker": longest}, {"core_tags": ["house"]}, {"reranker": longest}],
    ids=["all", "with a model", "tags", "model"],
)
def test_contributions_add_up(store, kind, keywords):
    why = store.explain("tea columns", search_type=kind, k=3, ids=list(TEXTS), **keywords)
    assert why.hits
    for finding in (*why.hits, *why.asked):
        if finding.score is not None:
            assert sum(finding.contributions.values()) == pytest.approx(
                finding.score, abs=1e-9
            )
    found = store.search_with_score("tea columns", kind, k=3, **keywords)
    assert [(h.id, h.score) for h in why.hits] == [(d.id, s) for d, s in found]
    json.dumps(why.to_dict())
    assert str(why)
    assert why._repr_html_()


def test_each_stage_shows_what_it_does(store):
    why = store.explain(
        "tea price column", search_type="hybrid", k=2, ids=list(TEXTS), **ALL
    )
    asked = {finding.id: finding for finding in why.asked}
    table = asked["table"]
    assert table.reason == "result 1"
    assert table.contributions == pytest.approx(
        {
            "semantic": 0.5 * table.signals["semantic"],
            "keyword": 0.3,
            "title": 0.0,
            "schema": 0.25,
        }
    )
    assert table.notes == {"about": "table"}
    assert asked["again"].reason == "its importance is below importance_threshold=0"
    assert asked["black"].contributions["core"] == pytest.approx(
        asked["black"].score * (1 - 1 / 1.33)
    )
    assert asked["paint"].reason.startswith("rank 4, below the first 2")
    assert [type(step.part).__name__ for step in why.steps] == [
        *("Dense", "Lexical", "Weighted", "Importance", "Rerank", "CoreBoost"),
        *("Deduplicate", "Top"),
    ]
    text = str(why)
    for words in ("schema 0.2500", "(×1.33)", "query about: table", "semantic 0."):
        assert words in text
    assert "query about: table" in why._repr_html_()


def test_why_it_is_a_duplicate(store):
    config = RetrievalConfig(dedup_threshold=0.88)
    why = store.explain(
        "green tea", search_type="hybrid", retrieval_config=config, ids="again"
    )
    assert why.absent[0].reason.startswith("a near duplicate of 'green': their cosine 0.97")


def test_why_a_model_did_not_see_it(store):
    config = RetrievalConfig(reranked=2)
    given = {"retrieval_config": config, "reranker": longest, "k": 1, "ids": list(TEXTS)}
    why = store.explain("green tea", search_type="similarity", **given)
    reasons = {finding.id: finding.reason for finding in why.asked}
    assert reasons["paint"] == "rank 5, below the first 2 that longest is asked about"
    assert reasons["green"] == "rank 2, below the first 1"
    assert why.to_dict()["plan"]["stages"][0] == {
        "name": "RerankByModel",
        "most": 2,
        "batch": 32,
        "seconds": 30.0,
    } | {"name": "longest"}


def test_why_it_was_not_reranked(store):
    def failing(query, texts):
        raise ConnectionError("<down>")

    why = store.explain("tea", search_type="hybrid", reranker=failing)
    assert why.hits[0].notes == {"reranker_failed": "ConnectionError: <down>"}
    assert "not reranked: ConnectionError: <down>" in str(why)
    assert "not reranked: ConnectionError: &lt;down&gt;" in why._repr_html_()
    assert list(why.hits[0].contributions) == ["dense", "text"]


def test_topics_in_an_explanation(store):
    why = store.explain(
        "tea", search_type="hybrid", retrieval_config=RetrievalConfig(topics=True)
    )
    assert f"topic: {why.hits[0].notes['topic']}" in str(why)


def test_what_the_retriever_does_not_read(store):
    with pytest.raises(TypeError, match="'config'; did you mean 'retrieval_config'"):
        RagRetriever(vectorstore=store, config=PHASE_R)
    with pytest.raises(TypeError, match="'config'; did you mean 'retrieval_config'"):
        store.hybrid_search("tea", config=PHASE_R)
    with pytest.raises(TypeError, match="'config'; did you mean 'retrieval_config'"):
        store.as_retriever(config=PHASE_R)
