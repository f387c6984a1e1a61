"""Copies of large collections in memory: their bytes, other processes, older readers."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

from codes import check_codes, rebuild_codes
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.model import Record
from langchain_ragstore.storage.sqlite import coding, nearest, steps
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.vectors.arrays import cosines, unit_matrix
from records import ids

DIMENSION, COUNT = 64, 1_200
ROWS = unit_matrix(np.random.default_rng(1).normal(size=(COUNT, DIMENSION)))
GROUP = parse({"group": 3})

WRITER = """
import sys
import numpy as np
from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.model import Record
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
backend = SQLiteBackend(sys.argv[1])
query = np.load(sys.argv[2])
hits = backend.dense("c", query, 1)
backend.delete("c", ids=[hits[0].record.id], where=EVERYTHING)
backend.upsert("c", [Record("theirs", "text", {"group": 3}, -query)])
print(hits[0].record.id, backend.stats("c")["searches"])
backend.close()
"""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Codes from 1 000 vectors on."""
    monkeypatch.setattr(coding, "SCAN_VALUES", 1_000 * DIMENSION)


def records(rows=ROWS):
    return [Record(f"r{n}", "text", {"group": n % 10}, row) for n, row in enumerate(rows)]


@pytest.fixture
def backend(tmp_path):
    backend = SQLiteBackend(tmp_path / "a.db")
    backend.upsert("c", records())
    yield backend
    backend.close()


def snapshot(backend):
    with backend.database.read() as connection:
        state = steps.state(connection, "c")
        return backend._vectors._copies.snapshot(connection, state)


def test_bytes_are_told_and_freed(backend):
    backend.upsert("other", records(ROWS[:1_100]))
    backend.dense("other", ROWS[0], 1)
    others = backend.resident_bytes("other")
    before = ids(backend.dense("c", ROWS[0], 5))
    codes = COUNT * (DIMENSION + 4 + DIMENSION // 8)  # bytes, their scale, bits
    rows = COUNT * (8 + 8 + 1)  # key, expiry, liveness
    assert backend.resident_bytes("c") == codes + rows
    filtered = ids(backend.dense("c", ROWS[0], 5, where=GROUP))
    with_column = backend.resident_bytes("c")
    assert with_column >= codes + rows + 4 * COUNT
    assert backend.mean("c") is not None
    assert backend.resident_bytes("c") == with_column + 4 * DIMENSION
    assert backend.stats("c")["resident_bytes"] == backend.resident_bytes("c")
    values = weakref.ref(snapshot(backend).index.codes.values.base)
    backend.release("c")
    gc.collect()
    assert values() is None
    assert backend.resident_bytes("c") == 0
    assert backend.resident_bytes("other") == others
    assert ids(backend.dense("c", ROWS[0], 5)) == before
    assert backend.resident_bytes("c") == codes + rows  # nothing of column or mean was left
    assert ids(backend.dense("c", ROWS[0], 5, where=GROUP)) == filtered
    assert backend.stats("c")["searches"] == {"codes": 4}


def test_a_search_under_way_keeps_what_is_released(backend):
    backend.dense("c", ROWS[0], 1)
    kept = snapshot(backend)
    backend.release("c")
    places, _ = kept.index.survivors(ROWS[7], 1, kept.alive, exact=True)
    assert kept.keys[places].tolist() == [8]


def test_another_process_writes_and_searches(backend, tmp_path):
    """Its codes are this one's, and this one follows by what changed."""
    np.save(tmp_path / "query.npy", ROWS[5])
    assert ids(backend.dense("c", ROWS[5], 1)) == ["r5"]
    lineage = snapshot(backend).lineage
    command = [sys.executable, "-c", WRITER, tmp_path / "a.db", tmp_path / "query.npy"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "r5 {'codes': 1}\n"
    assert check_codes(backend, "c") == []
    assert ids(backend.dense("c", ROWS[5], 1)) != ["r5"]
    hits = backend.dense("c", -ROWS[5], 1, where=GROUP)
    assert [(h.record.id, h.score) for h in hits] == [("theirs", pytest.approx(1.0))]
    assert snapshot(backend).lineage is lineage


def test_an_older_reader_does_not_see_a_column_that_was_read_later(backend):
    """A transaction that began before a write finds what was there then."""
    seen = []

    def ask(view):
        if not seen:
            seen.append(len(view.dense(ROWS[3], COUNT, GROUP)[0]))
            backend.patch("c", ids=["r3"], where=EVERYTHING, changes={"group": 4})
            later = backend.dense("c", ROWS[3], COUNT, where=GROUP)
            seen.append(len(later))
        return len(view.keys(["r3"]))

    assert backend.within("c", ask) == 1
    assert seen == [120, 119]
    assert len(backend.dense("c", ROWS[3], COUNT, where=GROUP)) == 119


def test_a_column_is_as_old_as_the_rows_it_was_read_with(backend):
    backend.dense("c", ROWS[3], 1)
    old = snapshot(backend)
    backend.upsert("c", [Record("r3", "text", {"group": 4}, ROWS[3])])
    backend.dense("c", ROWS[3], 1, where=GROUP)
    with backend.database.read() as connection:
        state = steps.state(connection, "c")
        assert backend._vectors._columns.mask(connection, state, old, GROUP) is None
        new = backend._vectors._copies.snapshot(connection, state)
        mask = backend._vectors._columns.mask(connection, state, new, GROUP)
    assert np.count_nonzero(mask & new.alive) == 119


def test_a_copy_that_is_read_anew_has_columns_of_its_own(backend, tmp_path):
    """Tombstones are gone then, and rows stand elsewhere."""
    other = SQLiteBackend(tmp_path / "a.db")
    changed = [Record("r3", "text", {"group": 4}, ROWS[3])]
    for engine in (backend, other):
        engine.dense("c", ROWS[3], 1, where=GROUP)
    backend.upsert("c", changed)
    backend.delete("c", ids=["r13"], where=EVERYTHING)
    for engine in (backend, other):
        engine.dense("c", ROWS[3], 1, where=GROUP)
    backend.delete("c", ids=["r23"], where=EVERYTHING)
    rebuild_codes(backend, "c")
    for engine in (backend, other):
        found = ids(engine.dense("c", ROWS[3], COUNT, where=GROUP))
        assert sorted(found) == sorted(f"r{n}" for n in range(33, COUNT, 10))
        assert len(engine.dense("c", ROWS[23], 2 * COUNT)) == COUNT - 2
    other.close()


def test_cosines_come_from_vectors_that_are_in_memory(tmp_path):
    """Of a small collection nothing is read; replaced and missing vectors count as such."""
    backend = SQLiteBackend(tmp_path / "a.db")
    backend.upsert("c", records(ROWS[:300]))
    backend.dense("c", ROWS[0], 1)
    backend.upsert("c", [Record("r3", "text", {}, ROWS[500]), Record("r4", "text", {})])
    asked = []

    def ask(view):
        view._connection.set_trace_callback(asked.append)
        keys = view.keys(["r2", "r3", "r4"])
        view.dense(ROWS[0], 1, EVERYTHING)  # which reads what changed
        del asked[:]
        return view.cosines(ROWS[2], keys).tolist()

    same, other, missing = backend.within("c", ask)
    assert (same, other) == tuple(cosines(ROWS[[2, 500]], ROWS[2]).tolist())
    assert np.isnan(missing)
    assert not [text for text in asked if "SELECT" in text]
    backend.close()


def test_vectors_that_come_when_all_had_left_are_found(backend, tmp_path):
    """Codes of no row are codes still: another store may open before the next vector."""
    backend.delete("c", ids=None, where=EVERYTHING)
    other = SQLiteBackend(tmp_path / "a.db")
    assert other.dense("c", ROWS[0], 1) == []
    backend.upsert("c", records(ROWS[:3]))
    for engine in (backend, other):
        assert sorted(ids(engine.dense("c", ROWS[0], 9))) == ["r0", "r1", "r2"]
    other.close()


def test_bits_alone_read_page_by_page_what_a_narrow_filter_leaves(tmp_path, monkeypatch):
    """Beyond the last rank that was measured, all that match are compared."""
    monkeypatch.setattr(nearest, "_PAGE", 50)
    backend = SQLiteBackend(tmp_path / "a.db", memory_budget=60 * COUNT)
    backend.upsert("c", records())
    assert ids(backend.dense("c", ROWS[3], 1)) == ["r3"]
    assert snapshot(backend).index.codes is None
    best = sorted(range(3, COUNT, 10), key=lambda n: -float(ROWS[n] @ ROWS[3]))
    assert ids(backend.dense("c", ROWS[3], 20, where=GROUP)) == [f"r{n}" for n in best[:20]]
    assert backend.stats("c")["searches"] == {"rows": 2}
    backend.close()
