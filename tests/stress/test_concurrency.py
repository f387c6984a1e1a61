"""Many threads and processes on one file, through the store; the engine's are beside."""

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
