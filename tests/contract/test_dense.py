"""What `dense` promises, over all engines."""

import numpy as np
import pytest

from langchain_ragstore.errors import DimensionMismatchError
from langchain_ragstore.filters import EVERYTHING, NOTHING, parse
from langchain_ragstore.vectors.arrays import unit_matrix
from records import AXES, ids, record


@pytest.mark.parametrize("k", [0, -1])
def test_no_results_for_no_k(backend, k):
    backend.upsert("c", [record("a", AXES[0])])
    assert backend.dense("c", AXES[0], k) == []


def test_dense_ranks_by_cosine_then_id(backend):
    vectors = unit_matrix([[1, 0], [1, 1], [0, 1], [-1, 0], [1, 1], [1, 1]])
    names = ["z", "m", "c", "d", "b", "a"]
    backend.upsert("c", [record(n, v) for n, v in zip(names, vectors, strict=True)])
    hits = backend.dense("c", vectors[0], 10**9)
    assert ids(hits) == ["z", "a", "b", "m", "c", "d"]
    assert [hit.score for hit in hits] == pytest.approx(
        [1, 0.5**0.5, 0.5**0.5, 0.5**0.5, 0, -1]
    )
    assert hits[1].score == hits[2].score == hits[3].score
    assert hits[0].signals == {"dense": hits[0].score}
    for k in range(1, 7):
        assert ids(backend.dense("c", vectors[0], k)) == ids(hits)[:k]


def test_many_equal_vectors_tie_by_id(backend):
    vector = unit_matrix([np.arange(1, 40)])[0]
    names = [f"{n:04d}" for n in range(700)]
    backend.upsert("c", [record(n, vector) for n in reversed(names)])
    hits = backend.dense("c", vector, 5)
    assert ids(hits) == names[:5]
    assert len({hit.score for hit in hits}) == 1


def test_a_filter_never_starves_k(backend):
    rng = np.random.default_rng(3)
    near = unit_matrix(np.array([1.0, 0, 0, 0]) + rng.normal(scale=0.01, size=(500, 4)))
    records = [record(f"n{i}", v, kind="near") for i, v in enumerate(near)]
    far = [record(f"far{i}", -AXES[0], kind="far") for i in range(3)]
    backend.upsert("c", records + far)
    assert ids(backend.dense("c", AXES[0], 3, where=parse({"kind": "far"}))) == [
        "far0",
        "far1",
        "far2",
    ]
    assert backend.dense("c", AXES[0], 3, where=parse({"kind": "none"})) == []


def test_dense_returns_vectors_on_request(backend):
    backend.upsert("c", [record("a", AXES[0], n=1)])
    (hit,) = backend.dense("c", AXES[0], 1)
    assert hit.record.vector is None
    (hit,) = backend.dense("c", AXES[0], 1, vectors=True)
    assert hit.record.vector.tobytes() == AXES[0].tobytes()
    assert hit.record.metadata == {"n": 1}


def test_records_without_vectors_are_not_dense_hits(backend):
    backend.upsert("c", [record("a"), record("b", AXES[0])])
    assert ids(backend.dense("c", AXES[0], 5)) == ["b"]
    assert backend.count("c") == 2


def test_zero_vectors_are_stored_and_similar_to_nothing(backend):
    backend.upsert("c", [record("z", np.zeros(4, np.float32)), record("a", AXES[0])])
    assert [h.score for h in backend.dense("c", AXES[0], 2)] == [1.0, 0.0]


def test_a_zero_query_is_similar_to_nothing(backend):
    backend.upsert("c", [record("b", AXES[0]), record("a", AXES[1])])
    hits = backend.dense("c", np.zeros(4, np.float32), 5)
    assert [(hit.record.id, hit.score) for hit in hits] == [("a", 0.0), ("b", 0.0)]


def test_nothing_to_search(backend):
    assert backend.dense("never", AXES[0], 5) == []
    backend.upsert("c", [record("a")])
    assert backend.dense("c", AXES[0], 5) == []
    assert backend.dense("c", np.ones(3, np.float32), 5) == []


def test_a_query_of_another_length_is_refused_also_with_a_filter(backend):
    backend.upsert("c", [record("a", AXES[0])])
    for where in (EVERYTHING, parse({"a": 1}), NOTHING):
        with pytest.raises(DimensionMismatchError, match="4 dimensions, got 3"):
            backend.dense("c", np.ones(3, np.float32), 1, where=where)


def test_scores_do_not_depend_on_the_neighbours(backend):
    vectors = unit_matrix(np.random.default_rng(5).normal(size=(301, 33)))
    query = unit_matrix(np.random.default_rng(6).normal(size=(1, 33)))[0]
    backend.upsert("c", [record(f"{n:03d}", v, n=n) for n, v in enumerate(vectors)])
    everywhere = {h.record.id: h.score for h in backend.dense("c", query, 301)}
    few = backend.dense("c", query, 5, where=parse({"n": {"$gte": 290}}))
    assert len(few) == 5
    for hit in few:
        assert hit.score == everywhere[hit.record.id]
        assert hit.score == pytest.approx(float(vectors[int(hit.record.id)] @ query))


def test_ties_at_the_last_place_go_by_id_with_a_filter(backend):
    backend.upsert(
        "c", [record(id, AXES[0], even=n % 2 == 0) for n, id in enumerate("fedcba")]
    )
    assert ids(backend.dense("c", AXES[0], 2, where=parse({"even": True}))) == ["b", "d"]
    assert ids(backend.dense("c", AXES[0], 2)) == ["a", "b"]
