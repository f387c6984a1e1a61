"""Copies of a store's file, and what is left in it of what was deleted."""

import os
import shutil
import sqlite3
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from fakes import Clock, Counting, Turned
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore, TextAnalyzer
from langchain_ragstore.config import RECORD_PAGE
from langchain_ragstore.errors import (
    AnalyzerMismatchError,
    CorruptStoreError,
    DimensionMismatchError,
    EmbeddingMismatchError,
    InvalidInputError,
    ReadOnlyError,
    StoreLockedError,
)
from langchain_ragstore.model import Compacted
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite.connection import Database
from langchain_ragstore.storage.sqlite.files import is_frozen
from records import facts

MODEL = HashingEmbeddings(16)


def stored(store):
    name = store.collection_name
    return [facts(r) for r in store._backend.scan(name, vectors=True)]


@pytest.fixture
def store(tmp_path):
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db") as opened:
        opened.add_texts(["alpha beta", "退款 七天", "gamma"], [{"n": 1}, None, {"n": 3}])
        yield opened


# --- backup ----------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["rag.db", ":memory:"])
def test_a_backup_is_the_whole_file(tmp_path, place):
    path = place if place == ":memory:" else tmp_path / place
    with SQLiteVectorStore(MODEL, path) as store:
        store.add_texts(["alpha beta", "退款 七天"])
        SQLiteVectorStore(MODEL, path, collection_name="b")
        store.byte_store().mset([("k", b"v")])
        size = store.backup(tmp_path / "copy 中?.db")
        assert size == (tmp_path / "copy 中?.db").stat().st_size
        store.add_texts(["later"])
        with SQLiteVectorStore(MODEL, tmp_path / "copy 中?.db") as copy:
            assert stored(copy) == stored(store)[:2]
            assert copy.byte_store().mget(["k"]) == [b"v"]
            assert [d.page_content for d in copy.search("退款", "text")] == ["退款 七天"]
            assert copy.verify() == []
            copy.add_texts(["it can be written"])
    assert not [p for p in tmp_path.iterdir() if ".part" in p.name]


def test_a_backup_holds_other_applications_tables(store, tmp_path):
    with sqlite3.connect(store.path) as other:
        other.execute("CREATE TABLE theirs (x)")
        other.execute("INSERT INTO theirs VALUES (7)")
    other.close()
    store.backup(tmp_path / "copy.db")
    copy = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("SELECT x FROM theirs").fetchall() == [(7,)]
    copy.close()


def test_a_backup_waits_for_no_writer_and_no_writer_for_it(store, tmp_path):
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM ragstore_record")
    store.backup(tmp_path / "copy.db")
    other.execute("ROLLBACK")
    other.close()
    with SQLiteVectorStore(MODEL, tmp_path / "copy.db") as copy:
        assert stored(copy) == stored(store)


@pytest.mark.parametrize("method", ["backup", "freeze"])
def test_places_where_no_copy_can_be(store, tmp_path, method):
    copy = getattr(store, method)
    with pytest.raises(InvalidInputError, match="is the store itself"):
        copy(store.path, overwrite=True)
    (tmp_path / "link.db").symlink_to(store.path)
    with pytest.raises(InvalidInputError, match="is the store itself"):
        copy(tmp_path / "link.db", overwrite=True)
    with SQLiteVectorStore(MODEL, tmp_path / "open.db") as other:
        other.add_texts(["theirs"])
        with pytest.raises(InvalidInputError, match="is open somewhere"):
            copy(tmp_path / "open.db", overwrite=True)
        assert len(other) == 1
    with pytest.raises(InvalidInputError, match="exists already"):
        copy(tmp_path / "open.db")
    copy(tmp_path / "open.db", overwrite=True)
    with SQLiteVectorStore(MODEL, tmp_path / "open.db") as replaced:
        assert len(replaced) == 3
    with pytest.raises(InvalidInputError, match="is a folder"):
        copy(tmp_path)


@pytest.mark.parametrize("method", ["backup", "freeze", "verify", "repair", "compact"])
def test_a_view_does_not_see_enough_for_it(store, tmp_path, method):
    arguments = [tmp_path / "x"] if method in ("backup", "freeze") else []
    with pytest.raises(InvalidInputError, match=rf"a scoped view cannot {method}\(\)"):
        getattr(store.scoped({"n": 1}), method)(*arguments)
    assert not (tmp_path / "x").exists()


# --- compact ---------------------------------------------------------------------------


def traces(folder, *marks):
    """Files of a folder that hold one of the marks."""
    return [
        p.name for p in sorted(folder.iterdir()) if any(m in p.read_bytes() for m in marks)
    ]


def test_nothing_of_what_was_deleted_is_left(tmp_path):
    """Report 28: texts and vectors that were deleted could be read in the file."""
    clock = Clock()
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db", clock=clock) as store:
        store.add_texts([f"kept {n}" for n in range(50)])
        made = []
        for n in range(60):
            (id,) = store.add_texts([f"MARKER{n} 消去"], [{"MARKER": n}])
            made += store._backend.get("default", [id], vectors=True)
        gone = [r.vector.tobytes() for r in made]
        store.add_texts(["EXPIRED text"], expires_at=1_500.0)
        store._backend.keep("default", {b"WAITING": np.ones(16, np.float32) / 4}, None)
        bigram = (1 << 63 | ord("消") << 21 | ord("去")).to_bytes(8, "little")
        marks = [b"MARKER", b"EXPIRED", b"WAITING", bigram, *gone]
        assert traces(tmp_path, *marks)
        assert all(traces(tmp_path, mark) for mark in marks)
        store.delete(filter={"MARKER": {"$exists": True}})
        clock.now = 1_500.0
        sizes = store.compact()
        for mark in marks:
            assert traces(tmp_path, mark) == []
        assert (tmp_path / "rag.db-wal").stat().st_size == 0
        assert (
            sizes.bytes_after == (tmp_path / "rag.db").stat().st_size < sizes.bytes_before
        )
        assert len(store) == 50
        assert [d.page_content for d in store.search("kept 7", "text", k=1)] == ["kept 7"]
        assert store.verify() == []


@pytest.mark.parametrize("place", ["rag.db", ":memory:"])
def test_an_emptied_store_takes_no_more_room_than_a_new_one(tmp_path, place):
    """Report 27: a file never shrank, and dead data slowed searches down."""
    path = place if place == ":memory:" else tmp_path / place
    with SQLiteVectorStore(MODEL, path) as store:
        empty = store.compact().bytes_after
        store.add_texts([f"text {n} " * 5 for n in range(5_000)])
        store.clear()
        sizes = store.compact()
        assert sizes.bytes_after <= 1.1 * empty < sizes.bytes_before
        assert store.add_texts(["again"])
        assert store.verify() == []


def test_other_stores_go_on_after_a_compaction(store):
    with SQLiteVectorStore(MODEL, store.path) as other:
        before = other.similarity_search_with_score("alpha", k=9)
        store.delete(filter={"n": 3})
        store.compact()
        assert other.similarity_search_with_score("alpha", k=9) == [
            hit for hit in before if hit[0].metadata.get("n") != 3
        ]
        assert other.verify() == []


def test_other_stores_see_that_a_compacted_one_is_empty(store):
    with SQLiteVectorStore(MODEL, store.path) as other:
        assert other.search("alpha", "hybrid")
        store.clear()
        store.compact()
        assert other.search("alpha", "hybrid") == other.similarity_search("alpha") == []
        store.add_texts(["alpha again"])
        assert [d.page_content for d in other.search("alpha", "hybrid")] == ["alpha again"]
        assert other.verify() == []


def test_a_reader_that_does_not_finish_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("langchain_ragstore.storage.sqlite.schema.Database", Impatient)
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db") as store:
        store.add_texts(["MARKER"], ids=["a"])
        reader = sqlite3.connect(store.path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM ragstore_record").fetchall()
        store.delete(["a"])
        with pytest.raises(StoreLockedError, match=r"compact\(\) again"):
            store.compact()
        reader.execute("COMMIT")
        assert isinstance(store.compact(), Compacted)
        assert traces(tmp_path, b"MARKER") == []
        reader.close()


class Impatient(Database):
    def __init__(self, path, *, read_only=False) -> None:
        super().__init__(path, read_only=read_only, timeout=0.3)


def test_the_oracle_compacts_too():
    clock = Clock()
    backend = MemoryBackend(clock=clock)
    assert backend.compact() == Compacted(0, 0)
    assert backend.verify("c", lambda _: None) == backend.repair("c", lambda _: None) == []


# --- freeze ----------------------------------------------------------------------------


def test_a_frozen_file_is_read_and_never_written(store, tmp_path):
    store.delete(filter={"n": 3})
    store.byte_store().mset([("k", b"v")])
    with sqlite3.connect(store.path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    path = tmp_path / "shipped" / "kb.db"
    path.parent.mkdir()
    assert store.freeze(path) == path.stat().st_size
    before = path.read_bytes()
    with SQLiteVectorStore(MODEL, path) as frozen:
        assert stored(frozen) == stored(store)
        assert [d.page_content for d in frozen.search("退款", "text")] == ["退款 七天"]
        assert frozen.similarity_search("alpha beta", k=1)[0].page_content == "alpha beta"
        assert frozen.byte_store().mget(["k"]) == [b"v"]
        assert frozen.verify() == []
        for write in (
            lambda: frozen.add_embeddings(["x"], [[1.0] * 16]),
            frozen.clear,
            frozen.compact,
            frozen.reindex_text,
        ):
            with pytest.raises(ReadOnlyError, match=r"made by freeze\(\).*backup\(\)"):
                write()
        assert [p.name for p in path.parent.iterdir()] == ["kb.db"]
        assert frozen.freeze(tmp_path / "again.db") == path.stat().st_size
        frozen.backup(tmp_path / "thawed.db")
    assert path.read_bytes() == before
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    names = [
        n for (n,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    ]
    assert "theirs" not in names
    raw.close()
    with SQLiteVectorStore(MODEL, tmp_path / "thawed.db") as thawed:
        thawed.add_texts(["new"])
        assert len(thawed) == 3


def test_a_frozen_file_holds_nothing_that_was_deleted_or_expired(tmp_path):
    clock = Clock()
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db", clock=clock) as store:
        store.add_texts(["kept", "MARKER"], ids=["a", "b"])
        store.add_texts(["EXPIRED"], expires_at=1_500.0)
        store.delete(["b"])
        clock.now = 1_500.0
        (tmp_path / "frozen").mkdir()
        store.freeze(tmp_path / "frozen" / "f.db")
        assert traces(tmp_path / "frozen", b"kept") == ["f.db"]
        assert traces(tmp_path / "frozen", b"MARKER", b"EXPIRED") == []


def test_a_store_in_memory_can_be_frozen(tmp_path):
    with SQLiteVectorStore(None) as store:
        store.add_embeddings(["x"], [[1.0, 0.0]])
        store.freeze(tmp_path / "f.db")
    with SQLiteVectorStore(None, tmp_path / "f.db") as frozen:
        assert frozen.similarity_search_by_vector([1.0, 0.0])[0].page_content == "x"


def test_a_frozen_file_on_a_read_only_disk(store, tmp_path, read_only_disk):
    store.freeze(read_only_disk.source / "f.db")
    store.backup(read_only_disk.source / "wal.db")
    with SQLiteVectorStore(MODEL, store.path) as open_one:
        open_one.add_texts(["in the log"])
        for suffix in ("", "-wal"):
            shutil.copyfile(store.path + suffix, read_only_disk.source / f"open.db{suffix}")
    folder = read_only_disk.mount()
    with SQLiteVectorStore(MODEL, folder / "f.db") as frozen:
        assert len(frozen.similarity_search("alpha", k=9)) == 3
    # One with a log, but nothing in it, needs to be asked to be read alone.
    with SQLiteVectorStore(MODEL, folder / "wal.db", read_only=True) as unwritable:
        assert len(unwritable.similarity_search("alpha", k=9)) == 3
    # What is in a log would be missed without the second file beside it.
    with pytest.raises(Exception, match="unable to open"):
        SQLiteVectorStore(MODEL, folder / "open.db", read_only=True)


class Disk:
    """A folder, and the same as a disk that cannot be written to."""

    def __init__(self, folder) -> None:
        self.source, self.place = folder / "source", folder / "disk"
        self.source.mkdir()
        self.place.mkdir()

    def mount(self) -> Path:
        bind = ["mount", "--bind", self.source, self.place]
        if subprocess.run(bind, capture_output=True, check=False).returncode:
            pytest.skip("this system does not let a test mount a disk")
        remount = ["mount", "-o", "remount,ro,bind", self.place]
        if subprocess.run(remount, capture_output=True, check=False).returncode:
            pytest.skip("this system does not let a test mount a disk read-only")
        return self.place


@pytest.fixture
def read_only_disk(tmp_path):
    disk = Disk(tmp_path)
    yield disk
    subprocess.run(["umount", disk.place], capture_output=True, check=False)


def test_what_is_frozen_is_known_by_its_header_alone(tmp_path):
    for content in (b"", b"short", os.urandom(100)):
        (tmp_path / "x").write_bytes(content)
        assert not is_frozen(str(tmp_path / "x"))
    assert not is_frozen(str(tmp_path / "absent"))


# --- all of it, awaited ---------------------------------------------------------------


async def test_what_is_awaited_does_the_same(store, tmp_path):
    before = stored(store)
    assert await store.averify() == await store.arepair() == []
    assert await store.aexport_jsonl(tmp_path / "x.jsonl") == 3
    assert (await store.aimport_jsonl(tmp_path / "x.jsonl")).updated == 3
    size = await store.abackup(tmp_path / "copy.db")
    assert size == (tmp_path / "copy.db").stat().st_size
    assert await store.afreeze(tmp_path / "copy.db", overwrite=True) <= size
    with SQLiteVectorStore(MODEL, tmp_path / "new.db") as new:
        assert (await new.amerge(tmp_path / "copy.db")).added == 3
        with pytest.raises(InvalidInputError):
            await new.amerge(tmp_path / "copy.db", on_conflict="error")
        with pytest.raises(InvalidInputError, match="no collection 'x'"):
            await new.amerge(tmp_path / "copy.db", collection_name="x")
        assert stored(new) == before
    assert (await store.acompact()).bytes_after > 0
    assert stored(store) == before


# --- merge -----------------------------------------------------------------------------


def test_two_stores_become_one(store, tmp_path):
    with SQLiteVectorStore(MODEL, tmp_path / "other.db", clock=Clock(5.0)) as other:
        other.add_texts([f"other {n}" for n in range(RECORD_PAGE + 1)])
        theirs, mine = stored(other), stored(store)
        report = store.merge(other)
        assert (report.added, report.updated, report.skipped) == (RECORD_PAGE + 1, 0, 0)
        assert stored(store) == mine + theirs
        assert stored(other) == theirs
    assert store.merge(tmp_path / "other.db", on_conflict="skip").skipped == RECORD_PAGE + 1
    with pytest.raises(InvalidInputError, match="is stored in collection"):
        store.merge(str(tmp_path / "other.db"), on_conflict="error")
    assert store.verify() == []
    found = store.search("other 7", "text", k=1)
    assert [d.page_content for d in found] == ["other 7"]


@pytest.mark.parametrize("place", ["rag.db", ":memory:"])
def test_collections_of_one_file_are_merged(tmp_path, place):
    path = place if place == ":memory:" else tmp_path / place
    with SQLiteVectorStore(None, path) as one:
        two = type(one).__new__(type(one))
        two.__dict__.update(one.__dict__)
        two.collection_name = "two"
        two.add_embeddings(["theirs"], [[1.0, 0.0]])
        assert one.merge(two).added == 1
        assert len(one) == 1
        with pytest.raises(InvalidInputError, match="cannot be merged with itself"):
            one.merge(one.scoped({"a": 1}))
        if place != ":memory:":
            assert one.merge(path, collection_name="two").updated == 1
            with pytest.raises(InvalidInputError, match="no collection 'three', but"):
                one.merge(path, collection_name="three")
    with pytest.raises(InvalidInputError, match="a store is on one"):
        one.merge(two, collection_name="two")


def test_what_cannot_be_merged_is_refused_before_anything_is_written(tmp_path):
    with SQLiteVectorStore(Counting(16), tmp_path / "mine.db") as mine:
        mine.add_texts(["mine"])
        with SQLiteVectorStore(Turned(16), tmp_path / "turned.db") as other:
            other.add_texts(["a"])
            with pytest.raises(EmbeddingMismatchError, match="holds vectors of Turned"):
                mine.merge(other)
        with SQLiteVectorStore(Counting(8), tmp_path / "short.db") as other:
            other.add_texts(["a"])
            with pytest.raises(DimensionMismatchError):
                mine.merge(other)
        with SQLiteVectorStore(None, tmp_path / "plain.db") as other:
            other.add_texts(["no vector"])
            other.add_embeddings(["a"], [[1.0, 0.0]])
            with pytest.raises(DimensionMismatchError):
                mine.merge(other)
        bare = TextAnalyzer(stemmer=None)
        with SQLiteVectorStore(
            Counting(16), tmp_path / "bare.db", text_analyzer=bare
        ) as other:
            other.add_texts(["a"])
            with pytest.raises(AnalyzerMismatchError):
                mine.merge(other)
        assert len(mine) == 1


def test_a_view_is_merged_as_far_as_it_sees(store, tmp_path):
    with SQLiteVectorStore(MODEL, tmp_path / "other.db") as other:
        assert other.merge(store.scoped({"n": {"$gte": 1}})).added == 2
        other.clear()
        other.scoped({"owner": "ann"}).merge(store.scoped({"n": 3}))
        assert [d.metadata for d in other.get()] == [{"n": 3, "owner": "ann"}]


def test_a_store_in_memory_and_a_file_are_merged(store):
    with SQLiteVectorStore(MODEL) as memory:
        memory.add_texts(["in memory"])
        assert store.merge(memory).added == 1
        assert memory.merge(store).added == 3
        assert sorted(d.page_content for d in memory.get()) == sorted(
            d.page_content for d in store.get()
        )
    with SQLiteVectorStore(Turned(16)) as memory:
        memory.add_texts(["x"])
        with pytest.raises(EmbeddingMismatchError):
            store.merge(memory)


def test_a_file_that_is_no_store_is_named(store, tmp_path):
    (tmp_path / "x.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(CorruptStoreError):
        store.merge(tmp_path / "x.db")
    with pytest.raises(InvalidInputError, match="does not exist"):
        store.merge(tmp_path / "absent.db")


def test_others_write_between_the_pages_of_a_merge(store, tmp_path):
    """What takes long yields: another writer's turn comes within a page."""
    with SQLiteVectorStore(MODEL, tmp_path / "other.db") as other:
        other.add_texts([f"other {n}" for n in range(3 * RECORD_PAGE)])
        writers = []

        def beside():
            raw = sqlite3.connect(store.path, timeout=5)
            raw.execute("CREATE TABLE theirs (x)")
            for n in range(20):
                raw.execute("INSERT INTO theirs VALUES (?)", (n,))
                raw.commit()
            writers.append(raw.execute("SELECT count(*) FROM theirs").fetchone())
            raw.close()

        thread = threading.Thread(target=beside)
        thread.start()
        store.merge(other)
        thread.join()
        assert writers == [(20,)]
