"""Hypothesis strategies: values that clash, texts that hurt, the whole filter dialect."""

import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

from hypothesis import settings
from hypothesis import strategies as st

from langchain_ragstore.filters import is_number, kind

USUAL_EXAMPLES = 100


def share(examples, **keywords):
    """Settings for a law that gets so many examples, and more where all laws do."""
    many = settings.default.max_examples * examples // USUAL_EXAMPLES
    return settings(max_examples=max(examples, many), **keywords)


KEYS = ["a", "b", 'q"u', "back\\s", "a.b", "中", "", "n\n"]
keys = st.sampled_from([*KEYS, "$.x"])
nasty_texts = st.sampled_from(
    [
        "",
        "1",
        "a",
        "abc",
        "\x00",
        "a\x00b",
        "\ud800",
        "x\udfffy",
        "%",
        "_",
        "é",
        "Straße",
        "日本",
        "😀",
        "null",
        "true",
        '{"$date":"2024-01-01"}',
    ]
)
clashing = st.sampled_from([True, False, None, 0, 1, 1.0, "1", "", 5, 5.0, "5"])
scalars = st.one_of(
    clashing,
    nasty_texts,
    st.floats(),
    st.integers(),
    st.sampled_from(
        [
            *(2**63, 2**63 - 1, -(2**63), 2**70, 0.1, 0.1 + 0.2, 1 / 3, 1e300, 5e-324),
            *(
                Decimal(1),
                Decimal("0.1"),
                Decimal("NaN"),
                Decimal("sNaN"),
                Decimal("1e400"),
            ),
            *(b"", b"a", uuid.UUID(int=1), date(2024, 1, 1), datetime(2024, 1, 1)),  # noqa: DTZ001
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(2024, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))),
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
        ]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(
            st.one_of(keys, st.sampled_from(["$date", "$x"]), nasty_texts),
            inner,
            max_size=2,
        ),
    ),
    max_leaves=4,
)
metadatas = st.dictionaries(keys, values, max_size=4)

ordered_values = scalars.filter(
    lambda v: (
        v is not None and not isinstance(v, bool) and (kind(v) != "number" or is_number(v))
    )
)
ranges = st.tuples(ordered_values, ordered_values).map(
    lambda ends: list(ends) if kind(ends[0]) == kind(ends[1]) else [ends[0], ends[0]]
)
plain_operations = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$contains"]), values),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=4)),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), ordered_values),
    st.tuples(
        st.sampled_from(["$like", "$ilike"]),
        st.sampled_from(["", "%", "a%", "_", "%\\%", "A%", "ß", "%日%"]),
    ),
    st.tuples(st.just("$exists"), st.booleans()),
    st.tuples(st.just("$between"), ranges),
)
operations = st.one_of(
    plain_operations,
    plain_operations,
    plain_operations.map(lambda operation: ("$not", dict([operation]))),
)
filter_keys = st.one_of(
    st.sampled_from([*KEYS, "$id", "$content"]), st.tuples(keys), st.tuples(keys, keys)
)
leaves = st.builds(
    lambda key, operations: {key: dict(operations)},
    filter_keys,
    st.lists(operations, min_size=1, max_size=2),
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, max_size=2)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, max_size=2)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=3,
)

nasty_pieces = st.sampled_from(
    [
        *"甲乙。，？！「」”“（）〔〕、；： \n\r\t\u3000ab1.,!?:;'\"-/カﾞが한글",
        *(
            "\r\n",
            "\n\n",
            "👨‍👩‍👧",
            "🇯🇵",
            "👍🏽",
            "e\u0301",
            "\u200b",
            "\x00",
            "\ud800",
            "\udc00",
        ),
        *("\u2028", "ก็", "क्ष", "𠮷", "word", "3.14", "example.com", "。”", "     "),
    ]
)
nasty_prose = st.lists(nasty_pieces, max_size=80).map("".join)
