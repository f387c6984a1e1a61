"""The pipeline over other packages' stores: sources, filters, failures, chains."""

import uuid

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.vectorstores import InMemoryVectorStore

from fakes import Counting
from langchain_ragstore import IngestReport, RagPipeline, StorageError, make_document

# Chroma's "relevance" of dissimilar texts is negative, of which LangChain warns.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Relevance scores must be between",
    "ignore:legacy embedding function config:DeprecationWarning",
)


def chroma(model):
    from langchain_chroma import Chroma

    return Chroma(
        collection_name=f"c{uuid.uuid4().hex}",
        embedding_function=model,
        collection_configuration={"hnsw": {"space": "cosine"}},
    )


STORES = {"in-memory": InMemoryVectorStore, "chroma": chroma}


def pages(*texts, source="s"):
    return [
        Document(page_content=text, metadata={"source": source, "page": n, "odd": n % 2})
        for n, text in enumerate(texts)
    ]


@pytest.fixture(params=STORES)
def pipeline(request):
    return RagPipeline(store=STORES[request.param](Counting()))


def texts(found):
    return [getattr(item, "page_content", None) or item[0].page_content for item in found]


@pytest.fixture(params=["sync", "async"])
def ingest(request, pipeline):
    async def run(documents):
        if request.param == "sync":
            return pipeline.ingest(documents)
        return await pipeline.aingest(documents)

    return run


async def test_sources_grow_and_shrink(pipeline, ingest):
    assert await ingest(iter(pages("one", "two", "three"))) == IngestReport(added=3)
    assert await ingest(pages("one", "two", "three")) == IngestReport(skipped=3)
    assert await ingest(pages("one")) == IngestReport(updated=1, deleted=2)
    assert texts(pipeline.retrieve("two", k=9)) == ["one"]
    assert await ingest(pages("one", "new")) == IngestReport(added=1, updated=1)
    assert set(texts(pipeline.retrieve("two", k=9))) == {"one", "new"}


async def test_sources_do_not_touch_each_other(pipeline, ingest):
    await ingest(pages("one", "two", source="s") + pages("eins", "zwei", source="t"))
    report = await ingest(pages("one"))
    assert report == IngestReport(updated=1, deleted=1)
    assert set(texts(pipeline.retrieve("zwei", k=9))) == {"one", "eins", "zwei"}


@pytest.mark.parametrize("failing", ["delete", "add_documents"])
def test_an_interrupted_ingestion_is_completed_by_the_next(pipeline, monkeypatch, failing):
    pipeline.ingest(pages("one", "two", "three"))

    def fail(*_, **__):
        raise ConnectionError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(pipeline.store, failing, fail)
        with pytest.raises(ConnectionError):
            pipeline.ingest(pages("one"))
    pipeline.ingest(pages("one"))
    assert texts(pipeline.retrieve("two", k=9)) == ["one"]


def own_filter(store):
    """The same condition in the language of either store."""
    if isinstance(store, InMemoryVectorStore):
        return lambda document: document.metadata["odd"] == 1
    return {"odd": 1}


def page_filter(store):
    if isinstance(store, InMemoryVectorStore):
        return lambda document: document.metadata["page"] > 1
    return {"page": {"$gt": 1}}


async def test_filters_in_the_language_of_the_store(pipeline):
    pipeline.ingest(pages("tea one", "tea two", "tea three", "tea four"))
    odd = own_filter(pipeline.store)
    assert set(texts(pipeline.retrieve("tea", filter=odd))) == {"tea two", "tea four"}
    found = await pipeline.aretrieve("tea", filter=odd)
    assert set(texts(found)) == {"tea two", "tea four"}


async def test_a_retriever_narrows_its_filter(pipeline):
    pipeline.ingest(pages("tea one", "tea two", "tea three", "tea four"))
    odd, late = own_filter(pipeline.store), page_filter(pipeline.store)
    retriever = pipeline.as_retriever(filter=odd)
    assert set(texts(retriever.invoke("tea"))) == {"tea two", "tea four"}
    assert texts(retriever.invoke("tea", filter=late)) == ["tea four"]
    assert texts(await retriever.ainvoke("tea", filter=late)) == ["tea four"]
    unbound = pipeline.as_retriever()
    assert set(texts(unbound.invoke("tea", filter=late))) == {"tea three", "tea four"}


async def test_dictionaries_filter_the_in_memory_store_too():
    pipeline = RagPipeline(store=InMemoryVectorStore(Counting()))
    pipeline.ingest(pages("tea one", "tea two", "tea three", "tea four"))
    found = pipeline.retrieve("tea", filter={"page": {"$gt": 1}})
    assert set(texts(found)) == {"tea three", "tea four"}
    assert texts(pipeline.retrieve("tea", filter={"$id": "s:chunk:0001"})) == ["tea two"]
    retriever = pipeline.as_retriever(filter={"page": {"$gt": 1}})
    found = await retriever.ainvoke("tea", filter=lambda d: d.metadata["odd"] == 1)
    assert texts(found) == ["tea four"]


async def test_filters_that_cannot_be_joined_are_an_error():
    pipeline = RagPipeline(store=chroma(Counting()))
    pipeline.ingest(pages("tea"))
    retriever = pipeline.as_retriever(filter={"odd": 0})
    with pytest.raises(StorageError, match=r"Chroma cannot.*both filters"):
        retriever.invoke("tea", filter=lambda _: True)
    with pytest.raises(StorageError, match=r"Chroma cannot.*both filters"):
        await retriever.ainvoke("tea", filter=lambda _: True)


async def test_sync_and_async_find_the_same(pipeline):
    pipeline.ingest(pages("green tea", "black tea", "late fee"))
    found = pipeline.retrieve("green tea", k=2)
    again = await pipeline.aretrieve("green tea", k=2)
    assert [(d.id, round(s, 5)) for d, s in found] == [
        (d.id, round(s, 5)) for d, s in again
    ]
    assert texts(found)[0] == "green tea"
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)


def test_scores_of_the_in_memory_store_are_relevances():
    model = Counting()
    pipeline = RagPipeline(model, InMemoryVectorStore(model))
    pipeline.ingest(pages(*"abcdefghij"))
    found = pipeline.retrieve("a", k=10)
    assert len(found) == 10  # no cut
    assert all(0 <= score <= 1 for _, score in found)


def test_blank_queries_ask_nobody(pipeline):
    pipeline.ingest(pages("tea"))
    pipeline.store.embeddings.calls.clear()
    assert pipeline.retrieve(" \n") == []
    assert pipeline.store.embeddings.calls == []


def test_whole_documents_keep_id_and_metadata(pipeline):
    document = make_document("a", "tea", metadata={"n": 1})
    assert pipeline.ingest([document]) == IngestReport(added=1)
    assert pipeline.store.get_by_ids(["a"]) == [document]
    assert pipeline.ingest([document]) == IngestReport(skipped=1)
    assert pipeline.ingest([make_document("a", "coffee")]) == IngestReport(updated=1)


async def test_a_chain(pipeline):
    pipeline.ingest(pages("tea is hot"))
    chain = pipeline.as_chain(GenericFakeChatModel(messages=iter(["hot tea", "hot tea"])))
    parts = list(chain.stream("tea?"))
    assert [part["answer"] for part in parts if "answer" in part] == ["hot", " ", "tea"]
    assert (await chain.ainvoke("tea?"))["answer"] == "hot tea"


def test_a_store_without_get_by_ids_is_named():
    class Blind(InMemoryVectorStore):
        def get_by_ids(self, ids, /):
            raise NotImplementedError

    with pytest.raises(StorageError, match="Blind cannot do what the pipeline needs"):
        RagPipeline(store=Blind(Counting())).ingest(pages("a"))
