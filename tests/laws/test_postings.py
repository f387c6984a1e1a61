"""Laws of posting lists: what is written comes back, whatever the rows and terms."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.config import POSTING_BLOCK_BYTES
from langchain_ragstore.lexical.bm25 import frequency
from langchain_ragstore.lexical.gathering import (
    gathered,
    grouped,
    merged,
    of_terms,
    renumbered,
)
from langchain_ragstore.lexical.keys import (
    body_key,
    is_single,
    key_range,
    last_characters,
    title_key,
)
from langchain_ragstore.lexical.postings import Block, decoded, encoded, packed, unpacked
from langchain_ragstore.model import Terms
from langchain_ragstore.text.terms import term_counts

rows = st.one_of(
    st.integers(0, 300), st.integers(0, 70_000), st.integers(0, 2**32 - 1), st.just(0)
)
triples = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1)), rows, st.integers(1, 300)
    ),
    max_size=80,
)
texts = st.text("東京都雪， abc-", max_size=12)


def of_triples(found):
    return gathered(
        np.array([key for key, _, _ in found], np.uint64),
        np.array([row for _, row, _ in found], np.int64),
        np.array([often for _, _, often in found], np.int64),
    )


def plain(postings):
    """Lists as a dictionary of dictionaries."""
    found = {}
    at = 0
    for key, count in zip(postings.keys.tolist(), postings.counts.tolist(), strict=True):
        chosen = slice(at, at + count)
        lists = (postings.rows[chosen].tolist(), postings.frequencies[chosen].tolist())
        assert lists[0] == sorted(set(lists[0]))
        found[key] = dict(zip(*lists, strict=True))
        at += count
    assert list(found) == sorted(found)
    assert at == len(postings.rows) == len(postings.frequencies)
    return found


def expected(found):
    lists = {}
    for key, row, often in found:
        lists.setdefault(key, Counter())[row] += often
    return {
        key: {row: min(often, 255) for row, often in counts.items()}
        for key, counts in lists.items()
    }


@given(triples)
def test_postings_come_back_whole_and_one_by_one(found):
    postings = of_triples(found)
    lists = expected(found)
    assert plain(postings) == lists
    blocks = [(fence, Block(data)) for fence, data in encoded(postings)]
    assert [fence for fence, _ in blocks] == [int(block.keys[0]) for _, block in blocks]
    assert plain(decoded([block.all() for _, block in blocks])) == lists
    for key in [*lists, 0, 6, 2**64 - 1]:
        places = [(block, block.places(np.array([key], np.uint64))) for _, block in blocks]
        one = [(block, place) for block, [place] in places if place >= 0]
        assert len(one) == (key in lists)
        for block, place in one:
            where, often = block.list_at(place)
            assert dict(zip(where.tolist(), often.tolist(), strict=True)) == lists[key]


@given(triples, st.integers(0, 6), st.one_of(st.integers(0, 7), st.just(2**64)))
def test_a_range_of_terms(found, first, after):
    for _, data in encoded(of_triples(found)):
        between = plain(decoded([Block(data).between(first, after)]))
        lists = expected(found)
        assert between == {k: v for k, v in lists.items() if first <= k < after}


@given(st.lists(triples, max_size=4))
def test_merging_is_gathering_everything(parts):
    beside, whole = [], []
    for part in parts:
        after = 1 + max((row for _, row, _ in whole), default=-1)
        moved = [(key, row % 2**30 + after, often) for key, row, often in part]
        beside.append(of_triples(moved))
        whole += moved
    assert plain(merged(beside)) == expected(whole)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 3))),
    st.sets(st.integers(0, 9)),
    st.integers(0, 5),
)
def test_renumbering_drops_rows_without_a_number(found, dead, first):
    new = np.full(10, -1)
    alive = [row for row in range(10) if row not in dead]
    new[alive] = np.arange(len(alive)) + first
    lists = {
        key: {int(new[row]): often for row, often in counts.items() if new[row] >= 0}
        for key, counts in expected(found).items()
    }
    there = plain(renumbered(of_triples(found), new))
    assert there == {key: counts for key, counts in lists.items() if counts}


@given(triples, st.sampled_from([(), (0,), (0, 21), (30, 46), (0, 16, 32, 48)]))
def test_whatever_digits_are_looked_at_grouping_counts(found, digits):
    keys = np.array([key for key, _, often in found for _ in range(often)], np.uint64)
    rows = np.array([row for _, row, often in found for _ in range(often)], np.int64)
    assert plain(grouped(keys, rows, digits)) == expected(found)


def test_blocks_have_about_one_size():
    keys = np.repeat(np.arange(3_000, dtype=np.uint64) << np.uint64(40), 4)
    lists = np.tile(np.array([1, 500, 70_000, 70_001]), 3_000)
    blocks = list(encoded(gathered(keys, lists, np.ones(len(keys), np.int64))))
    assert all(len(data) <= POSTING_BLOCK_BYTES + 100 for _, data in blocks)
    assert sum(len(data) > POSTING_BLOCK_BYTES / 2 for _, data in blocks) >= len(blocks) - 1
    # One list that is longer than a block stands in a block of its own.
    many = np.arange(100_000)
    one = list(encoded(gathered(np.zeros(100_000, np.uint64), many, many % 2 + 1)))
    assert len(one) == 1
    assert Block(one[0][1]).list_at(0)[0].tolist() == many.tolist()


@given(st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_columns_come_back(values):
    data = b"x" + packed(np.array(values, np.int64)) + b"y"
    found, end = unpacked(data, len(values), 1)
    assert found.tolist() == values
    assert data[end:] == b"y"


@given(
    st.lists(texts, max_size=6),
    st.sampled_from(["東", "京", "都", "雪", "東京", "a", "abc", "b"]),
)
def test_a_term_finds_what_the_text_holds(contents, term):
    bags = [term_counts(content) for content in contents]
    postings = plain(of_terms([Terms(bag) for bag in bags]))
    first, after = key_range(term)
    found = Counter()
    for key, lists in postings.items():
        if first <= key < after:
            found.update(lists)
    counts = {row: min(often, 255) for row, often in found.items()}
    there = {row: frequency(bag, term) for row, bag in enumerate(bags)}
    assert counts == {row: often for row, often in there.items() if often}
    if is_single(term):  # wherever the character stands, it is found
        assert set(counts) == {row for row, text in enumerate(contents) if term in text}


def test_titles_and_bodies_are_apart():
    postings = of_terms([Terms({"a": 1, "東京": 1}, {"a": 2, "東京": 3, "京": 1})])
    lists = plain(postings)
    assert lists[body_key("a")] == {0: 1}
    assert lists[title_key("a")] == {0: 2}
    assert lists[title_key("東京")] == {0: 3}
    assert lists[body_key("京")] == {0: 1}  # the pair ends with it
    assert len(lists) == 6


@given(st.lists(st.text(max_size=3), unique=True, max_size=30))
def test_keys_tell_terms_and_fields_apart(terms):
    keys = {body_key(term) for term in terms} | {title_key(term) for term in terms}
    assert len(keys) == 2 * len(terms)
    assert all(0 <= key < 2**64 for key in keys)


def test_last_characters_of_nothing():
    singles, places = last_characters(np.empty(0, np.uint64), np.empty(0, np.int64))
    assert len(singles) == len(places) == 0
    assert list(encoded(of_terms([]))) == []
