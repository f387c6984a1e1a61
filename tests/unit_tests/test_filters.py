"""The filter dialect by example: its truth table, its grammar, its errors."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from fakes import label
from langchain_ragstore.errors import FilterError
from langchain_ragstore.filters import EVERYTHING, NOTHING, And, Not, Or, both, parse

MISSING = object()
STORED = {
    "missing": MISSING,
    "null": None,
    "true": True,
    "false": False,
    "0": 0,
    "1": 1,
    "1.0": 1.0,
    "5": 5,
    "5.0": 5.0,
    "'1'": "1",
    "''": "",
    "'abc'": "abc",
    "[1]": [1],
    "['a']": ["a"],
    "{}": {"x": 1},
    "date": date(2024, 1, 1),
    "naive": datetime(2024, 1, 1),  # noqa: DTZ001
    "aware": datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))),
    "later": datetime(2024, 6, 1, tzinfo=UTC),
    "decimal": Decimal(5),
    "uuid": UUID(int=1),
    "bytes": b"a",
    "(2)": (2,),
    "[[1]]": [[1]],
}
ALL = set(STORED)

TABLE = [
    ({"$eq": None}, "null"),
    (None, "null"),
    ({"$eq": True}, "true"),
    ({"$eq": 1}, "1 1.0"),
    ({"$eq": "1"}, "'1'"),
    ({"$eq": 5.0}, "5 5.0 decimal"),
    ({"$eq": Decimal(5)}, "5 5.0 decimal"),
    ({"$eq": [1]}, "[1]"),
    ([1], "[1]"),
    ({"$eq": (1.0,)}, "[1]"),
    ({"$eq": {"x": 1.0}}, "{}"),
    ({"$eq": date(2024, 1, 1)}, "date naive aware"),
    ({"$eq": UUID(int=1)}, "uuid"),
    ({"$eq": b"a"}, "bytes"),
    ({"$eq": ""}, "''"),
    ({"$eq": False}, "false"),
    ({"$eq": 0}, "0"),
    ({"$eq": []}, ""),
    ({"$eq": [2]}, "(2)"),
    ({"$eq": [[1]]}, "[[1]]"),
    ({"$ne": 5}, ALL - {"5", "5.0", "decimal"}),
    ({"$ne": None}, ALL - {"null"}),
    ({"$ne": True}, ALL - {"true"}),
    ({"$nin": [1, "1", None]}, ALL - {"1", "1.0", "'1'", "null"}),
    ({"$nin": []}, ALL),
    ({"$nin": [False, []]}, ALL - {"false"}),
    ({"$not": {"$eq": 1}}, ALL - {"1", "1.0"}),
    ({"$exists": True}, ALL - {"missing"}),
    ({"$gt": b""}, "bytes"),
    ({"$lte": b"a"}, "bytes"),
    ({"$gte": UUID(int=1)}, "uuid"),
    ({"$lt": UUID(int=1)}, ""),
    ({"$gt": Decimal("0.99")}, "1 1.0 5 5.0 decimal"),
    ({"$lt": date(2024, 1, 1)}, ""),
    (
        {"$between": [date(2024, 1, 1), datetime(2024, 5, 31, 23, tzinfo=UTC)]},
        "date naive aware",
    ),
    ({"$between": ["", "1"]}, "'' '1'"),
    ({"$between": [5, 1]}, ""),
    ({"$in": [[1], (2.0,)]}, "[1] (2)"),
    ({"$in": [date(2024, 1, 1), b"a", UUID(int=1)]}, "date naive aware bytes uuid"),
    ({"$in": [5.0, float("inf")]}, "5 5.0 decimal"),
    ({"$in": [{"x": 1}]}, "{}"),
    ({"$contains": [1]}, "[[1]]"),
    ({"$contains": 2}, "(2)"),
    ({"$contains": "bc"}, "'abc'"),
    ({"$contains": "BC"}, ""),
    ({"$contains": None}, ""),
    ({"$like": "%"}, "'1' '' 'abc'"),
    ({"$ilike": "%"}, "'1' '' 'abc'"),
    ({"$like": ""}, "''"),
    ({"$gt": 0}, "1 1.0 5 5.0 decimal"),
    ({"$gte": 1}, "1 1.0 5 5.0 decimal"),
    ({"$lt": 1}, "0"),
    ({"$lte": 1}, "0 1 1.0"),
    ({"$gt": "1"}, "'abc'"),
    ({"$gte": "1"}, "'1' 'abc'"),
    ({"$lt": "a"}, "'1' ''"),
    ({"$gt": date(2024, 1, 1)}, "later"),
    ({"$lte": datetime(2024, 1, 1, tzinfo=UTC)}, "date naive aware"),
    ({"$between": [1, 5]}, "1 1.0 5 5.0 decimal"),
    ({"$between": [2, 4.5]}, ""),
    ({"$in": [1, "abc", None]}, "1 1.0 'abc' null"),
    ({"$in": []}, ""),
    ({"$in": [True]}, "true"),
    ({"$contains": 1}, "[1]"),
    ({"$contains": "a"}, "['a'] 'abc'"),
    ({"$contains": ""}, "'1' '' 'abc'"),
    ({"$contains": True}, ""),
    ({"$like": "a%"}, "'abc'"),
    ({"$like": "A%"}, ""),
    ({"$like": "_"}, "'1'"),
    ({"$ilike": "A_C"}, "'abc'"),
    ({"$exists": False}, "missing"),
    ({"$gt": 0, "$lt": 5}, "1 1.0"),
    ({"$not": {"$exists": True}}, "missing"),
]


@pytest.mark.parametrize(("condition", "names"), TABLE, ids=[str(c) for c, _ in TABLE])
def test_truth_table(condition, names):
    """Reports 59, 64: numbers, strings, booleans, null and dates were mixed up."""
    where = parse({"v": condition})
    held = [
        name
        for name, value in STORED.items()
        if where.matches("", "", {} if value is MISSING else {"v": value})
    ]
    assert set(held) == (set(names.split()) if isinstance(names, str) else names)


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ({"$eq": 1}, {"$ne": 1}),
        ({"$eq": None}, {"$ne": None}),
        ({"$in": [1, "1"]}, {"$nin": [1, "1"]}),
        ({"$in": []}, {"$nin": []}),
        ({"$gt": 0}, {"$not": {"$gt": 0}}),
        ({"$exists": True}, {"$exists": False}),
    ],
)
def test_the_negative_holds_exactly_where_the_positive_does_not(positive, negative):
    for value in STORED.values():
        metadata = {} if value is MISSING else {"v": value}
        held = parse({"v": positive}).matches("", "", metadata)
        assert parse({"v": negative}).matches("", "", metadata) is not held


def test_not_a_number_equals_nothing():
    nan = float("nan")
    for value in (nan, Decimal("NaN"), Decimal("sNaN")):
        assert not parse({"v": nan}).matches("", "", {"v": value})
        assert parse({"v": {"$ne": nan}}).matches("", "", {"v": value})
        assert not parse({"v": {"$lt": 1}}).matches("", "", {"v": value})
        assert not parse({"v": {"$gte": 1}}).matches("", "", {"v": value})


def test_several_keys_and_operators_are_and_ed():
    """Report 56: two keys were refused without an explicit `$and`."""
    where = parse({"a": 1, "b": {"$gt": 1, "$lt": 3}})
    assert where.matches("", "", {"a": 1, "b": 2})
    assert not where.matches("", "", {"a": 1, "b": 3})
    assert not where.matches("", "", {"a": 2, "b": 2})


def test_and_or_not():
    """Report 56: an `$and` of one condition was refused."""
    one, two = {"a": 1}, {"b": 2}
    assert parse({"$and": [one, two]}).matches("", "", {"a": 1, "b": 2})
    assert not parse({"$and": [one, two]}).matches("", "", {"a": 1})
    assert parse({"$or": [one, two]}).matches("", "", {"a": 1})
    assert not parse({"$or": [one, two]}).matches("", "", {"a": 2})
    assert parse({"$not": one}).matches("", "", {})
    assert not parse({"$not": [one, two]}).matches("", "", {"a": 1, "b": 2})
    assert parse({"$and": [one]}) == parse(one)
    assert parse({"$or": [one]}) == parse(one)


def test_what_excludes_nothing_is_everything():
    """Reports 56, 57: empty filters and empty lists raised; they have a plain meaning."""
    for filter in (
        None,
        {},
        {"$and": []},
        {"$and": [{}]},
        {"a": {"$nin": []}},
        {"$not": {"$or": []}},
    ):
        assert parse(filter) == EVERYTHING
    for filter in (
        {"$or": []},
        {"a": {"$in": []}},
        {"$not": {}},
        {"a": 1, "b": {"$in": []}},
    ):
        assert parse(filter) == NOTHING
    assert parse({"$or": [{}, {"a": 1}]}) == EVERYTHING


def test_trees_are_flat():
    tree = parse({"$and": [{"a": 1}, {"$and": [{"b": 2}, {"c": 3}]}]})
    assert isinstance(tree, And)
    assert len(tree.parts) == 3
    assert isinstance(parse({"$or": [{"a": 1}, {"b": 1}]}), Or)
    assert isinstance(parse({"a": {"$ne": 1}}), Not)
    assert both(EVERYTHING, tree) == tree


def test_keys():
    metadata = {"a.b": 1, "a": {"b": 2}, "$k": 3}
    assert parse({"a.b": 1}).matches("", "", metadata)
    assert parse({("a", "b"): 2}).matches("", "", metadata)
    assert not parse({("a", "c"): 2}).matches("", "", metadata)
    assert not parse({("a.b", "c"): 2}).matches("", "", metadata)
    assert parse({("$k",): 3}).matches("", "", metadata)
    assert parse({"$id": "x", "$content": {"$contains": "t"}}).matches("x", "text", {})
    assert not parse({"$id": "x"}).matches("y", "x", {"$id": "x"})


@pytest.mark.parametrize(
    ("pattern", "text", "held"),
    [
        ("50\\%", "50%", True),
        ("50\\%", "505", False),
        ("a\\_b", "a_b", True),
        ("a\\_b", "axb", False),
        ("a\\\\b", "a\\b", True),
        ("%\n%", "x\ny", True),
        ("a.c", "abc", False),
        ("a", "abc", False),
        ("é%", "été", True),
        ("end\\", "end\\", True),
        ("\\a\\%", "a%", True),
        ("%", "", True),
        ("", "", True),
        ("", "a", False),
        ("_", "", False),
        ("__", "日本", True),
        ("%b%", "abc", True),
        ("%b%b%", "abc", False),
        ("%b%b%", "abcb", True),
        ("a%a", "a", False),
        ("a%a", "aa", True),
        ("%ab%ab", "abab", True),
        ("%ab%ab", "aab", False),
        ("%a_c%c", "abcabcc", True),
        ("%%a%%", "bab", True),
        ("%_%_%", "a", False),
        ("%_%_%", "ab", True),
        ("a%c_", "abcbcd", True),
        ("%x%", "abc", False),
    ],
)
def test_like(pattern, text, held):
    assert parse({"v": {"$like": pattern}}).matches("", "", {"v": text}) is held


def test_like_of_many_signs_is_quick():
    where = parse({"v": {"$like": "%a" * 30 + "%b"}})
    text = "a" * 5_000
    assert not where.matches("", "", {"v": text})
    assert where.matches("", "", {"v": text + "b"})


@pytest.mark.parametrize(
    ("pattern", "text", "held"),
    [
        ("STRASSE%", "strasse 5", True),
        ("É_É", "été", True),
        ("%ＡＢ%", "xａｂx", True),
        ("a\\_B", "A_b", True),
        ("a\\_B", "A-b", False),
    ],
)
def test_ilike(pattern, text, held):
    assert parse({"v": {"$ilike": pattern}}).matches("", "", {"v": text}) is held


def test_a_filter_that_contains_itself_or_has_no_bottom():
    itself = {}
    itself["$and"] = [itself]
    deep = {"a": 1}
    listed = []
    for _ in range(5_000):
        deep, listed = {"$not": deep}, [listed]
    for filter in (itself, deep, listed):
        with pytest.raises(FilterError, match="nested too deeply, or contains itself"):
            parse(filter)


def test_integers_of_any_size():
    huge = 10**5_000
    assert parse({"v": huge}).matches("", "", {"v": huge})
    assert not parse({"v": huge}).matches("", "", {"v": huge + 1})
    assert parse({"v": {"$gt": huge}}).matches("", "", {"v": huge + 1})
    assert not parse({"v": float(2**53)}).matches("", "", {"v": 2**53 + 1})


def test_operators_on_a_key_are_and_ed_and_negated_together():
    where = parse({"v": {"$not": {"$gt": 1, "$lt": 5}}})
    held = [v for v in (0, 1, 2, 4, 5, "x", None) if where.matches("", "", {"v": v})]
    assert held == [0, 1, 5, "x", None]
    assert where.matches("", "", {})
    twice = parse({"v": {"$not": {"$not": {"$eq": 1}}}})
    assert [v for v in (0, 1) if twice.matches("", "", {"v": v})] == [1]


def test_values_within_lists_and_dicts_keep_their_kinds():
    """Report 58: a dictionary as a value could not be asked for."""
    assert not parse({"v": [True]}).matches("", "", {"v": [1]})
    assert parse({"v": [[1], {"x": 2}]}).matches("", "", {"v": [[1.0], {"x": 2.0}]})
    assert not parse({"v": [1, 2]}).matches("", "", {"v": [2, 1]})
    assert parse({"v": {"$eq": {"a": 1, "b": 2}}}).matches("", "", {"v": {"b": 2, "a": 1}})
    assert not parse({"v": {"$eq": {"a": 1}}}).matches("", "", {"v": {"a": True}})
    assert parse({"v": {"$contains": [1]}}).matches("", "", {"v": [[1.0], 2]})
    assert not parse({"v": {"$contains": 1}}).matches("", "", {"v": {"1": 1}})


def test_operands_are_taken_when_parsed():
    members = [1, 2]
    where = parse({"v": {"$in": members}, "w": {"$between": iter((1, 3))}})
    members.append(3)
    assert not where.matches("", "", {"v": 3, "w": 2})
    assert where.matches("", "", {"v": 2, "w": 3})


@pytest.mark.parametrize(
    ("filter", "words"),
    [
        ({"age": {"$betwen": [1, 2]}}, ["$betwen", "did you mean '$between'"]),
        ({"age": {"betwen": [1, 2]}}, ["did you mean '$between'", "$eq"]),
        ({"a": {}}, ["holds no operators"]),
        ({"a": {"$gt": 1, "x": 2}}, ["holds no operators"]),
        ({"$nor": []}, ["$nor", "did you mean '$or'"]),
        ({"$where": 1}, ["$where", "('$where',)"]),
        ({"a": {"$gt": None}}, ["$gt", "None"]),
        ({"a": {"$lt": True}}, ["$lt", "True"]),
        ({"a": {"$gte": [1]}}, ["$gte", "[1]"]),
        ({"a": {"$lte": Decimal("NaN")}}, ["$lte"]),
        ({"a": {"$between": [1]}}, ["$between", "1 values"]),
        ({"a": {"$between": [1, "2"]}}, ["one kind"]),
        ({"a": {"$between": [None, 2]}}, ["$between"]),
        ({"a": {"$between": 5}}, ["$between", "list"]),
        ({"a": {"$in": "abc"}}, ["$in", "list"]),
        ({"a": {"$nin": 5}}, ["$nin", "list"]),
        ({"a": {"$in": {"x": 1}}}, ["$in", "list"]),
        ({"a": {"$exists": 1}}, ["$exists", "True or False"]),
        ({"a": {"$like": 5}}, ["$like", "string"]),
        ({"a": {"$ilike": None}}, ["$ilike", "string"]),
        ({"a": {"$not": 5}}, ["$not", "5"]),
        ({"a": {"$eq": {1, 2}}}, ["$eq", "{1, 2}"]),
        ({"a": object()}, ["$eq"]),
        ({"$and": {"a": 1}}, ["$and", "list"]),
        ({"$or": 5}, ["$or", "list"]),
        ({"a": {"$gt": float("nan")}}, ["$gt", "nan"]),
        ({"a": {"$between": [1, float("nan")]}}, ["$between", "nan"]),
        ({"a": {"$between": "ab"}}, ["$between", "list"]),
        ({"a": {"$in": [{1}]}}, ["$in", "{1}"]),
        ({"a": {"$contains": {1}}}, ["$contains", "{1}"]),
        ({"a": {"$not": {"gt": 5}}}, ["did you mean '$gt'"]),
        ({"a": {"$gtee": 5}}, ["did you mean '$gte'"]),
        ({"a": {"$zzzzzz": 5}}, ["known: $eq"]),
        ({"$idd": 1}, ["did you mean '$id'"]),
        ({"$not": 5}, ["int"]),
        ({"$and": [5]}, ["int"]),
        ({5: 1}, ["5"]),
        ({(): 1}, ["()"]),
        ({("a", 1): 1}, ["tuple of strings"]),
        ("a = 1", ["str", "'a = 1'"]),
        ([{"a": 1}], ["list"]),
    ],
    ids=label,
)
def test_what_cannot_be_meant_raises(filter, words):
    """Report 58: a misspelt operator was taken for a value to equal."""
    with pytest.raises(FilterError) as raised:
        parse(filter)
    for word in words:
        assert word in str(raised.value)
