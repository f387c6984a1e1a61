"""Threads, processes, forks and kills on one backend or one file."""

import gc
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from langchain_ragstore.errors import (
    AnalyzerMismatchError,
    ReadOnlyError,
    StoreClosedError,
)
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.model import Record, Terms
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from records import AXES, ids, record

pytestmark = pytest.mark.slow

WRITER = """
import sys
import numpy as np
from langchain_ragstore.model import Record, Terms
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
path, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
backend = SQLiteBackend(path)
vector = np.array([1, 0, 0, 0], np.float32)
print("ready", flush=True)
for n in range(count):
    batch = [
        Record(f"{name}-{n}-{i}", "x" * 500, {"batch": n}, vector,
               terms=Terms({"all": 1, f"{name}{n}": 2}, {"東京": 1}))
        for i in range(size)
    ]
    backend.upsert("c", batch)
    print(n, flush=True)
backend.close()
"""


def writer(path, name, count, size=1):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count), str(size)],
        stdout=subprocess.PIPE,
        text=True,
    )


def worded(backend, *words):
    """Ids of the records whose body holds one of the words."""
    return ids(backend.lexical("c", Terms(dict.fromkeys(words, 1)), 10**6))


def finish(process):
    with process:
        process.communicate(timeout=60)
    return process.returncode


def check_file(path):
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def run(threads):
    """Run functions at once; the errors that they raised."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors.append(error)

    running = [threading.Thread(target=guarded, args=(work,)) for work in threads]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return errors


def test_what_another_process_writes_is_found(tmp_path):
    path = tmp_path / "rag.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [record("mine", AXES[1])])
    assert ids(backend.dense("c", AXES[0], 99)) == ["mine"]
    assert finish(writer(path, "w", 50)) == 0
    found = ids(backend.dense("c", AXES[0], 99))
    assert sorted(found[:50]) == sorted(f"w-{n}-0" for n in range(50))
    assert found[50:] == ["mine"]
    assert sorted(worded(backend, "all")) == sorted(found[:50])
    assert worded(backend, "w7") == ["w-7-0"]
    backend.close()
    assert [p.name for p in tmp_path.iterdir()] == ["rag.db"]


def test_eight_processes_open_a_new_file_at_once(tmp_path):
    path = tmp_path / "rag.db"
    writers = [writer(path, f"w{n}", 100) for n in range(8)]
    assert [finish(process) for process in writers] == [0] * 8
    backend = SQLiteBackend(path)
    assert backend.count("c") == len(backend.dense("c", AXES[0], 9_999)) == 800
    assert len(worded(backend, "all")) == 800
    backend.compact_text("c")
    assert worded(backend, "w399", "w57") == ["w3-99-0", "w5-7-0"]
    backend.close()
    check_file(path)


def test_a_killed_writer_leaves_whole_batches(tmp_path):
    path = tmp_path / "rag.db"
    backend = SQLiteBackend(path)
    chance = random.Random(7)
    for name in "abcdef":
        process = writer(path, name, 10_000, 40)
        told = [process.stdout.readline() for _ in range(chance.randint(1, 12))]
        process.kill()
        rest = process.communicate()[0].split()
        acknowledged = len(told) - 1 + len(rest)
        stored = backend.count("c", where=parse({"$id": {"$like": f"{name}-%"}}))
        # Whole batches: those that were told, and perhaps the one being told of.
        assert stored % 40 == 0
        assert acknowledged <= stored // 40 <= acknowledged + 1
        assert len(backend.dense("c", AXES[0], 10**6)) == backend.count("c")
        assert len([id for id in worded(backend, "all") if id[0] == name]) == stored
        backend.upsert("c", [record(name, AXES[1])])
    backend.close()
    check_file(path)


REINDEXER = """
import sys
from langchain_ragstore.model import Terms
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
backend = SQLiteBackend(sys.argv[1])
print("ready", flush=True)
for n in range(10_000):
    name = f"v{n % 2}"
    backend.reindex(
        "c", lambda record: Terms({name: 1, record.id: 1, "all": 2}, analyzer=name)
    )
    print(n, flush=True)
"""


def test_a_killed_reindexing_leaves_one_index(tmp_path):
    path = tmp_path / "rag.db"
    backend = SQLiteBackend(path)
    names = [f"{n:03d}" for n in range(300)]
    backend.upsert("c", [Record(name, name, {}, terms=Terms({name: 1})) for name in names])
    chance = random.Random(9)
    seen = set()
    for _ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", REINDEXER, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(chance.randint(2, 9)):
            process.stdout.readline()
        for _ in range(20):  # while it is at work
            made = chance.choice(["v0", "v1"])
            try:
                found = backend.lexical("c", Terms({made: 1}, analyzer=made), 999)
            except AnalyzerMismatchError:
                continue
            assert ids(found) == names
        process.kill()
        process.communicate()
        made = backend.analyzer("c")
        seen.add(made)
        for each in (backend, SQLiteBackend(path)):
            assert ids(each.lexical("c", Terms({made: 1}, analyzer=made), 999)) == names
            one = Terms({"123": 1}, analyzer=made)
            assert ids(each.lexical("c", one, 9)) == ["123"]
            with pytest.raises(AnalyzerMismatchError):
                each.lexical("c", Terms({"all": 1}, analyzer="v2"), 1)
            if each is not backend:
                each.close()
    assert seen <= {"v0", "v1"}
    backend.close()
    check_file(path)


@pytest.mark.parametrize("name", ["rag.db", ":memory:"])
def test_threads_write_search_and_delete_at_once(tmp_path, name):
    backend = SQLiteBackend(name if name == ":memory:" else tmp_path / name)

    def work(number):
        for n in range(20):
            id = f"{number}-{n}"
            mine = parse({"t": number})
            backend.upsert("c", [record(id, AXES[n % 4], t=number, n=n)])
            assert id in ids(backend.dense("c", AXES[n % 4], 10**6, where=mine))
            assert backend.count("c", where=mine) == n + 1 - (n // 5)
            if n % 5 == 4:
                assert backend.delete("c", ids=[id], where=mine) == 1
                assert id not in ids(backend.dense("c", AXES[n % 4], 10**6))

    assert run([lambda number=number: work(number) for number in range(10)]) == []
    assert backend.count("c") == len(backend.dense("c", AXES[0], 10**6)) == 160
    backend.close()


def test_a_search_sees_all_of_a_batch_or_none(tmp_path):
    path = tmp_path / "rag.db"
    writing, reading = SQLiteBackend(path), SQLiteBackend(path)
    done = threading.Event()

    def write():
        for n in range(60):
            batch = [record(f"{n % 3}-{i}", AXES[i % 4], n=n) for i in range(20)]
            writing.upsert("c", batch)
            writing.delete("c", ids=None, where=parse({"n": n - 1}))
        done.set()

    def read(backend):
        while not done.is_set():
            found = [hit.record.metadata["n"] for hit in backend.dense("c", AXES[0], 999)]
            assert len(found) in (0, 20, 40)
            assert all(found.count(n) == 20 for n in found)

    assert run([write, lambda: read(writing), lambda: read(reading)]) == []
    writing.close()
    reading.close()
    check_file(path)


def test_threads_index_search_and_delete_at_once(tmp_path):
    path = tmp_path / "rag.db"
    backends = [SQLiteBackend(path), SQLiteBackend(path)]

    def work(number):
        backend = backends[number % 2]
        for n in range(25):
            terms = Terms({"all": 1, f"{number}x{n}": 1})
            backend.upsert("c", [Record(f"{number}-{n}", "", {"t": number}, terms=terms)])
            assert worded(backend, f"{number}x{n}") == [f"{number}-{n}"]
            if n % 5 == 4:
                backend.delete("c", ids=[f"{number}-{n}"], where=EVERYTHING)
                assert worded(backend, f"{number}x{n}") == []

    assert run([lambda number=number: work(number) for number in range(6)]) == []
    for backend in backends:
        assert len(worded(backend, "all")) == 120
        backend.close()
    check_file(path)


FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
QUIET = pytest.mark.filterwarnings(
    "ignore:This process.*is multi-threaded:DeprecationWarning"
)


def forked(work):
    """Run work in a forked child; the function returned waits for its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = int(work())
        finally:
            os._exit(code)
    return lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@FORKS
@QUIET
def test_a_child_outlives_its_parents_connections(tmp_path):
    path = tmp_path / "rag.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [record("parent", AXES[0])])
    started, start = os.pipe()
    closed, close = os.pipe()

    def child():
        backend.count("c")
        os.write(start, b"x")
        os.read(closed, 1)
        backend.upsert("c", [record("child", AXES[1])])
        return len(backend.dense("c", AXES[1], 9)) != 2

    wait = forked(child)
    os.read(started, 1)
    backend.close()
    os.write(close, b"x")
    assert wait() == 0
    for end in (started, start, closed, close):
        os.close(end)
    backend = SQLiteBackend(path)
    assert ids(backend.scan("c")) == ["parent", "child"]
    backend.close()
    check_file(path)


@FORKS
@QUIET
def test_parent_and_children_write_at_once(tmp_path):
    path = tmp_path / "rag.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [record("first", AXES[0])])
    backend.dense("c", AXES[0], 1)

    def child(name):
        for n in range(20):
            backend.upsert("c", [record(f"{name}{n}", AXES[1])])
        backend.close()

    waits = [forked(lambda name=name: child(name) or 0) for name in "abc"]
    for n in range(20):
        backend.upsert("c", [record(f"p{n}", AXES[2])])
    assert [wait() for wait in waits] == [0, 0, 0]
    assert backend.count("c") == len(backend.dense("c", AXES[0], 999)) == 81
    backend.close()
    check_file(path)


@FORKS
@QUIET
def test_a_child_has_a_copy_of_a_store_in_memory():
    backend = SQLiteBackend()
    backend.upsert("c", [record("a", AXES[0])])

    def child():
        backend.upsert("c", [record("b", AXES[1])])
        return backend.count("c") != 2

    assert forked(child)() == 0
    assert backend.count("c") == 1
    backend.close()


READER = 65_534
"""A user who may read what everybody may, and write nothing: `nobody`."""


@FORKS
@QUIET
@pytest.mark.parametrize(
    ("mode", "keywords"),
    [(0o755, {"read_only": True}), (0o777, {"read_only": True}), (0o777, {})],
    ids=["folder", "file", "file, not asked"],
)
def test_who_may_only_read_a_file_searches_it(mode, keywords):
    """Report 14: a lock was left behind, and who may only read could not open a file."""
    folder = Path(tempfile.mkdtemp())  # where another user may look
    folder.chmod(mode)
    path = folder / "rag.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [Record("a", "", {}, AXES[0], terms=Terms({"tea": 1}))])
    backend.close()
    path.chmod(0o444)

    def child():
        if os.geteuid() == 0:
            os.setgid(READER)
            os.setuid(READER)
        reading = SQLiteBackend(path, **keywords)
        assert ids(reading.dense("c", AXES[0], 9)) == worded(reading, "tea") == ["a"]
        with pytest.raises(ReadOnlyError, match=r"read_only=True|cannot be written"):
            reading.upsert("c", [record("b", AXES[1])])
        assert ids(reading.scan("c")) == ["a"]
        reading.close()
        return 0

    assert forked(child)() == 0
    shutil.rmtree(folder)


@FORKS
@QUIET
def test_who_may_not_write_is_told_how_to_read():
    """Report 14: an error named neither the file's rights nor a way out."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    SQLiteBackend(folder / "rag.db").close()
    folder.chmod(0o555)

    def child():
        if os.geteuid() == 0:
            os.setgid(READER)
            os.setuid(READER)
        with pytest.raises(ReadOnlyError, match="read_only=True opens it for reading"):
            SQLiteBackend(folder / "rag.db")
        return 0

    assert forked(child)() == 0
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_close_while_others_work(tmp_path):
    for name in ("rag.db", ":memory:"):
        backend = SQLiteBackend(name if name == ":memory:" else tmp_path / name)
        backend.upsert("c", [record(str(n), AXES[n % 4]) for n in range(50)])
        started = threading.Barrier(5)

        def work(backend=backend, started=started):
            started.wait()
            for n in range(10_000):
                backend.upsert("c", [record("w", AXES[n % 4])])
                assert len(backend.dense("c", AXES[0], 99)) == 51

        def close(backend=backend, started=started):
            started.wait()
            backend.close()

        errors = run([work, work, work, work, close])
        assert [type(error) for error in errors] == [StoreClosedError] * 4
    check_file(tmp_path / "rag.db")


def descriptors(folder):
    found = []
    for fd in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(fd.readlink()))
        except FileNotFoundError:  # the listing's own
            continue
    return [name for name in found if str(folder) in name]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc on this system")
def test_nothing_stays_open(tmp_path):
    """Report 19: each opening left a descriptor behind."""
    for n in range(200):
        backend = SQLiteBackend(tmp_path / "rag.db")
        backend.upsert("c", [record(str(n % 7), AXES[n % 4])])
        assert backend.dense("c", AXES[0], 1)
        backend.close()
        if n % 50 == 0:
            assert descriptors(tmp_path) == []
    assert descriptors(tmp_path) == []
    (tmp_path / "text").write_bytes(b"not a database " * 100)
    for _ in range(20):
        with pytest.raises(Exception, match="not an SQLite database"):
            SQLiteBackend(tmp_path / "text")
    assert descriptors(tmp_path) == []


def test_threads_that_end_leave_no_connection(tmp_path):
    backend = SQLiteBackend(tmp_path / "rag.db")
    backend.upsert("c", [record("a", AXES[0])])
    for _ in range(20):
        assert run([lambda: backend.dense("c", AXES[0], 1)] * 3) == []
    gc.collect()
    assert len(backend._database._idle) <= 4
    backend.delete("c", ids=None, where=EVERYTHING)
    assert backend.dense("c", np.ones(7, np.float32), 1) == []
    backend.close()
