"""Many threads and processes on one file, through the store; the engine's are beside."""

import sqlite3
import subprocess
import sys
import threading

import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

pytestmark = pytest.mark.slow

ADDER = """
import sys
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
path, name, number = sys.argv[1:]
store = SQLiteVectorStore(HashingEmbeddings(256), path)
for n in range(int(number)):
    store.add_texts([f"{name} {n}"])
"""


UPDATER = """
import sys
from langchain_core.documents import Document
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
store = SQLiteVectorStore(HashingEmbeddings(256), sys.argv[1])
for n in range(150):
    (found,) = store.get("shared")
    text = f"{found.page_content} {n}"[-50:]
    store.update_document("shared", Document(text, metadata={"n": n}))
    assert store.update_metadata(filter={"n": {"$gte": 0}}, patch={"seen": n}) == 1
store.close()
"""


def adder(path, name, number):
    return subprocess.Popen([sys.executable, "-c", ADDER, str(path), name, str(number)])


def open_store(path):
    return SQLiteVectorStore(HashingEmbeddings(256), path)


def everything(store):
    return store.similarity_search("w", k=10**9)


def test_a_search_sees_what_another_process_added(tmp_path):
    """Report 8: ids of another process were counted, and not found until a restart."""
    store = open_store(tmp_path / "rag.db")
    (first,) = store.add_texts(["w first"])
    assert len(everything(store)) == 1
    assert adder(tmp_path / "rag.db", "w", 50).wait(60) == 0
    assert len(everything(store)) == len(store) == 51
    assert len(store.text_search("w", k=99)) == 51
    assert store.text_search("49", k=1)[0].page_content == "w 49"
    names = [document.id for document in everything(store)]
    assert len(store.get_by_ids(names)) == 51
    assert first in names
    store.close()


def test_a_lock_held_for_seconds_is_waited_for(tmp_path):
    """Report 11: a writer that met another one failed: "database is locked"."""
    store = open_store(tmp_path / "rag.db")
    other = sqlite3.connect(
        tmp_path / "rag.db", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(3, lambda: other.execute("COMMIT"))
    done.start()
    store.add_texts(["late"])
    done.join()
    assert len(store) == 1
    other.close()
    store.close()


def test_who_reads_before_writing_is_not_refused(tmp_path):
    """Report 12: a transaction that read first was refused without any waiting."""
    store = open_store(tmp_path / "rag.db")
    store.add_texts(["start"], ids=["shared"])
    command = [sys.executable, "-c", UPDATER, str(tmp_path / "rag.db")]
    updaters = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(120) for process in updaters] == [0, 0]
    assert [(d.id, d.metadata) for d in store.get()] == [
        ("shared", {"n": 149, "seen": 149})
    ]
    store.close()


def test_eight_processes_lose_nothing(tmp_path):
    """Report 11: of several processes that add, most failed: "database is locked"."""
    store = open_store(tmp_path / "rag.db")
    adders = [adder(tmp_path / "rag.db", f"w{n}", 100) for n in range(8)]
    seen = [0]
    while any(process.poll() is None for process in adders):
        seen.append(len(everything(store)))
    assert [process.returncode for process in adders] == [0] * 8
    assert seen == sorted(seen)
    assert len(everything(store)) == len(store) == 800
    store.close()


@pytest.mark.parametrize("name", ["rag.db", ":memory:"])
def test_sixteen_threads_lose_nothing(tmp_path, name):
    """Report 17: threads that shared a connection got errors of misuse."""
    store = open_store(name if name == ":memory:" else tmp_path / name)
    errors = []

    def work(number):
        try:
            for n in range(20):
                store.add_texts([f"thread {number} step {n}"], [{"t": number}])
                assert store.similarity_search(
                    f"thread {number} step {n}", 1, {"t": number}
                )
                if n % 5 == 4:
                    store.delete(filter={"$content": f"thread {number} step {n}"})
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(everything(store)) == len(store) == 256
    store.close()


def test_a_filter_that_asks_its_own_store(tmp_path):
    store = open_store(tmp_path / "rag.db")
    store.add_texts(["a", "b"])
    assert store.count(lambda document: store.count() == 2) == 2
    store.close()
    memory = open_store(":memory:")
    memory.add_texts(["a"])
    with pytest.raises(Exception, match="one question at a time"):
        memory.count(lambda document: memory.count() == 1)
    assert len(memory) == 1
