"""Metadata come back as they were, or are refused by name."""

import enum
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.metadata import MAX_DEPTH, decode, encode, normalised
from strategies import metadatas


def same(first, second):
    """Equal in value and type, NaN included, all the way down."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    return repr(first) == repr(second)


@given(metadatas)
def test_round_trip(metadata):
    assert same(decode(encode(metadata)), metadata)


def test_golden():
    metadata = {
        "plain": [1, "é", None, True],
        "date": date(2026, 1, 31),
        "time": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "decimal": Decimal("1.10"),
        "uuid": uuid.UUID(int=1),
        "bytes": b"\x00",
        "tuple": (1,),
        "big": 2**63,
        "infinite": float("inf"),
        "nul": "a\x00",
        "tagged": {"$date": "no date"},
    }
    assert encode(metadata) == (
        '{"plain":[1,"é",null,true],"date":{"$date":"2026-01-31"},'
        '"time":{"$datetime":"2026-01-31T12:00:00+00:00"},"decimal":{"$decimal":"1.10"},'
        '"uuid":{"$uuid":"00000000-0000-0000-0000-000000000001"},"bytes":{"$bytes":"AA=="},'
        '"tuple":{"$tuple":[1]},"big":{"$int":"9223372036854775808"},'
        '"infinite":{"$float":"inf"},"nul":{"$str":"\\"a\\\\u0000\\""},'
        '"tagged":{"$dict":[["$date","no date"]]}}'
    )
    assert same(decode(encode(metadata)), metadata)


def test_nothing_is_shared():
    inner = [1]
    back = decode(encode({"a": inner}))
    inner.append(2)
    assert back == {"a": [1]}


def test_numpy_scalars_and_enumerations_become_plain():
    class Colour(enum.StrEnum):
        RED = "red"

    class Number(enum.IntEnum):
        ONE = 1

    given_metadata = {
        "i": np.int64(5),
        "f": np.float32(0.5),
        "b": np.bool_(True),
        "c": Colour.RED,
    }
    back = decode(encode({**given_metadata, "n": Number.ONE}))
    assert same(back, {"i": 5, "f": 0.5, "b": True, "c": "red", "n": 1})
    assert normalised(np.int8(3)) == 3


class Plain(enum.Enum):
    ONE = 1


cycle: list = []
cycle.append(cycle)
deep: list = []
for _ in range(MAX_DEPTH + 1):
    deep = [deep]


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"s": {1}}, ["'s'", "set", "sorted list"]),
        ({"f": frozenset()}, ["'f'", "frozenset"]),
        ({"o": object()}, ["'o'", "object"]),
        ({"a": np.zeros(2)}, ["'a'", "ndarray", ".tolist()"]),
        ({"e": Plain.ONE}, ["'e'", "Plain"]),
        ({"c": cycle}, ["'c'", "contains itself"]),
        ({"d": deep}, ["'d'", "deep"]),
        ({1: "x"}, ["1", "int", "strings"]),
        ({"a": {"b": {2: 3}}}, ["'a'.'b'", "2"]),
        ({"a\x00": 1}, ["NUL"]),
        ({"\ud800": 1}, ["surrogate"]),
        ({"n": np.datetime64("2024-01-01T00:00:00.000000001")}, ["'n'", "datetime64"]),
        ([], ["dict", "list"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_does_not_round_trip_is_named(metadata, words):
    with pytest.raises(InvalidInputError) as raised:
        encode(metadata)
    for word in words:
        assert word in str(raised.value)
