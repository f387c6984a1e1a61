"""Many threads and processes on one file."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

ADDER = """
import sys
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
path, name, number = sys.argv[1:]
store = SQLiteVectorStore(HashingEmbeddings(256), path)
for n in range(int(number)):
    store.add_texts([f"{name} {n}"])
"""


def adder(path, name, number):
    return subprocess.Popen([sys.executable, "-c", ADDER, str(path), name, str(number)])


def open_store(path):
    return SQLiteVectorStore(HashingEmbeddings(256), path)


def everything(store):
    return store.similarity_search("w", k=10**9)


def test_a_search_sees_what_another_process_added(tmp_path):
    store = open_store(tmp_path / "rag.db")
    store.add_texts(["first"])
    assert len(everything(store)) == 1
    assert adder(tmp_path / "rag.db", "w", 50).wait(60) == 0
    assert len(everything(store)) == len(store) == 51
    store.close()


@pytest.mark.slow
def test_eight_processes_lose_nothing(tmp_path):
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
def test_ten_threads_lose_nothing(tmp_path, name):
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

    threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(everything(store)) == len(store) == 160
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child_uses_its_own_connections(tmp_path):
    store = open_store(tmp_path / "rag.db")
    store.add_texts(["parent"])
    everything(store)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.add_texts(["child"])
            code = 0 if len(everything(store)) == 2 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert len(everything(store)) == 2
    store.add_texts(["after"])
    assert len(store) == 3
    store.close()


def descriptors(path):
    folder = Path("/proc/self/fd")
    return [fd for fd in folder.iterdir() if fd.exists() and str(path) in str(fd.resolve())]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc on this system")
def test_closing_leaves_no_descriptor(tmp_path):
    for _ in range(100):
        with open_store(tmp_path / "rag.db") as store:
            store.add_texts(["a"])
            everything(store)
        assert descriptors(tmp_path) == []


def test_close_waits_for_others(tmp_path):
    store = open_store(tmp_path / "rag.db")
    store.add_texts([f"text {n}" for n in range(50)])
    inside, go = threading.Event(), threading.Event()

    def slow(document):
        inside.set()
        go.wait(10)
        return True

    found = []
    reader = threading.Thread(target=lambda: found.extend(store.get(filter=slow)))
    reader.start()
    inside.wait(10)
    closer = threading.Thread(target=store.close)
    closer.start()
    go.set()
    reader.join()
    closer.join()
    assert len(found) == 50


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
