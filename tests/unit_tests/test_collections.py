"""The manager: stores on one file, what they have in memory, retrieving from several."""

import asyncio
import gc
import math
import os
import threading

import pytest
from langchain_core.documents import Document
from pydantic import ValidationError

from fakes import Clock, Counting, Table, Turned
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


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"ttl_seconds": -1}, "ttl_seconds must be at least 0, got -1"),
        ({"ttl_seconds": math.nan}, "ttl_seconds must be a number, got nan"),
        ({"ttl_seconds": "1h"}, "ttl_seconds must be a number, got '1h'"),
        ({"ttl_seconds": True}, "ttl_seconds must be a number"),
        ({"memory_budget": -1}, "memory_budget is a number of bytes"),
        ({"memory_budget": True}, "memory_budget is a number of bytes"),
        ({"memory_budget": 1.5}, "memory_budget must be an integer"),
        ({"kinds": []}, "at least one kind"),
        ({"kinds": ["a_b"]}, "word without '_'"),
        ({"kind_weights": {"secret": 1}}, "no kind 'secret'"),
        ({"kind_weights": {"code": -1}}, "the weight of 'code' must be at least 0, got -1"),
        ({"kind_weights": {"code": math.inf}}, "the weight of 'code' must be finite"),
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


# --- retrieving -----------------------------------------------------------------------------

VECTORS = {
    "q": [1.0, 0.0],
    "same": [1.0, 0.0],
    "near": [0.8, 0.6],
    "half": [0.6, 0.8],
    "none": [0.0, 1.0],
    "not": [-1.0, 0.0],
}


@pytest.fixture
def table():
    with CollectionManager(":memory:", Table(VECTORS), check_model=False) as made:
        yield made


def put(manager, kind, *texts, **metadata):
    manager.get(kind).add_texts(texts, [metadata] * len(texts), ids=texts)


def test_weights_are_the_seeds(table):
    put(table, "default", "same", "not")
    put(table, "important", "near")
    put(table, "code", "half")
    found = table.retrieve("q", kinds=table.kinds, search_type="similarity")
    assert [(d.id, pytest.approx(score)) for d, score in found] == [
        ("near", 0.96),
        ("same", 0.8),
        ("half", 0.48),
        ("not", -1.0),  # what is unlike the query gains nothing by a lower weight
    ]


def test_weights_can_be_others():
    keywords = {"check_model": False, "kind_weights": {"code": 2, "important": 0}}
    with CollectionManager(":memory:", Table(VECTORS), **keywords) as manager:
        for kind in manager.kinds:
            put(manager, kind, "near")
        scores = {
            kind: manager.retrieve("q", kinds=kind, search_type="similarity")[0][1]
            for kind in manager.kinds
        }
    assert scores == pytest.approx(
        {"default": 0.64, "important": 0, "code": 1.6, "meeting": 0.64}
    )


def test_default_kinds_k_and_search(manager):
    for kind in manager.kinds:
        manager.get(kind).add_texts([f"tea {kind} {n}" for n in range(9)])
    found = manager.retrieve("tea", with_scores=True)
    assert len(found) == 5
    assert {d.metadata["ragstore"]["kind"] for d, _ in found} <= {"default", "important"}
    assert "lexical" in found[0][0].metadata["ragstore"]
    assert manager.retrieve("tea", kinds="code", search_type="text")
    assert manager.retrieve("tea", 0) == manager.retrieve("tea", -1) == []
    with CollectionManager(":memory:") as words:
        words.get().add_texts(TEXTS)
        assert len(words.retrieve("tea")) == 2


def test_twice_as_many_come_from_the_default_kind(table, monkeypatch):
    asked = {}
    hits = SQLiteVectorStore.hits

    def watched(store, query, vector, search):
        asked[store.collection_name] = search.plan.sources[0].depth
        return hits(store, query, vector, search)

    monkeypatch.setattr(SQLiteVectorStore, "hits", watched)
    table.retrieve("q", 3, kinds=("default", "important", "code"), search_type="similarity")
    assert asked == {"default": 6, "important": 3, "code": 3}


def test_equal_documents_are_one_result(table):
    put(table, "default", "same", "near", "half")
    put(table, "important", "same", "near")
    table.get("code").add_texts(["none"], ids=["same"])  # the same id, another text
    found = table.retrieve(
        "q",
        kinds=("default", "important", "code"),
        search_type="similarity",
        with_scores=True,
    )
    where = [(d.id, d.page_content, d.metadata["ragstore"]["kind"]) for d, _ in found]
    assert where == [
        ("same", "same", "important"),
        ("near", "near", "important"),
        ("half", "half", "default"),
        ("same", "none", "code"),
    ]


def test_of_equal_scores_the_earlier_kind_wins():
    weights = {"default": 1, "code": 1}
    with CollectionManager(
        ":memory:", Table(VECTORS), check_model=False, kind_weights=weights
    ) as manager:
        put(manager, "default", "same", at="default")
        put(manager, "code", "same", at="code")
        for kinds in (("default", "code"), ("code", "default")):
            ((document, _),) = manager.retrieve("q", kinds=kinds, search_type="similarity")
            assert document.metadata["at"] == kinds[0]


IMPORTANCE = [
    *((None, 0), (3, 3), (2.5, 2.5), (-1, -1), (0, 0), (math.inf, math.inf)),
    *(("high", 0), (True, 0), ([9], 0), (math.nan, 0)),
]


@pytest.mark.parametrize("least", [0.0, -5, 1, 2.5, 3, 4, math.inf, -math.inf, 0.1])
def test_importance(table, least):
    documents = [
        Document("near", id=str(n), metadata={} if value is None else {"importance": value})
        for n, (value, _) in enumerate(IMPORTANCE)
    ]
    table.get().add_documents(documents)
    wanted = {str(n) for n, (_, worth) in enumerate(IMPORTANCE) if worth >= least}
    keywords = {"search_type": "similarity", "importance_threshold": least}
    assert set(ids(table.retrieve("q", 99, **keywords))) == wanted
    assert len(table.retrieve("q", 2, **keywords)) == min(2, len(wanted))  # refilled
    if least == 0:
        assert set(ids(table.retrieve("q", 99, search_type="similarity"))) == wanted


def test_what_is_passed_over_is_refilled_however_deep(manager):
    store = manager.get()
    store.add_texts(
        [f"tea {n}" for n in range(300)],
        [{"importance": int(n >= 297)} for n in range(300)],
    )
    for kind in ("similarity", "text", "hybrid", "mmr"):
        found = manager.retrieve("tea 1", 3, search_type=kind, importance_threshold=1)
        assert {d.page_content for d, _ in found} == {"tea 297", "tea 298", "tea 299"}


def test_the_keywords_of_every_search(manager):
    for kind in ("default", "important"):
        manager.get(kind).add_texts(
            [f"{text} {kind}" for text in TEXTS], [{"n": n, "s": "x"} for n in range(3)]
        )
    found = manager.retrieve("tea", filter={"n": {"$lt": 1}}, search_type="text")
    assert [d.page_content for d, _ in found] == [
        "green tea important",
        "green tea default",
    ]
    assert len(manager.retrieve("tea", group_by="s")) == 1
    assert len(manager.retrieve("tea", group_by="s", per_group=3)) == 3
    assert manager.retrieve("tea", score_threshold=0.99) == []
    assert len(manager.retrieve("tea", search_type="mmr", lambda_mult=0.1, fetch_k=9)) == 5
    assert len(manager.retrieve("tea", fusion="rrf", rrf_k=10)) == 5
    plain, marked = manager.retrieve("tea", 1), manager.retrieve("tea", 1, with_scores=True)
    assert set(plain[0][0].metadata) == {"n", "s"}
    details = marked[0][0].metadata["ragstore"]
    assert details["collection"] == details["kind"] == "important"
    assert details["weight"] == 1.2
    assert marked[0][0].metadata["relevance_score"] == marked[0][1]
    with pytest.raises(TypeError, match=r"retrieve.. got .* 'top_k'; did you mean 'k'"):
        manager.retrieve("tea", top_k=3)
    with pytest.raises(TypeError, match="did you mean 'user_id'"):
        manager.retrieve("tea", userid="ann")


def test_neighbours_are_joined(manager):
    chunks = [f"part {n} " + ("tea" if n == 1 else "x") for n in range(3)]
    manager.get().add_texts(
        chunks,
        [{"source_id": "s", "chunk_index": n} for n in range(3)],
        ids=[f"s:chunk:{n:04d}" for n in range(3)],
    )
    ((document, _),) = manager.retrieve("tea", search_type="text", window=1)
    assert all(chunk in document.page_content for chunk in chunks)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"kinds": ["secret"]}, "no kind 'secret'"),
        ({"kinds": []}, "at least one of"),
        ({"user_id": "a/b"}, "user_id 'a/b'"),
        ({"k": "3"}, "k must be an integer"),
        ({"importance_threshold": "high"}, "importance_threshold must be a number"),
        ({"importance_threshold": math.nan}, "importance_threshold must be a number"),
        ({"search_type": "nearest"}, "search_type is one of"),
        ({"query": 3}, "a query is a string"),
    ],
)
async def test_what_is_refused_is_refused_before_embedding(keywords, message):
    model = Counting()
    with CollectionManager(":memory:", model) as manager:
        given = {"query": "tea"} | keywords
        with pytest.raises(InvalidInputError, match=message):
            manager.retrieve(**given)
        with pytest.raises(InvalidInputError, match=message):
            await manager.aretrieve(**given)
    assert model.calls == []


async def test_async(manager):
    fill(manager, "ann", "bob")
    found = await manager.aretrieve("tea", user_id="ann")
    assert found == manager.retrieve("tea", user_id="ann")
    many = await asyncio.gather(
        *(manager.aretrieve("tea", user_id="ann") for _ in range(20))
    )
    assert all(answer == found for answer in many)
    assert len(await manager.get(user_id="bob").asimilarity_search("tea", k=9)) == 3
    assert await manager.aretrieve("tea", 0) == []


# --- the retriever ----------------------------------------------------------------------------


@pytest.fixture
def retriever(manager):
    for kind in ("default", "important", "code"):
        manager.get(kind, user_id="ann").add_texts(
            [f"{text} {kind}" for text in TEXTS],
            [{"n": n, "importance": n} for n in range(3)],
        )
        manager.get(kind, user_id="bob").add_texts([f"bob's tea {kind}"])
        manager.get(kind).add_texts([f"everybody's tea {kind}"])
    return manager.as_retriever(
        user_id="ann",
        k=9,
        search_type="similarity",
        search_kwargs={"filter": {"n": {"$lt": 2}}},
    )


def texts(found):
    return sorted(document.page_content for document in found)


async def test_a_retriever_is_bound(retriever, manager):
    everything = texts(retriever.invoke("tea"))
    assert everything == sorted(
        f"{t} {kind}" for t in TEXTS[:2] for kind in ("default", "important")
    )
    assert texts(await retriever.ainvoke("tea")) == everything
    assert retriever.batch(["tea", "paint"])[0] == retriever.invoke("tea")
    plain = manager.as_retriever()
    assert (plain.user_id, plain.k, plain.kinds) == (None, 5, ("default", "important"))
    assert plain.importance_threshold == 0.0
    assert texts(plain.invoke("tea")) == [
        "everybody's tea default",
        "everybody's tea important",
    ]


def test_a_caller_narrows(retriever):
    assert len(retriever.invoke("tea", k=1)) == 1
    assert texts(retriever.invoke("tea", kinds="important")) == [
        "black tea important",
        "green tea important",
    ]
    assert texts(retriever.invoke("tea", filter={"n": 1}, kinds=["default"])) == [
        "black tea default"
    ]
    assert len(retriever.invoke("tea", importance_threshold=1)) == 2
    assert texts(retriever.invoke("black", search_type="text")) == [
        "black tea default",
        "black tea important",
    ]


def test_a_caller_does_not_widen(retriever, manager):
    assert retriever.invoke("tea", filter={"n": 2}) == []
    assert texts(
        retriever.invoke("tea", filter={"$or": [{"n": 2}, {"n": 0}]}, kinds="default")
    ) == ["green tea default"]
    for kinds in ("code", ["default", "code"], ["secret"]):
        with pytest.raises(
            InvalidInputError, match="bound to the kinds default, important"
        ):
            retriever.invoke("tea", kinds=kinds)
    for user in ("bob", None, "ann"):
        with pytest.raises(InvalidInputError, match="bound to user_id='ann'"):
            retriever.invoke("tea", user_id=user)
    strict = manager.as_retriever(user_id="ann", importance_threshold=1)
    assert strict.invoke("tea", importance_threshold=-9) == strict.invoke("tea")
    assert len(strict.invoke("tea")) == 4
    for name, value in (("user_id", "bob"), ("kinds", ("code",))):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(retriever, name, value)


def test_keywords_of_the_retriever(retriever, manager):
    with pytest.raises(TypeError, match="'user'; did you mean 'user_id'"):
        manager.as_retriever(user="ann")
    with pytest.raises(
        TypeError, match=r"search_kwargs.. got an unexpected keyword 'limit'"
    ):
        manager.as_retriever(search_kwargs={"limit": 3})
    with pytest.raises(TypeError, match="did you mean 'k'"):
        retriever.invoke("tea", top_k=3)
    with pytest.raises(InvalidInputError, match="no kind 'secret'"):
        manager.as_retriever(kinds="secret")
    with pytest.raises(InvalidInputError, match="user_id 'a/b'"):
        manager.as_retriever(user_id="a/b")
    with pytest.raises(InvalidInputError, match="importance_threshold must be a number"):
        retriever.invoke("tea", importance_threshold=math.nan)
    with pytest.raises(ValidationError):
        type(retriever)(manager=manager, user="ann")
    with pytest.raises(ValidationError, match="no kind 'secret'"):
        type(retriever)(manager=manager, kinds=("secret",))
    with pytest.raises(ValidationError):
        type(retriever)(manager="kb.db")
    named = manager.as_retriever(tags=["x"], name="notes", metadata={"a": 1}, kinds="code")
    assert (named.tags, named.name, named.kinds) == (["x"], "notes", ("code",))
