"""What an ingestion does to a source: counts, embeddings spent, what is left."""

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.vectorstores import InMemoryVectorStore

from fakes import Counting, Table
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    EmbeddingMismatchError,
    IngestReport,
    InvalidInputError,
    RagPipeline,
    SQLiteVectorStore,
    make_document,
)

LINES = ["The first line.", "The second line.", "The third line."]


@pytest.fixture(params=["sync", "async"])
def ingest(request, pipeline):
    async def run(documents, **keywords):
        if request.param == "sync":
            return pipeline.ingest(documents, **keywords)
        return await pipeline.aingest(documents, **keywords)

    return run


@pytest.fixture
def pipeline():
    return RagPipeline(Counting(), splitter=CJKRecursiveTextSplitter(20, 0))


def spent(pipeline):
    """Texts embedded since the last call."""
    model = pipeline.store.embeddings
    texts = list(model.texts)
    model.texts.clear()
    return texts


def stored(pipeline):
    return [(d.id, d.page_content.strip()) for d in pipeline.store.get(order_by="$id")]


async def test_a_line_in_front_shifts_ids_but_costs_one_embedding(pipeline, ingest):
    await ingest([make_document("d", "\n".join(LINES))])
    assert len(spent(pipeline)) == 3
    report = await ingest([make_document("d", "\n".join(["Before it all.", *LINES]))])
    assert report.added + report.updated + report.skipped == 4
    assert report.deleted == 0
    assert [text.strip() for text in spent(pipeline)] == ["Before it all."]
    assert stored(pipeline) == [
        (f"d:chunk:{n:04d}", line) for n, line in enumerate(["Before it all.", *LINES])
    ]


async def test_a_shrunk_source_loses_its_stale_chunks(pipeline, ingest):
    await ingest([make_document("d", "\n".join(LINES)), make_document("e", "Other.")])
    report = await ingest([make_document("d", LINES[0])])
    assert (report.added, report.deleted) == (0, 2)
    assert stored(pipeline) == [("d:chunk:0000", LINES[0]), ("e:chunk:0000", "Other.")]


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
async def test_a_blank_source_is_removed(pipeline, ingest, blank):
    await ingest([make_document("d", "\n".join(LINES)), make_document("e", "Other.")])
    assert await ingest([make_document("d", blank)]) == IngestReport(deleted=3)
    assert await ingest([make_document("d", blank)]) == IngestReport()
    assert stored(pipeline) == [("e:chunk:0000", "Other.")]


async def test_batches(pipeline, ingest):
    text = "".join(f"Line number {n:04}.\n" for n in range(250))
    assert (await ingest([make_document("d", text)])).added == 250
    assert [len(b) for b in pipeline.store.embeddings.batches] == [100, 100, 50]
    pipeline.store.clear()
    pipeline.store.embeddings.batches.clear()
    await ingest([make_document("d", text)], batch_size=200)
    assert [len(b) for b in pipeline.store.embeddings.batches] == [200, 50]


@pytest.mark.parametrize("splitter", [None, CJKRecursiveTextSplitter(20, 0)])
async def test_sources_share_the_calls_of_the_embedder(pipeline, ingest, splitter):
    pipeline.splitter = splitter
    documents = [make_document(f"d{n}", f"Document {n}.") for n in range(300)]
    assert await ingest(documents, batch_size=100) == IngestReport(added=300)
    assert [len(b) for b in pipeline.store.embeddings.batches] == [100] * 3
    assert await ingest(documents) == IngestReport(skipped=300)
    assert len(pipeline.store.embeddings.batches) == 3
    assert {d.page_content for d in pipeline.store.get()} == {
        d.page_content for d in documents
    }
    ((found, _), *_) = pipeline.retrieve("Document 299", k=1)
    assert found.page_content == "Document 299."


async def test_batches_of_sources_of_several_chunks(pipeline, ingest):
    documents = [
        make_document(f"d{n}", "".join(f"Line {m:02} of {n:02}..\n" for m in range(7)))
        for n in range(10)
    ]
    assert (await ingest(documents, batch_size=20)).added == 70
    assert [len(b) for b in pipeline.store.embeddings.batches] == [20, 20, 20, 10]
    plain = RagPipeline(Counting(), splitter=pipeline.splitter)
    for document in documents:
        plain.ingest([document])
    assert stored(plain) == stored(pipeline)
    texts = [d.page_content for d in plain.store.get()]
    for text in texts[::9]:
        assert plain.retrieve(text, k=3) == pipeline.retrieve(text, k=3)


async def test_equal_texts_of_different_sources_cost_one_embedding(pipeline, ingest):
    documents = [make_document(f"d{n}", f"Text {n % 4}.") for n in range(50)]
    assert await ingest(documents, batch_size=3) == IngestReport(added=50)
    assert sorted(spent(pipeline)) == [f"Text {n}." for n in range(4)]
    found = pipeline.retrieve("Text 1.", k=50, search_type="similarity")
    assert len([d for d, score in found if score > 0.999]) == 13


async def test_unchanged_sources_between_new_ones(pipeline, ingest):
    documents = [make_document(f"d{n}", f"Text {n}.") for n in range(40)]
    await ingest(documents[::2])
    model = pipeline.store.embeddings
    model.batches.clear()
    assert await ingest(documents, batch_size=10) == IngestReport(added=20, skipped=20)
    assert sum(map(len, model.batches)) == 20
    assert len(model.batches) <= 4


async def test_a_failing_batch_leaves_whole_sources(pipeline, ingest, monkeypatch):
    model, calls = pipeline.store.embeddings, []
    original = model._documents

    def fail(name, texts):
        calls.append(texts)
        if len(calls) == 3:
            raise ConnectionError("no route")
        return original(name, texts)

    monkeypatch.setattr(model, "_documents", fail)
    documents = [make_document(f"d{n}", f"Text {n}a.\nAnd text {n}b.") for n in range(9)]
    with pytest.raises(ConnectionError):
        await ingest(documents, batch_size=5)
    names = [f"d{n}:chunk:{m:04d}" for n in range(5) for m in range(2)]
    assert [id for id, _ in stored(pipeline)] == names
    assert await ingest(documents, batch_size=5) == IngestReport(added=8, skipped=10)


async def test_what_cannot_be_stored_does_not_hold_up_what_comes_before(pipeline, ingest):
    bad = Document(id="bad", page_content="Bad.", metadata={"what": object()})
    documents = [make_document("a", "One."), bad, make_document("b", "Two.")]
    with pytest.raises(InvalidInputError):
        await ingest(documents)
    assert stored(pipeline) == [("a:chunk:0000", "One.")]


@pytest.mark.parametrize("splitter", [None, CJKRecursiveTextSplitter(20, 0)])
async def test_sources_whose_ids_meet_come_one_after_the_other(pipeline, ingest, splitter):
    """As if each had been ingested by itself."""
    pipeline.splitter = splitter
    sources = [
        [Document("First.", id="a"), Document("Second.", id="a")],
        [Document("Third.", id="a:chunk:0001")],
        [Document("Fourth.", id="x", metadata={"source_id": "y"})],
        [Document("Fifth.", id="y")],
        [Document("Sixth.", id="x:chunk:0000")],
    ]
    plain = RagPipeline(Counting(), splitter=splitter)
    expected = IngestReport()
    for source in sources:
        expected += plain.ingest(source)
    assert await ingest([d for source in sources for d in source]) == expected
    assert stored(pipeline) == stored(plain)
    assert pipeline.store.get(order_by="$id") == plain.store.get(order_by="$id")


async def test_a_store_without_a_model():
    pipeline = RagPipeline(store=SQLiteVectorStore(None))
    documents = [make_document(f"d{n}", f"Text {n % 3}.") for n in range(9)]
    assert await pipeline.aingest(documents, batch_size=2) == IngestReport(added=9)
    assert pipeline.ingest(documents, batch_size=2) == IngestReport(skipped=9)


@pytest.mark.parametrize("size", [0, -1, "2"])
async def test_batch_sizes_that_are_none(pipeline, ingest, size):
    with pytest.raises(InvalidInputError, match="batch_size"):
        await ingest([make_document("d", "Text.")], batch_size=size)
    assert len(pipeline.store) == 0


async def test_pages_without_ids_are_one_source(pipeline, ingest):
    pages = [
        Document(page_content=t, metadata={"source": "a.pdf", "page": n})
        for n, t in enumerate(LINES)
    ]
    assert await ingest(page for page in pages) == IngestReport(added=3)
    assert stored(pipeline) == [(f"a.pdf:chunk:{n:04d}", t) for n, t in enumerate(LINES)]
    assert [d.metadata["page"] for d in pipeline.store.get(order_by="$id")] == [0, 1, 2]
    assert await ingest(pages[:1]) == IngestReport(updated=1, deleted=2)


@pytest.mark.parametrize("splitter", [None, CJKRecursiveTextSplitter(20, 0)])
async def test_a_document_whose_id_is_the_name_of_a_source_stays(
    pipeline, ingest, splitter
):
    pipeline.splitter = splitter
    pipeline.store.add_texts(["Unrelated."], ids=["faq"])
    question = Document(page_content="A question.", metadata={"source": "faq"})
    assert await ingest([question]) == IngestReport(added=1)
    assert stored(pipeline) == [("faq", "Unrelated."), ("faq:chunk:0000", "A question.")]
    blank = Document(page_content=" ", metadata={"source": "faq"})
    if splitter:
        assert await ingest([blank]) == IngestReport(deleted=1)
        assert stored(pipeline) == [("faq", "Unrelated.")]


async def test_equal_texts_of_one_call_are_all_kept(pipeline, ingest):
    """Without id and source they are one source, named by the hash of the text."""
    twice = [Document(page_content="Twice."), Document(page_content="Twice.")]
    assert await ingest(twice) == IngestReport(added=2)
    assert await ingest(twice) == IngestReport(skipped=2)
    assert spent(pipeline) == ["Twice."]


async def test_input_is_not_changed(pipeline, ingest):
    document = Document(page_content="\n".join(LINES), metadata={"source": "s", "l": [1]})
    copy = document.model_copy(deep=True)
    await ingest([document])
    assert document == copy


@pytest.mark.parametrize("documents", [["text"], [None], [make_document("a", "b"), 5]])
async def test_only_documents_are_taken(pipeline, ingest, documents):
    with pytest.raises(InvalidInputError, match=r"document \d is a"):
        await ingest(documents)
    assert len(pipeline.store) == 0
    with pytest.raises(InvalidInputError, match=r"write \[document\]"):
        await ingest(make_document("a", "b"))


async def test_a_failing_source_is_left_as_it_was(pipeline, ingest, monkeypatch):
    await ingest([make_document("d", "\n".join(LINES))])
    before = pipeline.store.get()

    def fail(*_):
        raise ConnectionError("no route")

    monkeypatch.setattr(pipeline.store.embeddings, "_documents", fail)
    changed = "\n".join(["Changed.", *LINES[1:]])
    with pytest.raises(ConnectionError):
        await ingest([make_document("d", changed)])
    assert pipeline.store.get() == before


def test_without_a_splitter_documents_stay_whole():
    pipeline = RagPipeline(Counting())
    document = make_document("d", "\n".join(LINES), metadata={"n": 1})
    assert pipeline.ingest([document]) == IngestReport(added=1)
    assert pipeline.store.get() == [document]


# --- retrieving and answering -------------------------------------------------------


async def test_the_threshold_of_the_pipeline():
    vectors = {"q": [1, 0], "9e-11": [9e-11, 1], "2e-10": [2e-10, 1], "far": [-1, 0]}
    pipeline = RagPipeline(Table(vectors))
    pipeline.ingest(make_document(t, t) for t in ("9e-11", "2e-10", "far"))
    kind = {"search_type": "similarity"}
    assert [d.id for d, _ in pipeline.retrieve("q", **kind)] == ["2e-10"]
    assert [d.id for d, _ in await pipeline.aretrieve("q", **kind)] == ["2e-10"]
    assert [d.id for d in pipeline.as_retriever(**kind).invoke("q")] == ["2e-10"]
    assert [d.id for d in pipeline.as_retriever().invoke("q", **kind)] == ["2e-10"]


@pytest.mark.parametrize("kind", ["hybird", "", 5])
async def test_unknown_search_types(pipeline, kind):
    with pytest.raises(InvalidInputError, match="search_type is one of"):
        pipeline.retrieve("q", search_type=kind)
    with pytest.raises(InvalidInputError, match="search_type is one of"):
        await pipeline.aretrieve("q", search_type=kind)


def test_blank_queries_cost_nothing(pipeline):
    pipeline.ingest([make_document("d", "text")])
    pipeline.store.embeddings.calls.clear()
    assert pipeline.retrieve("") == pipeline.retrieve("\u3000\n") == []
    assert pipeline.as_retriever().invoke(" ") == []
    assert pipeline.store.embeddings.calls == []


async def test_async_awaits_the_embedder(pipeline):
    await pipeline.aingest([make_document("d", "\n".join(LINES))])
    found = await pipeline.aretrieve("second line", k=2)
    assert pipeline.store.embeddings.calls == ["aembed_documents", "aembed_query"]
    assert found == pipeline.retrieve("second line", k=2)
    retriever = pipeline.as_retriever(k=2)
    assert await retriever.ainvoke("second line") == retriever.invoke("second line")


def test_embeddings_of_other_stores_must_agree_too():
    model = Counting()
    store = InMemoryVectorStore(model)
    assert RagPipeline(model, store).store is store
    with pytest.raises(EmbeddingMismatchError, match="pass embedding=None"):
        RagPipeline(Counting(), store)
    with pytest.raises(EmbeddingMismatchError):
        RagPipeline(model, SQLiteVectorStore())


def test_a_chain_streams_context_before_the_answer(pipeline):
    pipeline.ingest([make_document("d", "\n".join(LINES))])
    model = GenericFakeChatModel(messages=iter(["one two three"]))
    parts = list(pipeline.as_chain(model, k=1).stream({"input": "second line?"}))
    assert all(len(part) == 1 for part in parts)
    keys = [next(iter(part)) for part in parts]
    assert keys[-5:] == ["answer"] * 5
    assert sorted(keys[:-5]) == ["context", "question"]
    assert "".join(p["answer"] for p in parts[-5:]) == "one two three"


def test_braces_in_texts_and_questions_are_plain_text(pipeline):
    pipeline.ingest([make_document("d", "A set {x} of {0}.")])
    model = GenericFakeChatModel(messages=iter(["fine"]))
    answer = pipeline.as_chain(model).invoke("What is {x}?")
    assert (answer["question"], answer["answer"]) == ("What is {x}?", "fine")
    assert [d.page_content for d in answer["context"]] == ["A set {x} of {0}."]
