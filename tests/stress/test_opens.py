"""Stores that are opened and closed, thousands of times."""

import contextlib
from pathlib import Path

import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.errors import RagStoreError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path("/proc/self/fd").exists(), reason="no /proc on this system"
    ),
]
MODEL = HashingEmbeddings(16)


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_thousand_opens_of_each_kind_leave_no_descriptor(tmp_path):
    path = tmp_path / "rag.db"
    with SQLiteVectorStore(MODEL, path) as store:
        store.add_texts(["alpha", "beta"])
        store.freeze(tmp_path / "frozen.db")
        store.export_jsonl(tmp_path / "x.jsonl")
    (tmp_path / "text").write_bytes(b"no database " * 1_000)

    def searched(path, **keywords):
        with SQLiteVectorStore(MODEL, path, **keywords) as store:
            assert len(store.search("alpha", "hybrid", k=2)) == 2
            next(store._pages())
            store.byte_store().mget(["k"])

    def cared_for(n):
        with SQLiteVectorStore(MODEL, path) as store:
            if n % 50 == 0:
                store.backup(tmp_path / "copy.db", overwrite=True)
                store.merge(tmp_path / "frozen.db")
                store.import_jsonl(tmp_path / "x.jsonl")
                store.compact()
                store.verify()

    searched(path)
    cared_for(0)
    before = descriptors()
    for n in range(1_000):
        searched(path)
        searched(path, read_only=True)
        searched(tmp_path / "frozen.db")
        cared_for(n)
        for refused in (tmp_path / "text", tmp_path / "absent" / "x.db"):
            with contextlib.suppress(RagStoreError), SQLiteVectorStore(MODEL, refused):
                raise AssertionError
    assert descriptors() <= before
    assert not list(tmp_path.glob("*.part*"))
