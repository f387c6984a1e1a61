"""What `delete` promises, over all engines."""

from langchain_ragstore.filters import EVERYTHING, Predicate, parse
from records import AXES, ids, record


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
    """Report 30: more ids than a statement takes variables failed; here any number goes."""
    names = [f"id{n}" for n in range(40_000)]
    backend.upsert("c", [record(n, content=n) for n in names[:300]])
    assert ids(backend.get("c", names)) == names[:300]
    assert backend.count("c", where=parse({"$id": {"$in": names}})) == 300
    assert backend.count("c", where=parse({"$content": {"$nin": names}})) == 0
    assert backend.delete("c", ids=names, where=EVERYTHING) == 300


def test_deleting_again_does_nothing(backend):
    backend.upsert("c", [record("a", AXES[0]), record("b", AXES[1])])
    assert backend.delete("c", ids=["a"], where=EVERYTHING) == 1
    assert backend.delete("c", ids=["a"], where=EVERYTHING) == 0
    assert backend.get("c", ["a", "b"])[0].id == "b"
    assert ids(backend.dense("c", AXES[0], 9)) == ["b"]
    backend.upsert("c", [record("a", AXES[2])])
    assert ids(backend.scan("c")) == ["b", "a"]
    assert ids(backend.dense("c", AXES[2], 1)) == ["a"]


def test_delete_by_a_python_condition(backend):
    backend.upsert("c", [record(str(n), tags=[n]) for n in range(600)])
    odd = Predicate(lambda _id, _content, metadata: metadata["tags"][0] % 2 == 1)
    assert backend.delete("c", ids=None, where=odd) == 300
    assert backend.count("c", where=odd) == 0
    chosen = [str(n) for n in range(600)]
    assert backend.delete("c", ids=chosen, where=parse({"tags": [4]})) == 1
    assert backend.count("c") == 299
