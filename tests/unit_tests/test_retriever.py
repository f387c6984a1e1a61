"""One retriever: over this package's stores and over others, bound and per call."""

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from langchain_ragstore import (
    HashingEmbeddings,
    InvalidInputError,
    RagPipeline,
    RagRetriever,
    SQLiteVectorStore,
    StorageError,
)

TEXTS = ["green tea", "black tea", "red paint"]


def filled(store):
    store.add_texts(TEXTS, [{"n": n} for n in range(3)], ids=["a", "b", "c"])
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


def test_its_search_is_the_best_that_the_store_can_do(store, foreign):
    assert RagRetriever(vectorstore=store).search_type == "hybrid"
    assert RagRetriever(vectorstore=foreign).search_type == "similarity"
    with SQLiteVectorStore() as words:
        assert RagRetriever(vectorstore=words).search_type == "text"
    assert store.as_retriever().search_type == "similarity"  # as LangChain's
    assert RagPipeline(store=store).as_retriever().search_type == "hybrid"
    assert isinstance(store.as_retriever(), RagRetriever)
    assert isinstance(RagPipeline(store=foreign).as_retriever(), RagRetriever)


def test_the_search_of_a_call_wins(store):
    retriever = store.as_retriever(k=3)
    assert len(retriever.invoke("tea")) == 3
    assert sorted(ids(retriever.invoke("tea", search_type="text"))) == ["a", "b"]
    assert retriever.explain("tea", search_type="text").search_type == "text"
    with pytest.raises(InvalidInputError, match="search_type is one of"):
        retriever.invoke("tea", search_type="nearest")


async def test_what_is_unrelated_is_left_out_on_request(store):
    keywords = {"search_type": "text", "k": 3}
    everything = RagRetriever(vectorstore=store, search_type="similarity", k=3)
    related = RagRetriever(vectorstore=store, search_type="similarity", k=3, related=True)
    assert len(everything.invoke("tea")) == 3
    found = related.scored("tea")
    assert all(score > 1e-10 for _, score in found)
    assert await related.ascored("tea") == found
    assert ids(related.invoke("tea")) == ids(await related.ainvoke("tea"))
    assert related.invoke("  ") == await related.ainvoke("\n") == []
    assert related.invoke("tea", score_threshold=0.99) == []
    assert related.scored("tea", score_threshold=-1) == found
    assert len(related.invoke("tea", **keywords)) == 2
    with pytest.raises(InvalidInputError, match="score_threshold must be a number"):
        related.invoke("tea", score_threshold="much")


async def test_other_stores(foreign):
    retriever = RagRetriever(
        vectorstore=foreign, k=2, search_kwargs={"filter": {"n": {"$lt": 2}}}
    )
    assert ids(retriever.invoke("green tea")) == ["a", "b"]
    assert ids(await retriever.ainvoke("green tea", k=1)) == ["a"]
    assert ids(retriever.invoke("tea", filter={"n": {"$gt": 0}})) == ["b"]
    ((document, score),) = retriever.scored("green tea", score_threshold=0.99)
    assert (document.id, score) == ("a", pytest.approx(1.0))
    assert await retriever.ascored("green tea", score_threshold=1.01) == []
    with pytest.raises(TypeError, match=r"'window'; it takes k, filter, score_threshold"):
        retriever.invoke("tea", window=1)
    bound = RagRetriever(vectorstore=foreign, search_kwargs={"window": 1})
    with pytest.raises(TypeError, match=r"search_kwargs\(\) got .*'window'"):
        bound.invoke("tea")
    with pytest.raises(InvalidInputError, match="has search_type='similarity' alone"):
        retriever.invoke("tea", search_type="hybrid")
    with pytest.raises(StorageError, match="cannot explain"):
        retriever.explain("tea")


def test_it_adds_documents_as_langchains(store):
    retriever = store.as_retriever(k=1)
    retriever.add_documents([Document("oolong tea", id="d")])
    assert ids(retriever.invoke("oolong tea")) == ["d"]


def test_what_is_bound_is_checked(store):
    with pytest.raises(ValidationError, match="not allowed"):
        RagRetriever(vectorstore=store, search_type="nearest")
    with pytest.raises(TypeError, match="'widow'; did you mean 'window'"):
        RagRetriever(vectorstore=store, search_kwargs={"widow": 1})
    with pytest.raises(TypeError, match="'widow'; did you mean 'window'"):
        RagPipeline(store=store).as_retriever(widow=1)
    with pytest.raises(InvalidInputError, match="search_type is one of"):
        RagPipeline(store=store).as_retriever(search_type="nearest")


def test_keywords_of_a_pipelines_retriever(store):
    store.add_texts(["green tea again"], [{"n": 0}], ids=["again"])
    pipeline = RagPipeline(store=store)
    retriever = pipeline.as_retriever(k=4, group_by="n")
    found = retriever.invoke("green tea")
    assert len({d.metadata["n"] for d in found}) == len(found)
    assert len(retriever.invoke("green tea", per_group=2)) > len(found)
    assert [d for d, _ in pipeline.retrieve("green tea", group_by="n")] == found
