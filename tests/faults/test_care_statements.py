"""Whatever fails in the middle of caring for a file, nothing of it is lost."""

import itertools
import shutil
import sqlite3

import pytest

from failing import Counter, Failing
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.errors import RagStoreError
from langchain_ragstore.storage.sqlite.connection import Database
from records import facts

MODEL = HashingEmbeddings(16)
DAMAGE = (
    "UPDATE ragstore_record SET content = 'another' WHERE id = 'd3'",
    "UPDATE ragstore_vector SET data = zeroblob(64) WHERE record = 6",
    "UPDATE ragstore_posting SET data = x'00'",
    "UPDATE ragstore_collection SET stamp = 1",
)


def contents(store):
    return {r.id: facts(r) for r in store._backend.scan("default", vectors=True)}


def answers(store):
    text = [(d.id, s) for d, s in store.search_with_score("number", "text", k=20)]
    return text, store.similarity_search_with_score("number 7", k=20)


@pytest.fixture
def template(tmp_path):
    with SQLiteVectorStore(MODEL, tmp_path / "template.db") as store:
        for n in range(9):
            store.add_texts([f"number {n} 中文"], [{"n": n}], ids=[f"d{n}"])
        store.add_texts(["gone"], ids=["gone"])
        store.delete(["gone"])
        store.export_jsonl(tmp_path / "x.jsonl")
    with SQLiteVectorStore(MODEL, tmp_path / "other.db") as other:
        other.add_texts([f"other {n}" for n in range(4)], ids=["d1", "d2", "e1", "e2"])
    return tmp_path / "template.db"


@pytest.fixture
def counter(monkeypatch):
    counter, original = Counter(), Database._open
    monkeypatch.setattr(Database, "_open", lambda self: Failing(original(self), counter))
    return counter


CARE = {
    "compact": lambda store, _: store.compact(),
    "backup": lambda store, folder: store.backup(folder / "new.db", overwrite=True),
    "freeze": lambda store, folder: store.freeze(folder / "new.db", overwrite=True),
    "export": lambda store, folder: store.export_jsonl(folder / "new", overwrite=True),
    "merge": lambda store, folder: store.merge(folder / "other.db"),
    "import": lambda store, folder: store.import_jsonl(folder / "x.jsonl"),
}


@pytest.mark.parametrize(
    "error",
    [sqlite3.OperationalError("disk I/O error"), KeyboardInterrupt()],
    ids=["sqlite", "interrupt"],
)
@pytest.mark.parametrize("name", CARE)
def test_the_nth_statement_fails(tmp_path, template, counter, name, error):
    """Before and after it, the store is whole; the next try does the rest."""
    counter.error = error
    with SQLiteVectorStore(MODEL, template) as store:
        old = contents(store), answers(store)
    shutil.copy(template, tmp_path / "done.db")
    with SQLiteVectorStore(MODEL, tmp_path / "done.db") as store:
        CARE[name](store, tmp_path)
        new = contents(store), answers(store)
    for n in itertools.count(1):
        path = tmp_path / "try.db"
        shutil.copy(template, path)
        with SQLiteVectorStore(MODEL, path) as store:
            counter.left = n
            failed = False
            try:
                CARE[name](store, tmp_path)
            except (RagStoreError, KeyboardInterrupt):
                failed = True
            finished, counter.left = counter.left > 0, None
            here = contents(store), answers(store)
            assert without_times(here) in (without_times(old), without_times(new))
            assert store.verify() == []
            CARE[name](store, tmp_path)  # it goes on working
            assert without_times((contents(store), answers(store))) == without_times(new)
            assert store.verify() == []
        assert not list(tmp_path.glob("*.part*"))
        path.unlink()
        if finished:
            assert not failed
            break
    assert n > 2


def without_times(state):
    return {id: known[:4] for id, known in state[0].items()}, state[1]


def test_the_nth_statement_of_a_repair_fails(tmp_path, template, counter):
    """What a repair had not come to is found by the next; sound records stay."""
    with SQLiteVectorStore(MODEL, template) as store:
        before = contents(store)
    raw = sqlite3.connect(template)
    for statement in DAMAGE:
        raw.execute(statement)
    raw.commit()
    raw.close()
    for n in itertools.count(1):
        folder = tmp_path / str(n)
        folder.mkdir()
        shutil.copy(template, folder / "rag.db")
        with SQLiteVectorStore(MODEL, folder / "rag.db") as store:
            counter.left = n
            failed = False
            try:
                failed = any("not repaired" in p.what for p in store.repair())
            except RagStoreError:
                failed = True
            finished, counter.left = counter.left > 0, None
            assert failed or finished
            store.repair()
            assert store.verify() == []
            after = contents(store)
        assert set(before) - set(after) == {"d3"}
        assert [id for id, known in after.items() if known != before[id]] == ["d5"]
        kept = list(folder.glob("rag.db.damaged*"))
        assert kept
        assert any(b"another" in path.read_bytes() for path in kept)
        if finished:
            break
    assert n > 20
