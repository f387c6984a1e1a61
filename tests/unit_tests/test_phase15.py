"""The seed design's own tests of stores and pipeline, by name."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document

from fakes import Answering, Table
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    HashingEmbeddings,
    IngestReport,
    MockEmbeddings,
    RagPipeline,
    SQLiteVectorStore,
    make_document,
)

XYZ = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1], "xy": [3, 4, 0], "none": [0, 0, 0]}


@pytest.fixture
def store():
    with SQLiteVectorStore(Table(XYZ)) as store:
        yield store


def test_basic_add_and_search(store):
    """As in the seed; similarity is the cosine: (3, 4, 0)·(0, 1, 0) / 5 = 0.8."""
    store.add_texts(["x", "y", "z"], ids=["1", "2", "3"])
    ((document, score),) = store.similarity_search_with_score("xy", k=1)
    assert document == Document(id="2", page_content="y")
    assert score == pytest.approx(0.8, abs=1e-7)


def test_search_empty_store(store):
    """As in the seed."""
    assert store.similarity_search("x", k=3) == []


def test_search_zero_vector(store):
    """As in the seed: a zero query finds nothing. A stored zero vector has cosine 0."""
    store.add_texts(["x", "none"], ids=["1", "2"])
    assert store.similarity_search_with_score("none", k=5) == []
    assert [score for _, score in store.similarity_search_with_score("x")] == [1.0, 0.0]


def test_search_k_is_zero(store):
    """As in the seed."""
    store.add_texts(["x"])
    assert store.similarity_search("x", k=0) == []


def test_search_orthogonal_vectors(store):
    """The seed's store drops similarities ≤ 1e-10; here the pipeline does.

    LangChain's suite wants k hits from a store, whatever their score.
    """
    store.add_texts(["x", "y"], ids=["1", "2"])
    scored = store.similarity_search_with_score("y")
    assert [(document.id, score) for document, score in scored] == [("2", 1.0), ("1", 0.0)]
    assert [d.id for d, _ in RagPipeline(store=store).retrieve("y")] == ["2"]


def test_add_mismatched_lengths(store):
    """The seed writes 2 of 3 documents and reports an error; here nothing is written."""
    with pytest.raises(ValueError, match="3 texts but 2 embeddings"):
        store.add_embeddings(["x", "y", "z"], [[1, 0, 0], [0, 1, 0]])
    assert len(store) == 0


def test_add_duplicate_id_upsert(store):
    """As in the seed: the second replaces text, metadata and vector of the first."""
    store.add_texts(["x"], [{"old": 1}], ids=["1"])
    store.add_texts(["y"], [{"new": 2}], ids=["1"])
    assert len(store) == 1
    ((document, score),) = store.similarity_search_with_score("y")
    assert (document.page_content, document.metadata, score) == ("y", {"new": 2}, 1.0)


def test_remove_items(store):
    """As in the seed; `delete` takes a list or one id."""
    store.add_texts(["x", "y", "z"], ids=["1", "2", "3"])
    assert store.delete(["1", "3"]) is True
    assert [d.id for d in store.similarity_search("x", k=5)] == ["2"]


def test_remove_nonexistent_id(store):
    """As in the seed: no error; LangChain's answer is True."""
    store.add_texts(["x"], ids=["1"])
    assert store.delete(["absent"]) is True
    assert len(store) == 1


async def test_concurrent_operations(store):
    """As in the seed: ten writers at once, and all they wrote is found."""
    await asyncio.gather(
        *(store.aadd_texts(["xy"], [{"n": n}], ids=[str(n)]) for n in range(10))
    )
    found = await asyncio.gather(*(store.asimilarity_search("xy", k=20) for _ in range(10)))
    assert all({d.id for d in one} == {str(n) for n in range(10)} for one in found)


def test_persistent_roundtrip(tmp_path):
    """As in the seed; one SQLite file takes the place of its JSON rows."""
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(Table(XYZ), path) as store:
        store.add_texts(["x", "y"], [{"page": 1}, {"page": 2}], ids=["1", "2"])
    with SQLiteVectorStore(Table(XYZ), path) as store:
        assert store.get_by_ids(["1", "2"]) == [
            Document(id="1", page_content="x", metadata={"page": 1}),
            Document(id="2", page_content="y", metadata={"page": 2}),
        ]


def test_search_after_reload(tmp_path):
    """As in the seed: the same hits with the same scores."""
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(Table(XYZ), path) as store:
        store.add_texts(["x", "y", "z"])
        before = store.similarity_search_with_score("xy")
    with SQLiteVectorStore(Table(XYZ), path) as store:
        assert store.similarity_search_with_score("xy") == before
    assert [document.page_content for document, _ in before] == ["y", "x", "z"]


def test_namespace_isolation(tmp_path):
    """A namespace of the seed is a collection here; the same id lives in both."""
    path = tmp_path / "kb.db"
    with (
        SQLiteVectorStore(Table(XYZ), path, collection_name="first") as first,
        SQLiteVectorStore(Table(XYZ), path, collection_name="second") as second,
    ):
        first.add_texts(["x"], ids=["1"])
        second.add_texts(["y"], ids=["1"])
        assert [d.page_content for d in first.similarity_search("y")] == ["x"]
        second.delete(["1"])
        assert (len(first), len(second)) == (1, 0)


def test_concurrent_access(tmp_path):
    """As in the seed, with threads, and two stores on one file."""
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(Table(XYZ), path) as one, SQLiteVectorStore(None, path) as two:

        def write(n):
            (one if n % 2 else two).add_embeddings(["xy"], [[n, 1, 0]], ids=[str(n)])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(40)))
        assert len(one) == len(two) == 40
        assert len(one.similarity_search("x", k=100)) == 40


def test_partial_add_recovery(tmp_path):
    """Of 5 documents the 3rd fails: the seed keeps 2, here none survives.

    Half a batch is what nobody asked for; the same call can simply be made again.
    """

    def third_is_broken(texts):
        return [[float("nan") if t == "3" else len(t), 1.0] for t in texts]

    path = tmp_path / "kb.db"
    with (
        SQLiteVectorStore(Answering(third_is_broken), path) as store,
        pytest.raises(ValueError, match=r"NaN.*text 2: '3'"),
    ):
        store.add_texts(["1", "2", "3", "4", "5"])
    with SQLiteVectorStore(HashingEmbeddings(2), path) as store:
        assert len(store) == 0
        assert len(store.add_texts(["1", "2", "3", "4", "5"])) == len(store) == 5


def test_new_empty_store(tmp_path):
    """As in the seed: a fresh file is an empty store."""
    with SQLiteVectorStore(Table(XYZ), tmp_path / "new.db") as store:
        assert (len(store), store.get(), store.collections()) == (0, [], [])
        assert store.similarity_search("x") == []


def test_ingest_and_retrieve():
    """As in the seed, with its splitter(200, 30) and top 3.

    Its MockEmbeddings(4) gives chunks of one text negative cosines, which the
    pipeline drops; HashingEmbeddings tells what a text says.
    """
    pipeline = RagPipeline(
        HashingEmbeddings(64), splitter=CJKRecursiveTextSplitter(200, 30)
    )
    text = "The tide comes in twice a day. " * 20
    report = pipeline.ingest([make_document("tides", text)])
    assert report == IngestReport(added=len(pipeline.store))
    assert report.added >= 4  # 620 characters, at most 200 in a chunk
    found = pipeline.retrieve("The tide comes in twice a day.", k=3)
    assert len(found) == 3
    assert all(document.metadata["source_id"] == "tides" for document, _ in found)
    assert [score for _, score in found] == sorted((s for _, s in found), reverse=True)


def test_ingest_empty_docs():
    """As in the seed: nothing to do, and the report says so (the seed returns 0)."""
    assert RagPipeline(MockEmbeddings(4)).ingest([]) == IngestReport(0, 0, 0, 0)


def test_ingest_empty_split():
    """As in the seed: a document that splits into nothing stores nothing."""
    pipeline = RagPipeline(MockEmbeddings(4), splitter=CJKRecursiveTextSplitter(200, 30))
    assert pipeline.ingest([make_document("empty", "")]) == IngestReport()
    assert len(pipeline.store) == 0


def test_retrieve_empty_store():
    """As in the seed."""
    assert RagPipeline(MockEmbeddings(4)).retrieve("anything") == []
