"""A copy in memory that follows changes is the one that would be read anew."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.model import Record
from langchain_ragstore.storage.sqlite import coding, steps
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.vectors.arrays import unit_matrix
from strategies import share

DIMENSION = 64
POOL = unit_matrix(np.random.default_rng(3).normal(size=(60, DIMENSION)))

numbers = st.integers(0, len(POOL) - 1)
records = st.lists(st.tuples(numbers, numbers, st.booleans()), min_size=1, max_size=12)
steps_taken = st.lists(
    st.one_of(
        st.tuples(st.just("add"), records),
        st.tuples(st.just("delete"), st.lists(numbers, min_size=1, max_size=12)),
        st.tuples(st.just("patch"), st.lists(numbers, min_size=1, max_size=4)),
    ),
    min_size=1,
    max_size=8,
)


def take(backend, step):
    """One write; every third number of a record says whether it has a vector."""
    name, what = step
    if name == "add":
        backend.upsert(
            "c",
            [
                Record(f"r{n}", "text", {"n": n}, POOL[row] if has else None)
                for n, row, has in {each[0]: each for each in what}.values()
            ],
        )
    elif name == "delete":
        backend.delete("c", ids=[f"r{n}" for n in what], where=EVERYTHING)
    else:
        ids = [f"r{n}" for n in what]
        backend.patch("c", ids=ids, where=EVERYTHING, changes={"seen": len(what)})


def copy(backend):
    """What is in memory, by record: its code, its bits, and what both are compared with."""
    with backend.database.read() as connection:
        state = steps.state(connection, "c")
        snapshot = backend._vectors._copies.snapshot(connection, state)
    index = snapshot.index
    if index is None:
        return {}, None
    rows = {
        key: (
            index.codes.values[row].tobytes(),
            float(index.codes.scales[row]),
            tuple(int(word[row]) for word in index.sketches),
        )
        for row, key in enumerate(snapshot.keys.tolist())
        if snapshot.alive[row]
    }
    assert len(rows) == np.count_nonzero(snapshot.alive)
    return rows, (index.mean.tobytes(), index.depth)


@share(60)
@given(steps_taken)
def test_what_follows_is_what_is_read_anew(taken):
    patch = pytest.MonkeyPatch()
    patch.setattr(coding, "SCAN_VALUES", 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        writer, follower = SQLiteBackend(path), SQLiteBackend(path)
        try:
            for step in [("add", [(0, 0, True)]), *taken]:
                take(writer, step)
                anew = SQLiteBackend(path)
                expected = copy(anew)
                anew.close()
                assert copy(follower) == copy(writer) == expected
        finally:
            patch.undo()
            writer.close()
            follower.close()
