"""What takes long lets others write: an application's tables in the same file."""

import sqlite3
import threading
from contextlib import closing

import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.config import RECORD_PAGE

MODEL = HashingEmbeddings(16)
TEXTS = [f"text number {n} 中文{n} of the collection" for n in range(3 * RECORD_PAGE)]


class Plain:
    """A table of another application, written with `sqlite3` and its default patience."""

    def __init__(self, path) -> None:
        self._raw = sqlite3.connect(path)
        self._raw.execute("CREATE TABLE theirs (n INTEGER PRIMARY KEY, text TEXT)")

    def write(self, n):
        with self._raw:
            self._raw.execute("INSERT INTO theirs VALUES (?, ?)", (n, "x" * 500))

    def count(self):
        return self._raw.execute("SELECT count(*) FROM theirs").fetchone()[0]

    def close(self):
        self._raw.close()


class Saver:
    """LangGraph's checkpoints, which an agent writes after each of its steps."""

    def __init__(self, path) -> None:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._opened = SqliteSaver.from_conn_string(str(path))
        self._saver, self._empty = self._opened.__enter__(), empty_checkpoint

    def write(self, n):
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        self._saver.put(config, {**self._empty(), "id": f"{n:08}"}, {}, {})

    def count(self):
        return len(list(self._saver.list({"configurable": {"thread_id": "t"}})))

    def close(self):
        self._opened.__exit__(None, None, None)


def merge(store, folder):
    with SQLiteVectorStore(MODEL, folder / "other.db") as other:
        other.add_texts([f"other {text}" for text in TEXTS])
        store.merge(other)


def imported(store, folder):
    store.export_jsonl(folder / "x.jsonl")
    store.import_jsonl(folder / "x.jsonl")


def repaired(store, _folder):
    with sqlite3.connect(store.path) as raw:
        raw.execute("UPDATE ragstore_vector SET data = zeroblob(64) WHERE record = 8")
    raw.close()
    assert store.repair()


def compacted(store, _folder):
    store.delete(filter={"n": {"$lt": RECORD_PAGE}})
    store.compact()


LONG = {
    "reembed": lambda store, _: store.reembed(HashingEmbeddings(8), batch_size=100),
    "compact": compacted,
    "merge": merge,
    "import": imported,
    "reindex": lambda store, _: store.reindex_text(),
    "repair": repaired,
    "backup": lambda store, folder: store.backup(folder / "copy.db"),
    "freeze": lambda store, folder: store.freeze(folder / "frozen.db"),
}


@pytest.mark.parametrize("other", [Plain, Saver])
@pytest.mark.parametrize("name", LONG)
def test_another_application_writes_beside(tmp_path, name, other):
    if other is Saver:
        pytest.importorskip("langgraph.checkpoint.sqlite")
    with SQLiteVectorStore(MODEL, tmp_path / "rag.db") as store:
        store.add_texts(TEXTS, [{"n": n} for n in range(len(TEXTS))])
        begun, done, written, errors = threading.Event(), threading.Event(), [], []

        def beside():
            with closing(other(store.path)) as application:
                written.append(0)
                while not done.is_set():
                    try:
                        application.write(written[0])
                    except sqlite3.Error as error:
                        errors.append(error)
                        return
                    written[0] += 1
                    begun.set()
                    done.wait(0.002)  # as an application that has other things to do
                written.append(application.count())

        thread = threading.Thread(target=beside)
        thread.start()
        begun.wait(30)
        try:
            LONG[name](store, tmp_path)
        finally:
            done.set()
            thread.join()
        assert errors == []
        assert written[0] == written[1] > 0
        assert store.verify() == []
