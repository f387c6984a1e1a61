"""Whatever fails in a write of the ledger or the blobs, it was written whole or not."""

import itertools
import shutil
import sqlite3

import pytest

from failing import Counter, Failing
from fakes import Clock
from langchain_ragstore import SQLiteByteStore, SQLiteRecordManager
from langchain_ragstore.errors import StorageError, StoreLockedError
from langchain_ragstore.storage.sqlite.connection import Database

MANY = [f"k{n}" for n in range(600)]  # more than two statements take


class Both:
    """A record manager and a byte store on one file."""

    def __init__(self, path, now=2_000.0) -> None:
        clock = Clock(now)
        self.manager = SQLiteRecordManager("n", path, clock=clock)
        self.store = SQLiteByteStore(path, "n", ttl_seconds=500, max_bytes=700, clock=clock)

    def state(self):
        keys = list(self.store.yield_keys())
        pairs = dict(zip(keys, self.store.mget(keys), strict=True))
        groups = [sorted(self.manager.list_keys(group_ids=[g])) for g in ("old", "new")]
        return self.manager.list_keys(), groups, pairs, self.store.timestamps(MANY)

    def close(self):
        self.manager.close()
        self.store.close()


WRITES = {
    "update": lambda b: b.manager.update(["k0", "x", "k1"], group_ids=["new"] * 3),
    "delete_keys": lambda b: b.manager.delete_keys(MANY[:590]),
    "mset": lambda b: b.store.mset([("k0", b"x" * 150), ("fresh", b"y" * 150)]),
    "mdelete": lambda b: b.store.mdelete(MANY[:590]),
}


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "template.db"
    both = Both(path, now=1_000.0)  # half a lifetime before the writes under test
    both.store.mset([("expired", b"z")])
    both.close()
    both = Both(path, now=1_600.0)
    both.manager.update(MANY, group_ids=["old"] * len(MANY))
    both.store.mset([(key, b"1") for key in MANY])
    both.close()
    return path


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
def test_the_nth_statement_fails(template, tmp_path, monkeypatch, name, error, late):
    def copy(name):
        shutil.copy(template, tmp_path / name)
        return Both(tmp_path / name)

    both = copy("done.db")
    old = both.state()
    WRITES[name](both)
    new = both.state()
    both.close()
    assert old != new

    counter = Counter()
    counter.error, counter.late = error, late
    original = Database._open
    monkeypatch.setattr(Database, "_open", lambda self: Failing(original(self), counter))
    for n in itertools.count(1):
        both = copy(f"{n}.db")
        counter.left = n
        failed = False
        try:
            WRITES[name](both)
        except (StorageError, KeyboardInterrupt):
            failed = True
        finished = counter.left > 0
        counter.left = None
        here = both.state()
        # After the COMMIT itself an interrupt comes too late to undo anything.
        assert here == (old if failed else new) or (late and here == new)
        WRITES[name](both)  # it goes on working
        assert both.state() == new
        both.close()
        if finished:
            assert not failed
            break
        assert failed
    assert n > 4


def test_a_held_lock_is_named_and_nothing_is_written(template, monkeypatch):
    class Impatient(Database):
        def __init__(self, path, *, read_only=False) -> None:
            super().__init__(path, read_only=read_only, timeout=0.05)

    monkeypatch.setattr("langchain_ragstore.storage.sqlite.schema.Database", Impatient)
    both = Both(template)
    old = both.state()
    other = sqlite3.connect(template, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for write in (*WRITES.values(), lambda b: b.manager.get_time()):
        with pytest.raises(StoreLockedError, match="locked"):
            write(both)
    assert both.state() == old  # readers do not wait
    other.execute("ROLLBACK")
    other.close()
    both.close()
