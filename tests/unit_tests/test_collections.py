"""The manager: stores on one file, what they have in memory, retrieving from several."""

import asyncio
import gc
import math
import os
import threading

import pytest

from fakes import Clock, Counting, Turned
from langchain_ragstore import (
    CollectionManager,
    EmbeddingMismatchError,
    HashingEmbeddings,
    InvalidInputError,
    ReadOnlyError,
    SQLiteVectorStore,
    StoreClosedError,
    TextAnalyzer,
)
from langchain_ragstore.config import PROBE_TEXT

TEXTS = ["green tea", "black tea", "red paint"]


@pytest.fixture
def clock():
    return Clock(0.0)


@pytest.fixture
def manager(tmp_path, clock):
    with CollectionManager(tmp_path / "rag.db", HashingEmbeddings(32), clock=clock) as made:
        yield made


def ids(found):
    return [document.id for document, _ in found]


def resident(manager):
    return manager.stats()["resident_bytes"]


# --- opening ----------------------------------------------------------------------------


def test_a_store_of_the_file(manager, tmp_path):
    store = manager.get(user_id="ann")
    assert type(store) is SQLiteVectorStore
    assert store.collection_name == "user_ann_default"
    assert store.path == manager.path == str(tmp_path / "rag.db")
    assert store.embeddings is manager.embeddings
    assert manager.get("code").collection_name == "code"
    assert manager.kinds == ("default", "important", "code", "meeting")
    store.add_texts(TEXTS)
    with SQLiteVectorStore(
        HashingEmbeddings(32), tmp_path / "rag.db", collection_name="user_ann_default"
    ) as other:
        assert len(other) == 3
        assert other.collections() == ["user_ann_default"]


def test_the_same_store_as_long_as_somebody_holds_it(manager):
    store = manager.get()
    assert manager.get() is store
    manager.get().close()
    assert manager.get() is store
    del store
    gc.collect()
    assert manager.get() is manager.get()


def test_opening_reads_and_writes_nothing(manager):
    model = manager.get(user_id="ann").embeddings
    assert manager.get(user_id="ann").collections() == []
    assert isinstance(model, HashingEmbeddings)
    assert resident(manager) == 0


def test_a_thousand_collections_share_one_pool(manager):
    stores = [manager.get(user_id=str(n)) for n in range(1000)]
    assert len({id(store._database) for store in stores}) == 1
    assert len(manager.stats()["loaded"]) == 1000


def test_the_model_is_asked_for_its_probe_once(tmp_path):
    model = Counting()
    with CollectionManager(tmp_path / "rag.db", model) as manager:
        for user in "abcdef":
            manager.get(user_id=user).add_texts(["tea"])
            manager.get("important", user_id=user).add_texts(["tea"])
        for user in "abcdef":
            manager.retrieve("tea", user_id=user)
    assert model.texts.count(PROBE_TEXT) == 1
    assert model.calls.count("embed_query") == 6


def test_another_model_is_refused_for_every_collection(tmp_path):
    with CollectionManager(tmp_path / "rag.db", Counting()) as manager:
        manager.get("important").add_texts(["tea"])
    with CollectionManager(tmp_path / "rag.db", Turned()) as manager:
        manager.get().add_texts(["green tea"])
        with pytest.raises(EmbeddingMismatchError, match="'important'"):
            manager.retrieve("tea")
        with pytest.raises(EmbeddingMismatchError, match="'important'"):
            asyncio.run(manager.aretrieve("tea"))
        assert len(manager.retrieve("tea", kinds="default")) == 1
    with CollectionManager(tmp_path / "rag.db", Turned(), check_model=False) as manager:
        assert len(manager.retrieve("tea")) == 2


def test_a_collection_that_has_another_model_now_is_asked_with_it(manager):
    plain, important = manager.get(), manager.get("important")
    for store in (plain, important):
        store.add_texts(TEXTS, ids=["a", "b", "c"])
    important.reembed(HashingEmbeddings(64))
    assert manager.embeddings is plain.embeddings is not important.embeddings
    found = manager.retrieve("red paint", 1, search_type="similarity")
    assert found[0][1] == pytest.approx(1.2)
    assert asyncio.run(manager.aretrieve("red paint", 1, search_type="similarity")) == found


def test_a_model_that_was_exchanged_stays_when_its_store_is_dropped(tmp_path):
    for path in (tmp_path / "rag.db", ":memory:"):
        with CollectionManager(path, HashingEmbeddings(32)) as manager:
            manager.get().add_texts(["black tea"])
            manager.get("important").add_texts(["green tea"])
            manager.get("important").reembed(HashingEmbeddings(64))
            gc.collect()
            assert manager.get("important").embeddings.dim == 64
            assert manager.get().embeddings.dim == 32
            assert len(manager.retrieve("tea", search_type="similarity")) == 2


async def test_a_collection_that_is_embedded_anew_meanwhile_is_asked_again():
    """The other model's vectors lie elsewhere: by the old query `a` would be the best."""

    class Model(HashingEmbeddings):
        def __init__(self, sign):
            super().__init__(4)
            self.sign, self.meddle = sign, None

        def embed_documents(self, texts):
            return [[self.sign if t == "a" else -self.sign, 1, 0, 0] for t in texts]

        def embed_query(self, text):
            if self.meddle:
                self.meddle, meddle = None, self.meddle
                meddle()
            return [self.sign, 0.0, 0.0, 0.0]

        async def aembed_query(self, text):
            return self.embed_query(text)

    old, new = Model(1.0), Model(-1.0)
    with CollectionManager(":memory:", old) as manager:
        store = manager.get()
        store.add_texts(["a", "b"], ids=["a", "b"])
        for ask in (manager.retrieve, manager.aretrieve):
            old.meddle = lambda: store.reembed(new)
            found = ask("a", search_type="similarity")
            found = found if isinstance(found, list) else await found
            assert ids(found) == ["a", "b"]
            assert store.embeddings is new
            store.reembed(old)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"ttl_seconds": -1}, "ttl_seconds must be a number, at least 0; got -1"),
        ({"ttl_seconds": math.nan}, "ttl_seconds must be a number, at least 0; got nan"),
        ({"ttl_seconds": "1h"}, "ttl_seconds must be a number, at least 0; got '1h'"),
        ({"ttl_seconds": True}, "ttl_seconds must be a number"),
        ({"memory_budget": -1}, "memory_budget must be an integer, at least 0; got -1"),
        ({"memory_budget": True}, "memory_budget must be an integer.*got True"),
        ({"memory_budget": 1.5}, "memory_budget must be an integer"),
        ({"kinds": []}, "at least one kind"),
        ({"kinds": ["a_b"]}, "word without '_'"),
        ({"kind_weights": {"secret": 1}}, "no kind 'secret'"),
        ({"kind_weights": {"code": -1}}, "the weight of 'code' .* at least 0; got -1"),
        (
            {"kind_weights": {"code": math.inf}},
            "the weight of 'code' must be a number, finite.*inf",
        ),
    ],
)
def test_values_that_are_none(keywords, message):
    with pytest.raises(InvalidInputError, match=message):
        CollectionManager(":memory:", HashingEmbeddings(8), **keywords)


def test_keywords(tmp_path):
    with pytest.raises(TypeError, match="did you mean 'ttl_seconds'"):
        CollectionManager(":memory:", ttl=3)
    with pytest.raises(TypeError, match="collection_name"):
        CollectionManager(":memory:", collection_name="x")
    with pytest.raises(InvalidInputError, match="the path comes first here"):
        CollectionManager(HashingEmbeddings(8), "kb.db")
    analyzer = TextAnalyzer(stemmer=None)
    keywords = {"text_analyzer": analyzer, "id_factory": lambda: "x", "kinds": "notes"}
    with CollectionManager(tmp_path / "rag.db", **keywords) as manager:
        assert manager.kinds == ("notes",)
        assert manager.get("notes").text_analyzer is analyzer
        assert manager.get("notes").add_texts(["a"]) == ["x"]
    with (
        CollectionManager(tmp_path / "rag.db", read_only=True) as manager,
        pytest.raises(ReadOnlyError),
    ):
        manager.get().add_texts(["a"])


def test_a_closed_manager(manager):
    store = manager.get()
    store.add_texts(TEXTS)
    store.text_search("tea")
    manager.close()
    manager.close()
    assert resident(manager) == 0
    for use in (
        manager.get,
        lambda: manager.retrieve("tea"),
        lambda: store.text_search("a"),
    ):
        with pytest.raises(StoreClosedError, match="closed; open it anew"):
            use()
    manager.sweep()
    assert resident(manager) == 0


# --- in memory ----------------------------------------------------------------------------


def fill(manager, *users):
    for user in users:
        manager.get(user_id=user).add_texts([f"{text} of {user}" for text in TEXTS])


def search(manager, *users):
    for user in users:
        assert len(manager.get(user_id=user).search("tea", "hybrid", k=9)) == 3


def test_defaults(manager):
    assert manager.stats() == {
        "path": manager.path,
        "kinds": ("default", "important", "code", "meeting"),
        "loaded": {},
        "resident_bytes": 0,
        "in_use": [],
        "unloaded": 0,
        "memory_budget": None,
        "ttl_seconds": 7200.0,
    }


def test_unused_collections_are_unloaded(manager, clock):
    fill(manager, "ann", "bob")
    search(manager, "ann")
    clock.now = 3600
    search(manager, "bob")
    stats = manager.stats()
    assert list(stats["loaded"]) == ["user_ann_default", "user_bob_default"]
    assert all(size > 3 * 32 * 4 for size in stats["loaded"].values())
    assert resident(manager) == sum(stats["loaded"].values())
    clock.now = 7200
    assert manager.sweep() == ["user_ann_default"]
    assert manager.sweep() == []
    clock.now = 20_000
    search(manager, "ann")  # which looks after the others, too
    assert list(manager.stats()["loaded"]) == ["user_ann_default"]
    assert manager.stats()["unloaded"] == 2
    search(manager, "bob")


def test_under_a_budget_the_least_recently_used_is_unloaded(tmp_path, clock):
    """Report 26: nothing was unloaded; a thousand collections filled the memory."""
    path, model = tmp_path / "rag.db", HashingEmbeddings(256)
    with CollectionManager(path, model) as manager:
        fill(manager, *"abcd")
        search(manager, "a")
        size = resident(manager)
    with CollectionManager(
        path, model, memory_budget=int(2.5 * size), clock=clock
    ) as manager:
        search(manager, *"abac")
        assert list(manager.stats()["loaded"]) == ["user_a_default", "user_c_default"]
        search(manager, *"abcd" * 3)
        assert resident(manager) <= 2.5 * size
        assert list(manager.stats()["loaded"]) == ["user_c_default", "user_d_default"]
    with CollectionManager(path, model, memory_budget=0) as manager:
        search(manager, *"abcd")
        assert resident(manager) == 0


def test_a_store_that_is_held_loads_again(manager, clock):
    """Whatever it was asked, written and views included."""
    store = manager.get(user_id="ann")
    store.add_texts(TEXTS, [{"n": n} for n in range(3)], ids=["a", "b", "c"])
    view = store.scoped({"n": {"$gt": 0}})

    def answers():
        return [
            [
                s.search_with_score("tea", kind, k=9)
                for kind in ("similarity", "text", "hybrid")
            ]
            for s in (store, view)
        ], [document.id for document in view.search("paint", "mmr")]

    before = answers()
    for free in (manager.sweep, store.close, view.close):
        clock.now += 10_000
        free()
        assert resident(manager) == 0
        assert answers() == before
        assert resident(manager) > 0
        assert list(manager.stats()["loaded"]) == ["user_ann_default"]
    clock.now += 10_000
    manager.sweep()
    store.add_texts(["white tea"], ids=["d"])
    store.delete(["b"])
    assert sorted(d.id for d in store.text_search("tea")) == ["a", "d"]
    assert [hit.id for hit in store.explain("white", k=1, search_type="text").hits] == ["d"]


def test_what_is_searched_is_not_unloaded(manager, clock):
    """A filter is a function that looks at the manager while the search runs."""
    store = manager.get()
    store.add_texts(TEXTS, ids=["a", "b", "c"])
    seen = []

    def look(document):
        clock.now += 10_000
        manager.unload("default")
        seen.append((manager.sweep(), manager.stats()["in_use"], resident(manager) > 0))
        return document.id == "a"

    for kind in ("similarity", "text", "hybrid", "mmr"):
        assert [d.id for d in store.search("green tea", kind, filter=look)] == ["a"]
    assert all(entry[:2] == ([], ["default"]) for entry in seen)
    assert any(entry[2] for entry in seen)
    assert store.explain("tea", filter=look).hits[0].id == "a"
    assert seen[-1][1] == ["default"]
    assert manager.stats()["in_use"] == []


async def test_a_search_that_fails_is_over(manager, clock):
    def fails(document):
        raise ZeroDivisionError

    manager.get().add_texts(TEXTS)
    for kind in ("similarity", "text", "hybrid", "mmr"):
        with pytest.raises(ZeroDivisionError):
            manager.retrieve("tea", filter=fails, search_type=kind)
        with pytest.raises(ZeroDivisionError):
            await manager.aretrieve("tea", filter=fails, search_type=kind)
        with pytest.raises(ZeroDivisionError):
            manager.get().explain("tea", filter=fails, search_type=kind)
    assert manager.stats()["in_use"] == []
    clock.now += 7200
    assert sorted(manager.sweep()) == ["default", "important"]


async def test_what_a_cancelled_task_searches_stays_until_it_is_over(manager, clock):
    manager.get().add_texts(TEXTS)
    begun, go_on = threading.Event(), threading.Event()

    def waits(document):
        begun.set()
        return go_on.wait(60)

    keywords = {"filter": waits, "search_type": "text", "kinds": "default"}
    task = asyncio.create_task(manager.aretrieve("tea", **keywords))
    await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    clock.now += 10_000
    assert manager.stats()["in_use"] == ["default"]
    assert manager.sweep() == []
    go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()  # waits for its threads
    assert manager.stats()["in_use"] == []
    clock.now += 10_000
    assert manager.sweep() == ["default"]


def test_a_retriever_keeps_its_manager_and_loads_again(tmp_path, clock):
    made = CollectionManager(tmp_path / "rag.db", HashingEmbeddings(32), clock=clock)
    fill(made, "ann")
    retriever = made.as_retriever(user_id="ann")
    expected = retriever.invoke("tea")
    clock.now += 10_000
    assert made.sweep() == ["user_ann_default", "user_ann_important"]
    del made
    gc.collect()
    assert retriever.invoke("tea") == expected
    retriever.manager.close()
    with pytest.raises(StoreClosedError, match="closed; open it anew"):
        retriever.invoke("tea")


def test_sixteen_threads_get_search_and_sweep(tmp_path):
    users = [f"user{n}" for n in range(8)]
    keywords = {"ttl_seconds": 0.0, "memory_budget": 10_000}
    with CollectionManager(
        tmp_path / "rag.db", HashingEmbeddings(64), **keywords
    ) as manager:
        fill(manager, *users)
        errors, barrier = [], threading.Barrier(16)

        def work(number):
            try:
                barrier.wait()
                for n in range(30):
                    user = users[(number * 7 + n) % 8]
                    found = manager.retrieve("tea", 9, user_id=user)
                    assert {d.page_content for d, _ in found} == {
                        f"{t} of {user}" for t in TEXTS
                    }
                    if n % 3 == 0:
                        manager.sweep()
                    if n % 10 == 0:
                        store = manager.get("meeting", user_id=user)
                        store.add_texts([f"{number} {n}"])
                        assert store.text_search(f"{number} {n}")
                    manager.stats()
            except BaseException as error:  # noqa: BLE001 - reported by the main thread
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert sum(len(manager.get("meeting", user_id=user)) for user in users) == 48
        manager.sweep()
        assert manager.stats()["in_use"] == []
        assert resident(manager) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_goes_on(manager):
    fill(manager, "ann")
    search(manager, "ann")
    with manager.using("user_ann_default"), manager._lock, manager._residency._lock:
        child = os.fork()
        if not child:
            code = 1
            try:
                assert manager.stats()["in_use"] == []
                search(manager, "ann")
                fill(manager, "eve")
                search(manager, "eve")
                code = 0
            finally:
                os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    search(manager, "ann", "eve")
