"""The model of a collection's vectors, and vectors without a record: every engine."""

import numpy as np
import pytest

from langchain_ragstore.errors import (
    ConflictError,
    DimensionMismatchError,
    EmbeddingMismatchError,
)
from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.model import Fingerprint, Record
from records import AXES, record

X, Y, Z = AXES[:3]
ONE, OTHER = Fingerprint("one", X), Fingerprint("other", Y)


def known(backend, name="c", model=ONE):
    found = backend.known(name, [b"1", b"2", b"3"], model)
    return {digest: vector.tolist() for digest, vector in found.items()}


def digested(id, digest, vector=X, **more):
    return Record(id, id, more, vector, digest=digest)


def test_a_collection_has_the_model_of_its_first_vectors(backend):
    assert backend.fingerprint("c") is None
    backend.upsert("c", [record("a")], model=ONE)
    assert backend.fingerprint("c") is None  # no vector
    backend.upsert("c", [record("b", X)], model=ONE)
    assert backend.fingerprint("c").name == "one"
    assert backend.fingerprint("c").probe.tolist() == X.tolist()
    backend.upsert("c", [record("d", X)])  # by hand: says nothing
    assert backend.fingerprint("c").name == "one"
    with pytest.raises(
        EmbeddingMismatchError, match=r"'c' holds vectors of one, but other"
    ):
        backend.upsert("c", [record("e", X)], model=OTHER)
    assert backend.get("c", ["e"]) == []


def test_vectors_of_unknown_origin_take_the_first_model(backend):
    backend.upsert("c", [record("a", X)])
    assert backend.fingerprint("c") is None
    backend.upsert("c", [record("b", X)], model=OTHER)
    assert backend.fingerprint("c").name == "other"


def test_a_collection_without_vectors_takes_any(backend, clock):
    backend.upsert("c", [record("a", X, expires_at=clock.now + 1)], model=ONE)
    clock.now += 2
    assert backend.fingerprint("c") is None
    backend.upsert("c", [record("b", X)], model=OTHER)
    assert backend.fingerprint("c").name == "other"


def test_known_are_those_of_records_and_those_kept(backend):
    backend.upsert("c", [digested("a", b"1", X), record("b", Y)], model=ONE)
    backend.keep("c", {b"2": Z}, ONE)
    assert known(backend) == {b"1": X.tolist(), b"2": Z.tolist()}
    assert known(backend, model=OTHER) == {b"1": X.tolist()}
    assert known(backend, "never") == {}
    backend.upsert("c", [digested("b", b"2", Z)], model=ONE)
    backend.delete("c", ids=["b"], where=EVERYTHING)
    assert known(backend) == {b"1": X.tolist()}  # it was not kept any longer


def test_keeping_for_a_collection_that_is_not_there_yet(backend):
    backend.keep("c", {b"1": X}, ONE)
    assert (backend.collections(), backend.count("c")) == ([], 0)
    assert backend.fingerprint("c") is None
    assert known(backend) == {b"1": X.tolist()}
    backend.keep("c", {b"2": Y}, OTHER)
    assert known(backend) == {}
    assert known(backend, model=OTHER) == {b"2": Y.tolist()}
    backend.keep("c", {b"3": np.ones(2, np.float32)}, OTHER)
    assert list(known(backend, model=OTHER)) == [b"3"]


def test_keeping_beside_vectors_of_another_kind(backend):
    backend.upsert("c", [record("a", X)], model=ONE)
    with pytest.raises(EmbeddingMismatchError):
        backend.keep("c", {b"1": X}, OTHER)
    with pytest.raises(DimensionMismatchError):
        backend.keep("c", {b"1": np.ones(2, np.float32)}, ONE)
    assert known(backend) == {}


def test_what_is_kept_is_not_aliased(backend):
    given = X.copy()
    backend.keep("c", {b"1": given}, ONE)
    given[:] = 9
    assert known(backend) == {b"1": X.tolist()}


@pytest.mark.parametrize(
    "changed",
    [
        Record("a", "other text", {"n": 1}),
        Record("a", "a", {"n": 2}),
        Record("a", "a", {"n": True}),
        Record("gone", "a", {}),
    ],
)
def test_a_write_that_expects_what_is_not_there(backend, changed):
    backend.upsert("c", [digested("a", None, n=1)])
    (stored,) = backend.get("c", ["a"])
    with pytest.raises(ConflictError, match=f"'{changed.id}'"):
        backend.upsert("c", [record("new", X)], expected=[stored, changed])
    assert backend.count("c") == 1
    backend.upsert("c", [record("new", X)], expected=[stored], remove=["a"])
    assert [r.id for r in backend.scan("c")] == ["new"]


# --- adopting the vectors of another model ---------------------------------------------


def by_id(record):
    return {"a": b"1", "b": b"2", "d": b"1"}[record.id]


def test_adopting_tells_what_is_lacking_and_changes_nothing(backend):
    backend.upsert("c", [record("a", X), record("b", Y), record("d")], model=ONE)
    assert backend.adopt("c", "staged", by_id) == ["a", "b", "d"]
    backend.keep("staged", {b"1": Z[:2] + 1}, OTHER)
    assert backend.adopt("c", "staged", by_id) == ["b"]
    assert backend.fingerprint("c").name == "one"
    assert [h.record.id for h in backend.dense("c", X, 1)] == ["a"]


def test_adopting(backend, clock):
    before = [record("a", X, n=1), record("b", Y), record("d")]
    backend.upsert("c", before, model=ONE)
    backend.upsert("c", [record("old", X, expires_at=clock.now + 1)], model=ONE)
    backend.dense("c", X, 1)  # into memory, where there is one
    clock.now += 2
    backend.keep("c", {b"9": X}, ONE)
    two = np.eye(2, dtype=np.float32)
    backend.keep("staged", {b"1": two[0], b"2": two[1], b"7": two[1]}, OTHER)
    assert backend.adopt("c", "staged", by_id) == []
    assert backend.fingerprint("c").name == "other"
    hits = backend.dense("c", two[0], 9)
    assert [(h.record.id, h.score) for h in hits] == [("a", 1), ("d", 1), ("b", 0)]
    assert [r.metadata for r in backend.scan("c")] == [{"n": 1}, {}, {}]
    assert known(backend, model=OTHER) == {b"1": [1, 0], b"2": [0, 1]}
    assert known(backend, "staged", OTHER) == {}
    assert backend.known("c", [b"9"], ONE) == {}
    with pytest.raises(DimensionMismatchError):
        backend.upsert("c", [record("e", X)])


def test_keeping_nothing_for_another_model_forgets(backend):
    backend.keep("staged", {b"1": X}, OTHER)
    backend.keep("staged", {}, OTHER)
    assert list(known(backend, "staged", OTHER)) == [b"1"]
    backend.keep("staged", {}, ONE)
    assert known(backend, "staged", OTHER) == known(backend, "staged", ONE) == {}


def test_adopting_for_nothing(backend):
    backend.keep("staged", {b"1": X}, OTHER)
    assert backend.adopt("c", "staged", by_id) == []
    assert known(backend, "staged", OTHER) == {}
    assert backend.adopt("c", "never", by_id) == []
    backend.upsert("c", [record("a", X)], model=ONE)
    assert backend.fingerprint("c").name == "one"
