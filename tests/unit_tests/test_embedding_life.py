"""What a store asks of its embedding model: never another one's work, nothing twice."""

import logging
import sqlite3
import threading

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from fakes import Breaking, Clock, Counting, Table, Turned
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    HashingEmbeddings,
    RagPipeline,
    SQLiteVectorStore,
    make_document,
)
from langchain_ragstore.config import KEEP_SECONDS, PROBE_TEXT
from langchain_ragstore.errors import (
    DimensionMismatchError,
    EmbeddingFailedError,
    EmbeddingMismatchError,
    InvalidInputError,
    StorageError,
)
from langchain_ragstore.model import Fingerprint, alike
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.unstored import Unstored


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kb.db"


@pytest.fixture(params=["sync", "async"])
def add(request):
    """Adds texts in one of two ways."""

    async def added(store, texts, **keywords):
        if request.param == "sync":
            return store.add_texts(texts, **keywords)
        return await store.aadd_texts(texts, **keywords)

    return added


@pytest.fixture(params=["sync", "async"])
def find(request):
    async def found(store, query, **keywords):
        if request.param == "sync":
            return store.similarity_search(query, **keywords)
        return await store.asimilarity_search(query, **keywords)

    return found


# --- the model is known again -----------------------------------------------------------


async def test_opening_asks_nothing_and_the_first_use_asks_for_the_probe(path, add, find):
    model = Counting()
    with SQLiteVectorStore(model, path) as store:
        assert (model.calls, len(store)) == ([], 0)
        assert await find(store, "tea") == []
        assert model.texts == []  # an empty collection has no model to compare with
        await add(store, ["green tea"])
        await add(store, ["black tea"])
        assert model.texts == [PROBE_TEXT, "green tea", "black tea"]
    again = Counting()
    with SQLiteVectorStore(again, path) as store:
        assert again.calls == []
        await find(store, "tea")
        await find(store, "coffee")
        assert again.texts == [PROBE_TEXT]
        await add(store, ["white tea"])
        assert again.texts == [PROBE_TEXT, "white tea"]


async def test_a_store_in_memory_needs_no_probe(add, find):
    model = Counting()
    with SQLiteVectorStore(model) as store:
        await add(store, ["green tea"])
        assert [d.page_content for d in await find(store, "tea")] == ["green tea"]
        assert model.texts == ["green tea"]


async def test_another_model_of_the_same_dimension_is_refused(path, add, find):
    """Report 80: a model of the same dimension mixed its vectors with another's."""
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts(["green tea"])
    other = Turned()
    with SQLiteVectorStore(other, path) as store:
        with pytest.raises(EmbeddingMismatchError, match=r"Counting.*Turned 'turned'") as e:
            await add(store, ["black tea"])
        assert "check_model=False" in str(e.value)
        with pytest.raises(EmbeddingMismatchError):
            await find(store, "tea")
        assert other.texts == [PROBE_TEXT]
        assert [d.page_content for d in store.get()] == ["green tea"]


async def test_a_change_of_model_under_an_open_store_is_seen(path, find):
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts(["green tea"])
        await find(store, "tea")
        with SQLiteVectorStore(Turned(), path) as other:
            other.clear()
            other.add_texts(["black tea"])
            with pytest.raises(EmbeddingMismatchError):
                await find(store, "tea")


async def test_two_writers_of_a_new_collection_do_not_mix_models(path):
    """Both find it empty; the second one's vectors are refused in the transaction."""
    gate = threading.Event()

    class Late(Turned):
        def embed_documents(self, texts):
            vectors = super().embed_documents(texts)
            if texts != [PROBE_TEXT]:
                with SQLiteVectorStore(Counting(), path) as first:
                    first.add_texts(["green tea"])
                gate.set()
            return vectors

    with SQLiteVectorStore(Late(), path) as store:
        with pytest.raises(EmbeddingMismatchError):
            store.add_texts(["black tea"])
        assert gate.is_set()
        assert [d.page_content for d in store.get()] == ["green tea"]


async def test_the_name_alone_decides_nothing(path, add):
    """Report 80: what was noted was a name, which may change while the model stays."""
    with SQLiteVectorStore(Turned(name="old name"), path) as store:
        store.add_texts(["green tea"])
        assert store.stats()["model"] == "Turned 'old name'"
    with SQLiteVectorStore(Turned(name="new name"), path) as store:
        await add(store, ["black tea"])
        assert len(store) == 2


async def test_equal_names_do_not_make_one_model_of_two(path, add):
    """Report 80: two models of one class and one name were taken for the same."""
    with SQLiteVectorStore(Turned(name="m"), path) as store:
        store.add_texts(["green tea"])
    other = Counting()  # another order of the axes, under the first one's name
    other.model_name, other.__class__ = "m", type("Turned", (Counting,), {})
    with SQLiteVectorStore(other, path) as store:
        assert store.embeddings.__class__.__name__ == "Turned"
        with pytest.raises(EmbeddingMismatchError, match=r"Turned 'm'.*Turned 'm'"):
            await add(store, ["black tea"])


async def test_settings_of_a_client_make_no_other_model(path, add):
    """Report 80: a new API key or batch size is the same model, and no key is stored."""
    for key, size in (("sk-first", 10), ("sk-second", 500)):
        model = Counting()
        model.api_key, model.batch_size, model.chunk_size = key, size, size
        with SQLiteVectorStore(model, path) as store:
            await add(store, [f"text of {size}"])
            assert store.stats()["model"] == "Counting"
    assert len(model.texts) == 2
    assert b"sk-" not in path.read_bytes()


async def test_another_dimension_names_both_models(path, add, find):
    """Report 79: the error came late and named neither model nor a way out."""
    with SQLiteVectorStore(Counting(64), path) as store:
        store.add_texts(["green tea"])
    with SQLiteVectorStore(Turned(32), path) as store:
        for refused in (add(store, ["black tea"]), find(store, "tea")):
            words = r"Counting.*64.*Turned.*32.*reembed\(\)"
            with pytest.raises(DimensionMismatchError, match=words):
                await refused
        assert [d.page_content for d in store.get()] == ["green tea"]


async def test_an_emptied_collection_takes_any_model(path, add):
    """Report 79: clearing did not help, the old dimension stayed."""
    with SQLiteVectorStore(Counting(64), path) as store:
        store.add_texts(["green tea"])
        store.clear()
    with SQLiteVectorStore(Turned(32), path) as store:
        await add(store, ["black tea"])
        assert store.stats()["model"] == "Turned 'turned'"


async def test_collections_have_models_of_their_own(path, add):
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts(["green tea"])
    with SQLiteVectorStore(Turned(), path, collection_name="other") as store:
        await add(store, ["green tea"])


async def test_the_check_can_be_turned_off(path, add, find):
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts(["green tea"])
    model = Turned()
    with SQLiteVectorStore(model, path, check_model=False) as store:
        await add(store, ["black tea"])
        await find(store, "tea")
        assert (model.texts, len(store)) == (["black tea"], 2)


async def test_a_model_that_cannot_embed_the_probe_says_what_it_is_for(path, add):
    class Few(Embeddings):
        def embed_documents(self, texts):
            return [{"tea": [1.0]}[text] for text in texts]

        def embed_query(self, text):
            return [1.0]

    with SQLiteVectorStore(Few(), path) as store:
        with pytest.raises(EmbeddingFailedError, match="Few failed at the text") as raised:
            await add(store, ["tea"])
        assert isinstance(raised.value.__cause__, KeyError)
        assert "check_model=False" in raised.value.__notes__[0]
    with SQLiteVectorStore(Few(), path, check_model=False) as store:
        assert len(await add(store, ["tea"])) == 1


def test_when_models_agree():
    def of(*probe):
        return Fingerprint("m", np.array(probe, np.float32))

    same, near, far = of(1, 0), of(0.995, 0.0999), of(0.98, 0.199)
    assert same.agrees(near)
    assert not same.agrees(far)
    assert not same.agrees(of(1, 0, 0))
    assert of(0, 0).agrees(of(0, 0))
    assert not of(0, 0).agrees(same)
    assert alike(None, None)
    assert not alike(None, same)
    assert alike(same, near)


# --- nothing twice ----------------------------------------------------------------------


async def test_equal_texts_cost_one_embedding(path, add):
    """Report 34: what is there already was embedded again, for each copy of a text."""
    model = Counting()
    with SQLiteVectorStore(model, path) as store:
        await add(store, ["the same"] * 1000, ids=map(str, range(1000)))
        assert len(store) == 1000
        assert model.texts == [PROBE_TEXT, "the same"]
        await add(store, ["the same"], ids=["another"])
        assert model.texts == [PROBE_TEXT, "the same"]


async def test_a_stored_text_is_not_embedded_again(path, add):
    """Report 34: a second run paid for the same embeddings once more."""
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts(["a", "b"], [{"n": 1}, {"n": 2}])
    model = Counting()
    with SQLiteVectorStore(model, path) as store:
        await add(store, ["a", "b", "c"], metadatas=[{"n": 5}, {"n": 2}, {}])
        assert model.texts == [PROBE_TEXT, "c"]
        assert store.similarity_search("a", k=4)[0].page_content == "a"


async def test_a_vector_given_by_hand_is_no_models_work(add):
    model = Counting(2)
    with SQLiteVectorStore(model) as store:
        store.add_embeddings(["a"], [[0.6, 0.8]], ids=["x"])
        await add(store, ["a"], ids=["x"])
        assert model.texts == ["a"]


async def test_what_a_failed_run_embedded_is_not_lost(path, add):
    """Report 31: one refused call in the middle threw all earlier ones away."""
    texts = [f"text {n}" for n in range(20)]
    with SQLiteVectorStore(Breaking(8), path) as store:  # the probe, then seven batches
        with pytest.raises(ConnectionError):
            await add(store, texts, batch_size=2)
        assert (len(store), store.stats()["kept_vectors"]) == (0, 12)
    model = Counting()
    with SQLiteVectorStore(model, path) as store:
        await add(store, texts, batch_size=2)
        assert model.texts == [PROBE_TEXT, *texts[12:]]
        assert (len(store), store.stats()["kept_vectors"]) == (20, 0)
        best = store.similarity_search_with_score("text 3", k=1)
        assert [(d.page_content, round(s, 6)) for d, s in best] == [("text 3", 1)]


async def test_what_a_refused_write_embedded_is_not_lost(path, monkeypatch):
    model = Counting()
    with SQLiteVectorStore(model, path) as store:
        with monkeypatch.context() as patched:
            full = sqlite3.OperationalError("database or disk is full")

            def refuse(*_arguments, **_keywords):
                raise StorageError("database or disk is full") from full

            patched.setattr(store._backend, "upsert", refuse)
            with pytest.raises(StorageError):
                store.add_texts(["a"])
        store.add_texts(["a"])
        assert model.texts == [PROBE_TEXT, "a"]


async def test_kept_vectors_of_another_model_are_not_used(path, add):
    with (
        SQLiteVectorStore(Breaking(3), path) as store,
        pytest.raises(ConnectionError),
    ):
        store.add_texts(["a", "b"], batch_size=1)
    model = Turned()
    with SQLiteVectorStore(model, path) as store:
        await add(store, ["a", "b"])
        assert model.texts == [PROBE_TEXT, "a", "b"]
        assert store.stats()["kept_vectors"] == 0
        assert store.similarity_search_with_score("a", k=1)[0][1] == pytest.approx(1)


def test_clearing_forgets_kept_vectors(path):
    with SQLiteVectorStore(Breaking(3), path) as store:
        with pytest.raises(ConnectionError):
            store.add_texts(["a", "b"], batch_size=1)
        assert store.stats()["kept_vectors"] == 1
        store.clear()
        assert store.stats()["kept_vectors"] == 0


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_failed_ingestion_of_one_source_goes_on(path, asynchronous):
    text = "".join(f"Sentence number {n}. " for n in range(40))
    splitter = CJKRecursiveTextSplitter(20, 0)

    async def ingest(model):
        with SQLiteVectorStore(model, path) as store:
            pipeline = RagPipeline(store=store, splitter=splitter)
            documents = [make_document("doc", text)]
            if asynchronous:
                return await pipeline.aingest(documents, batch_size=10)
            return pipeline.ingest(documents, batch_size=10)

    with pytest.raises(ConnectionError):
        await ingest(Breaking(4))
    model = Counting()
    report = await ingest(model)
    assert report.added == 40
    assert len(model.texts) == 1 + 20


MODEL = Fingerprint("model", np.ones(1, np.float32))


def test_vectors_wait_for_their_records_only_so_long():
    clock, backend = Clock(), MemoryBackend()
    unstored = Unstored(backend, "c", clock)
    one, two = np.eye(2, dtype=np.float32)
    unstored.add({b"1": one}, MODEL)
    clock.now += KEEP_SECONDS - 0.01
    unstored.add({b"2": two}, MODEL)
    assert backend.known("c", [b"1", b"2"], MODEL) == {}
    unstored.stored([b"1", None])
    clock.now += 0.02
    unstored.add({b"3": one}, MODEL)
    assert list(backend.known("c", [b"1", b"2", b"3"], MODEL)) == [b"2", b"3"]
    unstored.add({b"4": one}, MODEL)  # the wait begins anew
    assert list(backend.known("c", [b"4"], MODEL)) == []
    unstored.keep()
    assert list(backend.known("c", [b"4"], MODEL)) == [b"4"]


def test_what_an_unknown_model_made_is_not_kept():
    backend = MemoryBackend()
    unstored = Unstored(backend, "c", Clock())
    unstored.add({b"1": np.ones(1, np.float32)}, None)
    unstored.keep()
    assert backend.known("c", [b"1"], None) == {}


def test_a_file_that_refuses_to_keep_vectors_hides_no_error(path, caplog):
    SQLiteVectorStore(HashingEmbeddings(), path).close()
    unstored = Unstored(
        SQLiteVectorStore(None, path, read_only=True)._backend, "c", Clock()
    )
    unstored.add({b"1": np.ones(1, np.float32)}, MODEL)
    with caplog.at_level(logging.WARNING):
        unstored.keep()
    assert "1 new vectors could not be kept" in caplog.text


def test_a_text_store_gets_vectors_when_it_gets_a_model(path):
    documents = [make_document("tea", "Green tea."), make_document("cup", "A cup.")]
    with SQLiteVectorStore(None, path) as store:
        RagPipeline(store=store).ingest(documents)
    model = Counting()
    with SQLiteVectorStore(model, path) as store:
        report = RagPipeline(store=store).ingest(documents)
        assert (report.updated, report.skipped) == (2, 0)
        assert store.stats()["vectors"] == 2
        report = RagPipeline(store=store).ingest(documents)
        assert (report.updated, report.skipped) == (0, 2)
        assert model.texts == [PROBE_TEXT, "Green tea.", "A cup."]


def test_given_vectors_stay_while_their_text_is_the_same():
    store = SQLiteVectorStore(Table({"cup": [0.0, 1.0], "q": [1.0, 0.0]}))
    store.add_embeddings(["tea"], [[1.0, 0.0]], ids=["x"])
    changed = make_document("x", "tea", metadata={"n": 1})
    RagPipeline(store=store).ingest([changed])
    assert store.similarity_search_with_score("q")[0][1] == 1
    RagPipeline(store=store).ingest([make_document("x", "cup")])
    assert store.similarity_search_with_score("q")[0][1] == 0


# --- without a model, and where the model changes under one's hands ---------------------


def test_a_store_without_a_model_keeps_the_vectors_of_its_texts(path):
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts(["a", "b"], ids=["a", "b"])
    with SQLiteVectorStore(None, path) as store:
        store.add_texts(["a"], ids=["a"])
        store.update_document("b", make_document("b", "b", metadata={"lang": "en"}))
        assert store.stats()["vectors"] == 2
        store.update_document("b", make_document("b", "other"))
        assert store.stats()["vectors"] == 1  # that of "b" is none of "other"
    with SQLiteVectorStore(Counting(), path) as store:
        assert store.similarity_search_with_score("a", k=1)[0][1] == pytest.approx(1)


def test_a_store_without_a_model_keeps_given_vectors():
    store = SQLiteVectorStore()
    store.add_embeddings(["a"], [[1.0, 0.0]], ids=["a"])
    store.update_document("a", make_document("a", "a", metadata={"n": 1}))
    store.add_texts(["a"], ids=["a"])
    assert store.similarity_search_with_score_by_vector([1.0, 0.0])[0][1] == 1
    store.add_texts(["b"], ids=["a"])
    assert store.stats()["vectors"] == 0


@pytest.mark.parametrize("unchecked", [True, False])
def test_kept_vectors_outlive_no_change_of_an_unasked_model(path, unchecked):
    """In memory, and with check_model=False, no probe tells models apart."""
    where = path if unchecked else ":memory:"
    texts = [f"text {n}" for n in range(6)]
    store = SQLiteVectorStore(Breaking(3), where, check_model=not unchecked)
    with pytest.raises(ConnectionError):
        store.add_texts(texts, batch_size=2)
    if unchecked:
        store.close()
        store = SQLiteVectorStore(Turned(32), where, check_model=False)
    else:
        assert store.reembed(Turned(32)) == 0
    store.add_texts(texts)
    scores = [store.similarity_search_with_score(t, k=1)[0][1] for t in texts]
    assert scores == pytest.approx([1] * 6)
    store.close()


def test_a_patch_does_not_bring_back_an_old_models_vector(path):
    other = SQLiteVectorStore(Counting(), path, index_text=lambda d: d.page_content)
    other.add_texts(["a", "b"], ids=["a", "b"])
    due = [True]

    def index_text(document):
        if due and other:
            due.clear()
            other.reembed(Turned())  # stands for another process
        return document.page_content

    with SQLiteVectorStore(Counting(), path, index_text=index_text) as store:
        assert store.update_metadata(["a"], patch={"x": 1}) == 1
    assert other.get("a")[0].metadata == {"x": 1}
    assert other.similarity_search_with_score("a", k=1)[0][1] == pytest.approx(1)
    other.close()


async def test_a_text_that_is_embedded_while_the_model_changes_is_refused(add):
    """Also in memory, where no probe is asked for."""

    class Changing(Counting):
        def _documents(self, name, texts):
            vectors = super()._documents(name, texts)
            if "b" in texts:
                store.reembed(Turned())
            return vectors

    store = SQLiteVectorStore(Changing())
    await add(store, ["a"])
    with pytest.raises(EmbeddingMismatchError):
        await add(store, ["b"])
    assert store.similarity_search_with_score("a", k=1)[0][1] == pytest.approx(1)


async def test_a_search_in_which_the_model_changes_is_made_again(path, find):
    class Changing(Counting):
        def embed_query(self, text):
            vector = super().embed_query(text)
            store.reembed(Turned())
            return vector

        async def aembed_query(self, text):
            return self.embed_query(text)

    store = SQLiteVectorStore(Changing(), path)
    store.add_texts(["a", "b", "c"])
    (found,) = await find(store, "a", k=1)
    assert found.page_content == "a"
    store.close()


async def test_a_query_without_a_vector_is_refused(find):
    store = SQLiteVectorStore(Counting())
    store.embeddings.embed_query = lambda _: None

    async def none(_):
        return None

    store.embeddings.aembed_query = none
    with pytest.raises(InvalidInputError, match="returned None"):
        await find(store, "a")
