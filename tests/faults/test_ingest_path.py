"""An ingestion that is killed anywhere is completed by the next one."""

import os
import random
import shutil
import traceback

import pytest

import office
from fakes import Counting
from langchain_ragstore import CJKRecursiveTextSplitter, RagPipeline, SQLiteVectorStore
from langchain_ragstore.file_ledger import FileLedger
from langchain_ragstore.storage.sqlite.connection import Database

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
]


class Bomb:
    """Kills the process at the n-th moment of a kind: no handler runs, nothing closes."""

    def __init__(self, kind, n) -> None:
        self.kind, self.left = kind, n

    def at(self, kind):
        if kind == self.kind:
            self.left -= 1
            if self.left == 0:
                os._exit(9)


class Killed:
    """A connection that is watched by a bomb."""

    def __init__(self, connection, bomb) -> None:
        self._connection, self._bomb = connection, bomb

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, statement, *rest):
        if statement != "COMMIT":
            return self._connection.execute(statement, *rest)
        self._bomb.at("before commit")
        result = self._connection.execute(statement, *rest)
        self._bomb.at("after commit")
        return result


class Model(Counting):
    def __init__(self, bomb) -> None:
        super().__init__()
        self.bomb = bomb

    def embed_documents(self, texts):
        self.bomb.at("embedding")
        return super().embed_documents(texts)


def job(path, docs, kind, n):
    bomb = Bomb(kind, n)
    original = Database._open
    Database._open = lambda self: Killed(original(self), bomb)
    store = SQLiteVectorStore(Model(bomb), path)
    pipeline = RagPipeline(store=store, splitter=CJKRecursiveTextSplitter(30, 5))
    pipeline.ingest_path(docs, delete_missing=True, batch_size=2)
    store.close()


def text(n, lines):
    return "".join(f"File {n} has a line {m}.\n" for m in range(lines))


def make(docs):
    docs.mkdir()
    for n in range(3):
        (docs / f"{n}.txt").write_text(text(n, n + 2), encoding="utf-8")
    (docs / "t.csv").write_text("item,price\ncup,3\npot,9\n", encoding="utf-8")
    (docs / "p.pdf").write_bytes(office.make_pdf(["One page.", "Another page."]))


def change(docs):
    """New, changed, shrunk and removed files."""
    (docs / "0.txt").write_text(text(0, 6), encoding="utf-8")
    (docs / "2.txt").write_text(text(2, 1), encoding="utf-8")
    (docs / "1.txt").unlink()
    (docs / "new.md").write_text("# New\n\nText.", encoding="utf-8")


def run(path, docs, kind="never", n=0):
    """Start the job in a process of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            job(path, docs, kind, n)
            code = 0
        except BaseException:  # noqa: BLE001 - told before the process ends
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def ended(child):
    """Wait for it; whether it came to its end alive."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 0


def state(path):
    """Ids, texts, metadata, vectors, and which files are noted as done."""
    with SQLiteVectorStore(None, path) as store:
        records = store._backend.scan("default", order_by="$id", vectors=True)
        chunks = [(r.id, r.content, r.metadata, r.vector.tobytes()) for r in records]
        ledger = FileLedger.of(store)
        entries = ledger.read(ledger.under("")).items()
        notes = {s: (e.sha256, e.chunks, bool(e.claim)) for s, e in entries}
    return chunks, notes


def clean_state(tmp_path, docs):
    path = tmp_path / "clean.db"
    with SQLiteVectorStore(None, path):
        pass
    assert ended(run(path, docs))
    return state(path)


@pytest.fixture(params=["new", "changed"])
def before(request, tmp_path):
    """A store before the run that is killed, the folder then, and the state after."""
    docs = tmp_path / "docs"
    make(docs)
    path = tmp_path / "before.db"
    with SQLiteVectorStore(None, path):
        pass
    if request.param == "changed":
        assert ended(run(path, docs))
        change(docs)
    return path, docs, clean_state(tmp_path, docs)


@pytest.mark.parametrize(
    "kind",
    [
        "embedding",
        pytest.param("before commit", marks=pytest.mark.slow),
        pytest.param("after commit", marks=pytest.mark.slow),
    ],
)
def test_killed_at_any_point(before, tmp_path, kind):
    template, docs, clean = before
    for n in range(1, 99):
        path = tmp_path / f"{n}.db"
        shutil.copy(template, path)
        finished = ended(run(path, docs, kind, n))
        if not finished:
            with SQLiteVectorStore(None, path) as store:  # whole files or none
                for source, count in store.distinct("source").items():
                    counts = store.get(filter={"source": source}, limit=1)[0].metadata
                    assert counts["chunk_count"] == count
            assert ended(run(path, docs))
        assert state(path) == clean
        if finished:
            break
    assert n > 3


@pytest.mark.slow
def test_two_processes_at_once(before, tmp_path):
    template, docs, clean = before
    for turn in range(3):
        path = tmp_path / f"both{turn}.db"
        shutil.copy(template, path)
        processes = [run(path, docs) for _ in range(2)]
        assert [ended(process) for process in processes] == [True, True]
        assert state(path)[0] == clean[0]
        assert ended(run(path, docs))
        assert state(path) == clean


@pytest.mark.slow
def test_two_processes_one_of_which_is_killed(before, tmp_path):
    template, docs, clean = before
    chance = random.Random(11)
    for turn in range(4):
        path = tmp_path / f"killed{turn}.db"
        shutil.copy(template, path)
        kinds = ["embedding", "after commit"]
        killed = run(path, docs, chance.choice(kinds), chance.randint(1, 6))
        other = run(path, docs)
        ended(killed)
        assert ended(other)
        assert ended(run(path, docs))
        assert state(path) == clean


def test_an_interrupted_run_embeds_only_the_rest(tmp_path, monkeypatch):
    """In this process, so that what the second run embeds can be counted."""
    docs = tmp_path / "docs"
    make(docs)
    store = SQLiteVectorStore(Counting(), tmp_path / "kb.db")
    pipeline = RagPipeline(store=store, splitter=CJKRecursiveTextSplitter(30, 5))
    original, calls = Counting.embed_documents, []

    def interrupted(self, texts):
        calls.append(texts)
        if len(calls) == 5:  # the first one is the probe
            raise KeyboardInterrupt
        return original(self, texts)

    monkeypatch.setattr(Counting, "embed_documents", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pipeline.ingest_path(docs)
    monkeypatch.undo()
    done = len(store)
    assert done > 3
    store.embeddings.texts.clear()
    report = pipeline.ingest_path(docs)
    assert report.unchanged == 3
    assert len(store.embeddings.texts) == len(store) - done == report.added
    store.close()
