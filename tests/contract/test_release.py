"""What `release` and `resident_bytes` promise, over all engines."""

import numpy as np

from langchain_ragstore.model import Terms
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.vectors.arrays import unit_matrix
from records import ids, record

VECTORS = unit_matrix(np.random.default_rng(5).normal(size=(40, 8)))
QUERY = Terms({"tea": 1})


def fill(backend, name):
    backend.upsert(
        name,
        [
            record(f"{name}{n}").completed(vector, Terms({"tea": 1 + n % 3}))
            for n, vector in enumerate(VECTORS)
        ],
    )


def answers(backend, name):
    """All that a search of a collection can tell, with everything it can load."""
    return (
        [(h.record.id, h.score) for h in backend.dense(name, VECTORS[0], 9)],
        [(h.record.id, h.score) for h in backend.lexical(name, QUERY, 9)],
        backend.lexical_scores(name, QUERY, [f"{name}3"]),
        backend.mean(name).tobytes(),
    )


def test_what_is_released_is_read_again(backend):
    for name in ("one", "two"):
        fill(backend, name)
    before = [answers(backend, name) for name in ("one", "two")]
    backend.release("one")
    backend.release("one")
    assert backend.resident_bytes("one") == 0
    assert [answers(backend, name) for name in ("one", "two")] == before
    backend.release("two")
    fill(backend, "two")  # written while it is not in memory
    assert answers(backend, "two") == before[1]
    assert ids(backend.get("one", ["one0"])) == ["one0"]


def test_what_was_never_searched_takes_nothing(backend):
    fill(backend, "one")
    assert backend.resident_bytes("one") == backend.resident_bytes("never") == 0
    backend.release("never")
    assert backend.collections() == ["one"]


def test_bytes_are_those_of_the_collection(backend):
    fill(backend, "one")
    fill(backend, "two")
    if isinstance(backend, MemoryBackend):  # which has no copies
        answers(backend, "one")
        assert backend.resident_bytes("one") == 0
        return
    one = getattr(backend, "_backend", backend)  # not opened anew in between
    one.dense("one", VECTORS[0], 1)
    vectors = one.resident_bytes("one")
    assert VECTORS.nbytes <= vectors < VECTORS.nbytes + 40 * 20
    one.lexical("one", QUERY, 1)
    with_words = one.resident_bytes("one")
    assert with_words >= vectors + 40 * (8 + 8 + 24)
    one.mean("one")
    assert one.resident_bytes("one") == with_words + VECTORS[0].nbytes
    assert one.resident_bytes("two") == 0
    assert one.stats("one")["resident_bytes"] == one.resident_bytes("one")
    one.release("one")
    assert one.resident_bytes("one") == 0


def test_room_to_grow_counts(tmp_path):
    backend = SQLiteBackend(tmp_path / "a.db")
    backend.upsert("c", [record(str(n), VECTORS[n % 40]) for n in range(300)])
    backend.dense("c", VECTORS[0], 1)
    backend.upsert("c", [record("more", VECTORS[0])])
    backend.dense("c", VECTORS[0], 1)
    assert backend.resident_bytes("c") >= 450 * VECTORS[0].nbytes
    backend.close()
