"""Collections are separate worlds, over all engines."""

import numpy as np
import pytest

from langchain_ragstore.filters import EVERYTHING
from records import AXES, ids, record


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


@pytest.mark.parametrize("name", ["", "a b", "日本", "x\x00y", "\ud800", "'; DROP TABLE x"])
def test_any_name_is_a_collection_of_its_own(backend, name):
    backend.upsert("x", [record("a", v=1)])
    backend.upsert(name, [record("a", AXES[0], v=2)])
    assert backend.collections() == sorted(["x", name])
    assert [backend.get(c, ["a"])[0].metadata["v"] for c in ("x", name)] == [1, 2]
    assert backend.dense("x", AXES[0], 1) == []
    assert backend.patch(name, ids=None, where=EVERYTHING, changes={"v": 3}) == 1
    assert backend.delete(name, ids=None, where=EVERYTHING) == 1
    assert ids(backend.scan("x")) == ["a"]
    assert backend.scan("x")[0].metadata == {"v": 1}
    assert backend.collections() == ["x"]
