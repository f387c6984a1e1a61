"""`order_by`: what it accepts and how values of all kinds stand in line."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import Field
from langchain_ragstore.model import Record
from langchain_ragstore.storage.ordering import COLUMNS, ordered, parse_order


def order(values, order_by="v"):
    """Names of the values in order; None as a name's value is a stored null."""
    records = [Record(name, "", {"v": value}) for name, value in values.items()]
    return [record.id for record in ordered(records, order_by)]


@pytest.mark.parametrize(
    ("order_by", "parsed"),
    [
        ("created_at", ("created_at", False)),
        ("-updated_at", ("updated_at", True)),
        ("expires_at", ("expires_at", False)),
        ("$id", (Field("id"), False)),
        ("-$content", (Field("content"), True)),
        ("page", (Field("metadata", ("page",)), False)),
        ("-page", (Field("metadata", ("page",)), True)),
        ("--page", (Field("metadata", ("-page",)), True)),
        ("a.b", (Field("metadata", ("a.b",)), False)),
        (("a", "b"), (Field("metadata", ("a", "b")), False)),
        (("created_at",), (Field("metadata", ("created_at",)), False)),
        (("-page",), (Field("metadata", ("-page",)), False)),
    ],
    ids=str,
)
def test_parsed(order_by, parsed):
    assert parse_order(order_by) == parsed


@pytest.mark.parametrize("order_by", ["", "-", "--", 5, None, (), ("a", 1), ["a"], b"a"])
def test_refused(order_by):
    with pytest.raises(InvalidInputError, match="order_by is a key such as"):
        parse_order(order_by)


def test_the_columns_are_those_of_a_record():
    assert set(COLUMNS) < set(Record.__slots__)


def test_kinds_in_line():
    values = {
        "bytes": b"",
        "uuid": UUID(int=0),
        "time": date(1, 1, 1),
        "string": "",
        "number": -(10**9),
        "bool": False,
        "null": None,
    }
    line = ["null", "bool", "number", "string", "time", "uuid", "bytes"]
    assert order(values) == line
    assert order(values, "-v") == line[::-1]


def test_within_a_kind():
    """Report 59: dates could be neither sorted nor limited."""
    assert order({"b": 2.5, "c": Decimal(3), "a": -1, "d": 10**30}) == list("abcd")
    assert order({"f": float("inf"), "a": -float("inf"), "b": 0}) == list("abf")
    assert order({"c": "é", "a": "A", "b": "a"}) == list("abc")
    assert order({"t": True, "f": False}) == ["f", "t"]
    east = timezone(timedelta(hours=9))
    times = {
        "third": datetime(2024, 1, 1, 1, tzinfo=UTC),
        "second": date(2024, 1, 1),
        "first": datetime(2024, 1, 1, 8, tzinfo=east),
    }
    assert order(times) == ["first", "second", "third"]


def test_what_has_no_order_comes_last_in_its_own_order():
    values = {
        "l": [1],
        "d": {},
        "n": float("nan"),
        "s": Decimal("sNaN"),
        "one": 1,
        "t": (1,),
    }
    assert order(values) == ["one", "l", "d", "n", "s", "t"]
    assert order(values, "-v") == ["one", "l", "d", "n", "s", "t"]


def test_missing_last_and_equal_ones_as_they_came():
    records = [
        Record("x", "", {}, expires_at=None),
        Record("c", "2", {"v": 1}, expires_at=7.0),
        Record("a", "1", {"v": True}, expires_at=5.0),
        Record("b", "2", {"v": 1.0}, expires_at=7.0),
    ]

    def names(order_by):
        return [record.id for record in ordered(records, order_by)]

    assert names("v") == ["a", "c", "b", "x"]
    assert names("-v") == ["c", "b", "a", "x"]
    assert names("expires_at") == ["a", "c", "b", "x"]
    assert names("-expires_at") == ["c", "b", "a", "x"]
    assert names("$id") == ["a", "b", "c", "x"]
    assert names("-$id") == ["x", "c", "b", "a"]
    assert names("-$content") == ["c", "b", "a", "x"]
    assert names(("v", "deeper")) == ["x", "c", "a", "b"]
    assert ordered([], "v") == []
