"""One state of a collection, as long as a search reads it."""

import numpy as np
import pytest

from langchain_ragstore.errors import DimensionMismatchError
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.model import Record, Terms
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from records import AXES, record

CAT = Terms({"cat": 1}, {"cat": 1})


@pytest.fixture
def filled(backend):
    """Three records: one of both legs, one of vectors, one of words alone."""
    backend.upsert(
        "c",
        [
            Record("both", "a cat", {"n": 1}, AXES[0], terms=CAT),
            Record("far", "a dog", {"n": 2}, AXES[1]),
            Record("words", "cat", {"n": 3}, terms=Terms({"cat": 2})),
        ],
    )
    return backend


def test_both_legs_and_what_is_known_of_their_finds(filled):
    def ask(view):
        near, cosines = view.dense(AXES[0], 9, EVERYTHING)
        held, scores = view.lexical(CAT, 9, EVERYTHING)
        assert (view.ids(near), cosines.tolist()) == (["both", "far"], [1.0, 0.0])
        assert view.ids(held) == ["both", "words"]
        keys = view.keys(["words", "far", "nobody", "both", "far"])
        assert sorted(view.ids(keys)) == ["both", "far", "words"]
        of = dict(zip(view.ids(keys), keys.tolist(), strict=True))
        wanted = np.array([of["words"], of["far"], of["both"]])
        assert view.cosines(AXES[0], wanted)[1:].tolist() == [0.0, 1.0]
        assert np.isnan(view.cosines(AXES[0], wanted)[0])
        assert view.bm25(CAT, wanted)[[2, 0]].tolist() == scores.tolist()
        assert np.isnan(view.bm25(CAT, wanted)[1])
        assert scores.max() < view.reachable(CAT)
        assert np.allclose(view.mean(), [0.5, 0.5, 0, 0][: len(AXES[0])])
        plain = view.records(wanted, vectors=False)
        whole = view.records(wanted, vectors=True)
        assert [r.id for r in plain] == [r.id for r in whole] == ["words", "far", "both"]
        assert all(r.vector is None for r in plain)
        assert np.array_equal(whole[2].vector, AXES[0])
        return len(wanted)

    assert filled.within("c", ask) == 3


def test_filters_and_numbers(filled):
    def ask(view):
        where = parse({"n": {"$gt": 1}})
        assert view.ids(view.dense(AXES[0], 9, where)[0]) == ["far"]
        assert view.ids(view.lexical(CAT, 9, where)[0]) == ["words"]
        assert view.ids(view.lexical(CAT, 9, parse({"n": 1}))[0]) == ["both"]
        for k in (0, -1):
            assert len(view.dense(AXES[0], k, EVERYTHING)[0]) == 0
            assert len(view.lexical(CAT, k, EVERYTHING)[0]) == 0
        with pytest.raises(DimensionMismatchError):
            view.dense(AXES[0][:2], 1, EVERYTHING)

    filled.within("c", ask)


def test_an_unknown_collection_is_empty(filled):
    def ask(view):
        assert len(view.dense(AXES[0], 9, EVERYTHING)[0]) == 0
        assert len(view.lexical(CAT, 9, EVERYTHING)[0]) == 0
        assert view.reachable(CAT) == 0
        assert view.mean() is None
        nothing = view.keys(["both"])
        assert view.ids(nothing) == view.records(nothing, vectors=True) == []
        assert len(view.cosines(AXES[0], nothing)) == len(view.bm25(CAT, nothing)) == 0

    filled.within("never", ask)


def test_equal_scores_are_ordered_by_id(backend):
    records = [
        Record(id, "cat", {}, AXES[0], terms=Terms({"cat": 1}))
        for id in ("b", "d", "a", "c")
    ]
    backend.upsert("c", [*records, record("best", AXES[1])])

    def ask(view):
        for found, _ in (
            view.dense(AXES[0], 3, EVERYTHING),
            view.lexical(CAT, 3, EVERYTHING),
        ):
            assert view.ids(found) == ["a", "b", "c"]

    backend.within("c", ask)


def test_a_view_is_one_state(tmp_path):
    """What another writer does meanwhile, a search does not see in its middle."""
    path = str(tmp_path / "rag.db")
    backend, other = SQLiteBackend(path), SQLiteBackend(path)
    backend.upsert("c", [Record("a", "cat", {}, AXES[0], terms=CAT)])

    def ask(view):
        (key,) = view.dense(AXES[0], 9, EVERYTHING)[0]
        other.delete("c", ids=["a"], where=EVERYTHING)
        assert view.ids(view.dense(AXES[0], 9, EVERYTHING)[0]) == ["a"]
        assert view.ids(view.lexical(CAT, 9, EVERYTHING)[0]) == ["a"]
        (found,) = view.records(np.array([key]), vectors=True)
        return found.id

    assert backend.within("c", ask) == "a"
    assert backend.within("c", lambda view: len(view.keys(["a"]))) == 0
    backend.close()
    other.close()
