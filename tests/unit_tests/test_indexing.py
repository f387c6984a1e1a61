"""LangChain's `index()` with the record manager, beside a store and on its own file."""

import time

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import aindex, index
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from fakes import Clock, Counting
from langchain_ragstore import SQLiteRecordManager, SQLiteVectorStore
from langchain_ragstore.config import PROBE_TEXT
from langchain_ragstore.errors import InvalidInputError, ReadOnlyError, StoreClosedError

DOCUMENTS = [
    Document(page_content=t, metadata={"source": t[0]}) for t in ("a1", "a2", "b1")
]


def counts(result):
    return tuple(
        result[f"num_{kind}"] for kind in ("added", "updated", "skipped", "deleted")
    )


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    path = tmp_path / "rag.db" if request.param == "file" else ":memory:"
    with SQLiteVectorStore(Counting(), path) as store:
        yield store


@pytest.mark.parametrize("function", [index, aindex])
async def test_documents_that_left_the_store_are_indexed_again(store, function):
    """Elsewhere they are skipped for ever (LangChain issue 39937)."""
    manager = store.record_manager()

    async def run():
        result = function(DOCUMENTS, manager, store, key_encoder="sha256")
        return counts(result if function is index else await result)

    assert await run() == (3, 0, 0, 0)
    (lost,) = store.get(filter={"$content": "a2"})
    store.delete([lost.id])
    assert manager.exists([lost.id]) == await manager.aexists([lost.id]) == [False]
    assert await run() == (1, 0, 2, 0)
    store.clear()
    assert await run() == (3, 0, 0, 0)
    assert await run() == (0, 0, 3, 0)
    assert len(store) == 3


# --- index() and aindex() ------------------------------------------------------------

CLEANUPS = {
    None: (["a1", "a2", "a3", "b1"], 0),
    "incremental": (["a1", "a3", "b1"], 1),
    "scoped_full": (["a1", "a3", "b1"], 1),
    "full": (["a1", "a3"], 2),
}


@pytest.mark.parametrize("cleanup", CLEANUPS)
@pytest.mark.parametrize("function", [index, aindex])
async def test_cleaning_up(store, function, cleanup):
    manager = store.record_manager()

    async def run(documents, **keywords):
        result = function(
            *(documents, manager, store),
            cleanup=cleanup,
            source_id_key="source",
            key_encoder="sha256",
            batch_size=2,
            **keywords,
        )
        return counts(result if function is index else await result)

    assert await run(DOCUMENTS) == (3, 0, 0, 0)
    assert await run(DOCUMENTS) == (0, 0, 3, 0)
    third = Document(page_content="a3", metadata={"source": "a"})
    kept, deleted = CLEANUPS[cleanup]
    assert await run([DOCUMENTS[0], third]) == (1, 0, 1, deleted)
    assert sorted(d.page_content for d in store.get()) == kept
    assert sorted(manager.list_keys()) == sorted(d.id for d in store.get())
    assert await run([DOCUMENTS[0], third], force_update=True) == (0, 2, 0, 0)


@pytest.mark.parametrize("cleanup", ["incremental", "scoped_full"])
@pytest.mark.parametrize("function", [index, aindex])
async def test_many_batches_of_one_source(store, function, cleanup):
    """Report 48: cleaning up after each batch deletes what the next ones bring.

    LangChain adds it anew then; no text of it is embedded anew.
    """
    manager = store.record_manager()
    chunks = [
        Document(page_content=f"chunk {n}", metadata={"source": "s"}) for n in range(250)
    ]
    for _ in range(3):
        result = function(
            *(chunks, manager, store),
            cleanup=cleanup,
            source_id_key="source",
            key_encoder="sha256",
            batch_size=100,
        )
        if function is aindex:
            await result
        assert sorted(d.page_content for d in store.get()) == sorted(
            d.page_content for d in chunks
        )
    texts = [text for text in store.embeddings.texts if text != PROBE_TEXT]
    assert len(texts) == 250


def test_cleaning_up_with_a_clock_that_goes_back(tmp_path):
    clock = Clock(1e9)
    with SQLiteVectorStore(Counting(), tmp_path / "rag.db", clock=clock) as store:
        manager = store.record_manager()
        for n in range(5):
            documents = [Document(page_content=f"version {n}"), DOCUMENTS[0]]
            result = index(documents, manager, store, cleanup="full", key_encoder="sha256")
            assert counts(result) == ((2, 0, 0, 0) if n == 0 else (1, 0, 1, 1))
            clock.now -= 3600
        assert len(store) == 2


def test_sources_that_are_numbers(store):
    manager = store.record_manager()
    for text in ("one", "two"):
        documents = [Document(page_content=text, metadata={"source": 7})]
        index(
            *(documents, manager, store),
            cleanup="incremental",
            source_id_key="source",
            key_encoder="sha256",
        )
    assert [d.page_content for d in store.get()] == ["two"]
    assert manager.list_keys(group_ids=[7]) == manager.list_keys()


@pytest.mark.parametrize("function", [index, aindex])
async def test_with_another_packages_store(tmp_path, function):
    other = InMemoryVectorStore(Counting())
    with SQLiteRecordManager("n", tmp_path / "rag.db", store=other) as manager:

        async def run():
            result = function(DOCUMENTS, manager, other, key_encoder="sha256")
            return counts(result if function is index else await result)

        assert await run() == (3, 0, 0, 0)
        other.delete([next(iter(other.store))])
        assert await run() == (1, 0, 2, 0)


def test_a_store_that_cannot_tell_its_ids():
    class Mute(VectorStore):
        def similarity_search(self, query, k=4, **kwargs):
            return []

        @classmethod
        def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
            return cls()

    with pytest.raises(InvalidInputError, match="Mute has no get_by_ids"):
        SQLiteRecordManager("n", store=Mute())


# --- beside a vector store -----------------------------------------------------------


def test_in_the_file_of_a_store(store):
    manager = store.record_manager()
    assert manager.namespace == "ragstore/default"
    manager.update(["k"])
    assert store.record_manager("other").list_keys() == []
    assert store.record_manager().list_keys() == ["k"]
    assert store.record_manager().exists(["k"]) == [False]  # no such document
    manager.close()
    for use in (manager.get_time, manager.create_schema, manager.list_keys):
        with pytest.raises(StoreClosedError, match="its store makes another"):
            use()
    assert len(store) == 0
    manager = store.record_manager()
    store.close()
    for use in (manager.get_time, store.record_manager, manager.create_schema):
        with pytest.raises(StoreClosedError, match="closed; open it anew"):
            use()


def test_by_path_in_the_file_of_a_store(tmp_path):
    with SQLiteVectorStore(
        Counting(), tmp_path / "rag.db", collection_name="notes"
    ) as store:
        index(DOCUMENTS, store.record_manager(), store, key_encoder="sha256")
        with SQLiteRecordManager(
            "ragstore/notes", tmp_path / "rag.db", store=store
        ) as other:
            assert counts(index(DOCUMENTS, other, store, key_encoder="sha256")) == (
                0,
                0,
                3,
                0,
            )


def test_a_scoped_view_needs_its_own_namespace(store):
    view = store.scoped({"user": "ann"})
    with pytest.raises(InvalidInputError, match="a namespace of their own"):
        view.record_manager()
    managers = {user: store.scoped({"user": user}).record_manager(user) for user in "ab"}
    for user, manager in managers.items():
        documents = [Document(page_content=f"{user} {n}") for n in range(2)]
        target = store.scoped({"user": user})
        index(documents, manager, target, cleanup="full", key_encoder="sha256")
    result = index(
        [], managers["a"], store.scoped({"user": "a"}), cleanup="full", key_encoder="sha256"
    )
    assert result["num_deleted"] == 2
    assert [d.page_content for d in store.get()] == ["b 0", "b 1"]
    keys = managers["b"].list_keys()
    assert managers["b"].exists(keys) == [True, True]
    managers["a"].update(keys)
    assert managers["a"].exists(keys) == [False, False]  # not in a's view


def test_of_a_read_only_store(tmp_path):
    with SQLiteVectorStore(Counting(), tmp_path / "rag.db") as store:
        index(DOCUMENTS, store.record_manager(), store, key_encoder="sha256")
    with SQLiteVectorStore(Counting(), tmp_path / "rag.db", read_only=True) as store:
        manager = store.record_manager()
        assert all(manager.exists(manager.list_keys()))
        assert len(manager.list_keys(before=time.time())) == 3
        for write in (manager.get_time, lambda: manager.update(["k"])):
            with pytest.raises(ReadOnlyError):
                write()
