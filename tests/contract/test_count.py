"""What `count` and `stats` promise, and every filter in every engine."""

import pytest

from langchain_ragstore.filters import NOTHING, Predicate, parse
from records import AXES, ids, record


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


@pytest.mark.parametrize(
    "where",
    [
        {"$or": [{"n": n} for n in range(2_000)]},
        {"$and": [{"n": {"$ne": n}} for n in range(1_000, 3_000)]},
        {"$or": [{"tags": {"$contains": n}} for n in range(2_000)]},
    ],
    ids=["or", "and", "contains"],
)
def test_filters_of_thousands_of_conditions(backend, where):
    backend.upsert("c", [record(str(n), AXES[0], n=n, tags=[n]) for n in range(5)])
    assert backend.count("c", where=parse(where)) == 5
    assert len(backend.dense("c", AXES[0], 9, where=parse(where))) == 5
    assert backend.get("c", ["1"], where=parse({"$not": where})) == []


def not_and(where):
    return {"$not": {"$and": [where, {"n": {"$gte": 0}}]}}


def or_and(where):
    return {"$or": [{"$and": [where, {"n": {"$lt": 9}}]}, {"n": 3}]}


@pytest.mark.parametrize(
    ("wrap", "times"),
    [(lambda where: {"$not": where}, 100), (not_and, 45), (or_and, 23)],
    ids=["not", "not and", "or and"],
)
def test_deeply_nested_filters(backend, wrap, times):
    where = {"n": 1}
    for _ in range(times):
        where = wrap(where)
    backend.upsert("c", [record(str(n), n=n) for n in range(5)])
    parsed = parse(where)
    expected = [str(n) for n in range(5) if parsed.matches("", "", {"n": n})]
    assert "1" in expected or "0" in expected
    assert ids(backend.scan("c", where=parsed)) == expected


def test_count_with_ids_texts_and_nothing(backend):
    backend.upsert("c", [record("a", content="one"), record("b", content="two")])
    assert backend.count("c", where=parse({"$id": {"$gt": "a"}})) == 1
    assert backend.count("c", where=parse({"$content": {"$contains": "o"}})) == 2
    assert backend.count("c", where=parse({"$content": {"$like": "%e"}})) == 1
    assert backend.count("c", where=NOTHING) == 0
