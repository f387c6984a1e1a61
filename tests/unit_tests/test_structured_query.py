"""LangChain's structured queries: each translation is a filter that finds the right rows."""

from datetime import UTC, date, datetime

import pytest
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
)

from langchain_ragstore import FilterError, SQLiteVectorStore, StructuredQueryTranslator

TRANSLATOR = StructuredQueryTranslator()


@pytest.fixture(scope="module")
def store():
    with SQLiteVectorStore() as store:
        store.add_texts(
            ["old", "mid", "new", "bare"],
            [
                {"year": 1999, "genre": "tea", "tags": ["a"], "day": date(1999, 1, 2)},
                {"year": 2010, "genre": "green tea", "tags": ["a", "b"]},
                {"year": 2020, "genre": "50%", "day": date(2020, 1, 2)},
                {},
            ],
            ids=["old", "mid", "new", "bare"],
        )
        yield store


def compare(comparator, attribute, value):
    return Comparison(comparator=comparator, attribute=attribute, value=value)


def operate(operator, *arguments):
    return Operation(operator=operator, arguments=list(arguments))


def found(store, expression):
    return {d.id for d in store.get(filter=expression.accept(TRANSLATOR))}


@pytest.mark.parametrize(
    ("comparator", "attribute", "value", "expected"),
    [
        (Comparator.EQ, "year", 2010, {"mid"}),
        (Comparator.NE, "year", 2010, {"old", "new", "bare"}),
        (Comparator.GT, "year", 2010, {"new"}),
        (Comparator.GTE, "year", 2010, {"mid", "new"}),
        (Comparator.LT, "year", 2010, {"old"}),
        (Comparator.LTE, "year", 2010, {"old", "mid"}),
        (Comparator.CONTAIN, "tags", "b", {"mid"}),
        (Comparator.CONTAIN, "genre", "tea", {"old", "mid"}),
        (Comparator.LIKE, "genre", "tea", {"old", "mid"}),
        (Comparator.LIKE, "genre", "tea%", {"old"}),
        (Comparator.LIKE, "genre", "%tea", {"old", "mid"}),
        (Comparator.IN, "year", [1999, 2020], {"old", "new"}),
        (Comparator.IN, "year", 1999, {"old"}),
        (Comparator.NIN, "year", [1999, 2020], {"mid", "bare"}),
        (Comparator.GTE, "day", {"date": "2020-01-02", "type": "date"}, {"new"}),
        (Comparator.LT, "day", {"date": "2020-01-02", "type": "date"}, {"old"}),
        (Comparator.IN, "day", [{"date": "2020-01-02", "type": "date"}], {"new"}),
    ],
)
def test_comparisons(store, comparator, attribute, value, expected):
    assert found(store, compare(comparator, attribute, value)) == expected


def test_operations(store):
    recent = compare(Comparator.GTE, "year", 2010)
    tea = compare(Comparator.CONTAIN, "genre", "tea")
    assert found(store, operate(Operator.AND, recent, tea)) == {"mid"}
    assert found(store, operate(Operator.OR, recent, tea)) == {"old", "mid", "new"}
    assert found(store, operate(Operator.NOT, recent)) == {"old", "bare"}
    nested = operate(Operator.AND, operate(Operator.NOT, tea), recent)
    assert found(store, nested) == {"new"}


def test_not_takes_one_condition():
    recent = compare(Comparator.GTE, "year", 2010)
    with pytest.raises(FilterError, match="not takes one condition, got 2"):
        operate(Operator.NOT, recent, recent).accept(TRANSLATOR)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"date": "2020-01-02", "type": "date"}, date(2020, 1, 2)),
        (
            {"datetime": "2020-01-02T03:04:05+00:00", "type": "datetime"},
            datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
        ),
        ({"type": "point"}, {"type": "point"}),
        ({"lat": 1}, {"lat": 1}),
    ],
)
def test_values(value, expected):
    filter = compare(Comparator.EQ, "k", value).accept(TRANSLATOR)
    assert filter == {"k": {"$eq": expected}}
    assert type(filter["k"]["$eq"]) is type(expected)


@pytest.mark.parametrize("kind", ["date", "datetime"])
@pytest.mark.parametrize("text", ["soon", "", "2020-13-01"])
def test_values_that_are_no_dates(kind, text):
    with pytest.raises(FilterError, match=f"is no {kind}"):
        compare(Comparator.EQ, "k", {kind: text, "type": kind}).accept(TRANSLATOR)


def test_whole_queries():
    recent = compare(Comparator.GTE, "year", 2010)
    query = StructuredQuery(query="tea", filter=recent, limit=2)
    assert query.accept(TRANSLATOR) == ("tea", {"filter": {"year": {"$gte": 2010}}, "k": 2})
    bare = StructuredQuery(query="tea", filter=None)
    assert bare.accept(TRANSLATOR) == ("tea", {})


def test_everything_that_langchain_knows_is_allowed():
    assert set(TRANSLATOR.allowed_comparators) == set(Comparator)
    assert set(TRANSLATOR.allowed_operators) == set(Operator)
