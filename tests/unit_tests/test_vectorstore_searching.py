"""Searching by hand-computed vectors: scores, k, thresholds, filters, diversity."""

import itertools
import math

import numpy as np
import pytest

from fakes import Counting, Table
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.errors import (
    DimensionMismatchError,
    FilterError,
    InvalidInputError,
)

# Cosines to "q": same 1, near 0.8, half 0.5, right 0, opposite -1, zero 0.
VECTORS = {
    "q": [2, 0],
    "same": [7, 0],
    "near": [4, 3],
    "half": [1, math.sqrt(3)],
    "right": [0, 5],
    "opposite": [-3, 0],
    "zero": [0, 0],
}
TEXTS = ["opposite", "right", "zero", "half", "near", "same"]
RANKED = ["same", "near", "half", "right", "zero", "opposite"]


@pytest.fixture
def store():
    with SQLiteVectorStore(Table(VECTORS)) as store:
        metadatas = [{"n": n, "odd": bool(n % 2)} for n in range(len(TEXTS))]
        store.add_texts(TEXTS, metadatas, ids=TEXTS)
        yield store


def ids(found):
    return [getattr(item, "id", None) or item[0].id for item in found]


# Each way to search, by text or by vector, as a function of keywords.
BY_TEXT = {
    "similarity_search": lambda s, **kw: s.similarity_search("q", **kw),
    "with_score": lambda s, **kw: s.similarity_search_with_score("q", **kw),
    "by_vector": lambda s, **kw: s.similarity_search_by_vector([1, 0], **kw),
    "with_score_by_vector": lambda s, **kw: s.similarity_search_with_score_by_vector(
        [1, 0], **kw
    ),
    "relevance": lambda s, **kw: s.similarity_search_with_relevance_scores("q", **kw),
    "search": lambda s, **kw: s.search("q", "similarity", **kw),
}
BY_MMR = {
    "mmr": lambda s, **kw: s.max_marginal_relevance_search("q", **kw),
    "mmr_by_vector": lambda s, **kw: s.max_marginal_relevance_search_by_vector(
        [1, 0], **kw
    ),
    "search_mmr": lambda s, **kw: s.search("q", "mmr", **kw),
}
BOUND = {
    f"retriever_{kind}": lambda s, kind=kind, **kw: s.as_retriever(
        search_type=kind, search_kwargs=kw
    ).invoke("q")
    for kind in ("similarity", "mmr")
}
GIVEN = {
    f"invoke_{kind}": lambda s, kind=kind, **kw: s.as_retriever(search_type=kind).invoke(
        "q", **kw
    )
    for kind in ("similarity", "mmr")
}
SCORED = {
    "search_threshold": lambda s, **kw: s.search(
        "q", "similarity_score_threshold", **{"score_threshold": 0.0} | kw
    ),
    "retriever_threshold": lambda s, **kw: s.as_retriever(
        search_type="similarity_score_threshold",
        search_kwargs={"score_threshold": 0.0} | kw,
    ).invoke("q"),
    "invoke_threshold": lambda s, **kw: s.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.0}
    ).invoke("q", **kw),
}
WAYS = BY_TEXT | BY_MMR | BOUND | GIVEN | SCORED


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


# --- scores -------------------------------------------------------------------------


def test_scores_are_cosines(store):
    """Report 65: a higher score is a closer document, whatever the length of vectors."""
    scored = store.similarity_search_with_score("q", k=10)
    assert ids(scored) == RANKED
    assert [score for _, score in scored] == pytest.approx(
        [1, 0.8, 0.5, 0, 0, -1], abs=1e-7
    )


def test_relevance_is_between_0_and_1(store):
    """Report 65: relevance was -172, or grew as documents were less alike."""
    scored = store.similarity_search_with_relevance_scores("q", k=10)
    assert ids(scored) == RANKED
    assert [score for _, score in scored] == pytest.approx([1, 0.8, 0.5, 0, 0, 0])
    assert all(0 <= score <= 1 for _, score in scored)


def test_equal_scores_are_ordered_by_id(store):
    store.add_embeddings(["x"] * 3, [[7, 0]] * 3, ids=["c", "a", "b"])
    assert ids(store.similarity_search("q", k=4)) == ["a", "b", "c", "same"]


def test_a_zero_query_finds_nothing(store):
    assert store.similarity_search("zero") == []
    assert store.similarity_search_with_relevance_scores("zero") == []
    assert store.similarity_search_by_vector([0.0, 0.0]) == []
    assert store.max_marginal_relevance_search("zero") == []
    assert store.as_retriever().invoke("zero") == []


@pytest.mark.parametrize(
    "vector", [[math.nan, 1], [math.inf, 1], [], ["a", "b"], [1, None]]
)
def test_query_vectors_are_checked(store, vector):
    for search in (
        store.similarity_search_by_vector,
        store.similarity_search_with_score_by_vector,
        store.max_marginal_relevance_search_by_vector,
    ):
        with pytest.raises(InvalidInputError):
            search(vector)


@pytest.mark.parametrize(
    "vector", [np.array([4, 3], np.float16), np.array([4, 3]), (4, 3), [4.0, 3.0]]
)
def test_query_vectors_of_any_number_type(store, vector):
    ((document, score),) = store.similarity_search_with_score_by_vector(vector, k=1)
    assert (document.id, score) == ("near", pytest.approx(1.0))


def test_a_query_of_another_dimension(store):
    with pytest.raises(DimensionMismatchError, match="2 dimensions, got 3"):
        store.similarity_search_by_vector([1, 0, 0])


@pytest.mark.parametrize("query", [None, 5, ["q"], b"q"])
def test_queries_are_strings(store, query):
    for search in (
        store.similarity_search,
        store.similarity_search_with_relevance_scores,
        store.max_marginal_relevance_search,
    ):
        with pytest.raises(InvalidInputError, match="a query is a string"):
            search(query)


def test_records_without_a_vector_are_not_found_by_similarity(tmp_path):
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(None, path) as store:
        store.add_texts(["plain"])
    with SQLiteVectorStore(Table(VECTORS), path) as store:
        assert store.similarity_search("q") == []
        store.add_texts(["near"])
        assert [d.page_content for d in store.similarity_search("q")] == ["near"]
        assert len(store) == 2


# --- k ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "number"),
    [
        (0, 0),
        (-1, 0),
        (-(10**9), 0),
        (1, 1),
        (5, 5),
        (5_000, 6),
        (10**9, 6),
        (np.int64(2), 2),
    ],
)
def test_k(store, way, k, number):
    """Report 78: a `k` of 0, below 0 or above 4 096 raised."""
    assert len(way(store, k=k)) == number


@pytest.mark.parametrize("k", ["5", 2.0, None, [1]])
def test_k_is_an_integer(store, way, k):
    """Report 78: what is no number is told so by name."""
    with pytest.raises(InvalidInputError, match="k must be an integer"):
        way(store, k=k)


def test_k_defaults_to_4(store, way):
    assert len(way(store)) == 4


def test_k_of_a_retriever(store):
    retriever = store.as_retriever(k=2, search_kwargs={"k": 3})
    assert len(retriever.invoke("q")) == 2
    assert len(retriever.invoke("q", k=1)) == 1
    assert len(store.as_retriever(search_kwargs={"k": 3}).invoke("q")) == 3
    assert store.as_retriever(k=0).invoke("q") == []


def test_an_empty_store(way):
    """Report 47: a search in an empty store raised an IndexError."""
    with SQLiteVectorStore(Table(VECTORS)) as store:
        assert way(store) == []
        assert way(store, filter={"n": 1}) == []


# --- thresholds ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "number"),
    [
        *((0, 6), (0.0, 6), (0.5, 3), (0.79, 2), (0.81, 1), (1, 1), (1.0, 1)),
        *((np.float32(0.79), 2), (np.float64(0.81), 1), (-1, 6), (1.1, 0)),
    ],
    ids=repr,
)
def test_a_threshold_cuts_alike_everywhere(store, way, threshold, number):
    """Report 67: one threshold was applied twice, with opposite meanings."""
    assert set(ids(way(store, k=10, score_threshold=threshold))) == set(RANKED[:number])


@pytest.mark.parametrize("threshold", ["0.5", True, math.nan, [0.5]], ids=repr)
def test_a_threshold_is_a_number(store, threshold):
    for search in (BY_TEXT["similarity_search"], BY_MMR["mmr"], GIVEN["invoke_similarity"]):
        with pytest.raises(InvalidInputError, match="score_threshold must be a number"):
            search(store, score_threshold=threshold)


def test_the_boundary_of_a_threshold_is_inside(store, way):
    """Report 67: a score that equals the threshold was lost."""
    scores = dict(zip(TEXTS, range(6), strict=True))
    for document, score in store.similarity_search_with_relevance_scores("q", k=10):
        kept = way(store, k=10, score_threshold=float(score))
        assert document.id in ids(kept)
        above = math.nextafter(score, 2)
        assert document.id not in ids(way(store, k=10, score_threshold=above))
        del scores[document.id]
    assert not scores


# --- filters ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "filter",
    [{"odd": True}, lambda document: document.metadata["odd"]],
    ids=["dict", "def"],
)
def test_a_filter_applies_on_every_way(store, way, filter):
    """Reports 61, 89: a filter was lost in retrievers and MMR; a function is one, too."""
    assert set(ids(way(store, k=10, filter=filter))) == {"right", "half", "same"}


def test_a_filter_works_before_ranking(store, way):
    """Report 53: the matching documents are the farthest, and k of them come back."""
    store.add_embeddings(["close"] * 50, [[2, 0]] * 50, ids=[f"c{n}" for n in range(50)])
    found = way(store, k=3, filter={"n": {"$in": [0, 1, 2]}})
    assert set(ids(found)) == {"opposite", "right", "zero"}


def test_a_filter_that_matches_nothing(store, way):
    """Report 55: with a filter that nothing matches, everything came back."""
    assert way(store, filter={"n": 99}) == []
    assert way(store, filter={"n": {"$in": []}}) == []
    assert way(store, filter=lambda _: False) == []


def test_an_empty_filter_is_none(store, way):
    """Report 57: an empty filter raised."""
    assert len(way(store, k=10, filter={})) == len(way(store, k=10, filter=None)) == 6


def test_an_unknown_operator_is_refused(store, way):
    """Reports 52, 58: an operator that there is not was ignored."""
    with pytest.raises(FilterError, match=r"betwen"):
        way(store, filter={"n": {"$betwen": [1, 2]}})


def test_an_exception_of_a_filter_reaches_the_caller_unchanged(store, way):
    raised = LookupError("mine")

    def broken(document):
        raise raised

    with pytest.raises(LookupError) as caught:
        way(store, filter=broken)
    assert caught.value is raised


def test_a_callable_gets_whole_documents(store):
    seen = []
    store.similarity_search("q", filter=lambda d: seen.append(d) or True)
    assert sorted(d.id for d in seen) == sorted(TEXTS)
    assert all(d.page_content == d.id and set(d.metadata) == {"n", "odd"} for d in seen)


@pytest.mark.parametrize(
    ("bound", "given"),
    list(
        itertools.product(
            [{"odd": True}, lambda d: d.metadata["odd"]],
            [{"n": {"$gte": 3}}, lambda d: d.metadata["n"] >= 3],
        )
    ),
)
@pytest.mark.parametrize("kind", ["similarity", "mmr", "similarity_score_threshold"])
async def test_a_given_filter_narrows_the_bound_one(store, bound, given, kind):
    """Report 61: a filter of a call took the place of the retriever's own."""
    keywords = {"k": 10, "filter": bound}
    if kind == "similarity_score_threshold":
        keywords["score_threshold"] = 0.0
    retriever = store.as_retriever(search_type=kind, search_kwargs=keywords)
    assert set(ids(retriever.invoke("q"))) == {"right", "half", "same"}
    assert set(ids(retriever.invoke("q", filter=given))) == {"half", "same"}
    assert set(ids(await retriever.ainvoke("q", filter=given))) == {"half", "same"}
    assert retriever.invoke("q", filter={"odd": False}) == []
    assert set(ids(retriever.invoke("q"))) == {"right", "half", "same"}


def test_a_query_is_embedded_once():
    model = Counting()
    with SQLiteVectorStore(model) as store:
        store.add_texts(["a", "b"])
        model.calls.clear()
        for way in (BY_TEXT["relevance"], BY_MMR["mmr"], SCORED["retriever_threshold"]):
            way(store, filter={"n": {"$exists": False}})
            assert model.calls == ["embed_query"]
            model.calls.clear()


# --- diversity ----------------------------------------------------------------------

# Unit vectors with cosines to [1, 0]: a and b 0.8 (twins), c 0.6, d 0.28.
MMR = {"a": [4, 3], "b": [4, 3], "c": [3, -4], "d": [7, 24]}


@pytest.fixture
def twins():
    with SQLiteVectorStore(Table(MMR | {"q": [1, 0]})) as store:
        store.add_texts(list(MMR), [{"twin": t in "ab"} for t in MMR], ids=list(MMR))
        yield store


@pytest.mark.parametrize(
    ("keywords", "chosen"),
    [
        # First a (0.8; ties by id). Cosines to a: b 1, c 0, d (28 + 72)/125 = 0.8.
        # λ = 0.5: b 0.4 - 0.5, c 0.3 - 0, d 0.14 - 0.4: c. Then, against a and c
        # (c·d = (21 - 96)/125 = -0.6): b -0.1, d -0.26: b.
        ({"k": 3}, "acb"),
        ({"k": 4}, "acbd"),
        # λ = 1 is the order of relevance; λ = 0 takes the least alike: c, then d (0.8).
        ({"k": 4, "lambda_mult": 1}, "abcd"),
        ({"k": 4, "lambda_mult": 0}, "acdb"),
        # Of two candidates, the twins, there is no other choice.
        ({"k": 2, "fetch_k": 2}, "ab"),
        # fewer candidates than k: k are taken.
        ({"k": 3, "fetch_k": 1, "lambda_mult": 0.5}, "acb"),
        ({"k": 3, "fetch_k": 0}, "acb"),
        ({"k": 99, "fetch_k": 99}, "acbd"),
        ({"k": 0, "fetch_k": 9}, ""),
        ({"k": -1}, ""),
        ({"filter": {"twin": False}}, "cd"),
        ({"score_threshold": 0.5}, "acb"),
    ],
    ids=str,
)
def test_mmr_golden(twins, keywords, chosen):
    """Report 75: a `k` above `fetch_k`, or above what is there, gave too few or raised."""
    for way in BY_MMR.values():
        assert ids(way(twins, **keywords)) == list(chosen)
    retriever = twins.as_retriever(search_type="mmr", search_kwargs=keywords)
    assert ids(retriever.invoke("q")) == list(chosen)


def test_mmr_of_identical_vectors(twins):
    """Report 75: copies of one vector broke the choice."""
    twins.clear()
    twins.add_embeddings(["x"] * 5, [[1, 1]] * 5, ids=list("edcba"))
    assert ids(twins.max_marginal_relevance_search("q", k=3)) == ["a", "b", "c"]


@pytest.mark.parametrize("mult", [-0.1, 1.1, math.nan])
def test_lambda_mult_is_checked(twins, mult):
    with pytest.raises(InvalidInputError, match="lambda_mult must be in"):
        twins.max_marginal_relevance_search("q", lambda_mult=mult)


@pytest.mark.parametrize("fetch_k", ["9", 2.5, None])
def test_fetch_k_is_an_integer(twins, fetch_k):
    with pytest.raises(InvalidInputError, match="fetch_k must be an integer"):
        twins.max_marginal_relevance_search("q", fetch_k=fetch_k)


def test_fetch_k_defaults_to_20():
    """21 copies rank above the stranger, so 20 candidates do not hold it."""
    vectors = [[1, 0]] * 21 + [[0.1, 1]]
    with SQLiteVectorStore(HashingEmbeddings(2)) as store:
        store.add_embeddings(["x"] * 22, vectors, ids=[f"{n:02}" for n in range(22)])
        search = store.max_marginal_relevance_search_by_vector
        assert ids(search([1, 0], k=2, lambda_mult=0)) == ["00", "01"]
        assert ids(search([1, 0], k=2, lambda_mult=0, fetch_k=22)) == ["00", "21"]


# --- search types -------------------------------------------------------------------


async def test_unknown_search_types(store):
    with pytest.raises(InvalidInputError, match=r"search_type is one of.*'nearest'"):
        store.search("q", "nearest")
    with pytest.raises(InvalidInputError, match=r"search_type is one of.*'nearest'"):
        await store.asearch("q", "nearest")
    with pytest.raises(ValueError, match="search_type of nearest not allowed"):
        store.as_retriever(search_type="nearest")


def test_a_threshold_retriever_needs_a_threshold(store):
    with pytest.raises(ValueError, match="score_threshold"):
        store.as_retriever(search_type="similarity_score_threshold")
