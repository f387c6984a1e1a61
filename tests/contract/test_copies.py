"""Records that keep their times, and collections walked through, over all engines."""

import numpy as np

from langchain_ragstore.config import RECORD_PAGE
from langchain_ragstore.filters import parse
from langchain_ragstore.model import Record
from records import AXES, facts, ids, record


def dated(id, created=None, updated=None):
    return Record(id, id, {}, AXES[0], created_at=created, updated_at=updated)


def times(backend):
    return [(r.created_at, r.updated_at) for r in backend.scan("c")]


def test_times_are_the_engines_unless_dated(backend, clock):
    backend.upsert("c", [dated("a", 1.0, 2.0)])
    assert times(backend) == [(1_000.0, 1_000.0)]
    clock.now = 1_100.0
    backend.upsert("c", [dated("a", 1.0, 2.0), dated("b", 3.0), dated("c")], dated=True)
    assert times(backend) == [(1.0, 2.0), (3.0, 1_100.0), (1_100.0, 1_100.0)]
    backend.upsert("c", [dated("a")])
    assert times(backend)[0] == (1.0, 1_100.0)


def test_a_dated_record_without_times_keeps_the_old_one(backend, clock):
    backend.upsert("c", [dated("a")])
    clock.now = 1_100.0
    backend.upsert("c", [dated("a")], dated=True)
    assert times(backend) == [(1_000.0, 1_100.0)]


def test_pages_are_a_scan_with_vectors(backend, clock):
    many = [record(f"{n}", AXES[n % 4], n=n) for n in range(2 * RECORD_PAGE + 3)]
    backend.upsert("c", [*many, record("gone", AXES[0], n=1, expires_at=1_500.0)])
    clock.now = 1_500.0
    pages = list(backend.pages("c"))
    assert [len(page) for page in pages] == [RECORD_PAGE, RECORD_PAGE, 3]
    found = [facts(r) for page in pages for r in page]
    assert found == [facts(r) for r in backend.scan("c", vectors=True)]
    odd = list(backend.pages("c", where=parse({"n": {"$lt": 2}})))
    assert [ids(page) for page in odd] == [["0", "1"]]
    assert list(backend.pages("unknown")) == []
    assert all(isinstance(r.vector, np.ndarray) for r in pages[0])
