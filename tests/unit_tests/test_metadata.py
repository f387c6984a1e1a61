"""Metadata come back as they were, or are refused by name."""

import enum
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from langchain_ragstore.errors import CorruptStoreError, InvalidInputError
from langchain_ragstore.metadata import MAX_DEPTH, decode, encode, normalised
from records import same


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
        '"tuple":{"$tuple":[1]},"big":{"$int":"0x8000000000000000"},'
        '"infinite":{"$float":"inf"},"nul":{"$str":"\\"a\\\\u0000\\""},'
        '"tagged":{"$dict":[["$date","no date"]]}}'
    )
    assert same(decode(encode(metadata)), metadata)


@pytest.mark.parametrize(
    "value",
    [
        *(2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**5_000, -(10**5_000)),
        *(0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, float("nan"), -float("inf")),
        *(Decimal("1E+400"), Decimal("-0"), Decimal("sNaN"), Decimal("1.10")),
        *(date.min, date.max, datetime.min, datetime.max),  # noqa: DTZ901
        datetime(
            2024, 3, 1, 1, 2, 3, 4, timezone(timedelta(hours=-3, minutes=-30, seconds=1))
        ),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        *(b"", bytes(range(256)), uuid.UUID(int=2**128 - 1)),
        *((), ((),), [], {}, [[]], {"a": {}}, (1, [2, (3,)])),
        *({"$date": 1}, {"$dict": []}, {"$": ""}, {"$tuple": [1]}, {"a": 1, "$date": 2}),
        *({"": 1}, {"k\x00": 1}, {"\ud800": {"$str": 1}}, {"$dict": {"$dict": 1}}),
        *("\x00", "\ud83d", '{"$date":"2024-01-01"}', "\x7f\u2028", "\x1f", "\\", '"'),
    ],
    ids=lambda value: repr(value)[:30] if not isinstance(value, int) else hex(value)[:20],
)
def test_comes_back(value):
    """Report 36: nested, empty and missing values were refused, or came back as others."""
    for metadata in ({"v": value}, {"v": [value]}, {"v": {"x": (value,)}}):
        assert same(decode(encode(metadata)), metadata)
    assert same(normalised(value), value)


def test_keys_of_the_top_are_never_tags():
    for metadata in ({"$date": "x"}, {"$date": date(2024, 1, 1)}, {"$dict": [["a", 1]]}):
        assert decode(encode(metadata)) == metadata


def test_a_zone_becomes_its_offset():
    summer = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Paris"))
    back = normalised(summer)
    assert back == summer
    assert back.utcoffset() == timedelta(hours=2)
    twice = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=1)
    assert normalised(twice).isoformat() == "2024-10-27T02:30:00+01:00"


def test_a_mapping_at_the_top_will_do():
    assert decode(encode(MappingProxyType({"a": 1}))) == {"a": 1}


def test_the_deepest_that_is_kept():
    nested = 1
    for _ in range(MAX_DEPTH):
        nested = (nested,)
    assert same(decode(encode({"v": nested})), {"v": nested})
    with pytest.raises(InvalidInputError, match="'v' is nested more than 100 deep"):
        encode({"v": [nested]})


def test_a_value_twice_is_no_cycle():
    shared = [1]
    back = decode(encode({"a": shared, "b": [shared, shared]}))
    back["b"][0].append(2)
    assert back == {"a": [1], "b": [[1, 2], [1]]}


def test_nothing_is_shared():
    inner = [1]
    back = decode(encode({"a": inner}))
    inner.append(2)
    assert back == {"a": [1]}


def test_numpy_scalars_and_enumerations_become_plain():
    """Report 36: a number of another library failed the whole batch."""

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


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64(0.1), 0.1),
        (np.float32("nan"), float("nan")),
        (np.float16("inf"), float("inf")),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.datetime64("2024-01-01"), date(2024, 1, 1)),
        (np.datetime64("2024-01-01T01:00"), datetime(2024, 1, 1, 1)),  # noqa: DTZ001
    ],
    ids=repr,
)
def test_scalars_of_others_become_plain(value, plain):
    assert same(normalised(value), plain)


class Plain(enum.Enum):
    ONE = 1


class NoTime(datetime):
    """As pandas' NaT: a datetime that is none."""

    def isoformat(self, *_arguments):
        return "NaT"


class Finer(date):
    """As pandas' Timestamp: holds more than its text."""

    def __eq__(self, other):
        return type(other) is Finer

    __hash__ = None


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
        ({"n": np.datetime64("NaT")}, ["'n'", "datetime64"]),
        ({"n": np.complex128(1)}, ["'n'", "complex"]),
        ({"n": np.array([(1, 2.0)], "i4,f8")[0]}, ["'n'", "void"]),
        ({"n": np.longdouble(1)}, ["'n'", "longdouble"]),
        ({"t": NoTime(2024, 1, 1)}, ["'t'", "NoTime"]),
        ({"t": Finer(2024, 1, 1)}, ["'t'", "Finer"]),
        ({"t": time(12)}, ["'t'", "time"]),
        ({"t": timedelta(1)}, ["'t'", "timedelta"]),
        ({"b": bytearray()}, ["'b'", "bytearray"]),
        ({"c": 1j}, ["'c'", "complex"]),
        ({"m": MappingProxyType({})}, ["'m'", "mappingproxy"]),
        ({"l": [0, {"x": {1}}]}, ["'l'.'1'.'x'", "set"]),
        ({"x": {"y": [cycle]}}, ["'x'.'y'.'0'", "contains itself"]),
        ([], ["dict", "list"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_does_not_round_trip_is_named(metadata, words):
    """Report 36: what cannot be kept is named, instead of stored as something else."""
    with pytest.raises(InvalidInputError) as raised:
        encode(metadata)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"a":',
        '[{"$date":"2024-01-01"}]',
        '{"a":{"$newer":1}}',
        '{"a":{"$date":"never"}}',
        '{"a":{"$decimal":"x"}}',
        '{"a":{"$int":5}}',
        '{"a":{"$dict":[["a"]]}}',
    ],
)
def test_what_encode_did_not_write_is_named(text):
    with pytest.raises(CorruptStoreError, match="unreadable metadata"):
        decode(text)
