"""Reading and searching through `SQLiteVectorStore`."""

import warnings

import numpy as np
import pytest
from langchain_core.documents import Document

from fakes import Counting, Table
from langchain_ragstore import (
    FilterError,
    HashingEmbeddings,
    InvalidInputError,
    SQLiteVectorStore,
)

VECTORS = {
    "east": [1.0, 0.0],
    "east too": [1.0, 0.0],
    "north-east": [1.0, 1.0],
    "north": [0.0, 1.0],
    "west": [-2.0, 0.0],
    "nowhere": [0.0, 0.0],
}


@pytest.fixture
def store():
    with SQLiteVectorStore(Table(VECTORS)) as opened:
        opened.add_texts(
            list(VECTORS),
            [{"n": n, "even": n % 2 == 0} for n in range(6)],
            ids=list(VECTORS),
        )
        yield opened


def names(documents):
    return [document.id for document in documents]


def test_order_and_scores(store):
    found = store.similarity_search_with_score("east", k=6)
    assert [d.id for d, _ in found] == [
        "east",
        "east too",
        "north-east",
        "north",
        "nowhere",
        "west",
    ]
    assert [s for _, s in found] == pytest.approx([1, 1, 0.5**0.5, 0, 0, -1])
    assert found[0][0] == Document(
        id="east", page_content="east", metadata={"n": 0, "even": True}
    )
    by_vector = store.similarity_search_with_score_by_vector([1.0, 0.0], 6)
    assert by_vector == found
    assert store.similarity_search_by_vector([1.0, 0.0], 6) == [d for d, _ in found]


def test_relevance_is_between_0_and_1_without_a_warning(store):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = store.similarity_search_with_relevance_scores("east", k=6)
    assert [s for _, s in found] == pytest.approx([1, 1, 0.5**0.5, 0, 0, 0])


@pytest.mark.parametrize(
    ("threshold", "number"),
    [(1, 2), (1.0, 2), (0.7, 3), (0, 6), (0.0, 6), (-1, 6), (1.5, 0)],
)
def test_a_threshold_means_the_same_everywhere(store, threshold, number):
    expected = names(store.similarity_search("east", 6))[:number]
    keywords = {"k": 6, "score_threshold": threshold}
    assert names(store.similarity_search("east", **keywords)) == expected
    assert [
        d.id for d, _ in store.similarity_search_with_score("east", **keywords)
    ] == expected
    assert names(store.similarity_search_by_vector([1.0, 0.0], **keywords)) == expected
    found = store.similarity_search_with_relevance_scores("east", **keywords)
    assert [d.id for d, _ in found] == expected
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs=keywords
    )
    assert names(retriever.invoke("east")) == expected
    assert names(store.as_retriever(search_kwargs=keywords).invoke("east")) == expected
    assert set(names(store.max_marginal_relevance_search("east", **keywords))) == set(
        expected
    )


def test_the_boundary_of_a_threshold_is_inside(store):
    score = store.similarity_search_with_score("north-east", k=2)[1][1]
    assert len(store.similarity_search("north-east", k=9, score_threshold=score)) == 4
    assert (
        len(store.similarity_search("north-east", k=9, score_threshold=score + 1e-12)) == 1
    )


@pytest.mark.parametrize(
    ("k", "number"), [(0, 0), (-1, 0), (2, 2), (10**9, 6), (np.int64(3), 3)]
)
def test_k(store, k, number):
    assert len(store.similarity_search("east", k)) == number
    assert len(store.max_marginal_relevance_search("east", k)) == number


@pytest.mark.parametrize("k", ["5", 2.0, None])
def test_k_must_be_whole(store, k):
    with pytest.raises(InvalidInputError, match="k must be an integer"):
        store.similarity_search("east", k)
    with pytest.raises(InvalidInputError, match="k must be an integer"):
        store.max_marginal_relevance_search("east", k)


def test_a_zero_query_finds_nothing(store):
    assert store.similarity_search("nowhere") == []
    assert store.max_marginal_relevance_search("nowhere") == []


def test_queries_are_checked(store):
    with pytest.raises(InvalidInputError, match="string"):
        store.similarity_search(5)
    with pytest.raises(InvalidInputError, match="NaN"):
        store.similarity_search_by_vector([float("nan"), 0.0])
    with pytest.raises(InvalidInputError, match="score_threshold"):
        store.similarity_search("east", score_threshold="0.5")
    with pytest.raises(InvalidInputError, match="lambda_mult"):
        store.max_marginal_relevance_search("east", lambda_mult=2)
    with pytest.raises(ValueError, match="nonsense"):
        store.search("east", "nonsense")
    with pytest.raises(InvalidInputError, match="no embedding"):
        SQLiteVectorStore().similarity_search("east")
    with pytest.raises(InvalidInputError, match="provider:model"):
        SQLiteVectorStore(5)
    with pytest.raises(InvalidInputError, match="collection_name"):
        SQLiteVectorStore(collection_name="")


FILTERS = [
    {"even": True},
    {"n": {"$in": [0, 2, 4]}},
    lambda document: document.metadata["even"],
    {"$id": {"$in": ["east", "north-east", "west"]}},
]


@pytest.mark.parametrize("filter", FILTERS, ids=["bool", "in", "callable", "id"])
async def test_filters_on_every_path(store, filter):
    expected = {"east", "north-east", "west"}
    searches = [
        store.similarity_search("east", 9, filter),
        await store.asimilarity_search("east", 9, filter=filter),
        [
            d
            for d, _ in store.similarity_search_with_relevance_scores(
                "east", 9, filter=filter
            )
        ],
        store.similarity_search_by_vector([1.0, 0.0], 9, filter=filter),
        store.max_marginal_relevance_search("east", 9, filter=filter),
        await store.amax_marginal_relevance_search("east", 9, filter=filter),
        store.search("east", "mmr", k=9, filter=filter),
        await store.asearch("east", "similarity", k=9, filter=filter),
        store.get(filter=filter),
    ]
    for search_type in ("similarity", "mmr"):
        retriever = store.as_retriever(
            search_type=search_type, search_kwargs={"k": 9, "filter": filter}
        )
        searches.append(retriever.invoke("east"))
        searches.append(
            await store.as_retriever(search_type=search_type).ainvoke(
                "east", k=9, filter=filter
            )
        )
    for found in searches:
        assert set(names(found)) == expected
    assert store.count(filter) == 3
    assert names(store.similarity_search("east", 2, filter)) == ["east", "north-east"]


def test_an_exception_of_a_filter_reaches_the_caller(store):
    with pytest.raises(KeyError, match="absent"):
        store.similarity_search("east", filter=lambda d: d.metadata["absent"])
    with pytest.raises(FilterError):
        store.similarity_search("east", filter={"n": {"$foo": 1}})


def test_a_bound_filter_can_only_be_narrowed(store):
    retriever = store.as_retriever(search_kwargs={"k": 9, "filter": {"even": True}})
    assert names(retriever.invoke("east", filter={"n": {"$gt": 1}})) == [
        "north-east",
        "west",
    ]
    assert retriever.invoke("east", filter={"even": False}) == []
    assert names(retriever.invoke("east", filter=lambda d: d.id != "east", k=1)) == [
        "north-east"
    ]


def test_mmr_golden():
    # λ = 0.5: after "a" the twin gains .5·.8 − .5·1 = −.1, the other .5·.6 − .5·.0 = .3
    vectors = {"a": [0.8, 0.6], "b": [0.8, 0.6], "c": [0.6, -0.8], "q": [1.0, 0.0]}
    store = SQLiteVectorStore(Table(vectors))
    store.add_texts(["a", "b", "c"], ids=["a", "b", "c"])
    assert names(store.max_marginal_relevance_search("q", k=2)) == ["a", "c"]
    assert names(store.max_marginal_relevance_search("q", k=2, lambda_mult=1)) == ["a", "b"]
    assert names(store.max_marginal_relevance_search("q", k=3, lambda_mult=0)) == [
        "a",
        "c",
        "b",
    ]
    assert names(store.max_marginal_relevance_search("q", k=3, fetch_k=1)) == [
        "a",
        "c",
        "b",
    ]
    assert names(store.max_marginal_relevance_search("q", k=2, fetch_k=2)) == ["a", "b"]


def test_get(store):
    assert names(store.get(["west", "x", "east"])) == ["west", "east"]
    assert names(store.get("west")) == ["west"]
    assert names(store.get_by_ids(["west", "west"])) == ["west", "west"]
    assert names(store.get_by_ids("west")) == ["west"]
    assert names(store.get(limit=2, offset=1)) == ["east too", "north-east"]
    assert names(store.get(["west", "east"], limit=1, offset=1)) == ["east"]
    assert names(store.get(order_by="-n", limit=1)) == ["nowhere"]
    assert names(store.get(["west", "east"], order_by="n")) == ["east", "west"]
    assert names(store.get(["west", "east"], filter={"n": 0})) == ["east"]
    for wrong in (
        {"limit": -1},
        {"offset": -1},
        {"limit": 1.5},
        {"order_by": "-"},
        {"ids": [1]},
    ):
        with pytest.raises(InvalidInputError):
            store.get(**wrong)


def test_counting_and_distinct(store):
    assert len(store) == store.count() == 6
    assert store.count({"n": {"$lt": 3}}) == 3
    assert bool(SQLiteVectorStore())
    assert store.distinct("even") == {True: 3, False: 3}
    store.add_texts(["east"], [{"tags": ["a", "b", "a"], "deep": {"x": 1}}])
    store.add_texts(["north"], [{"tags": "a", "deep": {"x": 1.0}}])
    assert store.distinct("tags") == {"a": 2, "b": 1}
    assert store.distinct(("deep", "x")) == {1: 2}
    assert store.distinct("absent") == {}
    with pytest.raises(InvalidInputError, match="dictionaries"):
        store.distinct("deep")
    store.add_texts(["west"], [{"even": 1}])
    with pytest.raises(InvalidInputError, match="True"):
        store.distinct("even")


def test_stats(store, tmp_path):
    facts = store.stats()
    assert (facts["records"], facts["vectors"], facts["dimension"]) == (6, 6, 2)
    with SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "a.db") as other:
        assert other.stats()["vectors"] == 0
        other.add_texts(["a"])
        assert other.stats()["resident_bytes"] == 0
        other.similarity_search("a")
        assert other.stats()["resident_bytes"] > 8 * 4
        assert other.stats()["file_bytes"] > 0


async def test_async_awaits_the_embedder_and_answers_alike():
    model = Counting()
    store = SQLiteVectorStore(model)
    ids = await store.aadd_documents([Document("late fee"), Document("green tea", id="t")])
    assert ids == store.add_documents([Document("late fee"), Document("green tea", id="t")])
    assert await store.aadd_texts(["spring tide"], [{"n": 1}]) == store.add_texts(
        ["spring tide"], [{"n": 1}]
    )
    model.calls.clear()
    pairs = [
        (await store.asimilarity_search("fee"), store.similarity_search("fee")),
        (
            await store.asimilarity_search_with_score("fee", 2),
            store.similarity_search_with_score("fee", 2),
        ),
        (
            await store.asimilarity_search_with_relevance_scores("fee"),
            store.similarity_search_with_relevance_scores("fee"),
        ),
        (
            await store.amax_marginal_relevance_search("fee", 2),
            store.max_marginal_relevance_search("fee", 2),
        ),
        (
            await store.as_retriever(k=1).ainvoke("fee"),
            store.as_retriever(k=1).invoke("fee"),
        ),
        (
            await store.asimilarity_search_by_vector(model.model.embed_query("fee")),
            store.similarity_search_by_vector(model.model.embed_query("fee")),
        ),
    ]
    for first, second in pairs:
        assert first == second
        assert first
    assert model.calls == ["aembed_query", "embed_query"] * 5
    made = await SQLiteVectorStore.afrom_texts(["x"], Counting(), ids=["1"], batch_size=1)
    assert made.embeddings.calls == ["aembed_documents"]
    assert names(await made.aget_by_ids(["1"])) == ["1"]
    assert await made.adelete(["1"]) is True


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: SQLiteVectorStore(persist_directory="x"), "'path'"),
        (lambda s: SQLiteVectorStore(embedding_function=None), "'embedding'"),
        (lambda s: SQLiteVectorStore(collection="x"), "'collection_name'"),
        (lambda s: SQLiteVectorStore(colection_name="x"), "'collection_name'"),
        (
            lambda s: SQLiteVectorStore.from_texts(["a"], None, persist_directory="x"),
            "'path'",
        ),
        (lambda s: s.similarity_search("east", where={}), "'filter'"),
        (lambda s: s.similarity_search("east", top_k=3), "'k'"),
        (lambda s: s.similarity_search("east", fliter={}), "'filter'"),
        (lambda s: s.max_marginal_relevance_search("east", fetchk=3), "'fetch_k'"),
        (lambda s: s.add_texts(["east"], batchsize=3), "'batch_size'"),
        (lambda s: s.delete(where={"a": 1}), "'filter'"),
        (lambda s: s.as_retriever(filter={}), "search_kwargs"),
        (lambda s: s.as_retriever(search_kwargs={"where": {}}), "'filter'"),
        (lambda s: s.as_retriever().invoke("east", top_k=1), "'k'"),
        (lambda s: s.similarity_search("east", zzz=1), "it takes k, filter"),
    ],
)
def test_unread_keywords_are_refused(store, call, words):
    with pytest.raises(TypeError, match=words):
        call(store)


def test_retrievers_know_their_search_types(store):
    with pytest.raises(ValueError, match="hybrid"):
        store.as_retriever(search_type="hybrid")
    retriever = store.as_retriever(tags=["mine"], name="n", k=2)
    assert retriever.tags == ["mine", "SQLiteVectorStore", "Table"]
    assert len(retriever.invoke("east")) == 2
    assert len(retriever.invoke("east", k=3)) == 3
