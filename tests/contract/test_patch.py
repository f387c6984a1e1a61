"""What `patch` promises, over all engines."""

import pytest

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import EVERYTHING, NOTHING, parse
from records import AXES, ids, record


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


def test_a_patch_that_cannot_be_stored_is_refused_whatever_matches(backend):
    backend.upsert("c", [record("a")])
    for collection, where in (("c", NOTHING), ("never", EVERYTHING)):
        with pytest.raises(InvalidInputError, match="'x' is a set"):
            backend.patch(collection, ids=None, where=where, changes={"x": {1}})


def test_a_patch_sets_what_it_also_removes(backend):
    backend.upsert("c", [record("a", x=1, y=2)])
    backend.patch("c", ids=["a"], where=EVERYTHING, changes={"x": 9}, remove=["x", "y"])
    assert backend.scan("c")[0].metadata == {"x": 9}


def test_a_patch_is_not_aliased_and_reaches_many(backend):
    changes = {"l": [1]}
    backend.upsert("c", [record(str(n), AXES[n % 4]) for n in range(600)])
    chosen = [str(n) for n in range(0, 600, 2)]
    assert backend.patch("c", ids=chosen, where=EVERYTHING, changes=changes) == 300
    changes["l"].append(2)
    first, second = backend.get("c", ["0", "2"])
    first.metadata["l"].append(3)
    assert second.metadata == backend.get("c", ["0"])[0].metadata == {"l": [1]}
    assert ids(backend.scan("c", limit=3)) == ["0", "1", "2"]
    assert backend.count("c", where=parse({"l": [1]})) == 300
