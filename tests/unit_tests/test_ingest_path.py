"""Files into a store: what is read, loaded, embedded and removed, run after run."""

import asyncio
import operator
import os
import re
import subprocess
import sys
import threading
import time
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import (
    CharacterTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
)

import langchain_ragstore.folders
from fakes import Clock, Counting
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    HashingEmbeddings,
    InvalidInputError,
    MissingExtraError,
    PathReport,
    RagPipeline,
    ReadOnlyError,
    SQLiteVectorStore,
    StoreClosedError,
    TokenAwareTextSplitter,
)
from langchain_ragstore.file_ledger import Entry, FileLedger, Status, fingerprint
from langchain_ragstore.folders import Folder
from langchain_ragstore.loaders import FileLoader
from langchain_ragstore.loaders.files import Choice
from langchain_ragstore.storage.sqlite.lease import Lease

LONG_AGO = 1_600_000_000
FILES = {
    "a.md": "# Tea\n\nGreen tea wants 80 °C.",
    "b.txt": "The first line.\nThe second line.\nThe third line.",
    "deep/c.csv": "item,price\ncup,3\npot,9\n",
    "deep/绿茶.txt": "绿茶的水温不要超过八十度。",
}


def write(path, text, age=LONG_AGO):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if age is not None:
        os.utime(path, (age, age))
    return path


@pytest.fixture
def docs(tmp_path):
    for name, text in FILES.items():
        write(tmp_path / "docs" / name, text)
    return tmp_path / "docs"


@pytest.fixture
def pipeline():
    return RagPipeline(Counting(), splitter=CJKRecursiveTextSplitter(20, 0))


@pytest.fixture(params=["sync", "async"])
def ingest(request, pipeline):
    async def run(path, *patterns, **keywords):
        if request.param == "sync":
            return pipeline.ingest_path(path, *patterns, **keywords)
        return await pipeline.aingest_path(path, *patterns, **keywords)

    return run


@pytest.fixture
def read(monkeypatch):
    """Names of the files of which a byte is read, by hashing or loading."""
    names = []
    digest, load = langchain_ragstore.folders.digest, FileLoader._bytes

    def counted(path):
        names.append(path.name)
        return digest(path)

    def loaded(self, source):
        names.append(Path(self.path).name)
        return load(self, source)

    monkeypatch.setattr(langchain_ragstore.folders, "digest", counted)
    monkeypatch.setattr(FileLoader, "_bytes", loaded)
    return names


def spent(pipeline):
    texts = list(pipeline.store.embeddings.texts)
    pipeline.store.embeddings.texts.clear()
    return texts


def state(store):
    return [(d.id, d.page_content, d.metadata) for d in store.get(order_by="$id")]


def sources(pipeline, root):
    """Names of the sources that have chunks, below a folder."""
    found = pipeline.store.distinct("source")
    return sorted(Path(source).relative_to(root).as_posix() for source in found)


async def test_a_second_run_embeds_nothing_and_reads_nothing(pipeline, ingest, docs, read):
    first = await ingest(docs)
    assert (first.loaded, first.unchanged, first.failed) == (4, 0, ())
    assert first.added == len(pipeline.store) == len(set(spent(pipeline))) > 6
    before = state(pipeline.store)
    read.clear()
    second = await ingest(docs)
    assert second == PathReport(skipped=first.added, unchanged=4)
    assert not second.tells
    assert spent(pipeline) == []
    assert read == []
    assert state(pipeline.store) == before


async def test_the_source_is_the_absolute_path(pipeline, ingest, docs, monkeypatch):
    await ingest(docs)
    before = state(pipeline.store)
    assert {m["source"] for _, _, m in before} == {
        (docs / name).as_posix() for name in FILES
    }
    monkeypatch.chdir(docs.parent)
    link = docs.parent / "link"
    link.symlink_to(docs)
    for path in ("docs", "./docs/", f"{docs}/", "docs/../docs", docs / "deep" / "..", link):
        assert await ingest(path) == PathReport(skipped=len(before), unchanged=4)
    monkeypatch.chdir(docs / "deep")
    assert (await ingest(".")).unchanged == 2
    assert (await ingest("c.csv")).unchanged == 1
    assert (await ingest(Path("../a.md"))).unchanged == 1
    assert state(pipeline.store) == before


async def test_a_link_to_a_file_keeps_its_name(pipeline, ingest, docs):
    (docs / "link.txt").symlink_to(docs / "b.txt")
    await ingest(docs / "link.txt")
    assert sources(pipeline, docs) == ["link.txt"]
    assert (await ingest(docs)).loaded == 4


async def test_a_changed_file_replaces_its_chunks(pipeline, ingest, docs):
    await ingest(docs)
    spent(pipeline)
    write(docs / "b.txt", "The first line.\nAnother line.", LONG_AGO + 10)
    report = await ingest(docs)
    assert (report.loaded, report.unchanged, report.deleted) == (1, 3, 1)
    assert [text.strip() for text in spent(pipeline)] == ["b\n\nAnother line."]
    chunks = pipeline.store.get(filter={"title": "b"}, order_by="chunk_index")
    assert [d.page_content.strip() for d in chunks] == ["The first line.", "Another line."]
    assert {d.metadata["chunk_count"] for d in chunks} == {2}


async def test_a_touched_file_is_hashed_once(pipeline, ingest, docs, read):
    await ingest(docs)
    os.utime(docs / "a.md", (LONG_AGO + 5, LONG_AGO + 5))
    read.clear()
    assert (await ingest(docs)).unchanged == 4
    assert read == ["a.md"]
    assert (await ingest(docs)).unchanged == 4
    assert read == ["a.md"]


async def test_a_change_within_the_clocks_grain_is_seen(
    pipeline, ingest, docs, monkeypatch
):
    """Same size and same time, but the time was too fresh to be trusted."""
    write(docs / "b.txt", "One line.", LONG_AGO)
    monkeypatch.setattr("time.time_ns", lambda: int((LONG_AGO + 1.5) * 1e9))
    await ingest(docs / "b.txt")
    write(docs / "b.txt", "Two line.", LONG_AGO)
    assert (await ingest(docs / "b.txt")).updated == 1
    assert "Two line." in [text for _, text, _ in state(pipeline.store)]


async def test_a_fresh_file_is_hashed_until_it_is_old(
    pipeline, ingest, docs, read, monkeypatch
):
    clock = Clock(LONG_AGO + 1.0)
    monkeypatch.setattr("time.time_ns", lambda: int(clock() * 1e9))
    await ingest(docs / "b.txt")
    read.clear()
    for later, times in ((1.9, 1), (9.0, 2), (10.0, 2)):
        clock.now = LONG_AGO + later
        assert (await ingest(docs / "b.txt")).unchanged == 1
        assert read == ["b.txt"] * times


async def test_trust_in_old_times_is_the_documented_limit(pipeline, ingest, docs):
    write(docs / "b.txt", "One line.", LONG_AGO)
    await ingest(docs)
    write(docs / "b.txt", "Two line.", LONG_AGO)
    assert (await ingest(docs)).unchanged == 4


async def test_chunks_that_left_the_store_come_back(pipeline, ingest, docs):
    await ingest(docs)
    before = state(pipeline.store)
    pipeline.store.delete(before[2][0])
    report = await ingest(docs)
    assert (report.added, report.loaded, report.unchanged) == (1, 1, 3)
    pipeline.store.clear()
    assert (await ingest(docs)).added == len(before)
    assert state(pipeline.store) == before


async def test_other_settings_load_again(pipeline, ingest, docs):
    await ingest(docs)
    pipeline.splitter = CJKRecursiveTextSplitter(500, 0)
    report = await ingest(docs)
    assert (report.loaded, report.unchanged) == (4, 0)
    assert report.deleted > 0
    write(docs / "b.txt", "x", LONG_AGO + 1)
    assert (await ingest(docs, encoding="utf-8")).loaded == 4
    pipeline.splitter = None
    assert (await ingest(docs)).loaded == 4


def splitters():
    yield None
    for size in (100, 200):
        yield CJKRecursiveTextSplitter(size, 0)
        yield CharacterTextSplitter(chunk_size=size, chunk_overlap=0)
        yield TokenAwareTextSplitter(chunk_size=size)
    yield CJKRecursiveTextSplitter(100, 0, separators=["\n"])
    yield TokenAwareTextSplitter(chunk_size=100, separators=["\n"])
    yield TokenAwareTextSplitter(chunk_size=100, separators=[" "])
    yield CJKRecursiveTextSplitter(100, 0, length_function=lambda text: len(text.encode()))
    yield CJKRecursiveTextSplitter(100, 0, length_function=lambda text: 2 * len(text))
    yield CJKRecursiveTextSplitter(100, 0, length_function=str.__len__)
    yield RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=0)
    yield RecursiveCharacterTextSplitter(
        separators=["a", "b"], chunk_size=100, chunk_overlap=0
    )


def test_fingerprints_tell_splitters_apart_and_stay():
    marks = [fingerprint(splitter, None) for splitter in splitters()]
    assert len(set(marks)) == len(marks)
    assert [fingerprint(splitter, None) for splitter in splitters()] == marks
    assert fingerprint(None, "utf-8") != fingerprint(None, None)


def test_settings_of_every_kind_have_a_fingerprint():
    class Named:
        name = "ranks"

    def marked(value):
        splitter = CJKRecursiveTextSplitter()
        splitter.setting = value
        return fingerprint(splitter, None)

    deep = [[[[[[1]]]]]]
    values = [{1, 2}, {"a": [1]}, {"a": [2]}, partial(int, base=2), partial(int, base=3)]
    values += [Named(), object(), Named, deep, b"x", frozenset({3}), [].append]
    assert len({marked(value) for value in values}) == len(values)


class Holder(TextSplitter):
    """A splitter of one's own, whose settings are in what it holds."""

    def __init__(self, held):
        super().__init__()
        self.held = held

    def split_text(self, text):
        return self.held.split_text(text)


class Measure:
    def __init__(self, factor):
        self.factor = factor
        self.lock = None

    def __call__(self, text):
        return self.factor * len(text)

    def measured(self, text):
        return self.factor * len(text)


def with_keyword(factor):
    def measured(text, *, factor=factor):
        return factor * len(text)

    return measured


def with_inner(factor):
    if factor == 1:
        return lambda texts: sorted(texts, key=lambda text: text + "1")
    return lambda texts: sorted(texts, key=lambda text: text + "2")


@pytest.mark.parametrize(
    "make",
    [
        lambda n: CJKRecursiveTextSplitter(500 * n, 0),
        lambda n: Holder([{"a": CJKRecursiveTextSplitter(500 * n, 0)}]),
        lambda n: np.int64(100 * n),
        lambda n: Decimal(n) / 3,
        with_keyword,
        with_inner,
        lambda n: Measure(n).measured,
        lambda n: Measure(np.float32(n)),
        lambda n: partial(Measure.measured, Measure(n)),
        lambda n: re.compile("x" * 300 + str(n)),
        lambda n: {n: "x"} if n == 1 else {str(1): "x"},
        lambda n: str.__len__ if n == 1 else str.__sizeof__,
        lambda n: [[[[[[[[[n]]]]]]]]],
        np.arange,
        operator.itemgetter,
        lambda n: {"a": "b", "c": "d"} if n == 1 else {"c": "d", "a": "b"},
    ],
)
def test_fingerprints_see_what_a_splitter_holds(make):
    one, again, two = (fingerprint(Holder(make(n)), None) for n in (1, 1, 2))
    assert one == again != two


def test_what_cannot_be_described_is_like_nothing_else():
    measure = Measure(1)
    measure.lock = threading.Lock()
    holder = Holder(measure)
    assert fingerprint(holder, None) != fingerprint(holder, None)
    deep = holder.held = []
    for _ in range(500):
        deep.append([])
        deep = deep[0]
    assert fingerprint(holder, None) != fingerprint(holder, None)


def test_settings_that_lead_back_to_themselves():
    def around(size):
        first, second = Holder(None), Holder(size)
        first.held, second.other = second, [first]
        return fingerprint(first, None)

    assert around(1) == around(1) != around(2)


def test_fingerprints_are_the_same_in_every_process():
    code = (
        "from langchain_ragstore import *\n"
        "from langchain_ragstore.file_ledger import fingerprint\n"
        "for splitter in (CJKRecursiveTextSplitter(), TokenAwareTextSplitter(), "
        "StructuredTextSplitter()):\n"
        "    print(fingerprint(splitter, None))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


async def test_another_splitter_within_one_s_own_is_seen(pipeline, ingest, docs):
    write(docs / "b.txt", "A line of some length.\n" * 20)
    pipeline.splitter = Holder(CJKRecursiveTextSplitter(500, 0))
    await ingest(docs)
    assert (await ingest(docs)).unchanged == 4
    pipeline.splitter = Holder(CJKRecursiveTextSplitter(50, 0))
    report = await ingest(docs)
    assert (report.loaded, report.unchanged) == (4, 0)
    assert report.added > 0


# --- failing ------------------------------------------------------------------------


async def test_files_that_fail_are_named_and_keep_their_chunks(pipeline, ingest, docs):
    write(docs / "broken.pdf", "%PDF-1.7\n")
    report = await ingest(docs)
    assert [error.path for error in report.failed] == [f"{docs}/broken.pdf"]
    assert report.loaded == 4
    before = state(pipeline.store)
    write(docs / "b.txt", "", LONG_AGO + 1)
    (docs / "a.md").write_bytes(bytes(range(32)) * 9)
    report = await ingest(docs, delete_missing=True)
    assert [Path(error.path).name for error in report.failed] == [
        *("a.md", "b.txt", "broken.pdf"),
    ]
    assert "b.txt cannot be read: it is empty" in str(report)
    assert (report.unchanged, report.removed, report.deleted) == (2, 0, 0)
    assert state(pipeline.store) == before
    write(docs / "b.txt", FILES["b.txt"])
    assert len((await ingest(docs)).failed) == 2


async def test_a_file_that_vanishes_meanwhile_is_no_failure(
    pipeline, ingest, docs, monkeypatch
):
    await ingest(docs)
    original = langchain_ragstore.folders.files_of

    def listed(root, choice):
        found = original(root, choice)
        (docs / "a.md").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(langchain_ragstore.folders, "files_of", listed)
    assert (await ingest(docs)).failed == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
async def test_a_pipe_is_not_waited_for(pipeline, ingest, docs):
    os.mkfifo(docs / "pipe.txt")
    (error,) = (await ingest(docs)).failed
    assert "not a regular file" in str(error)


async def test_a_failing_model_leaves_what_was_done(pipeline, ingest, docs, monkeypatch):
    model, calls = pipeline.store.embeddings, []
    original = type(model)._documents

    def fail(self, name, texts):
        calls.append(texts)
        if len(calls) == 2:
            raise ConnectionError("no route")
        return original(self, name, texts)

    monkeypatch.setattr(type(model), "_documents", fail)
    with pytest.raises(ConnectionError):
        await ingest(docs)
    report = await ingest(docs)
    assert (report.loaded, report.unchanged) == (3, 1)
    assert len(pipeline.store) == report.added + report.skipped


async def test_nothing_is_loaded_for_a_store_that_cannot_be_written(tmp_path, docs, read):
    path = tmp_path / "kb.db"
    SQLiteVectorStore(Counting(), path).close()
    with SQLiteVectorStore(Counting(), path, read_only=True) as store:
        for view in (store, store.scoped({"user": "ann"})):
            with pytest.raises(ReadOnlyError):
                RagPipeline(store=view).ingest_path(docs)
            with pytest.raises(ReadOnlyError):
                await RagPipeline(store=view).aingest_path(docs)
    with SQLiteVectorStore(Counting(), path) as store:
        pass
    with pytest.raises(StoreClosedError):
        RagPipeline(store=store).ingest_path(docs)
    assert read == []


@pytest.mark.parametrize(
    ("path", "keywords", "problem"),
    [
        ("absent", {}, "no file or folder 'absent'"),
        ("absent", {"delete_missing": True}, "no file or folder 'absent'"),
        ("docs", {"encoding": "utf-99"}, "no encoding"),
        ("docs", {"include": "/x"}, "relative"),
        ("docs", {"batch_size": 0}, "batch_size"),
        (5, {}, "string or a Path"),
    ],
)
async def test_wrong_input(pipeline, ingest, docs, monkeypatch, path, keywords, problem):
    monkeypatch.chdir(docs.parent)
    with pytest.raises(InvalidInputError, match=problem):
        await ingest(path, **keywords)


async def test_a_cancelled_run_is_continued_by_the_next(pipeline, docs, monkeypatch):
    reading, go_on = threading.Event(), threading.Event()
    original = langchain_ragstore.folders.load_files

    def slowly(paths, **keywords):
        if paths:
            reading.set()
            go_on.wait(10)
        return original(paths, **keywords)

    monkeypatch.setattr(langchain_ragstore.folders, "load_files", slowly)
    task = asyncio.create_task(pipeline.aingest_path(docs))
    await asyncio.to_thread(reading.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert (await pipeline.aingest_path(docs)).loaded == 4


# --- files that are gone --------------------------------------------------------------


async def test_files_that_are_gone_are_removed_on_request(pipeline, ingest, docs):
    await ingest(docs)
    (docs / "b.txt").unlink()
    count = len(pipeline.store.get(filter={"title": "b"}))
    assert (await ingest(docs)).removed == 0
    assert "b.txt" in sources(pipeline, docs)
    report = await ingest(docs, delete_missing=True)
    assert (report.removed, report.deleted, report.unchanged) == (1, count, 3)
    assert "b.txt" not in sources(pipeline, docs)
    assert (await ingest(docs, delete_missing=True)).removed == 0
    write(docs / "b.txt", FILES["b.txt"])
    assert (await ingest(docs)).added == count


async def test_a_single_file_that_is_gone_is_removed_on_request(
    pipeline, ingest, docs, monkeypatch
):
    await ingest(docs)
    count = len(pipeline.store.get(filter={"title": "b"}))
    (docs / "b.txt").unlink()
    with pytest.raises(InvalidInputError, match="no file or folder"):
        await ingest(docs / "b.txt")
    original = os.path.ismount
    monkeypatch.setattr("os.path.ismount", lambda _: False)
    assert (await ingest(docs / "b.txt", delete_missing=True)).removed == 0
    monkeypatch.setattr("os.path.ismount", original)
    docs.rename(docs.parent / "away")
    with pytest.raises(InvalidInputError, match="no file or folder"):
        await ingest(docs / "b.txt", delete_missing=True)
    (docs.parent / "away").rename(docs)
    report = await ingest(docs / "b.txt", delete_missing=True)
    assert report == PathReport(deleted=count, removed=1)
    assert "b.txt" not in sources(pipeline, docs)
    with pytest.raises(InvalidInputError, match="no file or folder"):
        await ingest(docs / "b.txt", delete_missing=True)


@pytest.mark.parametrize("path", ["", "b.txt"])
async def test_a_file_that_became_a_folder_is_gone(pipeline, ingest, docs, path):
    await ingest(docs)
    (docs / "b.txt").unlink()
    write(docs / "b.txt" / "inside.txt", "Inside.")
    report = await ingest(docs / path, delete_missing=True)
    assert (report.loaded, report.removed) == (1, 1)
    assert sources(pipeline, docs) == sorted({*FILES, "b.txt/inside.txt"} - {"b.txt"})


async def test_a_renamed_file_is_another_source(pipeline, ingest, docs):
    await ingest(docs)
    spent(pipeline)
    (docs / "b.txt").rename(docs / "new.txt")
    report = await ingest(docs, delete_missing=True)
    assert (report.loaded, report.removed, report.added) == (1, 1, report.deleted)
    assert sources(pipeline, docs) == sorted({*FILES, "new.txt"} - {"b.txt"})


async def test_only_files_of_this_root_and_these_patterns_are_removed(
    pipeline, ingest, docs, tmp_path
):
    other = write(tmp_path / "docs2" / "x.txt", "Other.")
    await ingest(docs)
    await ingest(other.parent)
    for path in (other, docs / "a.md", docs / "deep" / "c.csv"):
        path.unlink()
    assert (await ingest(docs / "deep", "*.txt", delete_missing=True)).removed == 0
    assert (await ingest(docs, None, "deep", delete_missing=True)).removed == 1
    assert (await ingest(docs / "b.txt", delete_missing=True)).removed == 0
    assert (await ingest(docs, delete_missing=True)).removed == 1
    assert len(pipeline.store.get(filter={"title": "x"})) == 1


async def test_a_file_left_out_now_is_not_gone(pipeline, ingest, docs):
    await ingest(docs)
    report = await ingest(docs, "*.md", delete_missing=True)
    assert (report.unchanged, report.removed) == (1, 0)
    assert len(sources(pipeline, docs)) == 4


async def test_a_root_that_is_gone_deletes_nothing(pipeline, ingest, docs):
    await ingest(docs)
    docs.rename(docs.parent / "moved")
    with pytest.raises(InvalidInputError):
        await ingest(docs, delete_missing=True)
    assert len(sources(pipeline, docs)) == 4


async def test_a_disk_that_is_not_mounted_deletes_nothing(
    pipeline, ingest, docs, monkeypatch
):
    """Its mount point is still there, an empty folder."""
    mounted = [os.fspath(docs / "deep")]
    original = os.path.ismount
    monkeypatch.setattr(
        "os.path.ismount", lambda path: os.fspath(path) in mounted or original(path)
    )
    await ingest(docs)
    mounted.clear()
    for path in (docs / "deep").iterdir():
        path.unlink()
    (docs / "a.md").unlink()
    report = await ingest(docs, delete_missing=True)
    assert report.removed == 1
    assert sources(pipeline, docs) == ["b.txt", "deep/c.csv", "deep/绿茶.txt"]
    mounted.append(os.fspath(docs / "deep"))
    assert (await ingest(docs, delete_missing=True)).removed == 2


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may enter every folder"
)
async def test_a_folder_that_may_not_be_entered_deletes_nothing(pipeline, ingest, docs):
    await ingest(docs)
    (docs / "deep").chmod(0)
    try:
        report = await ingest(docs, delete_missing=True)
    finally:
        (docs / "deep").chmod(0o755)
    assert report.removed == 0
    assert len(sources(pipeline, docs)) == 4


async def test_many_files_are_removed(pipeline, ingest, tmp_path, monkeypatch):
    monkeypatch.setattr("langchain_ragstore.folders._AT_ONCE", 3)
    for n in range(8):
        write(tmp_path / "many" / f"{n}.txt", f"Number {n}.")
    await ingest(tmp_path / "many")
    for n in range(7):
        (tmp_path / "many" / f"{n}.txt").unlink()
    report = await ingest(tmp_path / "many", delete_missing=True)
    assert (report.removed, report.deleted) == (7, 7)
    assert sources(pipeline, tmp_path / "many") == ["7.txt"]


# --- which files and which stores -------------------------------------------------------


async def test_patterns(pipeline, ingest, docs):
    write(docs / ".hidden.txt", "No.")
    report = await ingest(docs, ["**/*.txt", "*.md"], "a.md")
    assert report.loaded == 2
    assert sources(pipeline, docs) == ["b.txt", "deep/绿茶.txt"]


async def test_the_store_does_not_ingest_itself(docs):
    with SQLiteVectorStore(Counting(), docs / "kb.db") as store:
        report = RagPipeline(store=store).ingest_path(docs, "**/*")
        assert (report.loaded, report.failed) == (4, ())


async def test_collections_keep_apart_and_a_copied_file_moves_its_notes(tmp_path, docs):
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(Counting(), path, collection_name="one") as store:
        assert RagPipeline(store=store).ingest_path(docs).loaded == 4
        other = SQLiteVectorStore(Counting(), path, collection_name="two")
        assert RagPipeline(store=other).ingest_path(docs).loaded == 4
        other.close()
    path.rename(tmp_path / "moved.db")
    with SQLiteVectorStore(
        Counting(), tmp_path / "moved.db", collection_name="one"
    ) as store:
        assert RagPipeline(store=store).ingest_path(docs).unchanged == 4


@pytest.mark.parametrize("kind", ["foreign", "scoped"])
async def test_stores_without_notes_compare_every_file(docs, read, kind):
    store = InMemoryVectorStore(Counting())
    if kind == "scoped":
        store = SQLiteVectorStore(Counting()).scoped({"user": "ann"})
    pipeline = RagPipeline(store=store, splitter=CJKRecursiveTextSplitter(20, 0))
    first = pipeline.ingest_path(docs)
    assert (first.loaded, first.unchanged) == (4, 0)
    spent(pipeline)
    read.clear()
    assert pipeline.ingest_path(docs) == PathReport(skipped=first.added, loaded=4)
    assert await pipeline.aingest_path(docs) == PathReport(skipped=first.added, loaded=4)
    assert spent(pipeline) == []
    assert len(read) == 8
    write(docs / "b.txt", "The first line.")
    assert pipeline.ingest_path(docs).deleted == 2
    with pytest.raises(InvalidInputError, match="pass delete_missing=False"):
        pipeline.ingest_path(docs, delete_missing=True)


def test_a_view_does_not_touch_the_notes_of_the_whole(docs):
    whole = SQLiteVectorStore(Counting())
    RagPipeline(store=whole).ingest_path(docs)
    view = RagPipeline(store=whole.scoped({"user": "ann"}))
    with pytest.raises(InvalidInputError, match="outside this scope"):
        view.ingest_path(docs)
    assert RagPipeline(store=whole).ingest_path(docs).unchanged == 4


def test_a_note_of_another_release_is_no_note(docs, pipeline):
    pipeline.ingest_path(docs)
    notes = FileLedger.of(pipeline.store)._bytes
    keys = list(notes.yield_keys())
    assert len(keys) == 4
    notes.mset(zip(keys, [b"{}", b"\xff", b'{"status":{}}', b"5"], strict=True))
    report = pipeline.ingest_path(docs)
    assert (report.loaded, report.added, report.updated) == (4, 0, 0)


# --- several at once --------------------------------------------------------------------


class Meeting(Embeddings):
    """Waits until another has begun to embed, too; then lets them go one by one."""

    def __init__(self, barrier):
        self.barrier = barrier
        self.model = HashingEmbeddings(32)

    def embed_documents(self, texts):
        if self.barrier is not None:
            self.barrier.wait(10)
            self.barrier = None
        return self.model.embed_documents(texts)

    def embed_query(self, text):
        return self.model.embed_query(text)


def test_two_that_write_one_file_at_once_end_right(tmp_path):
    """Both compared with the empty store; the older content must not survive the newer."""
    path = tmp_path / "kb.db"
    file = write(tmp_path / "f.txt", "\n".join(f"Old line number {n}." for n in range(6)))
    barrier = threading.Barrier(2)
    reports, splitter = [], CJKRecursiveTextSplitter(20, 0)

    def run(late):
        with SQLiteVectorStore(Meeting(barrier), path) as store:
            if late:
                write(file, "New line number 0.\nNew line number 1.", LONG_AGO + 9)
            reports.append(RagPipeline(store=store, splitter=splitter).ingest_path(file))

    def second():
        deadline = time.monotonic() + 20
        while not claims(path):  # the first has read the file, and waits to embed
            assert time.monotonic() < deadline
        run(late=True)

    threads = [threading.Thread(target=run, args=(False,)), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(reports) == 2
    with SQLiteVectorStore(HashingEmbeddings(32), path) as store:
        texts = [d.page_content.strip() for d in store.get(order_by="$id")]
        assert texts == ["New line number 0.", "New line number 1."]
        assert RagPipeline(store=store, splitter=splitter).ingest_path(file).unchanged == 1


def claims(path):
    with SQLiteVectorStore(None, path) as store:
        notes = FileLedger.of(store)
        return [e for e in notes.read(notes.under("")).values() if e.claim]


def rival(monkeypatch, store, source):
    """Claims a file right before the next transaction that writes, whoever begins it."""
    ledger, original = FileLedger.of(store), Lease.write
    theirs = Entry(Status(1, 2, 3), "ab", "cd", 4, "/", "theirs")

    def write(self):
        monkeypatch.setattr(Lease, "write", original)
        ledger.write(source, theirs)
        return original(self)

    monkeypatch.setattr(Lease, "write", write)
    return theirs


def test_a_claim_made_while_one_confirms_is_not_lost(pipeline, monkeypatch):
    ledger = FileLedger.of(pipeline.store)
    entry = Entry(Status(1, 2, 3), "ab", "cd", 4, "/", "ours")
    ledger.write("f", entry)
    theirs = rival(monkeypatch, pipeline.store, "f")
    assert not ledger.confirm("f", entry)
    assert ledger.read(["f"]) == {"f": theirs}
    ledger.write("f", entry)
    assert ledger.confirm("f", entry)
    assert not ledger.read(["f"])["f"].claim


def test_a_claim_made_while_a_touched_file_is_noted_is_not_lost(
    pipeline, docs, monkeypatch
):
    path = docs / "b.txt"
    pipeline.ingest_path(path)
    os.utime(path, (LONG_AGO + 5, LONG_AGO + 5))
    theirs = rival(monkeypatch, pipeline.store, os.fspath(path))
    run = Folder(pipeline.store, pipeline.splitter, path, Choice()).run()
    entry = run._look(path)
    assert not run._is_unchanged(path, entry)
    ledger = FileLedger.of(pipeline.store)
    assert ledger.read([os.fspath(path)]) == {os.fspath(path): theirs}


def test_a_file_that_changes_while_it_is_read_is_read_again(pipeline, docs, monkeypatch):
    original, turns = langchain_ragstore.folders.to_chunks, []

    def changed(source, documents, splitter):
        if source.endswith("b.txt") and len(turns) < 2:
            turns.append(source)
            write(docs / "b.txt", f"Turn {len(turns)}.", LONG_AGO + len(turns))
        return original(source, documents, splitter)

    monkeypatch.setattr(langchain_ragstore.folders, "to_chunks", changed)
    report = pipeline.ingest_path(docs)
    assert report.loaded == 4
    assert len(turns) == 2
    assert [d.page_content for d in pipeline.store.get(filter={"title": "b"})] == [
        "Turn 2."
    ]
    assert pipeline.ingest_path(docs).unchanged == 4


def test_a_file_that_never_rests_is_left_to_the_next_run(pipeline, docs, monkeypatch):
    original, turns = langchain_ragstore.folders.to_chunks, []

    def changed(source, documents, splitter):
        if source.endswith("b.txt"):
            turns.append(source)
            write(docs / "b.txt", f"Turn {len(turns)}.", LONG_AGO + len(turns))
        return original(source, documents, splitter)

    monkeypatch.setattr(langchain_ragstore.folders, "to_chunks", changed)
    pipeline.ingest_path(docs)
    assert len(turns) == 5
    monkeypatch.setattr(langchain_ragstore.folders, "to_chunks", original)
    assert pipeline.ingest_path(docs).loaded == 1
    assert [d.page_content for d in pipeline.store.get(filter={"title": "b"})] == [
        "Turn 5."
    ]


# --- reports ----------------------------------------------------------------------------


def test_the_report_in_words(pipeline, docs):
    write(docs / "broken.pdf", "%PDF-1.7\n")
    report = pipeline.ingest_path(docs)
    first, second = str(report).splitlines()
    assert first == (
        f"files: 4 loaded, 0 unchanged, 0 removed, 1 failed; chunks: {report.added} added, "
        "0 updated, 0 skipped, 0 deleted"
    )
    assert second.startswith(f"{docs}/broken.pdf cannot be read: ")
    assert repr(PathReport(loaded=1)).startswith("PathReport(added=0, ")
    with pytest.raises(AttributeError):
        report.loaded = 5


def test_progress_over_files(pipeline, docs, capsys):
    pipeline.ingest_path(docs, progress=True)
    assert "4/4" in capsys.readouterr().err
    pipeline.ingest_path(docs)
    assert capsys.readouterr() == ("", "")


def test_progress_without_tqdm(pipeline, docs, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(MissingExtraError, match="progress"):
        pipeline.ingest_path(docs, progress=True)
    assert len(pipeline.store) == 0


def test_an_entry_survives_its_encoding():
    entry = Entry(Status(1, 2, 3), "ab", "cd", 4, "/", "x")
    assert Entry.decoded(entry.encoded()) == entry


def test_an_empty_path_is_not_the_working_folder():
    with pytest.raises(InvalidInputError, match="got ''"):
        RagPipeline(HashingEmbeddings(8)).ingest_path("")
