"""Async: the embedder is awaited, the answers are the sync ones, nothing blocks."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from fakes import Counting
from langchain_ragstore import RagPipeline, SQLiteVectorStore

TEXTS = ["green tea", "black tea", "late fee", "high tide"]
VECTOR = Counting().embed_query("tea")


def filled(store):
    store.add_texts(TEXTS, [{"n": n} for n in range(4)], ids=list("abcd"))
    store.embeddings.calls.clear()
    return store


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    path = ":memory:" if request.param == "memory" else tmp_path / "kb.db"
    with SQLiteVectorStore(Counting(), path) as opened:
        yield filled(opened)


KEYWORDS = {"k": 2, "filter": {"n": {"$ne": 0}}}
SEARCHES = [
    ("similarity_search", ("tea",), KEYWORDS),
    ("similarity_search", ("tea", 2, {"n": 1}), {"score_threshold": 0.1}),
    ("similarity_search_with_score", ("tea",), KEYWORDS),
    ("similarity_search_with_relevance_scores", ("tea",), KEYWORDS),
    ("similarity_search_with_relevance_scores", ("tea",), {"score_threshold": 0.2}),
    ("max_marginal_relevance_search", ("tea",), KEYWORDS | {"lambda_mult": 0.2}),
    ("max_marginal_relevance_search", ("tea", 2, 3, 0.1, {"n": {"$gt": 0}}), {}),
    ("search", ("tea", "similarity"), KEYWORDS),
    ("search", ("tea", "similarity_score_threshold"), KEYWORDS | {"score_threshold": 0.1}),
    ("search", ("tea", "mmr"), KEYWORDS | {"fetch_k": 3}),
]
BY_VECTOR = [
    ("similarity_search_by_vector", (VECTOR,), KEYWORDS),
    ("similarity_search_with_score_by_vector", (VECTOR,), KEYWORDS),
    ("max_marginal_relevance_search_by_vector", (VECTOR,), KEYWORDS | {"fetch_k": 3}),
]


@pytest.mark.parametrize(("name", "arguments", "keywords"), SEARCHES)
async def test_searches_await_the_embedder_and_answer_alike(
    store, name, arguments, keywords
):
    found = getattr(store, name)(*arguments, **keywords)
    assert store.embeddings.calls == ["embed_query"]
    again = await getattr(store, f"a{name}")(*arguments, **keywords)
    assert store.embeddings.calls == ["embed_query", "aembed_query"]
    assert found
    assert again == found


@pytest.mark.parametrize(("name", "arguments", "keywords"), BY_VECTOR)
async def test_searches_by_vector_answer_alike(store, name, arguments, keywords):
    found = getattr(store, name)(*arguments, **keywords)
    assert found
    assert await getattr(store, f"a{name}")(*arguments, **keywords) == found
    assert store.embeddings.calls == []


@pytest.mark.parametrize("kind", ["similarity", "mmr", "similarity_score_threshold"])
async def test_retrievers_await_the_embedder(store, kind):
    keywords = {"k": 2, "score_threshold": 0.1}
    retriever = store.as_retriever(search_type=kind, search_kwargs=keywords)
    found = await retriever.ainvoke("tea")
    assert store.embeddings.calls == ["aembed_query"]
    assert found == retriever.invoke("tea")
    assert await retriever.abatch(["tea", "fee"]) == retriever.batch(["tea", "fee"])


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("similarity_search", ("tea",), {"fliter": {}}),
        ("similarity_search_with_score", ("tea",), {"k": "4"}),
        ("similarity_search_with_relevance_scores", ("tea",), {"filter": {"$no": 1}}),
        ("max_marginal_relevance_search", ("tea",), {"lambda_mult": 2}),
        ("search", ("tea", "nearest"), {}),
        ("similarity_search", (None,), {}),
        ("add_texts", (["a", "b"],), {"ids": ["1"]}),
        ("add_texts", (["a"],), {"idz": ["1"]}),
        ("add_documents", (["a"],), {}),
        ("delete", (), {}),
        ("delete", (), {"where": {}}),
    ],
)
async def test_errors_are_alike(store, name, arguments, keywords):
    with pytest.raises((TypeError, ValueError)) as expected:
        getattr(store, name)(*arguments, **keywords)
    with pytest.raises(expected.type) as caught:
        await getattr(store, f"a{name}")(*arguments, **keywords)
    assert str(caught.value) == str(expected.value)
    assert len(store) == 4


async def test_adding_awaits_the_embedder_and_stores_alike(tmp_path):
    documents = [Document(page_content=t, metadata={"n": t}) for t in TEXTS]
    with (
        SQLiteVectorStore(Counting(), tmp_path / "sync.db") as one,
        SQLiteVectorStore(Counting(), tmp_path / "async.db") as other,
    ):
        assert one.add_texts(iter(TEXTS), batch_size=3) == await other.aadd_texts(
            iter(TEXTS), batch_size=3
        )
        assert one.add_documents(documents) == await other.aadd_documents(iter(documents))
        assert other.embeddings.calls == ["aembed_documents"] * 3
        assert one.embeddings.calls == ["embed_documents"] * 3
        assert one.embeddings.batches == other.embeddings.batches
        assert one.get() == other.get()
        assert one.similarity_search_with_score_by_vector(
            VECTOR, 8
        ) == other.similarity_search_with_score_by_vector(VECTOR, 8)


async def test_reading_and_deleting(store):
    assert await store.aget_by_ids(["b", "x", "a"]) == store.get_by_ids(["b", "x", "a"])
    assert await store.adelete(["a", "absent"]) is True
    assert await store.adelete(filter={"n": 1}) is True
    assert [d.id for d in store.get()] == ["c", "d"]


async def test_a_failing_async_embedder_stores_nothing():
    class Failing(Counting):
        async def aembed_documents(self, texts):
            if "black tea" in texts:
                raise ConnectionError("no route")
            return await super().aembed_documents(texts)

    with SQLiteVectorStore(Failing()) as store:
        with pytest.raises(ConnectionError, match="no route"):
            await store.aadd_texts(TEXTS, batch_size=1)
        assert len(store) == 0


class Waiting(Embeddings):
    """Answers the async methods only when the test says so; the sync ones never."""

    def __init__(self):
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def _wait(self, count):
        self.asked.set()
        await self.go.wait()
        return [[1.0, 0.0]] * count

    async def aembed_documents(self, texts):
        return await self._wait(len(texts))

    async def aembed_query(self, text):
        return (await self._wait(1))[0]

    def embed_documents(self, texts):
        raise AssertionError("the sync embedder was called")

    def embed_query(self, text):
        raise AssertionError("the sync embedder was called")


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.aadd_texts(["a"]),
        lambda store: store.aadd_documents([Document(page_content="a")]),
        lambda store: store.asimilarity_search("a"),
        lambda store: store.asimilarity_search_with_relevance_scores("a"),
        lambda store: store.amax_marginal_relevance_search("a"),
        lambda store: store.as_retriever().ainvoke("a"),
    ],
)
async def test_the_loop_runs_on_while_the_embedder_works(call):
    """Report 18: an embedding model held up the event loop."""
    model = Waiting()
    with SQLiteVectorStore(model) as store:
        task = asyncio.create_task(call(store))
        await asyncio.wait_for(model.asked.wait(), 10)
        assert not task.done()  # this test runs on while the call waits
        model.go.set()
        await asyncio.wait_for(task, 10)


class Blocking(Embeddings):
    """Has no async methods of its own, and answers when the loop has run on."""

    def __init__(self):
        self.asked, self.go = threading.Event(), threading.Event()

    def embed_documents(self, texts):
        self.asked.set()
        assert self.go.wait(10)
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


@pytest.mark.parametrize("name", ["aadd_texts", "asimilarity_search"])
async def test_a_model_that_blocks_does_not_block_the_loop(name):
    """Report 18: a model without async methods held up all that ran beside it."""
    model = Blocking()
    with SQLiteVectorStore(model) as store:
        task = asyncio.create_task(getattr(store, name)(["a"] if name[1] == "a" else "a"))
        assert await asyncio.to_thread(model.asked.wait, 10)
        model.go.set()
        await asyncio.wait_for(task, 10)


async def test_storing_and_searching_leave_the_loop(store, monkeypatch):
    """Report 18: storing and searching held up the event loop."""
    loop_thread = threading.get_ident()
    threads = set()
    for name in ("upsert", "dense"):
        inner = getattr(store._backend, name)

        def spied(*arguments, inner=inner, **keywords):
            threads.add(threading.get_ident())
            return inner(*arguments, **keywords)

        monkeypatch.setattr(store._backend, name, spied)
    await store.aadd_texts(["new"])
    await store.asimilarity_search("new")
    await store.amax_marginal_relevance_search("new")

    def read(things):
        for thing in things:
            threads.add(threading.get_ident())
            yield thing

    await store.aadd_texts(read(["one", "two"]))  # checking them is most of the work
    await store.aadd_documents(read([Document("three")]))
    await RagPipeline(store=store).aingest(read([Document("four", id="4")]))
    assert len(store) == 9
    assert threads
    assert loop_thread not in threads


async def test_threads_and_tasks_mixed(tmp_path):
    """Report 16: an object made in one thread could not be used in another."""
    with SQLiteVectorStore(Counting(), tmp_path / "kb.db") as store:

        def work(n):
            store.add_texts([f"thread {n}"], [{"n": n}], ids=[f"t{n}"])
            assert store.similarity_search("thread", k=1, filter={"n": n})[0].id == f"t{n}"
            store.delete([f"t{n}"] if n % 2 else ["absent"])

        async def task(n):
            await store.aadd_texts([f"task {n}"], [{"n": -n - 1}], ids=[f"a{n}"])
            (found,) = await store.asimilarity_search("task", filter={"n": -n - 1})
            assert found.id == f"a{n}"

        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(8) as pool:
            threads = [loop.run_in_executor(pool, work, n) for n in range(24)]
            await asyncio.gather(*threads, *(task(n) for n in range(24)))
        assert len(store) == 12 + 24
        assert {d.id for d in store.similarity_search("task", k=99)} == {
            *(f"t{n}" for n in range(0, 24, 2)),
            *(f"a{n}" for n in range(24)),
        }


async def test_a_store_goes_from_thread_to_thread(tmp_path):
    """Report 16: what was made in a worker could be used nowhere else."""

    def made():
        store = SQLiteVectorStore(Counting(), tmp_path / "kb.db")
        store.add_texts(["made there"])
        return store

    with ThreadPoolExecutor(1) as pool:
        store = pool.submit(made).result()
    with store:
        store.add_texts(["added here"])
        await asyncio.to_thread(store.add_texts, ["added elsewhere"])
        found = await asyncio.to_thread(store.similarity_search, "added", 9)
        assert len(found) == len(store) == 3


@pytest.mark.parametrize(
    "keywords",
    [{"filter": {"a": {"$foo": 1}}}, {"where": {}}, {"k": "5"}, {"score_threshold": "x"}],
    ids=str,
)
async def test_a_refused_search_costs_no_call_of_the_model(keywords):
    store = SQLiteVectorStore(Counting())
    for search in (
        store.similarity_search,
        store.similarity_search_with_score,
        store.max_marginal_relevance_search,
    ):
        with pytest.raises((TypeError, ValueError)):
            search("query", **keywords)
    for search in (store.asimilarity_search, store.amax_marginal_relevance_search):
        with pytest.raises((TypeError, ValueError)):
            await search("query", **keywords)
    assert store.embeddings.calls == []
