"""Retrieving from several collections of a user, and the retriever that does."""

import asyncio
import math

import pytest
from langchain_core.documents import Document
from pydantic import ValidationError

from fakes import Counting, Table
from langchain_ragstore import (
    CollectionManager,
    HashingEmbeddings,
    InvalidInputError,
    SQLiteVectorStore,
)

TEXTS = ["green tea", "black tea", "red paint"]


@pytest.fixture
def manager(tmp_path):
    with CollectionManager(tmp_path / "rag.db", HashingEmbeddings(32)) as made:
        yield made


def ids(found):
    return [document.id for document, _ in found]


def texts(found):
    return sorted(document.page_content for document in found)


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
    for user in ("ann", "bob"):
        manager.get(user_id=user).add_texts([f"{text} of {user}" for text in TEXTS])
    found = await manager.aretrieve("tea", user_id="ann")
    assert found == manager.retrieve("tea", user_id="ann")
    many = await asyncio.gather(
        *(manager.aretrieve("tea", user_id="ann") for _ in range(20))
    )
    assert all(answer == found for answer in many)
    assert len(await manager.get(user_id="bob").asimilarity_search("tea", k=9)) == 3
    assert await manager.aretrieve("tea", 0) == []


async def test_the_loop_goes_on_while_a_model_a_route_and_a_search_take_their_time():
    """Each waits for a task of the same loop, and would wait for ever if it stopped it."""
    loop = asyncio.get_running_loop()

    def wait_for_the_loop():
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(60)

    class Remote(Counting):
        async def aembed_query(self, text):
            await asyncio.to_thread(wait_for_the_loop)
            return await super().aembed_query(text)

    def route(query):
        wait_for_the_loop()
        return "default"

    def slow(document):
        wait_for_the_loop()
        return True

    model = Remote()
    with CollectionManager(":memory:", model) as manager:
        manager.get().add_texts(TEXTS)
        keywords = {"kinds": route, "search_kwargs": {"filter": slow}}
        assert len(await manager.aretrieve("tea", kinds=route, filter=slow)) == 3
        assert len(await manager.as_retriever(**keywords).ainvoke("tea")) == 3
        found = await manager.as_retriever(**keywords).ainvoke("tea", kinds="default")
        assert len(found) == 3
    assert model.calls.count("aembed_query") == 3
    assert "embed_query" not in model.calls


async def test_a_route_chooses_the_kinds_of_a_query(manager):
    for kind in manager.kinds:
        manager.get(kind, user_id="ann").add_texts([f"tea {kind}"])
    asked = []

    def route(query):
        asked.append(query)
        return {"def tea()": ["code", "default"], "tea": "meeting"}.get(query, ())

    def kinds_of(found):
        return [document.page_content.split()[1] for document, _ in found]

    found = manager.retrieve("def tea()", user_id="ann", kinds=route)
    assert set(kinds_of(found)) == {"code", "default"}
    assert await manager.aretrieve("def tea()", user_id="ann", kinds=route) == found
    assert kinds_of(manager.retrieve("tea", user_id="ann", kinds=route)) == ["meeting"]
    assert manager.retrieve("hello", user_id="ann", kinds=route) == []
    assert await manager.aretrieve("hello", user_id="ann", kinds=route) == []
    assert asked == ["def tea()"] * 2 + ["tea"] + ["hello"] * 2
    with pytest.raises(InvalidInputError, match="no kind 'secret'"):
        manager.retrieve("tea", kinds=lambda _query: ["secret"])
    with pytest.raises(InvalidInputError, match="user_id 'a/b'"):
        manager.retrieve("hello", user_id="a/b", kinds=route)


async def test_a_routed_retriever_is_bound_to_what_its_route_names(manager):
    for kind in manager.kinds:
        manager.get(kind, user_id="ann").add_texts([f"tea {kind}"])
    retriever = manager.as_retriever(
        user_id="ann", kinds=lambda q: ["code", "default"] if "(" in q else []
    )
    assert texts(retriever.invoke("tea()")) == ["tea code", "tea default"]
    assert texts(await retriever.ainvoke("tea()")) == ["tea code", "tea default"]
    assert retriever.invoke("tea") == await retriever.ainvoke("tea") == []
    assert texts(retriever.invoke("tea()", kinds="code")) == ["tea code"]
    with pytest.raises(
        InvalidInputError, match="bound to the kinds code, default, got 'me"
    ):
        retriever.invoke("tea()", kinds="meeting")
    # A route that a caller gives is asked once, and bound as well.
    answers = iter([["code"], ["important"]])
    assert texts(retriever.invoke("tea()", kinds=lambda _q: next(answers))) == ["tea code"]
    with pytest.raises(InvalidInputError, match="got 'important'"):
        retriever.invoke("tea()", kinds=lambda _q: next(answers))
    assert retriever.invoke("tea()", kinds=lambda _q: []) == []


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
