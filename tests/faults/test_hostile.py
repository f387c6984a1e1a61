"""Files that somebody else made run no code here."""

import sqlite3

import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.errors import StorageError
from langchain_ragstore.storage.sqlite.connection import Database

MODEL = HashingEmbeddings(16)
CALL = "load_extension('/tmp/evil')"
EVIL = {
    "a trigger": f"CREATE TRIGGER t AFTER INSERT ON ragstore_record BEGIN SELECT {CALL}; END",
    "an index": f"CREATE INDEX i ON ragstore_record ({CALL}) WHERE {CALL}",
    "a view in a table's place": f"CREATE VIEW ragstore_record AS SELECT {CALL} AS id",
}
COLUMN = f"evil ANY GENERATED ALWAYS AS ({CALL}), UNIQUE (collection, id)"


def hostile(path, name):
    with SQLiteVectorStore(MODEL, path) as store:
        store.add_texts(["harmless"])
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA writable_schema = ON")
    if "VIEW" in EVIL[name]:
        raw.execute("ALTER TABLE ragstore_record RENAME TO gone")
    kind, called = EVIL[name].split()[1].lower(), EVIL[name].split()[2]
    raw.execute(
        "INSERT INTO sqlite_schema VALUES (?, ?, 'ragstore_record', ?, ?)",
        (kind, called, 2 if kind == "index" else 0, EVIL[name]),
    )
    raw.close()


def used(path):
    with SQLiteVectorStore(MODEL, path) as store:
        store.add_texts(["one more"])
        store.get()


@pytest.mark.parametrize("name", EVIL)
def test_what_a_file_would_call_is_not_called(tmp_path, name):
    """Report 88: opening a file of somebody else ran code of theirs."""
    hostile(tmp_path / "rag.db", name)
    # "not authorized" would be a call that failed.
    with pytest.raises(StorageError, match=r"unsafe use of|functions prohibited"):
        used(tmp_path / "rag.db")


def test_a_column_that_would_be_made_by_a_call(tmp_path):
    """Report 88: as with triggers, so with columns that are generated."""
    path = tmp_path / "rag.db"
    with SQLiteVectorStore(MODEL, path) as store:
        store.add_texts(["harmless"])
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA writable_schema = ON")
    raw.execute(
        "UPDATE sqlite_schema SET sql = replace(sql, 'UNIQUE (collection, id)', ?) "
        "WHERE name = 'ragstore_record'",
        [COLUMN],
    )
    raw.close()
    assert b"GENERATED ALWAYS" in path.read_bytes()
    with pytest.raises(StorageError, match=r"unsafe use of|functions prohibited"):
        used(path)


def test_a_length_that_is_a_lie(tmp_path):
    """Report 88: a vector that claims more bytes than there are is an error, not a crash."""
    path = tmp_path / "rag.db"
    with SQLiteVectorStore(MODEL, path) as store:
        store.add_texts(["harmless"], ids=["a"])
        (stored,) = store._backend.get("default", ["a"], vectors=True)
    raw = bytearray(path.read_bytes())
    at = raw.index(stored.vector.tobytes())
    # Before the bytes of a row stand its columns' types: of these 64 bytes 2 · 64 + 12.
    assert raw[at - 3 : at - 1] == bytes([0x80 | 140 >> 7, 140 & 0x7F])
    raw[at - 3 : at - 1] = b"\xff\x7f"
    path.write_bytes(raw)
    with SQLiteVectorStore(MODEL, path) as store, pytest.raises(StorageError):
        store.similarity_search("harmless")


def test_every_connection_distrusts_the_schema(tmp_path):
    """Report 88: a file from somebody else may not call functions of its own choice."""
    for keywords in ({}, {"read_only": True}):
        database = Database(tmp_path / "rag.db", **keywords)
        with database.read() as connection:
            assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        with database.outside() as connection:
            assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        database.close()


def test_a_trigger_of_plain_sql_changes_its_own_file_alone(tmp_path):
    """Such a file can lie about itself; `verify` says so."""
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db") as store:
        store.add_texts(["harmless"], ids=["a"])
    with sqlite3.connect(tmp_path / "rag.db") as raw:
        raw.execute(
            "CREATE TRIGGER t AFTER INSERT ON ragstore_record "
            "BEGIN UPDATE ragstore_record SET content = 'a lie'; END"
        )
    raw.close()
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db") as store:
        store.add_texts(["one more"], ids=["b"])
        assert {p.kind for p in store.verify()} == {"record"}
