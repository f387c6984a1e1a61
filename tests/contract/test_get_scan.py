"""What `get` and `scan` promise, over all engines."""

from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import EVERYTHING, parse
from records import ids, record


def test_get_keeps_order_and_repeats(backend):
    backend.upsert("c", [record("a", n=[1]), record("b")])
    found = backend.get("c", ["b", "x", "a", "b", "a"])
    assert ids(found) == ["b", "a", "b", "a"]
    found[1].metadata["n"].append(2)
    assert found[3].metadata == {"n": [1]}
    assert backend.get("c", []) == []
    assert ids(backend.get("c", ["a", "b"], where=parse({"n": {"$exists": True}}))) == ["a"]


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


def test_get_of_more_ids_than_fit_one_statement(backend):
    names = [f"{n}" for n in range(600)]
    backend.upsert("c", [record(n) for n in names])
    wanted = [*reversed(names), "absent", *names]
    assert ids(backend.get("c", wanted)) == [n for n in wanted if n != "absent"]


def test_values_of_every_kind_have_their_place(backend):
    values = {
        "list": [1],
        "nan": float("nan"),
        "bytes": b"a",
        "uuid": UUID(int=1),
        "later": datetime(2024, 1, 2),  # noqa: DTZ001
        "day": date(2024, 1, 1),
        "b": "b",
        "a": "a",
        "two": Decimal(2),
        "one": 1,
        "true": True,
        "false": False,
        "null": None,
    }
    backend.upsert("c", [record(id, v=value) for id, value in values.items()])
    backend.upsert("c", [record("missing")])
    placed = [
        "null",
        "false",
        "true",
        "one",
        "two",
        "a",
        "b",
        "day",
        "later",
        "uuid",
        "bytes",
    ]
    absent = ["list", "nan", "missing"]
    assert ids(backend.scan("c", order_by="v")) == [*placed, *absent]
    assert ids(backend.scan("c", order_by="-v")) == [*reversed(placed), *absent]


def test_equal_values_keep_their_order_also_reversed(backend):
    backend.upsert("c", [record(id, v=1) for id in "cab"])
    for order in ("v", "-v", "created_at", "-created_at", "-updated_at", "expires_at"):
        assert ids(backend.scan("c", order_by=order)) == ["c", "a", "b"]


def test_order_by_path_time_and_text(backend, clock):
    backend.upsert("c", [record("a", content="z", n={"x": 2}, expires_at=9_000.0)])
    clock.now = 2_000.0
    backend.upsert("c", [record("b", content="y", n={"x": 1}), record("c", n=5)])
    backend.upsert("c", [record("d", content="x", expires_at=8_000.0)])
    clock.now = 3_000.0
    backend.patch("c", ids=["a"], where=EVERYTHING, changes={"p": 1})
    assert ids(backend.scan("c", order_by=("n", "x"))) == ["b", "a", "c", "d"]
    assert ids(backend.scan("c", order_by="expires_at")) == ["d", "a", "b", "c"]
    assert ids(backend.scan("c", order_by="-expires_at")) == ["a", "d", "b", "c"]
    assert ids(backend.scan("c", order_by="updated_at")) == ["b", "c", "d", "a"]
    assert ids(backend.scan("c", order_by="-$content")) == ["a", "b", "d", "c"]
    assert ids(backend.scan("c", order_by="created_at", limit=2, offset=1)) == ["b", "c"]


def test_limits_beyond_64_bits(backend):
    backend.upsert("c", [record("a"), record("b")])
    assert ids(backend.scan("c", limit=10**30)) == ["a", "b"]
    assert backend.scan("c", limit=1, offset=10**30) == []


def test_a_key_named_like_a_column_is_reached_by_a_tuple(backend):
    backend.upsert("c", [record("a", created_at=2), record("b", created_at=1)])
    assert ids(backend.scan("c", order_by=("created_at",))) == ["b", "a"]
    assert ids(backend.scan("c", order_by="created_at")) == ["a", "b"]
