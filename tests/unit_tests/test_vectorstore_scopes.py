"""A scope's user sees and changes nothing of another, whatever the method."""

import asyncio

import numpy as np
import pytest
from langchain_core.documents import Document

from fakes import Counting
from langchain_ragstore import (
    FilterError,
    InvalidInputError,
    MockEmbeddings,
    RagPipeline,
    SQLiteVectorStore,
    make_document,
)

VECTOR = Counting().embed_query("tea")
NARROW = {"source": "x"}


@pytest.fixture
def store():
    with SQLiteVectorStore(Counting()) as opened:
        for user in ("A", "B"):
            opened.add_texts(
                ["tea x", "tea y"],
                [{"user": user, "source": source, "n": 1} for source in "xy"],
                ids=[f"{user}x", f"{user}y"],
            )
        yield opened


@pytest.fixture
def view(store):
    return store.scoped({"user": "A"})


def ids(found):
    return {getattr(item, "id", None) or item[0].id for item in found}


def retriever(view, kind):
    keywords = {"k": 9, "filter": {"n": 1}, "score_threshold": 0.0}
    return view.as_retriever(search_type=kind, search_kwargs=keywords)


KINDS = ("similarity", "mmr", "similarity_score_threshold")
# Every way to read documents, as a function of a view and a filter per call.
READS = {
    "similarity_search": lambda v, f: v.similarity_search("tea", 9, f),
    "with_score": lambda v, f: v.similarity_search_with_score("tea", 9, f),
    "relevance": lambda v, f: v.similarity_search_with_relevance_scores(
        "tea", k=9, filter=f
    ),
    "by_vector": lambda v, f: v.similarity_search_by_vector(VECTOR, 9, f),
    "score_by_vector": lambda v, f: v.similarity_search_with_score_by_vector(VECTOR, 9, f),
    "mmr": lambda v, f: v.max_marginal_relevance_search("tea", 9, filter=f),
    "mmr_by_vector": lambda v, f: v.max_marginal_relevance_search_by_vector(
        VECTOR, 9, filter=f
    ),
    **{
        f"retriever {kind}": lambda v, f, kind=kind: retriever(v, kind).invoke(
            "tea", filter=f
        )
        for kind in KINDS
    },
    **{
        f"async retriever {kind}": lambda v, f, kind=kind: asyncio.run(
            retriever(v, kind).ainvoke("tea", filter=f)
        )
        for kind in KINDS
    },
    **{
        f"search {kind}": lambda v, f, kind=kind: v.search(
            "tea", kind, k=9, filter=f, score_threshold=0
        )
        for kind in KINDS
    },
    "asimilarity_search": lambda v, f: asyncio.run(v.asimilarity_search("tea", 9, f)),
    "aby_vector": lambda v, f: asyncio.run(
        v.asimilarity_search_by_vector(VECTOR, k=9, filter=f)
    ),
    "ammr": lambda v, f: asyncio.run(
        v.amax_marginal_relevance_search("tea", k=9, filter=f)
    ),
    "get": lambda v, f: v.get(filter=f),
    "get of ids": lambda v, f: v.get(["Ax", "Bx", "Ay", "By"], filter=f),
    "get in order": lambda v, f: v.get(["Ax", "Bx", "Ay", "By"], filter=f, order_by="$id"),
    "pipeline": lambda v, f: RagPipeline(store=v).retrieve("tea", 9, filter=f),
}
FILTERS = {
    "dict": NARROW,
    "def": lambda d: d.metadata["source"] == "x",
    "or": {"$or": [NARROW, {"$and": [NARROW, {"user": "B"}]}]},
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("filter", FILTERS)
def test_no_row_of_another(view, read, filter):
    assert ids(READS[read](view, FILTERS[filter])) == {"Ax"}
    assert ids(READS[read](view, None)) == {"Ax", "Ay"}
    assert ids(READS[read](view, {})) == {"Ax", "Ay"}
    assert ids(READS[read](view, {"user": "B"})) == set()
    assert ids(READS[read](view, {"user": {"$ne": "A"}})) == set()


def test_a_callable_never_sees_another(view):
    seen = []
    for read in READS.values():
        read(view, lambda d: seen.append(d.metadata["user"]) or True)
    assert set(seen) == {"A"}


def test_other_reads(view):
    assert ids(view.get_by_ids(["Ax", "Bx"])) == {"Ax"}
    assert ids(asyncio.run(view.aget_by_ids(["Ax", "Bx"]))) == {"Ax"}
    assert (len(view), view.count({"user": "B"}), view.count(NARROW)) == (2, 0, 1)
    assert view.distinct("user") == {"A": 2}
    assert view.timestamps(["Ax", "Bx"]).keys() == {"Ax"}


# --- writing ------------------------------------------------------------------------


async def test_writes_are_stamped(store, view):
    added = [
        *view.add_texts(["one"]),
        *view.add_documents([Document(page_content="two", metadata={"source": "z"})]),
        *view.add_embeddings(["three"], [VECTOR]),
        *await view.aadd_texts(["four"], [None]),
        *await view.aadd_documents([Document(page_content="five")]),
    ]
    assert {d.metadata["user"] for d in store.get(added)} == {"A"}
    assert len(view) == 2 + 5
    view.update_document("Ax", Document(page_content="new"))
    assert store.get("Ax")[0].metadata == {"user": "A"}
    await RagPipeline(store=view).aingest([make_document("doc", "six")])
    assert store.get("doc")[0].metadata["user"] == "A"


def test_equal_metadata_are_kept(store, view):
    view.add_texts(["one"], [{"user": "A", "n": np.int64(5)}], ids=["new"])
    assert store.get("new")[0].metadata == {"user": "A", "n": 5}


@pytest.mark.parametrize("user", ["B", None, "a", ["A"], 1])
def test_conflicting_metadata_are_refused(store, view, user):
    with pytest.raises(InvalidInputError, match=r"'user' is .*, the scope prescribes 'A'"):
        view.add_texts(["fine", "wrong"], [None, {"user": user}])
    assert len(store) == 4


@pytest.mark.parametrize(
    ("prescribed", "given"), [(1, True), (True, 1), (0, False), ("1", 1), (None, 0)]
)
def test_what_python_takes_for_equal_may_conflict(store, prescribed, given):
    view = store.scoped({"flag": prescribed})
    with pytest.raises(InvalidInputError, match="the scope prescribes"):
        view.add_texts(["new"], [{"flag": given}])
    (id,) = view.add_texts(["new"], [{"flag": prescribed}])
    assert view.get(id)[0].metadata == {"flag": prescribed}


def test_numbers_in_other_clothes_are_equal(store):
    view = store.scoped({"n": 5})
    view.add_texts(["a", "b"], [{"n": 5.0}, {"n": np.int64(5)}], ids=["f", "i"])
    assert [repr(d.metadata["n"]) for d in view.get()] == ["5.0", "5"]


def test_ids_of_another_are_refused(store, view):
    before = store.get()
    for write in (
        lambda: view.add_texts(["mine", "mine"], ids=["new", "Bx"]),
        lambda: view.add_documents([Document(id="Bx", page_content="mine")]),
        lambda: view.add_embeddings(["mine"], [VECTOR], ids=["Bx"]),
        lambda: asyncio.run(view.aadd_texts(["mine"], ids=["Bx"])),
        lambda: RagPipeline(store=view).ingest([make_document("Bx", "mine")]),
    ):
        with pytest.raises(InvalidInputError, match=r"'Bx'.*outside this scope"):
            write()
    with pytest.raises(InvalidInputError, match="no document has the id 'Bx'"):
        view.update_document("Bx", Document(page_content="mine"))
    assert store.get() == before


def test_deleting_and_patching_reach_the_scope_alone(store, view):
    assert view.delete(["Bx", "By"]) is True
    assert view.delete_where({"user": "B"}) == 0
    assert view.update_metadata(["Ax", "Bx"], patch={"seen": 1}) == 1
    assert view.update_metadata(filter=NARROW, patch={"seen": 2}) == 1
    assert ids(store.get(filter={"seen": {"$exists": True}})) == {"Ax"}
    assert view.delete_where(NARROW) == 1
    assert ids(store.get()) == {"Ay", "Bx", "By"}
    assert view.clear() == 1
    assert ids(store.get()) == {"Bx", "By"}


def test_the_key_of_a_scope_may_not_be_patched(store, view):
    for keywords in (
        {"patch": {"user": "B"}},
        {"patch": {"user": "A"}},
        {"patch": {"n": 2}, "remove": ["user"]},
        {"patch": {}, "remove": "user"},
    ):
        with pytest.raises(InvalidInputError, match="'user' may not be changed here"):
            view.update_metadata("Ax", **keywords)
    assert store.get("Ax")[0].metadata == {"user": "A", "source": "x", "n": 1}
    by_function = store.scoped(lambda d: d.metadata["user"] == "A")
    with pytest.raises(InvalidInputError, match="the scope depends on it"):
        by_function.update_metadata("Ax", patch={"anything": 1})


# --- scopes of scopes, and of other shapes ------------------------------------------


def test_scopes_nest(store, view):
    inner = view.scoped({"source": "x"})
    assert ids(inner.get()) == {"Ax"}
    (id,) = inner.add_texts(["new"])
    assert store.get(id)[0].metadata == {"user": "A", "source": "x"}
    for metadata in ({"source": "y"}, {"user": "B"}):
        with pytest.raises(InvalidInputError, match="the scope prescribes"):
            inner.add_texts(["new"], [metadata])
    with pytest.raises(InvalidInputError, match="'user' may not"):
        inner.update_metadata("Ax", patch={"user": "B"})
    assert inner.clear() == 2
    assert ids(store.get()) == {"Ay", "Bx", "By"}


def test_a_scope_cannot_be_widened(view):
    outer = view.scoped({"user": "B"})
    assert outer.get() == outer.similarity_search("tea") == []
    with pytest.raises(InvalidInputError):
        outer.add_texts(["new"])
    assert view.scoped({"$or": [{"user": "A"}, {"user": "B"}]}).count() == 2


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ({"n": {"$gte": 5}}, {"n": 5}, {"n": 4}),
        ({"user": {"$in": ["C", "D"]}}, {"user": "D"}, {"user": "A"}),
        ({"$or": [{"user": "C"}, {"public": True}]}, {"public": True}, {"user": "A"}),
        (lambda d: d.metadata.get("user") == "C", {"user": "C"}, {"user": "A"}),
        ({("a", "b"): 1}, {"a": {"b": 1}}, {"a": {"b": 2}}),
        ({"$content": {"$like": "new%"}}, {}, None),
    ],
    ids=["gte", "in", "or", "def", "nested", "content"],
)
def test_scopes_that_prescribe_no_value(store, scope, inside, outside):
    view = store.scoped(scope)
    (id,) = view.add_texts(["new"], [inside])
    assert [d.metadata for d in view.get()] == [inside]
    for metadata in ([outside] if outside else []) + [{}] * bool(outside):
        with pytest.raises(InvalidInputError, match="lies outside the scope"):
            view.add_texts(["new"], [metadata])
    assert store.get(id)[0].metadata == inside


@pytest.mark.parametrize("scope", [None, {}, {"$and": []}])
def test_a_scope_excludes_something(store, scope):
    with pytest.raises(FilterError, match="scoped\\(\\) needs a filter"):
        store.scoped(scope)


def test_a_view_leaves_its_store_alone(store):
    view = store.scoped({"user": "A"})
    assert type(view) is type(store)
    assert (len(view), len(store)) == (2, 4)
    assert view.embeddings is store.embeddings
    store.add_texts(["new"], [{"user": "A"}])
    assert len(view) == 3


def test_sources_of_two_users_do_not_meet():
    with SQLiteVectorStore(MockEmbeddings(4)) as store:
        one, other = (
            RagPipeline(store=store.scoped({"user": user})) for user in ("A", "B")
        )
        page = [Document(page_content=t, metadata={"source": "s"}) for t in ("p", "q")]
        assert one.ingest(page).added == 2
        with pytest.raises(InvalidInputError, match="outside this scope"):
            other.ingest(page)
        assert other.ingest([]).deleted == 0
        assert store.count({"user": "A"}) == 2


def test_facts_of_a_view_are_of_what_it_sees(store, view):
    assert view.stats()["records"] == 2
    assert "file_bytes" not in view.stats()
    assert store.stats()["records"] == 4
    assert view.collections() == ["default"]
    assert store.scoped({"user": "C"}).collections() == []
    other = SQLiteVectorStore(Counting(), collection_name="other")
    assert other.scoped({"user": "A"}).collections() == []
