"""A manager under threads, forks and processes, while it unloads; and what that frees."""

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from langchain_ragstore import CollectionManager, HashingEmbeddings

pytestmark = pytest.mark.slow

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "collections_memory.py"
KEYWORDS = {"ttl_seconds": 0.0, "memory_budget": 20_000}

WRITER = """
import sys
from langchain_ragstore import CollectionManager, HashingEmbeddings
path, name = sys.argv[1:]
with CollectionManager(path, HashingEmbeddings(64), memory_budget=10_000) as manager:
    for n in range(120):
        store = manager.get(user_id=str(n % 6))
        store.add_texts([f"{name} {n}"])
        assert f"{name} {n}" in {d.page_content for d in store.search("w", "hybrid", k=999)}
"""


def opened(path, **keywords):
    return CollectionManager(path, HashingEmbeddings(64), **(KEYWORDS | keywords))


def run_all(*works):
    """Run functions in threads; raise what the first of them raised."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised by the main thread
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_everybody_sees_all_that_is_his_and_nothing_else_while_others_unload(tmp_path):
    """Each of eight threads has users of its own, and so knows what they must find."""
    over = threading.Event()

    def owner(manager, number):
        chance = random.Random(number)
        truth = {f"{number}_{n}": {} for n in range(5)}
        for step in range(60):
            user = chance.choice(sorted(truth))
            kind = chance.choice(["default", "important"])
            store = manager.get(kind, user_id=user)
            known = truth[user]
            if known and chance.random() < 0.2:
                gone = chance.choice(sorted(known))
                manager.get(known.pop(gone), user_id=user).delete([gone])
            else:
                id = f"{user}-{step}"
                store.add_texts([f"{id} of {user}"], ids=[id])
                known[id] = kind
            how = chance.choice(["similarity", "text", "hybrid"])
            query = f"of {user}"
            if chance.random() < 0.3:
                asked = manager.aretrieve(query, 99, user_id=user, search_type=how)
                found = [document for document, _ in asyncio.run(asked)]
            else:
                retriever = manager.as_retriever(user_id=user, k=99, search_type=how)
                found = retriever.invoke(query)
            assert {document.id for document in found} == set(known)
            if chance.random() < 0.2:
                store.close()
        for user, known in truth.items():
            for kind in ("default", "important"):
                ids = {id for id, where in known.items() if where == kind}
                assert {d.id for d in manager.get(kind, user_id=user).get()} == ids

    def sweeper(manager):
        while not over.wait(0.001):
            manager.sweep()
            for name in manager.stats()["loaded"]:
                manager.unload(name)

    def owners(manager):
        try:
            run_all(*(lambda n=n: owner(manager, n) for n in range(8)))
        finally:
            over.set()

    with opened(tmp_path / "rag.db") as manager:
        run_all(lambda: owners(manager), lambda: sweeper(manager))
        manager.sweep()
        stats = manager.stats()
        assert (stats["in_use"], stats["loaded"], stats["resident_bytes"]) == ([], {}, 0)
        assert stats["unloaded"] > 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_children_are_forked_between_searches_of_threads_that_unload(tmp_path):
    """Not within one: a thread in SQLite may hold its mutexes, which no child gets back."""
    users, over = [f"user{n}" for n in range(4)], threading.Event()
    outside = [threading.Lock() for _ in range(3)]

    def all_of(manager, user):
        return {d.page_content for d, _ in manager.retrieve("tea", 9, user_id=user)}

    def busy(manager, number):
        at = number
        while not over.is_set():
            at += 1
            user = users[at % 4]
            with outside[number]:
                assert all_of(manager, user) == {f"tea of {user}", f"pot of {user}"}
            manager.sweep()

    def fork(manager):
        try:
            for _ in range(20):
                with contextlib.ExitStack() as all_outside:
                    for lock in outside:
                        all_outside.enter_context(lock)
                    child = os.fork()
                if not child:
                    code = 1
                    try:
                        if all(len(all_of(manager, user)) == 2 for user in users):
                            manager.sweep()
                            stats = manager.stats()
                            code = 0 if not stats["in_use"] and not stats["loaded"] else 2
                    finally:
                        os._exit(code)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            over.set()

    with opened(tmp_path / "rag.db") as manager:
        for user in users:
            manager.get(user_id=user).add_texts([f"tea of {user}", f"pot of {user}"])
        run_all(lambda: fork(manager), *(lambda n=n: busy(manager, n) for n in range(3)))


def test_processes_share_a_file_each_with_a_manager_that_unloads(tmp_path):
    path = tmp_path / "rag.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in "ab"]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    with opened(path) as manager:
        for user in range(6):
            found = manager.retrieve("w", 999, user_id=str(user))
            expected = {f"{name} {n}" for name in "ab" for n in range(user, 120, 6)}
            assert {document.page_content for document, _ in found} == expected


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, asks glibc")
def test_a_thousand_collections_give_their_memory_back(tmp_path):
    """Report 26: every collection that was touched stayed in memory for ever."""
    result = tmp_path / "result.json"
    subprocess.run([sys.executable, BENCHMARK, "1000", "40", result], check=True)
    figures = {row["mode"]: row for row in json.loads(result.read_text())["figures"]}
    assert all(row["same_answers_after"] for row in figures.values())
    ttl, budget = figures["ttl"], figures["budget"]
    assert ttl["swept"] == 1000
    assert ttl["rss_loaded_mb"] - ttl["rss_before_mb"] > 50
    assert ttl["returned"] > 0.8
    assert budget["rss_loaded_mb"] - budget["rss_before_mb"] < 40
