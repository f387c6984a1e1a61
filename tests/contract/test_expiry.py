"""Records that expire, and clocks that jump, over all engines."""

import numpy as np

from langchain_ragstore.filters import EVERYTHING, parse
from records import AXES, ids, record


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
    """Report 85: with a clock that steps back, what is in force was lost."""
    backend.upsert("c", [record("a", AXES[0])])
    clock.now = 10.0
    backend.upsert("c", [record("b", AXES[1])])
    backend.upsert("c", [record("a", AXES[2])])
    assert ids(backend.dense("c", AXES[2], 2)) == ["a", "b"]


def test_an_expired_record_does_not_hold_its_collection(backend, clock):
    backend.upsert("c", [record("a", AXES[0], owner="bob", expires_at=1_500.0)])
    assert backend.collections() == ["c"]
    clock.now = 2_000.0
    assert backend.collections() == []
    assert backend.count("c", where=parse({"owner": "bob"})) == 0
    assert backend.dense("c", np.ones(3, np.float32), 1) == []
    short = np.array([1, 0], np.float32)
    backend.upsert("c", [record("a", short)], guard=parse({"owner": "ann"}))
    assert ids(backend.dense("c", short, 1)) == ["a"]
    assert backend.scan("c")[0].created_at == 2_000.0


def test_tidying_one_collection_leaves_the_others(backend, clock):
    """Report 85: clearing up after one user took what another one had, by a wrong clock."""
    for name in ("mine", "other"):
        backend.upsert(name, [record("a", AXES[0], expires_at=1_500.0)])
    clock.now = 2_000.0
    backend.upsert("other", [record("b", AXES[1])])
    backend.delete("other", ids=["b"], where=EVERYTHING)
    clock.now = 1_400.0
    assert ids(backend.scan("mine")) == ids(backend.dense("mine", AXES[0], 1)) == ["a"]


def test_a_new_expiry_replaces_the_old_one(backend, clock):
    backend.upsert("c", [record("a", AXES[0], expires_at=1_500.0)])
    assert backend.scan("c")[0].expires_at == 1_500.0
    backend.upsert("c", [record("a", AXES[0], expires_at=3_000.0)])
    clock.now = 2_000.0
    backend.patch("c", ids=["a"], where=EVERYTHING, changes={"x": 1})
    assert ids(backend.dense("c", AXES[0], 1)) == ["a"]
    backend.upsert("c", [record("a", AXES[0])])
    clock.now = 9_000.0
    assert backend.scan("c")[0].expires_at is None


def test_expiry_between_searches_leaves_k_results(backend, clock):
    backend.upsert(
        "c", [record(str(n), AXES[0], expires_at=1_000.0 + n) for n in range(1, 9)]
    )
    for gone in range(8):
        clock.now = 1_000.0 + gone
        left = [str(n) for n in range(gone + 1, 9)]
        assert ids(backend.dense("c", AXES[0], 3)) == left[:3]
        assert ids(backend.scan("c")) == left
        assert backend.count("c") == len(left)
