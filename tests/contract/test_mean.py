"""What `mean` promises, over all engines."""

import numpy as np

from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.vectors.arrays import unit_matrix
from records import AXES, record


def test_the_mean_is_of_the_present_vectors(backend):
    assert backend.mean("c") is None
    vectors = unit_matrix([[1, 0], [0, 1], [1, 1]])
    backend.upsert("c", [record(n, v) for n, v in zip("abc", vectors, strict=True)])
    backend.upsert("d", [record("a", vectors[0])])
    assert np.allclose(backend.mean("c"), vectors.mean(axis=0))
    backend.delete("c", ids=["c"], where=EVERYTHING)
    assert np.allclose(backend.mean("c"), [0.5, 0.5])
    backend.upsert("c", [record("a", vectors[1])])
    assert np.allclose(backend.mean("c"), [0, 1])
    backend.delete("c", ids=None, where=EVERYTHING)
    assert backend.mean("c") is None


def test_a_mean_is_the_callers_own(backend):
    backend.upsert("c", [record("a", AXES[0])])
    backend.mean("c")[:] = 7
    assert np.allclose(backend.mean("c"), AXES[0])
