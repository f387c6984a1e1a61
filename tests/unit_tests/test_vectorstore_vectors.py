"""Vectors of any embedder: what is scaled, what is refused, and that the text is named."""

import numpy as np
import pytest

from fakes import Answering, Counting
from langchain_ragstore import SQLiteVectorStore
from langchain_ragstore.errors import DimensionMismatchError, InvalidInputError


@pytest.fixture
def store():
    with SQLiteVectorStore(Counting()) as store:
        yield store


def with_third(vector):
    return lambda texts: [vector if text == "c" else [1.0, 2.0] for text in texts]


@pytest.mark.parametrize(
    "vector",
    [
        [1.0, float("nan")],
        [float("inf"), 1.0],
        [1.0, float("-inf")],
        [1.0, None],
        np.array([np.nan, 1], np.float16),
    ],
    ids=str,
)
def test_vectors_that_are_not_finite(vector):
    """Report 82: a NaN was stored and became the first hit."""
    with SQLiteVectorStore(Answering(with_third(vector))) as store:
        with pytest.raises(InvalidInputError, match=r"NaN or infinity \(text 2: 'c'\)"):
            store.add_texts(["a", "b", "c", "d"])
        assert len(store) == 0
        assert store.collections() == []


@pytest.mark.parametrize("vector", [[], [1.0], [1.0, 2.0, 3.0]], ids=str)
def test_vectors_of_another_length_than_their_batch(vector):
    """Report 82: a vector of a wrong length was stored, or named no text."""
    with SQLiteVectorStore(Answering(with_third(vector))) as store:
        with pytest.raises(DimensionMismatchError, match=r"0 has 2 .* 2 has \d.*'c'"):
            store.add_texts(["a", "b", "c", "d"])
        assert len(store) == 0


def test_vectors_of_another_length_than_the_collection(store):
    store.add_texts(["a"])
    with pytest.raises(DimensionMismatchError, match="64 dimensions, got 3"):
        store.add_embeddings(["b"], [[1, 2, 3]])
    assert [d.page_content for d in store.get()] == ["a"]
    store.clear()
    store.add_embeddings(["b"], [[1, 2, 3]])  # an emptied collection is free again
    assert [d.page_content for d in store.similarity_search_by_vector([1, 0, 0])] == ["b"]


def test_empty_vectors():
    """Report 82: an empty vector was stored."""
    with SQLiteVectorStore(Answering(lambda texts: [[] for _ in texts])) as store:
        with pytest.raises(InvalidInputError, match=r"empty \(text 0: 'a'\)"):
            store.add_texts(["a", "b"])
        assert len(store) == 0


@pytest.mark.parametrize("number", [0, 1, 3])
def test_too_few_or_many_vectors(number):
    with SQLiteVectorStore(Answering(lambda _: [[1.0, 2.0]] * number)) as store:
        with pytest.raises(InvalidInputError, match=rf"{number} vectors for 2 texts"):
            store.add_texts(["a", "b"])
        assert len(store) == 0


@pytest.mark.parametrize("vectors", [None, 5, [["x", "y"]], [{"a": 1}]], ids=str)
def test_answers_that_are_no_vectors(vectors):
    with SQLiteVectorStore(Answering(lambda _: vectors)) as store:
        with pytest.raises(InvalidInputError):
            store.add_texts(["a"])
        assert len(store) == 0


@pytest.mark.parametrize(
    "vectors",
    [
        [[3, 4]],
        [(3.0, 4.0)],
        [np.array([3, 4], np.float16)],
        [np.array([3, 4], np.int8)],
        np.array([[3, 4]], np.float64),
        [np.array([3e200, 4e200])],
        [np.array([3e-200, 4e-200])],
    ],
    ids=["int", "tuple", "float16", "int8", "matrix", "huge", "tiny"],
)
def test_vectors_of_any_number_type_are_scaled(vectors):
    """Report 82: vectors of numpy, of half precision and of integers were refused."""
    with SQLiteVectorStore(Answering(lambda _: vectors)) as store:
        store.add_texts(["a"])
        ((_, score),) = store.similarity_search_with_score_by_vector([0, 1])
        assert score == pytest.approx(0.8, abs=1e-7)


def test_an_error_of_the_model_reaches_the_caller():
    def fail(texts):
        raise ConnectionError("no route")

    with SQLiteVectorStore(Answering(fail)) as store:
        with pytest.raises(ConnectionError, match="no route"):
            store.add_texts(["a"])
        assert len(store) == 0


def test_a_store_without_a_model_keeps_texts():
    with SQLiteVectorStore() as store:
        store.add_texts(["a"], ids=["1"])
        assert [d.id for d in store.get()] == ["1"]
        with pytest.raises(InvalidInputError, match=r"no embedding to search with"):
            store.similarity_search("a")
