"""A store calls its model in batches that the service takes, and loses none of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import Counting, Service, ServiceError
from langchain_ragstore import (
    BatchedEmbeddings,
    EmbeddingFailedError,
    EmbeddingUnreachableError,
    InvalidInputError,
    MissingExtraError,
    RagPipeline,
    SQLiteVectorStore,
    make_document,
)
from langchain_ragstore.config import PROBE_TEXT
from langchain_ragstore.embeddings import running
from langchain_ragstore.embeddings.running import Timing

DOCUMENTS = [make_document(f"{n:02}", f"text {n}") for n in range(70)]
TEXTS = [document.page_content for document in DOCUMENTS]


@pytest.fixture(params=["sync", "async"])
def add(request):
    async def added(store, documents, **keywords):
        if request.param == "sync":
            return store.add_documents(documents, **keywords)
        return await store.aadd_documents(documents, **keywords)

    return added


def embedded(model):
    return [text for text in model.texts if text != PROBE_TEXT]


@pytest.mark.parametrize("numbers", [True, False])
async def test_a_service_that_takes_ten_texts_needs_no_tuning(tmp_path, add, numbers):
    model = Service(items=10, numbers=numbers)
    with SQLiteVectorStore(model, tmp_path / "kb.db") as store:
        await add(store, DOCUMENTS)
        await add(store, [make_document(f"more {n}", f"more {n}") for n in range(70)])
        assert len(store) == 140
        assert store.similarity_search_with_score("text 7", k=1)[0][0].id == "07"
    assert model.refused == ([64] if numbers else [64, 32, 16])
    assert max(map(len, model.batches)) == (10 if numbers else 8)
    assert len(embedded(model)) == len(set(embedded(model))) == 140


def seventh_fails():
    """A service that takes ten texts, and fails in the seventh batch of them."""
    return Service(items=10, errors=[None] * 7 + [ServiceError("Unauthorized", 401)])


async def test_the_seventh_batch_fails_in_memory(add):
    model = seventh_fails()  # the first call is refused for its size
    store = SQLiteVectorStore(model)
    with pytest.raises(EmbeddingFailedError) as raised:
        await add(store, DOCUMENTS)
    assert (raised.value.index, raised.value.count) == (60, 10)
    assert raised.value.__notes__ == [
        "What was embedded before is kept: the same call embeds the rest."
    ]
    assert (len(store), model.texts) == (0, TEXTS[:60])
    await add(store, DOCUMENTS)
    assert model.texts == TEXTS
    assert [d.page_content for d in store.get(order_by="$id")] == TEXTS
    store.close()


async def test_the_seventh_batch_fails_with_a_file(tmp_path, add):
    """Reports 31, 32: good batches of a failed run were lost; the next embeds the rest."""
    failing = seventh_fails()
    failing.errors.insert(0, None)  # the probe
    with SQLiteVectorStore(failing, tmp_path / "kb.db") as store:
        with pytest.raises(
            EmbeddingFailedError, match=r"begins with text 60 \('text 60'\)"
        ):
            await add(store, DOCUMENTS)
        assert (len(store), store.stats()["kept_vectors"]) == (0, 60)
    model = Service(items=10)
    with SQLiteVectorStore(model, tmp_path / "kb.db") as store:
        await add(store, DOCUMENTS)
        assert embedded(model) == TEXTS[60:]
        assert (len(store), store.stats()["kept_vectors"]) == (70, 0)


SEVENTH_FAILS = """
import sys
from fakes import Service, ServiceError
from langchain_ragstore import EmbeddingFailedError, SQLiteVectorStore
from test_store_batches import DOCUMENTS, seventh_fails

model = seventh_fails()
model.errors.insert(0, None)
try:
    SQLiteVectorStore(model, sys.argv[1]).add_documents(DOCUMENTS)
except EmbeddingFailedError as error:
    print(error.index)
"""


def fail_elsewhere(store_path):
    here = Path(__file__)
    path = os.pathsep.join(str(folder) for folder in (here.parent, here.parents[1]))
    done = subprocess.run(
        [sys.executable, "-c", SEVENTH_FAILS, store_path],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout == "60\n"


async def test_another_process_embeds_only_the_rest(tmp_path, add):
    fail_elsewhere(tmp_path / "kb.db")
    model = Counting(8)
    with SQLiteVectorStore(model, tmp_path / "kb.db") as store:
        await add(store, DOCUMENTS)
        assert embedded(model) == TEXTS[60:]
        assert len(store) == 70


async def test_a_busy_service_is_asked_again(add, monkeypatch):
    waits = []

    async def asleep(seconds):
        waits.append(seconds)

    timing = Timing(sleep=waits.append, asleep=asleep, random=lambda: 0.0)
    monkeypatch.setattr("langchain_ragstore.embeddings.batched.Timing", lambda: timing)
    busy = ServiceError("slow down", 429, {"Retry-After": "2"})
    store = SQLiteVectorStore(Service(errors=[busy, None, busy]))
    await add(store, DOCUMENTS)
    assert waits == [2, 2]
    assert len(store) == 70
    store.close()


async def test_a_store_does_not_wait_for_who_may_not_be_there(add):
    store = SQLiteVectorStore(Service(errors=[ConnectionResetError("reset")]))
    with pytest.raises(EmbeddingUnreachableError):
        await add(store, DOCUMENTS)
    store.close()


async def test_the_place_is_that_in_the_callers_list(add):
    """Although equal texts, and those that are stored, are not embedded."""
    model = Service()
    store = SQLiteVectorStore(model)
    await add(store, DOCUMENTS[:2])
    model.errors = [RuntimeError("boom")]
    documents = [*DOCUMENTS[:2], make_document("x", "text 0"), make_document("y", "new")]
    with pytest.raises(EmbeddingFailedError) as raised:
        await add(store, documents)
    assert (raised.value.index, raised.value.text) == (3, "new")
    store.close()


async def test_a_failed_ingestion_names_the_text_without_a_place():
    model = Service(errors=[RuntimeError("boom")])
    pipeline = RagPipeline(store=SQLiteVectorStore(model))
    with pytest.raises(EmbeddingFailedError, match="begins with the text 'text 0'"):
        pipeline.ingest(DOCUMENTS)
    pipeline.store.close()


async def test_a_batched_model_has_its_way_in_a_store(tmp_path, add):
    model = Counting()
    batched = BatchedEmbeddings(model, batch_size=7, max_concurrency=3)
    with SQLiteVectorStore(batched, tmp_path / "kb.db") as store:
        await add(store, DOCUMENTS)
        assert store.embeddings is batched
        assert store.stats()["model"] == "Counting"
    assert sorted(map(len, model.batches)) == [1, *[7] * 10]
    with SQLiteVectorStore(Counting(), tmp_path / "kb.db") as store:
        await add(store, DOCUMENTS[:1])  # the same model, batched or not


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_ingestion_fills_the_batches_that_are_under_way(asynchronous):
    model = Counting()
    batched = BatchedEmbeddings(model, batch_size=10, max_concurrency=3)
    pipeline = RagPipeline(store=SQLiteVectorStore(batched))
    if asynchronous:
        await pipeline.aingest(DOCUMENTS, batch_size=10)
    else:
        pipeline.ingest(DOCUMENTS, batch_size=10)
    assert [len(batch) for batch in model.batches] == [10] * 7
    pipeline.store.close()


async def test_reembed_learns_anew(tmp_path):
    store = SQLiteVectorStore(Service(items=10))
    store.add_documents(DOCUMENTS)
    new = Service(items=30)
    assert store.reembed(new) == 70
    assert sorted(map(len, new.batches)) == [10, 30, 30]
    store.add_documents([make_document(f"m{n}", f"more {n}") for n in range(30)])
    assert len(new.batches[-1]) == 30
    store.close()


def test_by_default_nothing_is_called_from_threads(monkeypatch):
    monkeypatch.setattr(running, "ThreadPoolExecutor", None)
    store = SQLiteVectorStore(Counting())
    store.add_documents(DOCUMENTS)
    assert [len(batch) for batch in store.embeddings.batches] == [64, 6]
    store.close()


# --- models by name ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "package"),
    [
        (ImportError("Please install it with `pip install langchain-cohere`"), "langchain-cohere"),
        (ImportError("run: pip install -U langchain_mistralai."), "langchain-mistralai"),
        (ModuleNotFoundError("No module named 'a_b.c'", name="a_b.c"), "a-b"),
        (ImportError("what?"), "langchain"),
    ],
)  # fmt: skip
def test_a_missing_package_is_a_pip_command(monkeypatch, error, package):
    def init(_name):
        raise error

    monkeypatch.setattr("langchain.embeddings.init_embeddings", init)
    store = SQLiteVectorStore()
    for use in (SQLiteVectorStore, store.reembed):
        with pytest.raises(MissingExtraError) as raised:
            use("cohere:embed")
        assert str(raised.value) == (
            f"embedding='cohere:embed' needs {package}; run: pip install {package}"
        )
        assert raised.value.__cause__ is error
    store.close()


def test_a_model_that_cannot_be_made_is_named(monkeypatch, tmp_path):
    def init(_name):
        raise KeyError("OPENAI_API_KEY")

    monkeypatch.setattr("langchain.embeddings.init_embeddings", init)
    words = "embedding='openai:e' could not be made: KeyError: 'OPENAI_API_KEY'"
    with pytest.raises(InvalidInputError, match=words) as raised:
        SQLiteVectorStore("openai:e", tmp_path / "kb.db")
    assert isinstance(raised.value.__cause__, KeyError)
    assert not (tmp_path / "kb.db").exists()
