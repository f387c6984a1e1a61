"""A filter means the same in SQL and in Python, and obeys logic."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.filters import (
    EVERYTHING,
    NOTHING,
    Compare,
    Field,
    identity,
    kind,
    like_pattern,
    parse,
)
from langchain_ragstore.model import Record
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from strategies import filters, metadatas, nasty_texts, ordered_values, share

SQLITE = SQLiteBackend()
numbers = itertools.count()
rows = st.lists(st.tuples(nasty_texts, metadatas), max_size=4)


def records(drawn):
    return [Record(str(at), text, metadata) for at, (text, metadata) in enumerate(drawn)]


def matching(where, stored):
    return [r.id for r in stored if where.matches(r.id, r.content, r.metadata)]


@given(rows, st.lists(filters, min_size=1, max_size=4))
def test_sql_means_what_matches_means(drawn, drawn_filters):
    collection = f"c{next(numbers)}"
    memory = MemoryBackend()
    for engine in (SQLITE, memory):
        engine.upsert(collection, records(drawn))
    stored = memory.scan(collection)
    for given_filter in drawn_filters:
        where = parse(given_filter)
        expected = matching(where, stored)
        assert [r.id for r in SQLITE.scan(collection, where=where)] == expected
        assert SQLITE.count(collection, where=where) == len(expected)
    for order in ("a", "-b", ("$.x",), ("a", "b"), "$id", "-$content", "-created_at"):
        sorted_ids = [r.id for r in memory.scan(collection, order_by=order)]
        assert [r.id for r in SQLITE.scan(collection, order_by=order)] == sorted_ids


@given(rows, st.lists(filters, min_size=30, max_size=60), st.sampled_from(["$and", "$or"]))
@share(20)
def test_filters_too_large_for_one_statement(drawn, drawn_filters, word):
    collection = f"c{next(numbers)}"
    SQLITE.upsert(collection, records(drawn))
    where = parse({word: [*drawn_filters, {"$not": {word: drawn_filters}}]})
    expected = matching(where, SQLITE.scan(collection))
    assert [r.id for r in SQLITE.scan(collection, where=where)] == expected


wildcards = st.text(alphabet="abA%_\\", max_size=8)


@given(wildcards, st.text(alphabet="abA%_\\\n", max_size=10))
def test_like_means_what_its_grammar_says(pattern, text):
    assert bool(like_pattern(pattern, ignore_case=False).fullmatch(text)) == like(
        tokens(pattern), text
    )
    assert bool(like_pattern(pattern, ignore_case=True).fullmatch(text)) == like(
        tokens(pattern.lower()), text.lower()
    )


def tokens(pattern):
    """Pairs of what a place takes and whether it is a wildcard."""
    found, at = [], 0
    while at < len(pattern):
        escaped = pattern[at] == "\\" and at + 1 < len(pattern)
        at += escaped
        found.append((pattern[at], not escaped and pattern[at] in "%_"))
        at += 1
    return found


def like(pattern, text):
    if not pattern:
        return not text
    (sign, wild), rest = pattern[0], pattern[1:]
    if wild and sign == "%":
        return like(rest, text) or (bool(text) and like(pattern, text[1:]))
    return bool(text) and (wild or text[0] == sign) and like(rest, text[1:])


@given(rows, filters, filters)
def test_logic(drawn, first, second):
    stored = records(drawn)
    one, other = parse(first), parse(second)
    everything = [record.id for record in stored]
    inverse = parse({"$not": first})
    assert sorted(matching(one, stored) + matching(inverse, stored)) == everything
    assert matching(parse({"$not": {"$not": first}}), stored) == matching(one, stored)
    neither = {"$not": {"$or": [first, second]}}
    both_not = {"$and": [{"$not": first}, {"$not": second}]}
    assert matching(parse(neither), stored) == matching(parse(both_not), stored)
    either = set(matching(one, stored)) | set(matching(other, stored))
    assert set(matching(parse({"$or": [first, second]}), stored)) == either
    assert matching(EVERYTHING, stored) == everything
    assert matching(NOTHING, stored) == []
    assert parse(one) is one


@given(ordered_values, ordered_values)
def test_values_of_a_kind_are_below_equal_or_above(value, bound):
    field = Field("metadata", ("v",))
    held = [
        Compare(field, operation, bound).matches("", "", {"v": value})
        for operation in ("lt", "eq", "gt")
    ]
    assert sum(held) == (1 if kind(value) == kind(bound) else 0)
    assert held[1] == (identity(value) == identity(bound))
    for operation, parts in (("lte", held[:2]), ("gte", held[1:])):
        assert Compare(field, operation, bound).matches("", "", {"v": value}) == any(parts)
