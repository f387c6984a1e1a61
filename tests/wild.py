"""Arguments as callers may give them: mostly right, sometimes anything at all."""

import enum
import fractions
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import PurePath

import numpy as np
from hypothesis import strategies as st
from langchain_core.documents import Document

from strategies import filters, metadatas, nasty_prose, nasty_texts, values


class Colour(enum.Enum):
    RED = "red"


def cycle():
    found = {"a": []}
    found["a"].append(found)
    return found


class Deep(list):
    """A list in lists; of its depth Hypothesis could not print it."""

    def __repr__(self):
        return "Deep()"


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return Deep(found)


strange = st.one_of(
    st.sampled_from(
        [
            *(10**400, -(10**4_000), 2**64, -1, 0, 1e308, float("nan"), float("-inf")),
            *(np.float32("nan"), np.int64(3), np.bool_(1), np.str_("x"), np.complex64(1)),
            *(np.datetime64("2024"), np.longdouble(1), np.uint64(2**63), np.array([1.0])),
            *(np.float64("inf"), np.array(2.0), np.zeros((2, 2)), np.array(["a"], object)),
            *(1j, fractions.Fraction(1, 3), timedelta(days=1), date.max, datetime.max),  # noqa: DTZ901
            datetime.min.replace(tzinfo=timezone(timedelta(hours=23))),
            datetime(2024, 1, 1, tzinfo=UTC),
            *(object(), object, len, ..., NotImplemented, Colour.RED, PurePath("x")),
            *(b"a", bytearray(b"a"), memoryview(b"a"), {1}, frozenset(), range(3)),
            *([], {}, (), "", "x" * 10_240, "\x00", "\ud800", Document("text")),
            *([None], [[]], {1: 2}, {None: None}, [{}], {"a": {1}}),
        ]
    ),
    st.sampled_from([cycle, lambda: nested(150), lambda: iter("ab")]).flatmap(st.builds),
    values,
    st.text(max_size=20),
    st.binary(max_size=8),
    st.integers(),
    st.floats(),
)
"""Values of every kind, most of them no right argument of anything."""

deep = st.builds(nested, st.just(5_000))
"""Deeper than Python looks into things, where depth is part of what is checked."""


def mostly(right, wrong=strange):
    return st.one_of(right, right, right, right, right, wrong)


texts = st.one_of(nasty_texts, nasty_prose, st.text(max_size=30))
long_ids = st.sampled_from(
    ["i" * 10_240, "\x00", "\ud800", "a\x00b", "id\n", "$id", "中" * 3_000]
)
ids = st.one_of(st.sampled_from(["a", "b", "c", "new"]), long_ids, st.text(max_size=5))
any_metadata = mostly(
    st.one_of(
        metadatas,
        st.dictionaries(st.text(max_size=3), st.one_of(strange, deep), max_size=2),
    )
)


def lists(of, wrong=strange):
    """A few of something; as a list or as what only looks like one."""
    few = st.lists(mostly(of), max_size=3)
    return mostly(st.one_of(few, few, few.map(tuple), few.map(iter)), wrong)


operators = st.sampled_from(
    [
        *("$eq", "$ne", "$in", "$nin", "$gt", "$gte", "$lt", "$lte", "$like", "$ilike"),
        *("$exists", "$between", "$contains", "$not", "$and", "$or", "$regex", "$", ""),
    ]
)
any_filter = st.one_of(
    st.none(),
    filters,
    st.recursive(
        st.dictionaries(st.one_of(operators, st.text(max_size=3)), strange, max_size=2),
        lambda inner: st.one_of(
            st.dictionaries(st.one_of(operators, ids), inner, max_size=2),
            st.dictionaries(operators, st.lists(inner, max_size=2), max_size=2),
        ),
        max_leaves=4,
    ),
    strange,
    deep,
)
counts = mostly(st.integers(0, 5), st.one_of(strange, st.integers(-(2**70), 2**70)))
"""How many; 2^70 at most, as lists of so many results would be."""
