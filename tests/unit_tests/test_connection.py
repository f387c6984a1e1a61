"""Files, paths and the SQLite library."""

import gc
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.config import SQLITE_IDLE_CONNECTIONS
from langchain_ragstore.errors import (
    CorruptStoreError,
    InvalidInputError,
    StoreClosedError,
    UnsupportedSQLiteError,
)
from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.storage.sqlite import connection, schema
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.storage.sqlite.checksums import of_record
from langchain_ragstore.storage.sqlite.connection import Database, require_sqlite
from records import AXES, ids, record


@pytest.mark.parametrize(
    "name",
    [
        "a b.db",
        "日本語.db",
        "what?.db",
        "#1.db",
        "100%25.db",
        "'q\".db",
        "a&b=c;d.db",
        "~x",
        "C:\\rag.db",
        "file:rag.db?mode=memory",
    ],
)
def test_any_file_name(tmp_path, name):
    """Report 15: stores opened another file than was named, or none."""
    path = tmp_path / name
    with SQLiteVectorStore(HashingEmbeddings(8), path) as store:
        store.add_texts(["a"])
    assert [p.name for p in tmp_path.iterdir()] == [name]
    with SQLiteVectorStore(HashingEmbeddings(8), str(path), read_only=True) as store:
        assert len(store) == 1


def test_home_and_relative_paths(tmp_path, monkeypatch):
    """Report 15: a `~` became a folder of that name."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    SQLiteVectorStore(path="~/home.db").close()
    SQLiteVectorStore(path="here.db").close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here.db", "home.db"]


def test_a_tilde_that_names_no_user_is_a_letter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SQLiteVectorStore(path="~backup.db").close()
    assert [p.name for p in tmp_path.iterdir()] == ["~backup.db"]


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
def test_a_name_that_is_no_text(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.db")
    with SQLiteVectorStore(HashingEmbeddings(8), path) as store:
        store.add_texts(["a"])
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff.db"]  # noqa: PTH208 - bytes


def test_a_path_stays_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    store = SQLiteVectorStore(HashingEmbeddings(8), "rag.db")
    store.add_texts(["a"])
    monkeypatch.chdir(tmp_path / "elsewhere")
    # A question within a question opens a second connection.
    assert store.count(lambda _document: store.count() == 1) == 1
    store.close()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "link.db").close()
    with SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "real.db", read_only=True) as s:
        assert len(s) == 0


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "file name"),
        ("\ud800.db", "no file can have the name"),
        ("a\0b", "file name"),
        (b"a.db", "file name"),
        (".", "is a folder"),
        ("absent/rag.db", "does not exist"),
    ],
)
def test_bad_paths_are_named(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=words):
        SQLiteVectorStore(path=path)


def test_read_only_needs_a_file(tmp_path):
    with pytest.raises(InvalidInputError, match="creates nothing"):
        SQLiteVectorStore(path=tmp_path / "absent.db", read_only=True)
    with pytest.raises(InvalidInputError, match="needs a file"):
        SQLiteVectorStore(read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_other_applications_keep_their_tables(tmp_path):
    path = tmp_path / "shared.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE checkpoints (x)")
    other.execute("INSERT INTO checkpoints VALUES (1)")
    other.execute("PRAGMA user_version = 7")
    other.execute("PRAGMA application_id = 9")
    other.commit()
    with SQLiteVectorStore(HashingEmbeddings(8), path) as store:
        store.add_texts(["a"])
        store.clear()
    assert other.execute("SELECT x FROM checkpoints").fetchall() == [(1,)]
    assert other.execute("PRAGMA user_version").fetchone() == (7,)
    assert other.execute("PRAGMA application_id").fetchone() == (9,)
    names = [
        row[0]
        for row in other.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    ]
    ours = [name for name in names if name not in ("checkpoints", "sqlite_sequence")]
    assert all(name.startswith("ragstore_") for name in ours)
    other.close()


def test_a_new_file_says_whose_it_is(tmp_path):
    SQLiteVectorStore(path=tmp_path / "new.db").close()
    raw = sqlite3.connect(tmp_path / "new.db")
    assert raw.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert raw.execute("SELECT version FROM ragstore_schema").fetchall() == [(1,)]
    raw.close()


def test_settings_of_a_connection():
    database = Database()
    with database.read() as opened:
        assert opened.execute("PRAGMA trusted_schema").fetchone() == (0,)
        assert opened.execute("PRAGMA foreign_keys").fetchone() == (1,)
    assert not database.closed
    database.close()
    assert database.closed


def test_a_file_system_without_wal_is_said_aloud(tmp_path, monkeypatch, caplog):
    """Report 21: on a network's disk every write was an I/O error; here it works without."""
    monkeypatch.setattr(connection, "_write_ahead", lambda _connection: "delete")
    model, path = HashingEmbeddings(8), tmp_path / "a.db"
    with (
        caplog.at_level(logging.WARNING),
        SQLiteVectorStore(model, path) as store,
        SQLiteVectorStore(model, path) as other,
    ):
        store.add_texts(["green tea"])
        assert len(other.search("tea", "hybrid")) == 1
        other.add_texts(["black tea"])
        assert len(store.search("tea", "hybrid")) == 2
        assert [p.name for p in tmp_path.iterdir()] == ["a.db"]
    assert "no write-ahead log here, journal mode delete" in caplog.text


def test_a_process_that_ends_without_closing_loses_nothing(tmp_path):
    """Report 24: data were gone after a restart, as nobody had called what saves them."""
    code = """
import os, sys
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
store = SQLiteVectorStore(HashingEmbeddings(8), sys.argv[1])
store.add_texts(["green tea"])
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.db"], check=True)
    with SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "a.db") as store:
        for kind in ("similarity", "text"):
            assert [d.page_content for d in store.search("tea", kind)] == ["green tea"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc on this system")
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
@pytest.mark.parametrize("end", ["close", "with", "del"])
def test_no_file_stays_open(tmp_path, end):
    """Report 19: files stayed open, so that their folder could not be removed."""
    store = SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "a.db")
    store.add_texts(["a"])
    assert len(store.search("a", "hybrid")) == 1
    if end == "close":
        store.close()
    elif end == "with":
        with store:
            pass
    del store
    gc.collect()
    links = [os.path.realpath(fd) for fd in Path("/proc/self/fd").iterdir()]
    assert [link for link in links if link.startswith(str(tmp_path))] == []
    shutil.rmtree(tmp_path)


@pytest.mark.skipif(
    not hasattr(sqlite3.Connection, "setlimit"), reason="cannot lower a limit here"
)
def test_few_variables_are_enough(tmp_path, monkeypatch):
    """Reports 29, 30: batches and long lists of ids failed with "too many SQL variables"."""

    def limited(self, **keywords):
        opened = original(self, **keywords)
        opened.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 250)
        return opened

    original = Database._connected
    monkeypatch.setattr(Database, "_connected", limited)
    numbers = range(1_000)
    names = [str(n) for n in numbers]
    with SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "a.db") as store:
        metadatas = [{"n": n} for n in numbers]
        store.add_texts([f"text {n}" for n in numbers], metadatas, ids=names)
        assert [d.id for d in store.get_by_ids(names)] == names
        assert len(store.get(names, filter={"n": {"$in": list(numbers)}})) == 1_000
        for kind in ("similarity", "text", "hybrid"):
            assert len(store.search("text", kind, k=999, filter={"n": {"$lt": 900}})) == 900
        assert store.record_manager().exists(names) == [False] * 1_000
        store.byte_store().mset([(name, b"x") for name in names])
        assert store.byte_store().mget(names) == [b"x"] * 1_000
        assert store.update_metadata(names, patch={"m": 1}) == 1_000
        assert store.delete_where({"n": {"$gte": 600}}) == 400
        store.delete(names[:500])
        assert len(store) == 100


def test_busy_is_tried_again(tmp_path, monkeypatch):
    tries = []

    def busy_at_first(_connection):
        tries.append(1)
        if len(tries) < 3:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return "wal"

    monkeypatch.setattr(connection, "_write_ahead", busy_at_first)
    SQLiteVectorStore(path=tmp_path / "a.db").close()
    assert len(tries) >= 3


def test_an_old_library_is_named():
    """Reports 1, 2: the `sqlite3` command was new, and the library that Python uses old.

    What the engine needs of it (upserts, RETURNING, STRICT tables) comes with the version;
    JSON functions may be left out of a build, and FTS5 is not needed.
    """
    require_sqlite((3, 37, 0))
    words = r"3\.36\.0 is linked to this Python \(.*\), 3\.37\.0 or newer"
    with pytest.raises(UnsupportedSQLiteError, match=words) as raised:
        require_sqlite((3, 36, 0))
    assert sys.executable in str(raised.value)


def test_an_old_library_is_no_reason_not_to_import():
    """Report 1: importing raised, so that an application did not even start."""
    code = """
import sqlite3
sqlite3.sqlite_version_info = (3, 31, 1)
from langchain_ragstore import SQLiteVectorStore
try:
    SQLiteVectorStore()
except Exception as error:
    print(type(error).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "UnsupportedSQLiteError\n"


class NoExtensions(sqlite3.Connection):
    """As of a Python that was built without them: using one is an `AttributeError`."""

    enable_load_extension = property()
    load_extension = property()


def test_no_extension_is_loaded(tmp_path, monkeypatch):
    """Report 3: Pythons that cannot load extensions could not use the store at all."""

    def connect(*arguments, **keywords):
        return original(*arguments, factory=NoExtensions, **keywords)

    original = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    with SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "a.db") as store:
        store.add_texts(["green tea"])
        for kind in ("similarity", "text", "hybrid", "mmr"):
            assert len(store.search("tea", kind, filter={"n": {"$exists": False}})) == 1


def test_a_library_without_json_is_named(monkeypatch):
    """Report 1: an old or small build is told by what it lacks, and where it is."""

    def bare(*arguments, **keywords):
        opened = original(*arguments, **keywords)
        return NoJson(opened)

    original = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", bare)
    with pytest.raises(UnsupportedSQLiteError, match="JSON") as raised:
        SQLiteVectorStore()
    assert sqlite3.sqlite_version in str(raised.value)
    assert sys.executable in str(raised.value)


class NoJson:
    def __init__(self, opened) -> None:
        self.close = opened.close

    def execute(self, statement):
        raise sqlite3.OperationalError(f"no such function: {statement}")


def test_a_closed_backend_says_so(tmp_path):
    for path in (tmp_path / "a.db", ":memory:"):
        backend = SQLiteBackend(path)
        backend.upsert("c", [record("a", AXES[0])])
        backend.close()
        backend.close()
        for use in (
            lambda b: b.upsert("c", []),
            lambda b: b.patch("c", ids=None, where=EVERYTHING, changes={}),
            lambda b: b.delete("c", ids=None, where=EVERYTHING),
            lambda b: b.get("c", ["a"]),
            lambda b: b.scan("c"),
            lambda b: b.dense("c", AXES[0], 1),
            lambda b: b.count("c"),
            lambda b: b.collections(),
            lambda b: b.stats("c"),
        ):
            with pytest.raises(StoreClosedError, match="is closed; open it anew"):
                use(backend)


def test_who_waits_for_a_store_that_is_closed_is_told(tmp_path):
    database = Database()
    told = []

    def wait():
        try:
            with database.read():
                told.append("served")
        except StoreClosedError:
            told.append("closed")

    with database.read():
        waiting = threading.Thread(target=wait)
        waiting.start()
        closing = threading.Thread(target=database.close)
        closing.start()
        while not database.closed:
            pass
    waiting.join()
    closing.join()
    assert told == ["closed"]


def test_no_more_than_a_few_idle_connections(tmp_path):
    database = Database(tmp_path / "a.db")
    with ExitStack() as stack:
        for _ in range(SQLITE_IDLE_CONNECTIONS + 3):
            stack.enter_context(database.read())
    assert len(database._idle) == SQLITE_IDLE_CONNECTIONS
    database.close()
    assert database._idle == []


def test_a_state_restored_in_place_is_searched(tmp_path):
    path = tmp_path / "a.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [record("old", AXES[0])])
    live, copy = sqlite3.connect(path), sqlite3.connect(tmp_path / "copy.db")
    live.backup(copy)
    for n in range(5):
        backend.upsert("c", [record(f"new{n}", AXES[0])])
    assert len(backend.dense("c", AXES[0], 9)) == 6
    copy.backup(live)
    assert ids(backend.dense("c", AXES[0], 9)) == ["old"]
    backend.upsert("c", [record("newer", AXES[0])])
    assert ids(backend.dense("c", AXES[0], 9)) == ["newer", "old"]
    for connected in (live, copy, backend):
        connected.close()


def test_a_vector_of_a_wrong_length_in_the_file_is_named(tmp_path):
    path = tmp_path / "a.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [record("a", AXES[0])])
    raw = sqlite3.connect(path)
    raw.execute("UPDATE ragstore_vector SET data = x'00'")
    raw.commit()
    raw.close()
    with pytest.raises(CorruptStoreError, match="a vector of 1 bytes instead of 16"):
        backend.dense("c", AXES[0], 1)
    backend.upsert("c", [record("a", AXES[0])])
    assert ids(backend.dense("c", AXES[0], 1)) == ["a"]
    backend.close()


@pytest.mark.parametrize("text", ["{", '{"a":{"$newer":1}}'])
@pytest.mark.parametrize("meant", [False, True])
def test_metadata_that_cannot_be_read_are_named(tmp_path, text, meant):
    path = tmp_path / "a.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [record("a", AXES[0]), record("b", AXES[1])])
    raw = sqlite3.connect(path)
    raw.execute("UPDATE ragstore_record SET metadata = ? WHERE id = 'a'", (text,))
    if meant:
        (now,) = raw.execute("SELECT updated_at FROM ragstore_record").fetchone()
        checksum = of_record(b"a", b"text", text.encode(), now, None)
        raw.execute("UPDATE ragstore_record SET checksum = ? WHERE id = 'a'", [checksum])
    raw.commit()
    raw.close()
    for read in (lambda: backend.scan("c"), lambda: backend.dense("c", AXES[0], 1)):
        words = "unreadable metadata" if meant else "record 'a' is damaged"
        with pytest.raises(CorruptStoreError, match=words):
            read()
    assert ids(backend.get("c", ["b"])) == ["b"]
    assert backend.delete("c", ids=["a"], where=EVERYTHING) == 1
    assert ids(backend.scan("c")) == ["b"]
    backend.close()


def test_a_copy_follows_replacements_without_growing_for_ever():
    backend = SQLiteBackend()
    backend.upsert("c", [record(str(n), AXES[n % 4]) for n in range(300)])
    rng = np.random.default_rng(0)
    for _ in range(20):
        chosen = rng.integers(0, 300, 100)
        backend.upsert("c", [record(str(n), AXES[n % 4]) for n in set(chosen.tolist())])
        assert len(backend.dense("c", AXES[0], 999)) == 300
    limit = 4 * 300 * AXES[0].nbytes + 4 * 300 * 17
    assert backend.stats("c")["resident_bytes"] <= limit
    backend.close()


def test_logging(caplog, tmp_path):
    with (
        caplog.at_level(logging.DEBUG, "langchain_ragstore"),
        SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "a.db") as store,
    ):
        store.add_texts(["a"], ids=["1"])
        store.delete("1")
    assert [r.levelname for r in caplog.records] == ["INFO", "DEBUG", "DEBUG"]
    assert "stored 1 records" in caplog.text
    assert "deleted 1 records" in caplog.text


def test_many_tombstones_make_others_reload(tmp_path, monkeypatch):
    monkeypatch.setattr("langchain_ragstore.storage.sqlite.steps.SQLITE_TOMBSTONES", 3)
    path = tmp_path / "a.db"
    reader, writer = (SQLiteVectorStore(HashingEmbeddings(8), path) for _ in range(2))
    writer.add_texts(list("abcdefghij"), ids=list("abcdefghij"))
    assert len(reader.similarity_search("a", 99)) == 10
    for id in "abcde":
        writer.delete(id)
    writer.add_texts(["new"])
    assert len(reader.similarity_search("a", 99)) == 6
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT count(*) FROM ragstore_tombstone").fetchone() == (3,)
    raw.close()
    reader.close()
    writer.close()


def test_a_copy_that_is_mostly_dead_is_read_anew(monkeypatch):
    monkeypatch.setattr("langchain_ragstore.storage.sqlite.copies._MINIMUM_ROWS", 4)
    store = SQLiteVectorStore(HashingEmbeddings(8))
    store.add_texts([str(n) for n in range(40)], ids=[str(n) for n in range(40)])
    store.similarity_search("1")
    before = store.stats()["resident_bytes"]
    store.delete([str(n) for n in range(30)])
    assert len(store.similarity_search("1", 99)) == 10
    assert store.stats()["resident_bytes"] < before / 2
