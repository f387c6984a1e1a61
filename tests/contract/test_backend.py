"""What every engine promises, each promise once over all engines."""

import numpy as np
import pytest

from langchain_ragstore.errors import DimensionMismatchError, InvalidInputError
from langchain_ragstore.filters import EVERYTHING, Predicate, parse
from langchain_ragstore.model import Record
from langchain_ragstore.vectors.arrays import unit_matrix

AXES = np.eye(4, dtype=np.float32)


def record(id, vector=None, *, content="text", expires_at=None, **metadata):
    return Record(id, content, metadata, vector, expires_at=expires_at)


def ids(found):
    return [getattr(item, "record", item).id for item in found]


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


def test_the_dimension_is_free_after_emptying(backend):
    backend.upsert("c", [record("a", AXES[0])])
    with pytest.raises(DimensionMismatchError):
        backend.dense("c", np.ones(3, np.float32), 1)
    backend.delete("c", ids=None, where=EVERYTHING)
    assert backend.dense("c", np.ones(3, np.float32), 1) == []
    short = np.array([0, 1], np.float32)
    backend.upsert("c", [record("b", short)])
    assert ids(backend.dense("c", short, 1)) == ["b"]


def test_mixed_lengths_in_one_batch_are_refused(backend):
    with pytest.raises(DimensionMismatchError):
        backend.upsert("c", [record("a", AXES[0]), record("b", np.ones(2, np.float32))])
    assert backend.scan("c") == []


@pytest.mark.parametrize("k", [0, -1])
def test_no_results_for_no_k(backend, k):
    backend.upsert("c", [record("a", AXES[0])])
    assert backend.dense("c", AXES[0], k) == []


def test_dense_ranks_by_cosine_then_id(backend):
    vectors = unit_matrix([[1, 0], [1, 1], [0, 1], [-1, 0], [1, 1], [1, 1]])
    names = ["z", "m", "c", "d", "b", "a"]
    backend.upsert("c", [record(n, v) for n, v in zip(names, vectors, strict=True)])
    hits = backend.dense("c", vectors[0], 10**9)
    assert ids(hits) == ["z", "a", "b", "m", "c", "d"]
    assert [hit.score for hit in hits] == pytest.approx(
        [1, 0.5**0.5, 0.5**0.5, 0.5**0.5, 0, -1]
    )
    assert hits[1].score == hits[2].score == hits[3].score
    assert hits[0].signals == {"dense": hits[0].score}
    for k in range(1, 7):
        assert ids(backend.dense("c", vectors[0], k)) == ids(hits)[:k]


def test_many_equal_vectors_tie_by_id(backend):
    vector = unit_matrix([np.arange(1, 40)])[0]
    names = [f"{n:04d}" for n in range(700)]
    backend.upsert("c", [record(n, vector) for n in reversed(names)])
    hits = backend.dense("c", vector, 5)
    assert ids(hits) == names[:5]
    assert len({hit.score for hit in hits}) == 1


def test_a_filter_never_starves_k(backend):
    rng = np.random.default_rng(3)
    near = unit_matrix(np.array([1.0, 0, 0, 0]) + rng.normal(scale=0.01, size=(500, 4)))
    records = [record(f"n{i}", v, kind="near") for i, v in enumerate(near)]
    far = [record(f"far{i}", -AXES[0], kind="far") for i in range(3)]
    backend.upsert("c", records + far)
    assert ids(backend.dense("c", AXES[0], 3, where=parse({"kind": "far"}))) == [
        "far0",
        "far1",
        "far2",
    ]
    assert backend.dense("c", AXES[0], 3, where=parse({"kind": "none"})) == []


def test_dense_returns_vectors_on_request(backend):
    backend.upsert("c", [record("a", AXES[0], n=1)])
    (hit,) = backend.dense("c", AXES[0], 1)
    assert hit.record.vector is None
    (hit,) = backend.dense("c", AXES[0], 1, vectors=True)
    assert hit.record.vector.tobytes() == AXES[0].tobytes()
    assert hit.record.metadata == {"n": 1}


def test_records_without_vectors_are_not_dense_hits(backend):
    backend.upsert("c", [record("a"), record("b", AXES[0])])
    assert ids(backend.dense("c", AXES[0], 5)) == ["b"]
    assert backend.count("c") == 2


def test_zero_vectors_are_stored_and_similar_to_nothing(backend):
    backend.upsert("c", [record("z", np.zeros(4, np.float32)), record("a", AXES[0])])
    assert [h.score for h in backend.dense("c", AXES[0], 2)] == [1.0, 0.0]


def test_get_keeps_order_and_repeats(backend):
    backend.upsert("c", [record("a", n=[1]), record("b")])
    found = backend.get("c", ["b", "x", "a", "b", "a"])
    assert ids(found) == ["b", "a", "b", "a"]
    found[1].metadata["n"].append(2)
    assert found[3].metadata == {"n": [1]}
    assert backend.get("c", []) == []
    assert ids(backend.get("c", ["a", "b"], where=parse({"n": {"$exists": True}}))) == ["a"]


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


def test_scan_pages_and_orders(backend, clock):
    for at, (id, value) in enumerate(
        [("c", 2), ("a", None), ("b", 1.5), ("d", "x"), ("e", True)]
    ):
        clock.now = 1_000.0 + at
        extra = {} if value is None else {"v": value}
        backend.upsert("c", [record(id, **extra)])
    assert ids(backend.scan("c")) == ["c", "a", "b", "d", "e"]
    assert ids(backend.scan("c", offset=1, limit=2)) == ["a", "b"]
    assert ids(backend.scan("c", limit=0)) == []
    assert ids(backend.scan("c", offset=4, limit=9)) == ["e"]
    assert ids(backend.scan("c", order_by="-created_at")) == ["e", "d", "b", "a", "c"]
    assert ids(backend.scan("c", order_by="$id")) == ["a", "b", "c", "d", "e"]
    assert ids(backend.scan("c", order_by="v")) == ["e", "b", "c", "d", "a"]
    assert ids(backend.scan("c", order_by="-v", limit=2, offset=1)) == ["c", "b"]
    assert ids(backend.scan("c", order_by=("v",), where=parse({"v": {"$gt": 1}}))) == [
        "b",
        "c",
    ]
    assert ids(backend.scan("c", order_by="expires_at")) == ["c", "a", "b", "d", "e"]
    with pytest.raises(InvalidInputError):
        backend.scan("c", order_by="-")
    with pytest.raises(InvalidInputError):
        backend.scan("c", order_by=5)


def test_patch_changes_metadata_alone(backend, clock):
    backend.upsert("c", [record("a", AXES[0], n=1, gone=2), record("b", AXES[1], n=1)])
    clock.now = 3_000.0
    changed = backend.patch(
        "c",
        ids=["a", "x"],
        where=parse({"n": 1}),
        changes={"n": None, "l": [1]},
        remove=["gone"],
    )
    assert changed == 1
    first, second = backend.scan("c", vectors=True)
    assert first.metadata == {"n": None, "l": [1]}
    assert (first.created_at, first.updated_at) == (1_000.0, 3_000.0)
    assert first.vector.tobytes() == AXES[0].tobytes()
    assert second.metadata == {"n": 1}
    assert ids(backend.dense("c", AXES[0], 1, where=parse({"l": {"$contains": 1}}))) == [
        "a"
    ]
    assert backend.patch("c", ids=None, where=EVERYTHING, changes={"x": 1}) == 2
    assert backend.patch("none", ids=None, where=EVERYTHING, changes={"x": 1}) == 0
    with pytest.raises(InvalidInputError):
        backend.patch("c", ids=None, where=EVERYTHING, changes={"x": {1}})


def test_delete(backend):
    backend.upsert("c", [record(str(n), AXES[n % 4], n=n) for n in range(8)])
    assert backend.delete("c", ids=["0", "0", "absent"], where=EVERYTHING) == 1
    assert backend.delete("c", ids=None, where=parse({"n": {"$gte": 6}})) == 2
    assert backend.delete("c", ids=["1", "2"], where=parse({"n": 2})) == 1
    assert backend.delete("c", ids=[], where=EVERYTHING) == 0
    assert backend.delete("none", ids=None, where=EVERYTHING) == 0
    assert ids(backend.scan("c")) == ["1", "3", "4", "5"]
    assert ids(backend.dense("c", AXES[0], 9)) == ["4", "1", "3", "5"]


def test_forty_thousand_ids(backend):
    names = [f"id{n}" for n in range(40_000)]
    backend.upsert("c", [record(n, content=n) for n in names[:300]])
    assert ids(backend.get("c", names)) == names[:300]
    assert backend.count("c", where=parse({"$id": {"$in": names}})) == 300
    assert backend.count("c", where=parse({"$content": {"$nin": names}})) == 0
    assert backend.delete("c", ids=names, where=EVERYTHING) == 300


def test_collections_do_not_see_each_other(backend):
    backend.upsert("one", [record("a", AXES[0], v=1)])
    backend.upsert("two", [record("a", np.ones(2, np.float32), v=2)])
    backend.upsert("empty", [])
    assert backend.collections() == ["one", "two"]
    assert backend.get("one", ["a"])[0].metadata == {"v": 1}
    assert backend.delete("two", ids=["a"], where=EVERYTHING) == 1
    assert backend.count("one") == 1
    assert backend.collections() == ["one"]
    assert backend.count("never") == 0
    assert backend.get("never", ["a"]) == []
    assert backend.scan("never") == []


def test_expired_records_are_absent_everywhere(backend, clock):
    backend.upsert("c", [record("a", AXES[0], expires_at=1_500.0), record("b", AXES[1])])
    clock.now = 1_499.9
    assert backend.count("c") == 2
    clock.now = 1_500.0
    assert backend.count("c") == 1
    assert backend.get("c", ["a"]) == []
    assert ids(backend.scan("c")) == ["b"]
    assert ids(backend.dense("c", AXES[0], 5)) == ["b"]
    assert backend.delete("c", ids=["a"], where=EVERYTHING) == 0
    assert backend.patch("c", ids=["a"], where=EVERYTHING, changes={}) == 0
    backend.upsert("c", [record("a", AXES[0])])
    assert ids(backend.scan("c")) == ["b", "a"]
    assert backend.get("c", ["a"])[0].created_at == 1_500.0


def test_a_clock_that_jumps_back_loses_nothing(backend, clock):
    backend.upsert("c", [record("a", AXES[0])])
    clock.now = 10.0
    backend.upsert("c", [record("b", AXES[1])])
    backend.upsert("c", [record("a", AXES[2])])
    assert ids(backend.dense("c", AXES[2], 2)) == ["a", "b"]


@pytest.mark.parametrize("text", ["a\x00b", "bad \ud83d", "日本語 🇯🇵", "q'\"\\", ""])
def test_any_text_is_kept(backend, text):
    name = text or "x"
    backend.upsert(name, [Record(name, text, {"v": text}, AXES[0])])
    (found,) = backend.get(name, [name])
    assert (found.id, found.content, found.metadata) == (name, text, {"v": text})
    assert backend.count(name, where=parse({"$content": text, "$id": name, "v": text})) == 1
    assert backend.collections() == [name]
    assert ids(backend.dense(name, AXES[0], 1)) == [name]


def test_exceptions_of_a_predicate_reach_the_caller(backend):
    backend.upsert("c", [record("a", AXES[0])])

    def fails(_id, _content, _metadata):
        raise LookupError("mine")

    for read in ("scan", "count"):
        with pytest.raises(LookupError, match="mine"):
            getattr(backend, read)("c", where=Predicate(fails))
    with pytest.raises(LookupError):
        backend.dense("c", AXES[0], 1, where=Predicate(fails))
    assert (
        backend.count("c", where=Predicate(lambda id, _content, _metadata: id == "a")) == 1
    )


def test_stats_count(backend):
    backend.upsert("c", [record("a", AXES[0])])
    assert backend.stats("c")["records"] == 1
    assert backend.stats("none")["records"] == 0
