"""What `upsert` promises, over all engines."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest

from langchain_ragstore.errors import DimensionMismatchError, InvalidInputError
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.model import Record
from langchain_ragstore.vectors.arrays import unit_matrix
from records import AXES, ids, record


def test_upsert_replaces_and_keeps_place_and_creation(backend, clock):
    backend.upsert("c", [record("b", AXES[0], old=1), record("a", AXES[1])])
    clock.now = 2_000.0
    backend.upsert("c", [record("b", AXES[2], content="new", new=2)])
    first, second = backend.scan("c", vectors=True)
    assert (first.id, first.content, dict(first.metadata)) == ("b", "new", {"new": 2})
    assert (first.created_at, first.updated_at) == (1_000.0, 2_000.0)
    assert (second.id, second.created_at, second.updated_at) == ("a", 1_000.0, 1_000.0)
    assert first.vector.tobytes() == AXES[2].tobytes()
    assert ids(backend.dense("c", AXES[2], 1)) == ["b"]
    assert backend.dense("c", AXES[0], 1)[0].score == 0.0


def test_a_record_may_lose_its_vector(backend):
    backend.upsert("c", [record("a", AXES[0])])
    backend.upsert("c", [record("a")])
    assert backend.dense("c", AXES[0], 5) == []
    assert backend.get("c", ["a"], vectors=True)[0].vector is None


def test_remove_happens_with_the_upsert(backend):
    backend.upsert("c", [record("a", AXES[0]), record("b", AXES[1])])
    backend.upsert("c", [record("c", AXES[2])], remove=["a", "absent"])
    assert ids(backend.scan("c")) == ["b", "c"]
    backend.upsert("c", [record("b", AXES[3])], remove=["b"])
    assert ids(backend.scan("c")) == ["c", "b"]
    assert ids(backend.dense("c", AXES[3], 1)) == ["b"]


def test_guard_protects_records_outside(backend):
    backend.upsert("c", [record("a", user="ann"), record("b", user="bob")])
    ann = parse({"user": "ann"})
    for write in (
        lambda: backend.upsert("c", [record("new"), record("b")], guard=ann),
        lambda: backend.upsert("c", [record("new")], remove=["b"], guard=ann),
    ):
        with pytest.raises(InvalidInputError, match="outside this scope"):
            write()
    assert ids(backend.scan("c")) == ["a", "b"]
    backend.upsert("c", [record("a", user="ann", n=1)], guard=ann)
    assert backend.get("c", ["a"])[0].metadata == {"user": "ann", "n": 1}


def test_a_refused_batch_writes_nothing(backend):
    backend.upsert("c", [record("a", AXES[0])])
    wrong = np.ones(3, np.float32)
    with pytest.raises(DimensionMismatchError, match="4 dimensions, got 3"):
        backend.upsert("c", [record("b", AXES[1]), record("a", wrong)], remove=["a"])
    with pytest.raises(InvalidInputError, match="'bad' is a set"):
        backend.upsert("c", [record("b"), record("d", bad={1})])
    assert ids(backend.scan("c")) == ["a"]


def test_mixed_lengths_in_one_batch_are_refused(backend):
    with pytest.raises(DimensionMismatchError):
        backend.upsert("c", [record("a", AXES[0]), record("b", np.ones(2, np.float32))])
    assert backend.scan("c") == []


def test_the_dimension_is_free_after_emptying(backend):
    """Report 79: an emptied collection still refused vectors of another length."""
    backend.upsert("c", [record("a", AXES[0])])
    with pytest.raises(DimensionMismatchError):
        backend.dense("c", np.ones(3, np.float32), 1)
    backend.delete("c", ids=None, where=EVERYTHING)
    assert backend.dense("c", np.ones(3, np.float32), 1) == []
    short = np.array([0, 1], np.float32)
    backend.upsert("c", [record("b", short)])
    assert ids(backend.dense("c", short, 1)) == ["b"]


def test_nothing_is_aliased(backend):
    metadata, vector = {"list": [1]}, AXES[0].copy()
    backend.upsert("c", [Record("a", "text", metadata, vector)])
    metadata["list"].append(2)
    vector[:] = 9
    (found,) = backend.get("c", ["a"], vectors=True)
    found.metadata["list"].append(3)
    (again,) = backend.get("c", ["a"], vectors=True)
    assert again.metadata == {"list": [1]}
    assert again.vector.tobytes() == AXES[0].tobytes()


@pytest.mark.parametrize("text", ["a\x00b", "bad \ud83d", "日本語 🇯🇵", "q'\"\\", ""])
def test_any_text_is_kept(backend, text):
    name = text or "x"
    backend.upsert(name, [Record(name, text, {"v": text}, AXES[0])])
    (found,) = backend.get(name, [name])
    assert (found.id, found.content, found.metadata) == (name, text, {"v": text})
    assert backend.count(name, where=parse({"$content": text, "$id": name, "v": text})) == 1
    assert backend.collections() == [name]
    assert ids(backend.dense(name, AXES[0], 1)) == [name]


def test_vectors_come_back_bit_by_bit(backend):
    vectors = unit_matrix(np.random.default_rng(1).normal(size=(50, 17)))
    backend.upsert("c", [record(f"{n:02d}", v) for n, v in enumerate(vectors)])
    for found in (
        backend.scan("c", vectors=True),
        backend.get("c", [f"{n:02d}" for n in range(50)], vectors=True),
        sorted(
            (hit.record for hit in backend.dense("c", vectors[0], 50, vectors=True)),
            key=lambda found: found.id,
        ),
    ):
        assert [r.vector.tobytes() for r in found] == [v.tobytes() for v in vectors]
        assert all(r.vector.dtype == np.float32 for r in found)


def test_metadata_come_back_with_their_types(backend):
    """Report 36: lists, dictionaries, null and dates were refused, or came back as texts."""
    metadata = {
        "true": True,
        "one": 1,
        "float": 1.0,
        "text": "1",
        "none": None,
        "big": 2**70,
        "third": 1 / 3,
        "day": date(2026, 1, 31),
        "moment": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "decimal": Decimal("1.10"),
        "bytes": b"\x00\xff",
        "tuple": (1, [2.0]),
        "like a tag": {"$date": "never"},
        "nested": {"a": {"b": [1, {"c": None}]}},
        "dicts": [{"x": 1}, {"x": 2.0}],
        "no list": [],
        "no dict": {},
        "false": False,
        "low": -(2**63) - 1,
        "infinite": [float("inf"), float("-inf"), float("nan")],
        "naive": datetime(2026, 1, 31, 12),  # noqa: DTZ001
        "uuid": UUID(int=7),
    }
    backend.upsert("c", [Record("a", "", metadata)])
    (found,) = backend.scan("c")
    assert repr(found.metadata) == repr(metadata)


def test_an_upsert_replaces_metadata_whole(backend):
    """Report 38: a replaced document kept old keys; here metadata are replaced whole."""
    backend.upsert("c", [record("a", old=1, keep=2)])
    backend.upsert("c", [record("a", keep=3)])
    assert backend.get("c", ["a"])[0].metadata == {"keep": 3}
    backend.upsert("c", [record("a")])
    assert backend.get("c", ["a"])[0].metadata == {}


def test_replacing_and_moving_keep_ids_apart_from_positions(backend):
    backend.upsert("c", [record(n, AXES[at]) for at, n in enumerate("abc")])
    backend.delete("c", ids=["b"], where=EVERYTHING)
    backend.upsert("c", [record("d", AXES[3])])
    for axis, id in ((0, "a"), (2, "c"), (3, "d")):
        assert ids(backend.dense("c", AXES[axis], 1)) == [id]
    assert backend.dense("c", AXES[1], 1)[0].score == 0.0


def test_remove_frees_the_dimension_for_what_replaces_it(backend):
    backend.upsert("c", [record("a", AXES[0])])
    short = np.array([0, 1], np.float32)
    backend.upsert("c", [record("b", short)], remove=["a", "a"])
    assert ids(backend.dense("c", short, 9)) == ["b"]
    with pytest.raises(DimensionMismatchError, match="2 dimensions, got 4"):
        backend.upsert("c", [record("b", AXES[0])])
    assert backend.scan("c", vectors=True)[0].vector.tobytes() == short.tobytes()


def test_guard_lets_new_and_removed_ids_pass(backend):
    mine = parse({"user": {"$contains": "ann"}})
    backend.upsert("c", [record(str(n), user=["bob"]) for n in range(5)])
    backend.upsert("c", [record("new", user=["ann"])], remove=["absent"], guard=mine)
    for _ in range(2):  # a refusal leaves nothing open
        with pytest.raises(InvalidInputError, match="outside this scope"):
            backend.upsert("c", [record(str(n)) for n in range(5)], guard=mine)
    backend.upsert("c", [], remove=["new"], guard=mine)
    assert ids(backend.scan("c")) == list("01234")
