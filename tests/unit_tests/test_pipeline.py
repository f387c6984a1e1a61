"""Ingesting, retrieving and answering, over our store and over others."""

import uuid

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from fakes import Counting, Table
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    EmbeddingMismatchError,
    HashingEmbeddings,
    IngestReport,
    InvalidInputError,
    RagPipeline,
    SQLiteVectorStore,
    StorageError,
    make_document,
)


def chroma(model):
    from langchain_chroma import Chroma

    return Chroma(collection_name=f"c{uuid.uuid4().hex}", embedding_function=model)


STORES = {"ours": SQLiteVectorStore, "in-memory": InMemoryVectorStore, "chroma": chroma}
# Chroma's "relevance" of dissimilar texts is negative, of which LangChain warns.
pytestmark = pytest.mark.filterwarnings("ignore:Relevance scores must be between")


@pytest.fixture(params=STORES)
def pipeline(request):
    return RagPipeline(store=STORES[request.param](Counting()), splitter=splitter())


def splitter():
    return CJKRecursiveTextSplitter(20, 0)


TEXT = "Late fees are due. The tide is high. Green tea is hot."
COMPLETE = IngestReport(added=3)


def embedded(pipeline):
    model = pipeline.store.embeddings
    texts = list(model.texts)
    model.texts.clear()
    return texts


async def test_the_life_of_a_source(pipeline):
    sources = [make_document("a", TEXT)]
    assert pipeline.ingest(sources) == COMPLETE
    assert len(embedded(pipeline)) == 3
    assert pipeline.ingest(iter(sources)) == IngestReport(skipped=3)
    assert await pipeline.aingest(sources) == IngestReport(skipped=3)
    assert embedded(pipeline) == []
    changed = make_document("a", TEXT.replace("hot", "cold"))
    assert await pipeline.aingest([changed]) == IngestReport(updated=1, skipped=2)
    assert embedded(pipeline) == ["Green tea is cold."]
    shorter = make_document("a", "Late fees are due.")
    assert pipeline.ingest([shorter]) == IngestReport(updated=1, deleted=2)
    assert [d.page_content for d, _ in pipeline.retrieve("tide late")] == [
        "Late fees are due."
    ]
    assert pipeline.ingest([make_document("a", " ")]) == IngestReport(deleted=1)
    assert pipeline.retrieve("late") == []


def test_texts_that_moved_are_not_embedded_again():
    pipeline = RagPipeline(store=SQLiteVectorStore(Counting()), splitter=splitter())
    pipeline.ingest([make_document("a", TEXT)])
    embedded(pipeline)
    report = pipeline.ingest([make_document("a", "Something is new. " + TEXT)])
    assert report == IngestReport(added=1, updated=3)
    assert embedded(pipeline) == ["Something is new."]
    (found,) = pipeline.store.similarity_search("tide high", k=1)
    assert found.id == "a:chunk:0002"


def test_pages_of_one_source_lose_nothing(pipeline):
    pages = [
        Document(f"Page {n} of the file.", metadata={"source": "f.pdf", "page": n})
        for n in range(3)
    ]
    assert pipeline.ingest(pages) == COMPLETE
    found = sorted(
        pipeline.store.get_by_ids([f"f.pdf:chunk:{n:04d}" for n in range(3)]),
        key=lambda d: d.id,
    )
    assert [d.metadata["page"] for d in found] == [0, 1, 2]
    assert [d.metadata["chunk_index"] for d in found] == [0, 1, 2]
    assert {d.metadata["chunk_count"] for d in found} == {3}
    assert {d.metadata["source_id"] for d in found} == {"f.pdf"}


def test_where_a_source_gets_its_name():
    pipeline = RagPipeline(HashingEmbeddings(16))
    documents = [
        Document("own id", id="x"),
        Document("plain"),
        Document("page", metadata={"source": "s"}),
    ]
    assert pipeline.ingest(documents) == COMPLETE
    by_text = {d.page_content: d for d in pipeline.store.get()}
    assert (by_text["own id"].id, by_text["own id"].metadata) == ("x", {})
    assert len(by_text["plain"].id) == 32
    assert by_text["plain"].metadata == {}
    assert by_text["page"].id == "s:chunk:0000"
    assert pipeline.ingest(documents) == IngestReport(skipped=3)
    assert pipeline.ingest([Document("two", id="x"), Document("of it", id="x")]).added == 2
    assert [d.page_content for d in pipeline.store.get(filter={"source_id": "x"})] == [
        "two",
        "of it",
    ]


def test_a_source_that_was_whole_and_is_cut_now(pipeline):
    whole = RagPipeline(store=pipeline.store)
    assert whole.ingest([make_document("a", TEXT)]) == IngestReport(added=1)
    assert pipeline.ingest([make_document("a", TEXT)]) == IngestReport(added=3, deleted=1)
    assert whole.ingest([make_document("a", TEXT)]) == IngestReport(added=1, deleted=3)


def test_changed_metadata_are_an_update_without_embedding():
    pipeline = RagPipeline(store=SQLiteVectorStore(Counting()))
    pipeline.ingest([make_document("a", "text")])
    embedded(pipeline)
    report = pipeline.ingest([make_document("a", "text", metadata={"n": 1})])
    assert report == IngestReport(updated=1)
    assert embedded(pipeline) == []
    assert pipeline.store.get("a")[0].metadata["n"] == 1


async def test_retrieve(pipeline):
    pipeline.ingest([make_document("a", TEXT, metadata={"l": "en"})])
    ((first, score), *_) = pipeline.retrieve("green tea", k=2)
    assert first.page_content == "Green tea is hot."
    assert 0 < score <= 1
    found = pipeline.retrieve("green tea", search_type="similarity")
    again = await pipeline.aretrieve("green tea", search_type="similarity")
    assert [(d.id, pytest.approx(s)) for d, s in found] == [(d.id, s) for d, s in again]
    for blank in ("", " \n"):
        assert pipeline.retrieve(blank) == []
        assert await pipeline.aretrieve(blank) == []
    with pytest.raises(InvalidInputError, match="similarity"):
        pipeline.retrieve("x", search_type="nonsense")
    with pytest.raises(InvalidInputError, match="string"):
        pipeline.retrieve(5)


def test_retrieve_filters():
    pipeline = RagPipeline(HashingEmbeddings(64))
    pipeline.ingest(make_document(n, "late fee", metadata={"n": n}) for n in "abc")
    assert [d.id for d, _ in pipeline.retrieve("fee", filter={"n": {"$ne": "b"}})] == [
        "a",
        "c",
    ]
    retriever = pipeline.as_retriever(k=2, filter={"n": {"$in": ["a", "b"]}})
    assert [d.id for d in retriever.invoke("fee")] == ["a", "b"]
    assert [d.id for d in retriever.invoke("fee", filter={"n": {"$ne": "a"}})] == ["b"]
    assert retriever.invoke("fee", k=1, filter={"n": "c"}) == []
    with pytest.raises(TypeError, match="'k'"):
        retriever.invoke("fee", top_k=1)
    with pytest.raises(TypeError, match="k, filter"):
        pipeline.as_retriever(search_kwargs={})


def test_orthogonal_documents_are_left_out_by_the_pipeline_alone():
    vectors = {
        "q": [1.0, 0.0],
        "near": [1.0, 1.0],
        "apart": [0.0, 1.0],
        "edge": [0.9e-10, 1.0],
        "just": [1.1e-10, 1.0],
    }
    pipeline = RagPipeline(Table(vectors))
    pipeline.ingest([Document(text, id=text) for text in ("near", "apart", "edge", "just")])
    found = pipeline.retrieve("q", k=9, search_type="similarity")
    assert [d.id for d, _ in found] == ["near", "just"]
    assert len(pipeline.store.similarity_search("q", k=9)) == 4


def test_embeddings_must_agree():
    model = HashingEmbeddings(8)
    store = SQLiteVectorStore(model)
    assert RagPipeline(model, store).store is store
    assert RagPipeline(HashingEmbeddings(8), store).store is store
    with pytest.raises(EmbeddingMismatchError, match=r"dim=8.*dim=9"):
        RagPipeline(HashingEmbeddings(9), store)
    with pytest.raises(InvalidInputError, match="embedding or a store"):
        RagPipeline()
    with pytest.raises(TypeError, match="'splitter'"):
        RagPipeline(model, spliter=None)
    with pytest.raises(InvalidInputError, match=r"\[document\]"):
        RagPipeline(model).ingest(make_document("a", "b"))
    with pytest.raises(InvalidInputError, match="document 0 is a str"):
        RagPipeline(model).ingest(["text"])
    assert RagPipeline(model).ingest([]) == IngestReport()


class Poor(VectorStore):
    """The least that LangChain lets be a store."""

    def similarity_search(self, query, k=4, **kwargs):
        return []

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        return cls()


async def test_what_a_foreign_store_cannot_do_is_named():
    pipeline = RagPipeline(store=Poor())
    with pytest.raises(StorageError, match="Poor cannot"):
        pipeline.ingest([make_document("a", "b")])
    with pytest.raises(StorageError, match="Poor cannot"):
        await pipeline.aingest([make_document("a", "b")])
    with pytest.raises(StorageError, match="Poor cannot"):
        pipeline.retrieve("q")
    with pytest.raises(StorageError, match="Poor cannot"):
        await pipeline.aretrieve("q")


async def test_a_chain_answers_and_streams(pipeline):
    pipeline.ingest([make_document("a", TEXT)])
    for question in ("green tea?", {"question": "green tea?"}, {"input": "green tea?"}):
        chain = pipeline.as_chain(FakeListChatModel(responses=["hot"]), k=1)
        answer = chain.invoke(question)
        assert answer["answer"] == "hot"
        assert answer["question"] == "green tea?"
        assert [d.page_content for d in answer["context"]] == ["Green tea is hot."]
        assert (await chain.ainvoke(question))["answer"] == "hot"
    chain = pipeline.as_chain(
        GenericFakeChatModel(messages=iter([AIMessage("it is hot")] * 2))
    )
    parts = [part["answer"] for part in chain.stream("tea?") if "answer" in part]
    assert parts == ["it", " ", "is", " ", "hot"]
    parts = [part["answer"] async for part in chain.astream("tea?") if "answer" in part]
    assert parts == ["it", " ", "is", " ", "hot"]
    for wrong in (5, {}, {"question": 5}, {"q": "x"}):
        with pytest.raises(InvalidInputError, match="'question'"):
            chain.invoke(wrong)


def test_what_the_model_is_shown():
    pipeline = RagPipeline(HashingEmbeddings(64))
    pipeline.ingest(
        [Document("Tea is hot.", id="t", metadata={"source": "tea.md", "n": 1})]
    )
    seen = []

    def model(prompt):
        seen.append(prompt)
        return "fine"

    from langchain_core.runnables import RunnableLambda

    chain = pipeline.as_chain(RunnableLambda(model), filter={"n": 1})
    chain.invoke(
        {"question": "tea?", "chat_history": [HumanMessage("hi"), AIMessage("hello")]}
    )
    system, *rest = seen[0].to_messages()
    assert "[1] tea.md\nTea is hot." in system.text
    assert [m.text for m in rest] == ["hi", "hello", "tea?"]
    own = pipeline.as_chain(RunnableLambda(model), "Use {context} for {question}")
    own.invoke("tea?")
    assert seen[1].to_string() == "Human: Use [1] tea.md\nTea is hot. for tea?"
    template = ChatPromptTemplate.from_template("{question}! {context}")
    pipeline.as_chain(RunnableLambda(model), template).invoke("tea?")
    assert seen[2].to_string() == "Human: tea?! [1] tea.md\nTea is hot."


@pytest.mark.parametrize(
    ("prompt", "absent"), [("no placeholders", "question"), ("{question}?", "context")]
)
def test_a_prompt_shows_what_was_asked_and_found(prompt, absent):
    pipeline = RagPipeline(HashingEmbeddings(8))
    with pytest.raises(InvalidInputError, match=f"no {{{absent}}}"):
        pipeline.as_chain(FakeListChatModel(responses=["x"]), prompt)
