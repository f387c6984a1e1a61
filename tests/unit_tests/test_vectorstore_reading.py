"""Reading without a query, and what a store tells of itself."""

import random
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from langchain_core.documents import Document

from fakes import Clock, Counting, label
from langchain_ragstore import (
    CorruptStoreError,
    FilterError,
    InvalidInputError,
    ReadOnlyError,
    SQLiteVectorStore,
    StoreClosedError,
)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(clock):
    with SQLiteVectorStore(Counting(), clock=clock) as store:
        for id, metadata in [
            ("c", {"n": 2, "tags": ["x", "y", "x"]}),
            ("a", {"n": 10, "tags": ["x"]}),
            ("d", {"tags": []}),
            ("b", {"n": 3.5, "day": date(2026, 1, 31)}),
        ]:
            store.add_texts([f"text {id}"], [metadata], ids=[id])
            clock.now += 1
        yield store


def ids(found):
    return [document.id for document in found]


# --- get ----------------------------------------------------------------------------


def test_get_by_ids_keeps_order_and_repeats(store):
    assert ids(store.get_by_ids(["b", "absent", "a", "b"])) == ["b", "a", "b"]
    assert store.get_by_ids([]) == []
    assert ids(store.get_by_ids("a")) == ["a"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "cadb"),
        ({"limit": 2}, "ca"),
        ({"offset": 1}, "adb"),
        ({"limit": 2, "offset": 1}, "ad"),
        ({"limit": 0}, ""),
        ({"offset": 9}, ""),
        ({"ids": "a"}, "a"),
        ({"ids": []}, ""),
        ({"ids": ["b", "x", "a", "c"]}, "bac"),
        ({"ids": ["b", "x", "a", "c"], "limit": 1, "offset": 1}, "a"),
        ({"ids": ["b", "a", "c"], "filter": {"tags": {"$contains": "x"}}}, "ac"),
        ({"ids": ("b", "a"), "order_by": "$id"}, "ab"),
        ({"ids": ["b", "a", "c"], "order_by": "-$id", "limit": 2}, "cb"),
        ({"filter": {"n": {"$gt": 2}}}, "ab"),
        ({"filter": lambda d: d.metadata.get("n", 0) > 2, "offset": 1}, "b"),
        ({"filter": {"n": {"$exists": False}}}, "d"),
        ({"order_by": "n"}, "cbad"),  # numbers as numbers, those without one last
        ({"order_by": "-n"}, "abcd"),
        ({"order_by": "n", "limit": 2, "offset": 1}, "ba"),
        ({"order_by": "created_at"}, "cadb"),
        ({"order_by": "-created_at", "limit": 1}, "b"),
        ({"order_by": "day", "limit": 1}, "b"),
        ({"order_by": "-$content"}, "dcba"),
    ],
    ids=label,
)
def test_get(store, arguments, expected):
    """Reports 59, 86: documents could not be listed by a filter and sorted by metadata."""
    assert ids(store.get(**arguments)) == list(expected)


def test_order_by_updated_at_follows_updates(store, clock):
    store.update_metadata("c", patch={"seen": True})
    assert ids(store.get(order_by="-updated_at", limit=2)) == ["c", "b"]
    assert ids(store.get(order_by="created_at")) == ["c", "a", "d", "b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": -1}, "limit must not be negative, got -1"),
        ({"limit": 1.0}, "limit must be an integer"),
        ({"offset": -1}, "offset must not be negative"),
        ({"offset": None}, "offset must be an integer"),
        ({"order_by": ""}, "order_by is a key"),
        ({"order_by": 5}, "order_by is a key"),
        ({"ids": [1]}, "ids are strings"),
        ({"ids": ["a", None]}, "ids are strings"),
    ],
    ids=label,
)
def test_get_checks_its_arguments(store, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        store.get(**arguments)


def test_get_by_many_ids(store):
    many = [f"m{n}" for n in range(2_000)]
    store.add_embeddings(["x"] * 2_000, [[1.0] * 64] * 2_000, ids=many)
    shuffled = random.Random(1).sample(many, 2_000)
    assert ids(store.get_by_ids(shuffled)) == shuffled
    assert store.count({"$id": {"$in": many}}) == 2_000


# --- counting -----------------------------------------------------------------------


def test_count_len_and_bool(store):
    """Report 86: how many match could only be learned by reading them."""
    assert (len(store), store.count(), store.count({}), store.count(None)) == (4, 4, 4, 4)
    assert store.count({"n": {"$gte": 3.5}}) == 2
    assert store.count(lambda d: d.id == "a") == 1
    store.clear()
    assert len(store) == 0
    assert bool(store) is True


def test_distinct(store):
    """Report 86: the values of a key could not be listed."""
    assert store.distinct("n") == {2: 1, 10: 1, 3.5: 1}
    assert store.distinct("tags") == {"x": 2, "y": 1}  # once a document
    assert store.distinct("day") == {date(2026, 1, 31): 1}
    assert store.distinct("absent") == {}


def test_distinct_of_a_nested_key(store):
    store.add_texts(["n"], [{"a": {"b": 1}, "a.b": 2}], ids=["n"])
    assert store.distinct(("a", "b")) == {1: 1}
    assert store.distinct("a.b") == {2: 1}


def test_dates_are_compared_and_ordered():
    """Report 59: dates could not be compared, so that there was no newest and no oldest."""
    moments = {
        "day": date(2026, 1, 31),
        "naive": datetime(2026, 1, 31, 12),  # noqa: DTZ001
        "aware": datetime(2026, 2, 1, 1, tzinfo=timezone(timedelta(hours=9))),
        "text": "2026-01-31",
    }
    with SQLiteVectorStore(Counting()) as store:
        store.add_texts(moments, [{"at": at} for at in moments.values()], ids=moments)
        for since, expected in (
            (date(2026, 1, 31), ["day", "naive", "aware"]),
            (datetime(2026, 1, 31, 13, tzinfo=UTC), ["aware"]),
            ("2026", ["text"]),  # texts are compared with texts
        ):
            assert ids(store.get(filter={"at": {"$gte": since}})) == expected
        dated = {"$id": {"$ne": "text"}}
        assert ids(store.get(filter=dated, order_by="at", limit=1)) == ["day"]
        assert ids(store.get(filter=dated, order_by="-at", limit=2)) == ["aware", "naive"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([True, 1], "mix True and False with 1 and 0"),
        ([[False], [0]], "mix True and False with 1 and 0"),
        ([{"a": 1}], "dictionaries or nested lists"),
        ([[[1]]], "dictionaries or nested lists"),
    ],
)
def test_distinct_refuses_what_a_dictionary_cannot_hold(store, values, message):
    store.add_texts([str(v) for v in values], [{"v": value} for value in values])
    with pytest.raises(InvalidInputError, match=message):
        store.distinct("v")


def test_distinct_keeps_other_kinds_apart(store):
    values = [True, True, "1", 2, 2.0, None]
    store.add_texts(list("uvwxyz"), [{"v": value} for value in values])
    assert store.distinct("v") == {True: 2, "1": 1, 2: 2, None: 1}


# --- times --------------------------------------------------------------------------


def test_timestamps(store, clock):
    store.add_texts(["new"], ids=["a"], expires_at=5_000)
    (times,) = store.timestamps("a").values()
    assert times == (
        datetime.fromtimestamp(1_001, UTC),
        datetime.fromtimestamp(1_004, UTC),
        datetime.fromtimestamp(5_000, UTC),
    )
    assert times.created_at.tzinfo is UTC
    assert store.timestamps(["b", "absent"]).keys() == {"b"}
    assert store.timestamps("b")["b"].expires_at is None
    assert all("created_at" not in d.metadata for d in store.get())


# --- collections, file, state -------------------------------------------------------


def test_collections_are_isolated(tmp_path):
    path = tmp_path / "kb.db"
    stores = [
        SQLiteVectorStore(Counting(), path, collection_name=name)
        for name in ("one", "two", "名前 '\";--")
    ]
    for number, store in enumerate(stores):
        store.add_texts(["tea"], [{"n": number}], ids=["same"])
    for number, store in enumerate(stores):
        assert [d.metadata for d in store.similarity_search("tea")] == [{"n": number}]
        assert store.collections() == sorted(s.collection_name for s in stores)
    assert stores[0].clear() == 1
    assert [len(store) for store in stores] == [0, 1, 1]
    assert stores[0].collections() == ["two", "名前 '\";--"]
    for store in stores:
        store.close()


@pytest.mark.parametrize("name", ["", None, 5])
def test_collection_names_are_checked(name):
    with pytest.raises(InvalidInputError, match="collection_name must be"):
        SQLiteVectorStore(collection_name=name)


def test_stats(tmp_path):
    with SQLiteVectorStore(Counting(), tmp_path / "kb.db", collection_name="c") as store:
        facts = store.stats()
        assert (facts["records"], facts["vectors"], facts["dimension"]) == (0, 0, None)
        store.add_texts(["a", "b"])
        facts = store.stats()
        assert (facts["records"], facts["vectors"], facts["dimension"]) == (2, 2, 64)
        assert (facts["collection"], facts["file_bytes"] > 0) == ("c", True)
        assert "Counting" in facts["embedding"]


USES = {
    "add": lambda s: s.add_texts(["a"]),
    "add_embeddings": lambda s: s.add_embeddings(["a"], [[1.0] * 64]),
    "delete": lambda s: s.delete(["a"]),
    "delete_where": lambda s: s.delete_where({"n": 1}),
    "clear": lambda s: s.clear(),
    "update_metadata": lambda s: s.update_metadata("a", patch={"n": 1}),
    "update_document": lambda s: s.update_document("a", Document(page_content="b")),
    "get": lambda s: s.get(),
    "get_by_ids": lambda s: s.get_by_ids(["a"]),
    "count": len,
    "distinct": lambda s: s.distinct("n"),
    "timestamps": lambda s: s.timestamps("a"),
    "stats": lambda s: s.stats(),
    "collections": lambda s: s.collections(),
    "search": lambda s: s.similarity_search("a"),
    "mmr": lambda s: s.max_marginal_relevance_search("a"),
    "scope": lambda s: s.scoped({"n": 1}).get(),
}
WRITES = list(USES)[:7]


@pytest.mark.parametrize("use", USES)
def test_use_after_close(use, tmp_path):
    """Report 19: a store could not be closed, or crashed when used after it."""
    with SQLiteVectorStore(Counting(), tmp_path / "kb.db") as store:
        store.add_texts(["text"], ids=["a"])
    with pytest.raises(StoreClosedError, match="close"):
        USES[use](store)
    store.close()  # twice is fine


@pytest.mark.parametrize("use", USES)
def test_read_only(use, tmp_path):
    """Report 14: who may only read could not open a shared file."""
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts(["text"], [{"n": 1}], ids=["a"])
    with SQLiteVectorStore(Counting(), path, read_only=True) as store:
        if use in WRITES:
            with pytest.raises(ReadOnlyError):
                USES[use](store)
        else:
            USES[use](store)
        assert [d.page_content for d in store.get()] == ["text"]


def test_read_only_needs_a_file(tmp_path):
    with pytest.raises(InvalidInputError, match=r"absent\.db does not exist"):
        SQLiteVectorStore(path=tmp_path / "absent.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 200, encoding="utf-8")
    with pytest.raises(CorruptStoreError):
        SQLiteVectorStore(path=path)
    assert path.read_text(encoding="utf-8") == "no database " * 200


def test_a_store_that_failed_to_fill_is_closed(tmp_path, monkeypatch):
    closed, close = [], SQLiteVectorStore.close

    def spied(store):
        closed.append(store)
        close(store)

    monkeypatch.setattr(SQLiteVectorStore, "close", spied)
    with pytest.raises(InvalidInputError):
        SQLiteVectorStore.from_texts([1], None, path=tmp_path / "kb.db")
    assert len(closed) == 1


# --- updating -----------------------------------------------------------------------


def test_update_metadata_embeds_nothing(store, clock):
    """Report 50: changing a tag cost a new embedding."""
    store.embeddings.calls.clear()
    assert store.update_metadata("a", patch={"n": 11, "new": [1]}) == 1
    assert store.update_metadata(["b", "absent"], patch={"n": 4}, remove=["day"]) == 1
    assert store.update_metadata(filter={"n": {"$lt": 4}}, patch={"low": True}) == 1
    assert store.update_metadata(["a", "c"], filter={"n": 11}, patch={}, remove="tags") == 1
    assert store.update_metadata([], patch={"x": 1}) == 0
    assert store.embeddings.calls == []
    assert {d.id: d.metadata for d in store.get()} == {
        "c": {"n": 2, "tags": ["x", "y", "x"], "low": True},
        "a": {"n": 11, "new": [1]},
        "d": {"tags": []},
        "b": {"n": 4},
    }
    assert [d.page_content for d in store.get()] == ["text c", "text a", "text d", "text b"]
    assert ids(store.similarity_search("text a", k=9, filter={"n": 11})) == ["a"]


@pytest.mark.parametrize("filter", [None, {}, {"$and": []}])
def test_update_metadata_needs_a_choice(store, filter):
    with pytest.raises(InvalidInputError, match="needs ids or a filter"):
        store.update_metadata(filter=filter, patch={"n": 0})
    assert store.count({"n": 0}) == 0


def test_update_metadata_checks_the_patch(store):
    with pytest.raises(InvalidInputError, match=r"'s'.*set"):
        store.update_metadata(["a", "b"], patch={"s": {1}})
    assert store.count({"s": {"$exists": True}}) == 0


def test_update_documents(store, clock):
    new = [Document(page_content="tea", metadata={"x": 1}), Document(page_content="fee")]
    store.update_documents(["a", "b"], new)
    store.update_document("c", Document(id="ignored", page_content="tide"))
    assert [(d.id, d.page_content, d.metadata) for d in store.get(["a", "b", "c"])] == [
        ("a", "tea", {"x": 1}),
        ("b", "fee", {}),
        ("c", "tide", {}),
    ]
    assert len(store) == 4
    assert ids(store.similarity_search("tide", k=1)) == ["c"]
    assert store.timestamps("a")["a"].created_at == datetime.fromtimestamp(1_001, UTC)


def test_update_documents_that_are_not_there(store):
    with pytest.raises(InvalidInputError, match=r"no document has the id 'x'; add_doc"):
        store.update_documents(["a", "x"], [Document(page_content="new")] * 2)
    with pytest.raises(InvalidInputError, match="1 texts but 2 ids"):
        store.update_documents(["a", "b"], [Document(page_content="new")])
    assert store.count(lambda d: d.page_content == "new") == 0


def test_filters_that_do_not_parse(store):
    for call in (store.get, store.count, store.delete, store.update_metadata):
        keywords = {"patch": {}} if call == store.update_metadata else {}
        with pytest.raises(FilterError, match=r"\$grt"):
            call(filter={"n": {"$grt": 1}}, **keywords)


@pytest.mark.parametrize("patch", [None, ["a"], "a", 5])
def test_a_patch_that_is_no_dictionary_is_refused(store, patch):
    before = store.get()
    with pytest.raises(InvalidInputError, match="patch must be a dict"):
        store.update_metadata(filter={"n": 1}, patch=patch)
    assert store.get() == before


def test_a_time_that_no_datetime_can_tell_is_told_as_the_nearest(store):
    store.add_texts(["tea"], ids=["far"], expires_at=1e300)
    assert store.timestamps("far")["far"].expires_at == datetime.max.replace(tzinfo=UTC)


def test_an_update_keeps_when_a_document_expires():
    with SQLiteVectorStore(Counting()) as store:
        store.add_texts(["tea"], ids=["a"], expires_at=4e9)
        store.add_texts(["rain"], ids=["b"])
        store.update_documents(["a", "b"], [Document("tide"), Document("sea")])
        times = store.timestamps(["a", "b"])
        assert times["a"].expires_at.timestamp() == 4e9
        assert times["b"].expires_at is None
        store.add_documents([Document("tea", id="a")])
        assert store.timestamps("a")["a"].expires_at is None


@pytest.mark.parametrize("key", ["relevance_score", "ragstore"])
def test_what_searches_write_is_not_stored(key):
    with SQLiteVectorStore(Counting()) as store:
        store.add_texts(["tea"], [{key: 1, "kept": 1}], ids=["a"])
        with pytest.raises(InvalidInputError, match=key):
            store.update_metadata("a", patch={key: 1, "other": 1})
        assert store.get("a")[0].metadata == {"kept": 1}
