"""The text index of the SQLite engine: what it writes, how it merges, what it follows."""

import os
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from fakes import Clock
from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.lexical.gathering import prepared
from langchain_ragstore.model import Record, Terms
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite import segments
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend


def record(n, *more):
    words = {f"w{n}": 1, f"m{n % 7}": 2, "all": 1, **dict.fromkeys(more, 1)}
    return Record(f"{n:05d}", "", {"n": n}, terms=Terms(words, {f"t{n % 3}": 1}))


def entries(backend):
    with backend.database.read() as connection:
        return segments.entries(connection, 1)


def sizes(backend):
    return [entry.rows for entry in entries(backend)]


def found(backend, *words, k=10, where=EVERYTHING):
    query = Terms(dict.fromkeys(words, 1))
    return [hit.record.id for hit in backend.lexical("c", query, k, where=where)]


def posting_bytes(path):
    connection = sqlite3.connect(path)
    (size,) = connection.execute(
        "SELECT sum(length(data)) FROM ragstore_posting"
    ).fetchone()
    connection.close()
    return size


def test_small_segments_are_merged_so_that_few_remain():
    backend = SQLiteBackend()
    most = 0
    for n in range(300):
        backend.upsert("c", [record(n)])
        most = max(most, len(entries(backend)))
    assert most <= 8
    assert sum(sizes(backend)) == 300
    assert found(backend, "w17") == ["00017"]
    assert len(found(backend, "all", k=400)) == 300


def test_merging_drops_what_is_not_in_force():
    backend = SQLiteBackend()
    for _ in range(50):
        backend.upsert("c", [record(n) for n in range(10)])
    assert sum(sizes(backend)) <= 10 * 4
    backend.delete("c", ids=["00003"], where=EVERYTHING)
    backend.compact_text("c")
    assert sizes(backend) == [9]
    before = entries(backend)
    backend.compact_text("c")
    assert entries(backend) == before
    assert found(backend, "w3") == []
    assert found(backend, "w4") == ["00004"]
    backend.delete("c", ids=None, where=EVERYTHING)
    assert entries(backend) == []
    backend.compact_text("c")
    backend.compact_text("never")


def test_a_merge_of_dead_segments_leaves_none():
    backend = SQLiteBackend()
    for n in range(3):
        backend.upsert("c", [record(n)])
    backend.upsert("c", [Record(f"{n:05d}", "", {}) for n in range(3)])
    assert len(entries(backend)) == 3
    assert found(backend, "all") == []
    backend.compact_text("c")
    assert entries(backend) == []


def test_a_large_merge_goes_on_over_several_writes(monkeypatch, tmp_path):
    monkeypatch.setattr(segments, "MERGE_BLOCKS", 2)
    monkeypatch.setattr("langchain_ragstore.lexical.postings.POSTING_BLOCK_BYTES", 200)
    path = tmp_path / "rag.db"
    backend, other = SQLiteBackend(path), SQLiteBackend(path)
    oracle = MemoryBackend()
    unfinished = 0
    for n in range(120):
        engine = (backend, other)[n % 2]
        batch = [record(n), record(n + 500)] if n % 5 else [record(n // 2, "again")]
        for each in (engine, oracle):
            each.upsert("c", batch)
            if n % 9 == 0:
                each.delete("c", ids=[f"{n - 3:05d}"], where=EVERYTHING)
        known = entries(backend)
        unfinished += any(not entry.complete for entry in known)
        busy = [key for entry in known for key in entry.sources]
        assert len(busy) == len(set(busy))  # nothing is merged twice
        if n % 3 == 0:
            query = Terms({"all": 1, "m3": 1, f"w{n}": 2, "again": 1}, {"t1": 1})
            where = parse({"n": {"$gt": 40}})
            assert [
                (hit.record.id, hit.score)
                for hit in (other, backend)[n % 2].lexical("c", query, 9, where=where)
            ] == [
                (hit.record.id, hit.score)
                for hit in oracle.lexical("c", query, 9, where=where)
            ]
        if n % 40 == 39:
            other.close()
            other = SQLiteBackend(path)
    assert unfinished > 10
    backend.compact_text("c")
    assert [entry.complete for entry in entries(backend)] == [True]
    query = Terms({"all": 1, "m3": 1, "again": 1}, {"t1": 1})
    everyone = [f"{n:05d}" for n in range(700)]
    expected = oracle.lexical_scores("c", query, everyone)
    assert backend.lexical_scores("c", query, everyone) == expected
    assert other.lexical_scores("c", query, everyone) == expected
    backend.close()
    other.close()


def test_clearing_while_a_merge_is_unfinished(monkeypatch):
    monkeypatch.setattr(segments, "MERGE_BLOCKS", 1)
    monkeypatch.setattr("langchain_ragstore.lexical.postings.POSTING_BLOCK_BYTES", 100)
    backend = SQLiteBackend()
    n = 0
    while all(entry.complete for entry in entries(backend)):
        backend.upsert("c", [record(n)])
        n += 1
    backend.delete("c", ids=None, where=EVERYTHING)
    assert entries(backend) == []
    backend.upsert("c", [record(1)])
    assert found(backend, "all") == ["00001"]


def test_one_record_anew_writes_no_more_than_its_own_terms(tmp_path):
    path = tmp_path / "rag.db"
    backend = SQLiteBackend(path)
    backend.upsert(
        "c", [record(n, *(f"x{n}y{i}" for i in range(40))) for n in range(3_000)]
    )
    backend.compact_text("c")
    whole = posting_bytes(path)
    written = []
    for n in range(3):  # the fourth would merge the small ones
        before = posting_bytes(path)
        backend.upsert("c", [record(n, *(f"z{i}" for i in range(40)))])
        written.append(posting_bytes(path) - before)
    assert all(0 < size < 1_500 for size in written)
    assert whole > 1_000_000
    # What merging adds stays small beside the index, too.
    with backend.database.read() as connection:
        before = connection.execute("SELECT max(key) FROM ragstore_segment").fetchone()[0]
    for n in range(64):
        backend.upsert("c", [record(n)])
    with backend.database.read() as connection:
        (size,) = connection.execute(
            "SELECT sum(length(p.data)) FROM ragstore_posting p WHERE p.segment > ?",
            (before,),
        ).fetchone()
    assert size < whole / 20
    backend.close()


def test_other_processes_are_followed(tmp_path):
    path = tmp_path / "rag.db"
    first, second = SQLiteBackend(path), SQLiteBackend(path)
    for n in range(40):
        writer, reader = (first, second) if n % 2 else (second, first)
        writer.upsert("c", [record(n)])
        assert found(reader, f"w{n}") == [f"{n:05d}"]
        if n % 4 == 3:
            reader.delete("c", ids=[f"{n:05d}"], where=EVERYTHING)
            assert found(writer, f"w{n}") == []
    first.compact_text("c")
    assert found(second, "all", k=99) == found(first, "all", k=99)
    assert len(found(second, "all", k=99)) == 30
    first.close()
    second.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_searches_and_writes(tmp_path):
    backend = SQLiteBackend(tmp_path / "rag.db")
    backend.upsert("c", [record(1)])
    assert found(backend, "w1") == ["00001"]
    child = os.fork()
    if not child:
        ok = found(backend, "w1") == ["00001"]
        backend.upsert("c", [record(2)])
        os._exit(0 if ok and found(backend, "w2") == ["00002"] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert found(backend, "w2") == ["00002"]
    backend.close()


def test_readers_find_only_what_is_committed(tmp_path):
    backend = SQLiteBackend(tmp_path / "rag.db")
    backend.upsert("c", [record(1)])
    other = SQLiteBackend(tmp_path / "rag.db")

    def interrupted():
        with other.database.write() as connection:
            segments.add(connection, 1, prepared([Terms({"w9": 1})]))
            assert found(backend, "w9") == []
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert found(other, "w9") == []
    other.upsert("c", [record(9)])
    assert found(backend, "w9") == ["00009"]
    backend.close()
    other.close()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM ragstore_posting",
        "UPDATE ragstore_posting SET data = x'ff'",
        "UPDATE ragstore_posting SET data = substr(data, 1, length(data) - 18)",
        "DELETE FROM ragstore_segment",
        "UPDATE ragstore_segment SET slots = x'00'",
        "UPDATE ragstore_segment SET fences = x'00'",
        "UPDATE ragstore_segment SET rows = rows + 1000",
    ],
)
def test_a_damaged_index_is_named(tmp_path, damage):
    path = tmp_path / "rag.db"
    backend = SQLiteBackend(path)
    backend.upsert("c", [record(n) for n in range(9)])
    backend.close()
    everything = Terms(
        {"w1": 1, "all": 1, **{f"m{n}": 1 for n in range(7)}}, {"t0": 1, "t1": 1, "t2": 1}
    )
    raw = sqlite3.connect(path)
    raw.execute(damage)
    raw.commit()
    raw.close()
    backend = SQLiteBackend(path)
    with pytest.raises(CorruptStoreError, match="text index"):
        backend.lexical("c", everything, 1)
    backend.close()


def test_many_dead_rows_do_not_hide_the_living():
    backend = SQLiteBackend()
    backend.upsert("c", [record(n) for n in range(2_500)])
    backend.delete("c", ids=None, where=parse({"n": {"$lt": 2_400}}))
    assert len(found(backend, "all", k=500)) == 100
    scores = backend.lexical_scores("c", Terms({"all": 1}), ["02400"])
    fresh = SQLiteBackend()
    fresh.upsert("c", [record(n) for n in range(2_400, 2_500)])
    assert fresh.lexical_scores("c", Terms({"all": 1}), ["02400"]) == scores
    known = backend._lexicons._copies[1]
    assert np.count_nonzero(known.records >= 0) == 100
    assert backend._lexicons.nbytes(1) == known.nbytes > 0


def test_the_last_scores_are_kept_for_the_next_call(monkeypatch, tmp_path):
    backend = SQLiteBackend(tmp_path / "rag.db")
    backend.upsert("c", [record(n) for n in range(20)])
    words = {"all": 1, "w3": 1}
    query = Terms(words)
    (few,) = backend.lexical("c", query, 9, where=parse({"n": 4}))
    reads = []
    read = segments.block
    monkeypatch.setattr(segments, "block", lambda *of: reads.append(of) or read(*of))
    scores = backend.lexical_scores("c", query, ["00003", "00004"]).scores
    assert scores["00004"] == few.score < scores["00003"]
    assert found(backend, "w3", "all", k=1) == ["00003"]
    assert not reads
    words["w4"] = 2  # another query, though the same object
    assert backend.lexical("c", query, 1)[0].record.id == "00004"
    assert reads
    backend.upsert("c", [record(99, "w3")])
    assert found(backend, "w3", k=5) == ["00003", "00099"]
    backend.close()


def test_the_last_scores_end_with_what_expires():
    clock = Clock()
    backend = SQLiteBackend(clock=clock)
    backend.upsert("c", [record(1), replace(record(2), expires_at=1_500.0)])
    query = Terms({"all": 1})
    both = backend.lexical_scores("c", query, ["00001"])
    assert found(backend, "all") == ["00001", "00002"]
    clock.now = 1_500.0
    assert found(backend, "all") == ["00001"]
    assert backend.lexical_scores("c", query, ["00001"]).reachable != both.reachable


def test_a_copy_that_is_far_behind_loads_anew(monkeypatch, tmp_path):
    monkeypatch.setattr("langchain_ragstore.storage.sqlite.steps.SQLITE_TOMBSTONES", 3)
    first, second = SQLiteBackend(tmp_path / "rag.db"), SQLiteBackend(tmp_path / "rag.db")
    first.upsert("c", [record(n) for n in range(20)])
    assert len(found(second, "all", k=99)) == 20
    for n in range(10):
        first.delete("c", ids=[f"{n:05d}"], where=EVERYTHING)
    assert found(second, "all", k=99) == found(first, "all", k=99)
    assert len(found(second, "all", k=99)) == 10
    assert len(second._lexicons._copies[1].live[0]) == 10
    first.close()
    second.close()
