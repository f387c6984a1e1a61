"""How long the byte store keeps a value, and what it lets go for others."""

import sqlite3
from datetime import UTC, datetime

import pytest

from fakes import Clock
from langchain_ragstore import SQLiteByteStore
from langchain_ragstore.errors import InvalidInputError


@pytest.fixture
def clock():
    return Clock()


def rows(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT key FROM ragstore_blob ORDER BY key").fetchall()
    connection.close()
    return [key for (key,) in found]


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)


# --- time to live --------------------------------------------------------------------


async def test_an_expired_value_is_absent_at_once(tmp_path, clock):
    path = tmp_path / "rag.db"
    store = SQLiteByteStore(path, ttl_seconds=10, clock=clock)
    plain = SQLiteByteStore(path, clock=clock)
    store.mset([("a", b"1"), ("b", b"2")])
    plain.mset([("b", b"3")])  # written anew, from where nothing expires
    clock.now += 9.9
    assert plain.mget(["a", "b"]) == [b"1", b"3"]
    clock.now += 0.1
    for reader in (store, plain):
        assert reader.mget(["a", "b"]) == [None, b"3"]
        assert list(reader.yield_keys()) == ["b"]
        assert [key async for key in reader.ayield_keys(prefix="a")] == []
        assert list(reader.timestamps(["a", "b"])) == ["b"]
    assert rows(path) == ["a", "b"]
    plain.mdelete(["other"])
    assert rows(path) == ["b"]  # the next write has removed it
    store.close()
    plain.close()


def test_a_write_removes_what_expired(tmp_path, clock):
    with SQLiteByteStore(tmp_path / "rag.db", ttl_seconds=10, clock=clock) as store:
        store.mset([("a", b"1")])
        clock.now += 10
        store.mset([("b", b"1")])
        assert rows(tmp_path / "rag.db") == ["b"]


def test_timestamps(tmp_path, clock):
    with SQLiteByteStore(tmp_path / "rag.db", ttl_seconds=10, clock=clock) as store:
        store.mset([("a", b"1")])
        clock.now += 5
        store.mset([("a", b"2")])
        assert store.timestamps("a") == {"a": (at(1_000), at(1_005), at(1_015))}
        clock.now += 10
        store.mset([("a", b"3")])  # the old one was gone: this is another value
        assert store.timestamps(["a", "b"]) == {"a": (at(1_015), at(1_015), at(1_025))}
    with SQLiteByteStore(tmp_path / "rag.db", clock=clock) as store:
        store.mset([("a", b"4")])
        assert store.timestamps("a") == {"a": (at(1_015), at(1_015), None)}


# --- the limit -----------------------------------------------------------------------


def test_the_least_recently_written_goes_first(tmp_path, clock):
    with SQLiteByteStore(tmp_path / "rag.db", max_bytes=10, clock=clock) as store:
        store.mset([("a", b"xxxx"), ("b", b"xxxx")])
        clock.now -= 500  # a clock does not decide what is older
        store.mset([("a", b"xx")])
        assert store.mget(["b"]) == [b"xxxx"]  # reading protects nothing
        store.mset([("c", b"xxxx")])
        assert list(store.yield_keys()) == ["a", "b", "c"]  # ten bytes fit
        store.mset([("d", b"x")])
        assert list(store.yield_keys()) == ["a", "c", "d"]
        store.mset([("e", b"x" * 10)])
        assert list(store.yield_keys()) == ["e"]
        store.mset([("f", b"")])
        assert list(store.yield_keys()) == ["e", "f"]


def test_a_value_above_the_limit_is_refused(tmp_path):
    with SQLiteByteStore(tmp_path / "rag.db", max_bytes=10) as store:
        store.mset([("a", b"1")])
        with pytest.raises(InvalidInputError, match="'b' has 11 bytes, max_bytes is 10"):
            store.mset([("a", b"2"), ("b", b"x" * 11)])
        assert store.mget(["a", "b"]) == [b"1", None]


def test_the_limit_is_each_namespaces_own(tmp_path):
    path = tmp_path / "rag.db"
    with (
        SQLiteByteStore(path, "one", max_bytes=4) as one,
        SQLiteByteStore(path, "two") as two,
    ):
        two.mset([("a", b"x" * 100)])
        one.mset([("a", b"1234"), ("b", b"5")])
        assert (list(one.yield_keys()), list(two.yield_keys())) == (["b"], ["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ttl_seconds": 0}, "ttl_seconds must be a positive number.* got 0"),
        ({"ttl_seconds": float("nan")}, "ttl_seconds must be"),
        ({"ttl_seconds": float("inf")}, "None for ever"),
        ({"ttl_seconds": 10**400}, "ttl_seconds must be"),
        ({"ttl_seconds": True}, "ttl_seconds must be"),
        ({"ttl_seconds": "1h"}, "ttl_seconds must be"),
        ({"max_bytes": 0}, "max_bytes must be positive, got 0"),
        ({"max_bytes": 1.5}, "max_bytes must be an integer"),
        ({"namespace": ""}, "namespace must be a non-empty string"),
    ],
)
def test_options_are_checked_before_a_file_is_made(tmp_path, options, message):
    with pytest.raises(InvalidInputError, match=message):
        SQLiteByteStore(tmp_path / "rag.db", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("ttl", "ttl_seconds"), ("db_path", "path"), ("max_size", "max_bytes")],
)
def test_unknown_keywords(wrong, right):
    with pytest.raises(TypeError, match=f"'{wrong}'; did you mean '{right}'"):
        SQLiteByteStore(**{wrong: 1})
