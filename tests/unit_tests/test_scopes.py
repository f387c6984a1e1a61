"""Nobody sees or changes what lies outside their scope."""

import pytest
from langchain_core.documents import Document

from langchain_ragstore import (
    FilterError,
    HashingEmbeddings,
    InvalidInputError,
    SQLiteVectorStore,
)


@pytest.fixture
def store():
    with SQLiteVectorStore(HashingEmbeddings(64)) as opened:
        opened.add_texts(
            ["ann news", "ann diary", "bob news", "nobody's news"],
            [
                {"user": "ann", "source": "news"},
                {"user": "ann", "source": "diary"},
                {"user": "bob", "source": "news"},
                {"source": "news"},
            ],
            ids=["a1", "a2", "b1", "n1"],
        )
        yield opened


@pytest.fixture
def ann(store):
    return store.scoped({"user": "ann"})


def names(documents):
    return {document.id for document in documents}


async def test_every_read_is_filtered(ann):
    news = {"source": "news"}
    reads = [
        ann.similarity_search("news", 9, news),
        await ann.asimilarity_search("news", 9, news),
        [
            d
            for d, _ in ann.similarity_search_with_score(
                "bob", 9, lambda d: "news" in d.page_content
            )
        ],
        ann.similarity_search_by_vector(HashingEmbeddings(64).embed_query("bob"), 9, news),
        ann.max_marginal_relevance_search("bob", 9, filter=news),
        ann.as_retriever(search_kwargs={"k": 9}).invoke(
            "bob", filter={"$or": [news, {"user": "bob"}]}
        ),
        ann.get(["b1", "n1", "a1"]),
        ann.get_by_ids(["a1", "b1"]),
        ann.get(filter=news),
        ann.get(["a1", "b1"], order_by="source"),
    ]
    for found in reads:
        assert found
        assert names(found) <= {"a1", "a2"}
    assert len(ann) == ann.count() == 2
    assert ann.count({"user": "bob"}) == 0
    assert ann.distinct("user") == {"ann": 2}
    assert set(ann.timestamps(["a1", "b1"])) == {"a1"}


def test_every_write_is_stamped(store, ann):
    (id,) = ann.add_texts(["new"])
    assert store.get(id)[0].metadata == {"user": "ann"}
    ann.add_documents([Document("own", metadata={"user": "ann"}, id="a9")])
    ann.add_embeddings(["vector"], [[1.0] * 64])
    assert len(ann) == 5
    (bobs,) = store.scoped({"user": "bob"}).add_texts(["new"])
    assert bobs != id


def test_writes_stay_inside(store, ann):
    before = store.get()
    for write in (
        lambda: ann.add_texts(["x"], [{"user": "bob"}]),
        lambda: ann.add_texts(["x"], ids=["b1"]),
        lambda: ann.update_document("b1", Document("x")),
        lambda: ann.update_metadata("a1", patch={"user": "bob"}),
        lambda: ann.update_metadata("a1", patch={}, remove=["user"]),
    ):
        with pytest.raises(InvalidInputError):
            write()
    assert ann.update_metadata(["a1", "b1"], patch={"k": 1}) == 1
    assert ann.delete(["b1"]) is True
    assert ann.delete_where({"source": "absent"}) == 0
    store.update_metadata("a1", patch={}, remove=["k"])
    assert store.get() == before


def test_clear_and_delete_touch_the_scope_alone(store, ann):
    ann.delete(filter={"source": "news"})
    assert names(store.get()) == {"a2", "b1", "n1"}
    assert ann.clear() == 1
    assert names(store.get()) == {"b1", "n1"}


def test_scopes_nest(ann):
    diary = ann.scoped({"source": "diary"})
    assert names(diary.get()) == {"a2"}
    (id,) = diary.add_texts(["more"])
    assert diary.get(id)[0].metadata == {"user": "ann", "source": "diary"}
    assert ann.scoped({"user": "bob"}).get() == []


def test_scopes_that_prescribe_no_value(store):
    recent = store.scoped({"year": {"$gte": 2020}})
    recent.add_texts(["x"], [{"year": 2021}], ids=["r"])
    with pytest.raises(InvalidInputError, match="outside the scope"):
        recent.add_texts(["x"], [{"year": 2019}])
    with pytest.raises(InvalidInputError, match="outside the scope"):
        recent.add_texts(["x"])
    with pytest.raises(InvalidInputError, match="depends on it"):
        recent.update_metadata("r", patch={"year": 1})
    assert recent.update_metadata("r", patch={"k": 1}) == 1
    either = store.scoped({"$or": [{"year": 2021}, {"$not": {"user": {"$exists": True}}}]})
    assert names(either.get()) == {"r", "n1"}
    with pytest.raises(InvalidInputError, match="depends on it"):
        either.update_metadata("r", patch={"user": 1})
    called = store.scoped(lambda document: document.id == "b1")
    assert names(called.get()) == {"b1"}
    with pytest.raises(InvalidInputError, match="depends on it"):
        called.update_metadata("b1", patch={"anything": 1})


@pytest.mark.parametrize("filter", [None, {}, {"$and": []}])
def test_a_scope_must_exclude_something(store, filter):
    with pytest.raises(FilterError, match="excludes"):
        store.scoped(filter)


def test_a_view_is_a_store_on_the_same_file(store, ann):
    assert type(ann) is SQLiteVectorStore
    assert ann.embeddings is store.embeddings
    assert len(store) == 4
    ann.replace_source("s", [Document("chunk", id="s:0", metadata={"source_id": "s"})])
    assert store.get("s:0")[0].metadata == {"source_id": "s", "user": "ann"}
    with pytest.raises(InvalidInputError):
        store.scoped({"user": "bob"}).replace_source(
            "s", [Document("chunk", id="s:0", metadata={"source_id": "s"})]
        )
    store.scoped({"user": "bob"}).replace_source("s", [])
    assert store.get("s:0")
