"""Whatever fails in the middle of a write, the old state or the new one remains."""

import itertools
import shutil
import sqlite3
import threading

import numpy as np
import pytest

from codes import check_codes
from failing import Counter, Failing
from langchain_ragstore.errors import (
    CorruptStoreError,
    DimensionMismatchError,
    ReadOnlyError,
    SchemaTooNewError,
    StorageError,
    StoreLockedError,
)
from langchain_ragstore.filters import EVERYTHING, Predicate, parse
from langchain_ragstore.model import Fingerprint, Record, Terms
from langchain_ragstore.storage.sqlite import coding
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.storage.sqlite.connection import Database

AXES = np.eye(4, dtype=np.float32)
QUERY = Terms({"w1": 1, "w3": 1, "w10": 1, "w12": 1, "wall": 1}, {"東京": 1})


def terms(*numbers):
    return Terms({f"w{n}": 1 for n in [*numbers, "all"]}, {"東京": 1})


def filled(path):
    backend = SQLiteBackend(path)
    records = [
        Record(f"r{n}", f"text {n}", {"n": n}, AXES[n % 4], terms=terms(n))
        for n in range(6)
    ]
    for record in records[:3]:  # segments enough for the next write to merge them
        backend.upsert("c", [record])
    backend.upsert("c", [*records, Record("old", "x", {}, AXES[0], expires_at=1.0)])
    backend.keep("kept", {b"1": AXES[0], b"3": AXES[1]}, Fingerprint("m", AXES[0]))
    return backend


def new_records(_backend=None):
    return [
        Record("r1", "replaced", {"n": 10}, AXES[3], terms=terms(10)),
        Record("r2", "no vector", {"n": 11}),
        Record("fresh", "fresh", {"n": 12}, AXES[2], terms=terms(12, 12)),
    ]


def anew(record):
    numbers = record.metadata.get("n", 0), 1
    return None if record.id == "r4" else terms(*numbers)


WRITES = {
    "upsert": lambda b: b.upsert(
        "c", new_records(), remove=["r0"], guard=parse({"n": {"$gte": 0}})
    ),
    "first upsert": lambda b: b.upsert("another", new_records()),
    "delete ids": lambda b: b.delete("c", ids=["r1", "r3"], where=EVERYTHING),
    "delete where": lambda b: b.delete("c", ids=None, where=parse({"n": {"$gt": 2}})),
    "replace all": lambda b: b.upsert(
        "c",
        [Record("only", "one", {}, np.ones(2, np.float32))],
        remove=[f"r{n}" for n in range(6)],
    ),
    "delete in python": lambda b: b.delete(
        "c", ids=None, where=Predicate(lambda id, _content, _metadata: id > "r2")
    ),
    "clear": lambda b: b.delete("c", ids=None, where=EVERYTHING),
    "reindex": lambda b: b.reindex("c", anew),
    "another model": lambda b: b.upsert(
        "another",
        [Record("m", "x", {}, AXES[0], digest=b"1")],
        model=Fingerprint("m", AXES[1]),
    ),
    "upsert of what is kept": lambda b: b.upsert(
        "kept",
        [Record("k", "x", {}, AXES[0], digest=b"1")],
        expected=[],
        model=Fingerprint("m", AXES[0]),
    ),
    "keep": lambda b: b.keep("kept", {b"2": AXES[2]}, Fingerprint("m", AXES[0])),
    "keep of another model": lambda b: b.keep(
        "kept", {b"2": AXES[2]}, Fingerprint("n", AXES[1])
    ),
    "adopt": lambda b: b.adopt("c", "kept", lambda r: b"3" if r.id > "r2" else b"1"),
    "adopt for nothing": lambda b: b.adopt("never", "kept", lambda _: b"1"),
    "clear what is kept": lambda b: b.delete("kept", ids=None, where=EVERYTHING),
    "patch": lambda b: b.patch(
        "c", ids=None, where=parse({"n": {"$lt": 3}}), changes={"p": 1}
    ),
}


def state(backend):
    def facts(record):
        vector = None if record.vector is None else record.vector.tobytes()
        return record.id, record.content, dict(record.metadata), vector

    return [
        [facts(record) for record in backend.scan(name, vectors=True)]
        + [(hit.record.id, hit.score) for hit in nearest(backend, name)]
        + [(hit.record.id, hit.score) for hit in backend.lexical(name, QUERY, 9)]
        + [sorted((d, v.tobytes()) for d, v in kept(backend, name).items())]
        + [getattr(backend.fingerprint(name), "name", None)]
        for name in ("c", "another", "kept")
    ]


def kept(backend, name):
    found = {}
    for axis in (0, 1):
        model = Fingerprint("?", AXES[axis])
        found |= backend.known(name, [b"1", b"2", b"3"], model)
    return found


def nearest(backend, name):
    try:
        return backend.dense(name, AXES[3], 9)
    except DimensionMismatchError:
        return backend.dense(name, AXES[3][:2], 9)


def check_file(path):
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    orphans = "SELECT count(*) FROM ragstore_vector WHERE record NOT IN (SELECT key FROM ragstore_record)"
    assert connection.execute(orphans).fetchone() == (0,)
    segments = "SELECT count(*) FROM ragstore_segment WHERE merging IS NOT NULL"
    assert connection.execute(segments).fetchone() == (0,)
    connection.close()


@pytest.fixture(params=["whole vectors", "codes"])
def codes(request, monkeypatch):
    if request.param == "codes":
        monkeypatch.setattr(coding, "SCAN_VALUES", 0)
        monkeypatch.setattr(coding, "SKETCH_LEAST_DIMENSION", 1)


@pytest.mark.usefixtures("codes")
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize(
    ("error", "late"),
    [
        (sqlite3.OperationalError("disk I/O error"), False),
        (KeyboardInterrupt(), False),
        (KeyboardInterrupt(), True),
    ],
    ids=["sqlite", "interrupt", "interrupt after"],
)
def test_the_nth_statement_fails(tmp_path, monkeypatch, name, error, late):
    template = tmp_path / "template.db"
    backend = filled(template)
    old = state(backend)
    backend.close()
    done = tmp_path / "done.db"
    shutil.copy(template, done)
    backend = SQLiteBackend(done)
    WRITES[name](backend)
    new = state(backend)
    backend.close()
    assert old != new

    counter = Counter()
    counter.error, counter.late = error, late
    original = Database._open
    monkeypatch.setattr(Database, "_open", lambda self: Failing(original(self), counter))
    for n in itertools.count(1):
        path = tmp_path / f"{n}.db"
        shutil.copy(template, path)
        backend = SQLiteBackend(path)
        state(backend)  # a copy in memory, which must not run ahead of the file
        counter.left = n
        message = None
        try:
            WRITES[name](backend)
        except (StorageError, KeyboardInterrupt) as raised:
            message = str(raised)
        failed = message is not None
        finished = counter.left > 0
        counter.left = None
        here = state(backend)
        assert [check_codes(backend, name) for name in ("c", "another", "kept")] == [[]] * 3
        # After the COMMIT itself an interrupt comes too late to undo anything.
        assert here == (old if failed else new) or (late and here == new)
        backend.close()
        backend = SQLiteBackend(path)
        assert state(backend) == here
        WRITES[name](backend)  # it goes on working
        assert state(backend)[0] == new[0]
        backend.close()
        check_file(path)
        if finished:
            assert not failed
            break
        assert message == (f"{path}: {error}" if isinstance(error, sqlite3.Error) else "")
    assert n > 4


def test_a_full_disk_keeps_the_old_state(tmp_path, monkeypatch):
    backend = filled(tmp_path / "rag.db")
    old = state(backend)
    original = Database._open

    def small(self):
        connection = original(self)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    backend.close()
    monkeypatch.setattr(Database, "_open", small)
    backend = SQLiteBackend(tmp_path / "rag.db")
    with pytest.raises(
        StorageError, match="the disk is full; nothing of this write was kept"
    ):
        backend.upsert("c", [Record(str(n), "x" * 9_000, {}, AXES[0]) for n in range(50)])
    assert state(backend) == old
    backend.delete("c", ids=["r1"], where=EVERYTHING)
    assert backend.count("c") == 5
    backend.close()
    check_file(tmp_path / "rag.db")


def test_a_held_lock_is_waited_for_and_then_named(tmp_path, monkeypatch):
    path = tmp_path / "rag.db"
    backend = filled(path)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    timer.start()
    backend.delete("c", ids=["r1"], where=EVERYTHING)
    timer.join()
    backend.close()
    monkeypatch.setattr(
        "langchain_ragstore.storage.sqlite.schema.Database", ImpatientDatabase
    )
    backend = SQLiteBackend(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLockedError, match="locked"):
        backend.delete("c", ids=["r2"], where=EVERYTHING)
    assert backend.count("c") == 5
    other.execute("ROLLBACK")
    other.close()
    backend.close()


class ImpatientDatabase(Database):
    def __init__(self, path, *, read_only=False) -> None:
        super().__init__(path, read_only=read_only, timeout=0.05)


def test_a_reader_is_not_held_up_and_sees_one_state(tmp_path):
    path = tmp_path / "rag.db"
    backend = filled(path)
    old = state(backend)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM ragstore_record")
    assert state(backend) == old
    other.execute("ROLLBACK")
    assert state(backend) == old
    other.close()
    backend.close()


def test_a_first_opening_waits_for_a_writer(tmp_path, monkeypatch):
    path = tmp_path / "rag.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE theirs (x)")
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(
        "langchain_ragstore.storage.sqlite.schema.Database", ImpatientDatabase
    )
    with pytest.raises(StoreLockedError, match="locked"):
        SQLiteBackend(path)
    monkeypatch.undo()
    timer = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    timer.start()
    backend = SQLiteBackend(path)
    timer.join()
    assert backend.count("c") == 0
    backend.close()
    other.close()


def test_what_is_no_database_is_named_and_left_alone(tmp_path):
    path = tmp_path / "rag.db"
    path.write_bytes(b"This is a text, not a database. " * 100)
    with pytest.raises(CorruptStoreError, match="not an SQLite database"):
        SQLiteBackend(path)
    assert path.read_bytes() == b"This is a text, not a database. " * 100


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "rag.db"
    filled(path).close()
    raw = bytearray(path.read_bytes())
    raw[4096 : len(raw)] = b"\xff" * (len(raw) - 4096)
    path.write_bytes(raw)
    with pytest.raises(CorruptStoreError, match="damaged"):
        SQLiteBackend(path)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_newer_file_is_refused_untouched(tmp_path, mode, read_only):
    """Report 25: an older release opened a newer file and found it empty, or spoiled it."""
    path = tmp_path / "rag.db"
    filled(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("INSERT INTO ragstore_schema VALUES (999, 0)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNewError, match="999"):
        SQLiteBackend(path, read_only=read_only)
    assert path.read_bytes() == before
    if not read_only:  # a reader may not tidy up what SQLite made beside the file
        assert list(tmp_path.iterdir()) == [path]


def test_a_migration_that_fails_leaves_nothing(tmp_path, monkeypatch):
    """Report 25: an upgrade that broke off left a file without its columns.

    There is one schema so far, and so no file of an older release to be opened.
    """
    counter = Counter()
    original = Database._open
    monkeypatch.setattr(Database, "_open", lambda self: Failing(original(self), counter))
    for n in itertools.count(1):
        path = tmp_path / f"{n}.db"
        counter.left = n
        try:
            backend = SQLiteBackend(path)
        except StorageError:
            counter.left = None
            connection = sqlite3.connect(path)
            assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (
                0,
            )
            connection.close()
            filled(path).close()
            continue
        counter.left = None
        assert backend.count("c") == 0
        backend.close()
        break
    assert n > 5


def test_read_only(tmp_path):
    path = tmp_path / "rag.db"
    filled(path).close()
    backend = SQLiteBackend(path, read_only=True)
    assert backend.count("c") == 6
    assert len(backend.dense("c", AXES[0], 9)) == 6
    assert len(backend.lexical("c", QUERY, 9)) == 6
    for write in WRITES.values():
        with pytest.raises(ReadOnlyError, match="read_only=True"):
            write(backend)
    backend.close()
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    with pytest.raises(StorageError, match="open it once for writing"):
        SQLiteBackend(empty, read_only=True)
