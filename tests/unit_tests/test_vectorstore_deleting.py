"""Deleting: idempotent, by id and by filter, and never everything by accident."""

import pytest

from fakes import Counting, label
from langchain_ragstore import InvalidInputError, SQLiteVectorStore


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    path = ":memory:" if request.param == "memory" else tmp_path / "kb.db"
    with SQLiteVectorStore(Counting(), path) as opened:
        opened.add_texts(
            [f"text {id}" for id in "abcd"], [{"n": n} for n in range(4)], ids=list("abcd")
        )
        yield opened


def left(store):
    assert len(store) == len(store.get())
    found = sorted(d.id for d in store.similarity_search("text", k=99))
    assert found == sorted(d.id for d in store.get())
    return "".join(found)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"ids": ["a", "c"]}, "bd"),
        ({"ids": "a"}, "bcd"),
        ({"ids": "abc"}, "abcd"),  # one id, not three
        ({"ids": ("a", "b")}, "cd"),
        ({"ids": ["a", "a"]}, "bcd"),
        ({"ids": []}, "abcd"),
        ({"ids": ["absent"]}, "abcd"),
        ({"ids": ["absent", "d"]}, "abc"),
        ({"filter": {"n": {"$gte": 2}}}, "ab"),
        ({"filter": {"n": 99}}, "abcd"),
        ({"filter": {"n": {"$in": []}}}, "abcd"),
        ({"filter": lambda d: d.page_content == "text b"}, "acd"),
        ({"ids": ["a", "b"], "filter": {"n": {"$gt": 0}}}, "acd"),
        ({"ids": ["a"], "filter": {"n": 3}}, "abcd"),
        ({"ids": ["a"], "filter": {}}, "bcd"),
        ({"ids": [], "filter": {"n": 1}}, "abcd"),
    ],
    ids=label,
)
def test_delete(store, arguments, expected):
    """Report 63: no deleting by metadata, and an empty list deleted everything."""
    assert store.delete(**arguments) is True
    assert left(store) == expected


@pytest.mark.parametrize(
    "filter", [None, {}, {"$and": []}, {"n": {"$nin": []}}, {"$not": {"$or": []}}]
)
def test_a_choice_that_excludes_nothing_is_refused(store, filter):
    """Report 63: a filter that said nothing wiped the collection."""
    for call in (
        lambda: store.delete(filter=filter),
        lambda: store.delete(None, filter=filter),
        lambda: store.delete_where(filter),
    ):
        with pytest.raises(InvalidInputError, match=r"clear\(\) deletes all"):
            call()
    assert left(store) == "abcd"


@pytest.mark.parametrize("ids", [[1], ["a", None], [["a"]]])
def test_ids_are_strings(store, ids):
    with pytest.raises(InvalidInputError, match="ids are strings"):
        store.delete(ids)
    assert left(store) == "abcd"


def test_ids_from_a_generator(store):
    assert store.delete(id for id in "ab") is True
    assert left(store) == "cd"


def test_delete_where_and_clear_count(store):
    """Report 63: nobody told how many documents were deleted."""
    assert store.delete_where({"n": {"$lt": 2}}) == 2
    assert store.delete_where({"n": {"$lt": 2}}) == 0
    assert store.delete_where(lambda d: d.id == "c") == 1
    assert store.clear() == 1
    assert store.clear() == 0
    assert left(store) == ""


def test_a_failing_filter_deletes_nothing(store):
    def broken(document):
        if document.id == "c":
            raise LookupError("mine")
        return True

    with pytest.raises(LookupError, match="mine"):
        store.delete(filter=broken)
    assert left(store) == "abcd"


def test_what_is_deleted_can_come_back_changed(store):
    store.delete("b")
    store.add_texts(["green tea"], [{"new": True}], ids=["b"])
    (found,) = store.similarity_search("green tea", k=1)
    assert (found.id, found.metadata) == ("b", {"new": True})
    assert left(store) == "abcd"


def test_many_at_once(store):
    many = [f"m{n}" for n in range(3_000)]
    store.add_embeddings(["x"] * 3_000, [[1.0] * 64] * 3_000, [{"m": 1}] * 3_000, ids=many)
    assert store.delete(many[:1_500]) is True
    assert len(store) == 4 + 1_500
    assert store.delete_where({"m": 1}) == 1_500
    assert left(store) == "abcd"
