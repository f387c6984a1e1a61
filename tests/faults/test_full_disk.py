"""A disk that is full: a clear error, and everything as it was."""

import subprocess

import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.errors import StorageError
from langchain_ragstore.storage.sqlite.connection import Database
from records import facts

MODEL = HashingEmbeddings(16)
TEXTS = [f"text number {n} " + "x" * 200 for n in range(100)]
LARGE = ["large " * 4_000 + str(n) for n in range(100)]


def contents(store):
    return {r.id: facts(r) for r in store._backend.scan("default", vectors=True)}


def filled(path):
    store = SQLiteVectorStore(MODEL, path)
    store.add_texts(TEXTS, [{"n": n} for n in range(100)])
    return store


WRITES = {
    "add": lambda store, _: store.add_texts(LARGE),
    "patch": lambda store, _: store.update_metadata(
        filter={"n": {"$gte": 0}}, patch={"large": "y" * 40_000}
    ),
    "merge": lambda store, other: store.merge(other),
    "reembed": lambda store, _: store.reembed(HashingEmbeddings(4_096)),
}


def attempted(store, other, name):
    """A write fails as it should, and leaves nothing."""
    before = contents(store), store.similarity_search_with_score("number 7", k=100)
    with pytest.raises(StorageError, match="the disk is full; nothing of this write"):
        WRITES[name](store, other)
    assert (
        contents(store),
        store.similarity_search_with_score("number 7", k=100),
    ) == before
    assert [p for p in store.verify() if "wait" not in p.what] == []
    found = store.search("number 11", "text", k=1)
    assert found[0].metadata == {"n": 11}


@pytest.fixture
def other(tmp_path):
    with SQLiteVectorStore(MODEL, tmp_path / "other.db") as large:
        large.add_texts(LARGE)
    return tmp_path / "other.db"


@pytest.mark.parametrize("name", WRITES)
def test_a_file_that_may_not_grow(tmp_path, monkeypatch, other, name):
    filled(tmp_path / "rag.db").close()
    original = Database._open

    def small(self):
        connection = original(self)
        if self.path == str(tmp_path / "rag.db"):
            connection.execute("PRAGMA max_page_count = 80")
        return connection

    monkeypatch.setattr(Database, "_open", small)
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db") as store:
        attempted(store, other, name)
        store.delete(filter={"n": {"$lt": 50}})
        assert len(store) == 50


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", place]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let a test mount a disk")
    yield place
    subprocess.run(["umount", "-l", place], capture_output=True, check=False)


@pytest.mark.parametrize("name", WRITES)
def test_a_disk_that_is_full(small_disk, other, name):
    with filled(small_disk / "rag.db") as store:
        attempted(store, other, name)
    with SQLiteVectorStore(MODEL, small_disk / "rag.db") as again:
        assert len(again) == 100
        assert again.verify() == []


@pytest.mark.parametrize("method", ["backup", "freeze", "export_jsonl"])
def test_copies_for_which_there_is_no_room(small_disk, other, method):
    with SQLiteVectorStore(MODEL, other) as store:
        with pytest.raises(StorageError):
            getattr(store, method)(small_disk / "copy")
        assert list(small_disk.iterdir()) == []
        assert store.verify() == []


def fill(path):
    with path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4_096) == 4_096:
            pass


def test_a_compaction_for_which_there_is_no_room(small_disk):
    with filled(small_disk / "rag.db") as store:
        before = contents(store)
        with pytest.raises(OSError, match="No space"):
            fill(small_disk / "fill")
        with pytest.raises(StorageError):
            store.compact()
        assert contents(store) == before
        (small_disk / "fill").unlink()
        store.compact()
        assert contents(store) == before
        assert store.verify() == []
