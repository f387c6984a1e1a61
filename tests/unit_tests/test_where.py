"""What SQLite decides by itself, and what it asks Python for."""

import sqlite3
from datetime import date
from decimal import Decimal

import pytest

from langchain_ragstore.filters import EVERYTHING, NOTHING, Predicate, parse
from langchain_ragstore.storage.sqlite.where import applied


def compiled(where):
    connection = sqlite3.connect(":memory:")
    try:
        with applied(connection, where) as clause:
            return clause
    finally:
        connection.close()


@pytest.mark.parametrize(
    "filter",
    [
        {"$id": "a", "$content": {"$contains": "b"}},
        {"$id": {"$in": ["a", "b"]}},
        {"a": True, "b": None, "c": {"$exists": False}},
        {"$or": [{"a": False}, {"$not": {"b": {"$ne": None}}}]},
    ],
    ids=str,
)
def test_sqlite_needs_no_help(filter):
    clause = compiled(parse(filter))
    assert clause.leaves == []
    assert "ragstore_match" not in clause.sql


@pytest.mark.parametrize("value", ["ja", 5, 5.0])
def test_plain_values_of_plain_type_are_decided_by_sqlite(value):
    name = "text" if isinstance(value, str) else "integer"
    clause = compiled(parse({"a": value}))
    assert f"WHEN '{name}' THEN json_extract(r.metadata, ?) = ?" in clause.sql
    assert '$."a"' in clause.parameters


@pytest.mark.parametrize(
    ("filter", "asked"),
    [
        ({'q"': 1}, 1),
        ({("a", "b"): 1}, 1),
        ({"": 1}, 1),
        ({"$id": {"$like": "a%"}}, 1),
        ({"$content": "\x00"}, 1),
        ({"x": {"$exists": True}, ("a", "b"): 1, "$id": {"$ilike": "a"}}, 2),
    ],
    ids=str,
)
def test_python_is_asked_for_the_rest(filter, asked):
    assert len(compiled(parse(filter)).leaves) == asked


def test_nothing_of_the_user_stands_in_the_sql():
    hostile = "x') OR 1=1 --"
    where = parse({hostile: hostile, "$id": {"$in": [hostile]}, "$content": hostile})
    assert hostile not in compiled(where).sql
    assert compiled(where).sql.count("?") == len(compiled(where).parameters)


@pytest.mark.parametrize("operand", [Decimal(1), date(2024, 1, 1), [1], float("inf")])
def test_parameters_and_places_agree(operand):
    for filter in ({"a": operand}, {"a": {"$in": [operand, 1, "x", None]}}):
        clause = compiled(parse(filter))
        assert clause.sql.count("?") == len(clause.parameters)


def test_constants_and_conditions_in_python():
    assert (compiled(EVERYTHING).sql, compiled(NOTHING).sql) == ("1", "0")
    python = Predicate(lambda _id, _content, _metadata: True)
    assert compiled(python).leaves == [python]


@pytest.mark.parametrize(("conditions", "asked"), [(50, 0), (51, 1)])
def test_a_filter_too_large_is_handed_over_whole(conditions, asked):
    where = parse({"$or": [{f"k{n}": True} for n in range(conditions)]})
    assert len(compiled(where).leaves) == asked


@pytest.mark.parametrize(("depth", "asked"), [(10, 0), (11, 1)])
def test_a_filter_too_deep_is_handed_over_whole(depth, asked):
    filter = {"a": True}
    for _ in range(depth):
        filter = {"$not": filter}
    assert len(compiled(parse(filter)).leaves) == asked
