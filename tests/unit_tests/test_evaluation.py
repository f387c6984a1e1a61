"""Every measure by hand; what a retriever may be; what is refused."""

import asyncio
import copy
import math
import pickle
import time

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    HashingEmbeddings,
    InvalidInputError,
    RagPipeline,
    SQLiteVectorStore,
    evaluate,
)
from langchain_ragstore.evaluation import aevaluate, compare
from langchain_ragstore.evaluation.metrics import paired_bootstrap


def documents(ids, **metadata):
    return [Document(f"text of {id}", id=id, metadata=metadata) for id in ids]


def answering(ids):
    """A retriever that answers everything alike."""
    return lambda text: documents(ids)


def measured(ids, relevant, k):
    (result,) = evaluate(answering(ids), {"q": relevant}, k=k).per_query
    return result.metrics


# --- measures ----------------------------------------------------------------------------


def test_golden():
    """Found x a y b; a is graded 1, b 2, c 3. Gains 1, 3, 7; log2 of 2 3 4 5."""
    metrics = measured("xayb", {"a": 1, "b": 2, "c": 3}, k=(1, 2, 4))
    dcg_2 = 1 / math.log2(3)
    dcg_4 = dcg_2 + 3 / math.log2(5)
    ideal_2 = 7 + 3 / math.log2(3)
    ideal_4 = ideal_2 + 1 / 2
    assert metrics == pytest.approx(
        {
            "ndcg@1": 0,
            "ndcg@2": dcg_2 / ideal_2,  # .6309/8.8928 = .0709
            "ndcg@4": dcg_4 / ideal_4,  # 1.9230/9.3928 = .2047
            "recall@1": 0,
            "recall@2": 1 / 3,
            "recall@4": 2 / 3,
            "precision@1": 0,
            "precision@2": 1 / 2,
            "precision@4": 2 / 4,
            "hit@1": 0,
            "hit@2": 1,
            "hit@4": 1,
            "mrr": 1 / 2,
        }
    )
    assert metrics["ndcg@2"] == pytest.approx(0.0709, abs=1e-4)
    assert metrics["ndcg@4"] == pytest.approx(0.2047, abs=1e-4)


def test_half_grades():
    """Gains √2 − 1 and 1, in the wrong order."""
    half = math.sqrt(2) - 1
    metrics = measured("ab", {"a": 0.5, "b": 1}, k=2)
    ratio = (half + 1 / math.log2(3)) / (1 + half / math.log2(3))
    assert metrics["ndcg@2"] == pytest.approx(ratio)


def test_the_reciprocal_rank_ends_at_the_largest_k():
    assert measured("xya", "a", k=(1, 3))["mrr"] == pytest.approx(1 / 3)
    assert measured("xya", "a", k=(1, 2))["mrr"] == 0


def test_precision_counts_empty_places():
    assert measured("a", "a", k=4)["precision@4"] == 0.25


def test_grade_0_is_judged_and_irrelevant():
    metrics = measured("ba", {"a": 1, "b": 0}, k=2)
    assert (metrics["recall@2"], metrics["precision@2"], metrics["mrr"]) == (1, 0.5, 0.5)


def test_a_document_that_comes_twice_counts_once():
    (result,) = evaluate(answering("xxab"), {"q": "ab"}, k=3).per_query
    assert result.found == ("x", "a", "b")
    assert result.metrics["mrr"] == 0  # the id is "ab", not "a" and "b"
    (result,) = evaluate(answering("xxab"), {"q": list("ab")}, k=3).per_query
    assert result.metrics["precision@3"] == pytest.approx(2 / 3)


def test_nothing_found():
    assert set(measured("", "a", k=(1, 5)).values()) == {0.0}


def test_means_weigh_queries_alike():
    found = {"one": "a", "two": "xb", "three": ""}
    result = evaluate(
        lambda text: documents(found[text]), {"one": "a", "two": "b", "three": "c"}, k=2
    )
    assert result.mean["mrr"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert result.mean["recall@2"] == pytest.approx(2 / 3)
    assert [each.id for each in result.per_query] == ["one", "two", "three"]


def test_the_defaults():
    result = evaluate(answering("a"), {"q": "a"})
    assert result.k == (5, 10, 20)
    assert set(result.mean) == {"mrr"} | {
        f"{name}@{k}"
        for name in ("ndcg", "recall", "precision", "hit")
        for k in (5, 10, 20)
    }
    assert evaluate(answering("a"), {"q": "a"}, k=(7, 3, 7)).k == (3, 7)


# --- how queries are given ---------------------------------------------------------------


@pytest.mark.parametrize(
    "queries",
    [
        {"q": "a"},
        {"q": ["a"]},
        {"q": {"a": 1}},
        {"q": iter(["a", "a"])},
        {"q": {"text": "q", "relevant": ["a"]}},
        [{"text": "q", "relevant": {"a"}}],
        [{"text": "q", "relevant": ["a"], "id": "q"}],
        ({"text": "q", "relevant": "a", "id": None} for _ in range(1)),
    ],
)
def test_ways_to_give_a_query(queries):
    (result,) = evaluate(answering("a"), queries, k=1).per_query
    assert (result.id, result.text, result.relevant) == ("q", "q", {"a": 1.0})
    assert result.metrics["ndcg@1"] == 1


def test_a_mapping_of_ids_to_items():
    queries = {7: {"text": "same", "relevant": "a"}, "x": {"text": "same", "relevant": "b"}}
    result = evaluate(answering("a"), queries, k=1)
    assert [(each.id, each.text) for each in result.per_query] == [
        ("7", "same"),
        ("x", "same"),
    ]


def test_a_document_may_be_named_text():
    (result,) = evaluate(answering(["text"]), {"q": {"text": 1}}, k=1).per_query
    assert result.metrics["hit@1"] == 1


def test_ids_are_compared_as_text():
    found = [Document("", metadata={"page": 7}), Document("", metadata={"page": "8"})]
    result = evaluate(lambda _: found, {"q": [8, "7"]}, k=2, id_key="page")
    assert result.mean["recall@2"] == 1


def test_chunks_of_a_page_count_once():
    chunks = [
        Document("", id=f"{page}:{n}", metadata={"source_id": page})
        for n, page in enumerate("xxaab")
    ]
    for key in ("source_id", lambda document: document.id[0]):
        (result,) = evaluate(lambda _: chunks, {"q": list("ab")}, k=3, id_key=key).per_query
        assert result.found == ("x", "a", "b")
        assert result.metrics["recall@3"] == 1
        assert result.metrics["mrr"] == 0.5


# --- retrievers --------------------------------------------------------------------------

PAGES = {
    "tea": "Green tea is steeped at seventy degrees.",
    "ink": "Ink dries on paper within a minute.",
    "tide": "The tide rises twice a day.",
}
QUERIES = {
    "green tea": "tea",
    "dry ink on paper": "ink",
    "when does the tide rise": {"tide": 2},
}


def filled():
    store = SQLiteVectorStore(HashingEmbeddings())
    store.add_texts(PAGES.values(), ids=list(PAGES))
    return store


def test_retrievers_of_the_store():
    with filled() as store:
        for retriever in (
            store.as_retriever(),
            store.similarity_search,
            store.similarity_search_with_score,
        ):
            result = evaluate(retriever, QUERIES, k=(1, 3))
            assert result.mean["ndcg@1"] == result.mean["mrr"] == 1
            assert result.mean["precision@3"] == pytest.approx(1 / 3)


def test_retrievers_of_the_pipeline():
    rag = RagPipeline(HashingEmbeddings(), splitter=CJKRecursiveTextSplitter(25, 0))
    rag.ingest(Document(text, id=id) for id, text in PAGES.items())
    for retriever in (rag.as_retriever(), rag.retrieve):
        result = evaluate(retriever, QUERIES, k=4, id_key=lambda d: d.id.partition(":")[0])
        assert result.mean["ndcg@4"] == 1


def test_any_runnable():
    chain = RunnableLambda(str.upper) | RunnableLambda(lambda text: documents([text]))
    assert evaluate(chain, {"a": "A"}, k=1).mean["hit@1"] == 1


async def test_async_gives_the_same():
    with filled() as store:
        expected = evaluate(store.as_retriever(), QUERIES).mean
        for retriever in (
            store.as_retriever(),
            store.similarity_search,
            store.asimilarity_search,
        ):
            assert (await aevaluate(retriever, QUERIES)).mean == expected


class Tracked:
    """Knows how many searches were under way at once."""

    def __init__(self):
        self.now = self.most = self.calls = 0

    async def __call__(self, text):
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(3):
            await asyncio.sleep(0)
        self.now -= 1
        if text == "q5":
            raise RuntimeError("broken")
        return documents([text])


async def test_concurrency_is_bounded():
    tracked = Tracked()
    queries = {f"q{n}": f"q{n}" for n in range(10, 30)}
    result = await aevaluate(tracked, queries, max_concurrency=3)
    assert (tracked.most, tracked.calls) == (3, 20)
    assert [each.id for each in result.per_query] == list(queries)
    assert result.mean["mrr"] == 1


async def test_after_an_error_nothing_goes_on():
    tracked = Tracked()
    with pytest.raises(RuntimeError, match="broken") as caught:
        await aevaluate(tracked, {f"q{n}": "a" for n in range(50)}, max_concurrency=2)
    assert caught.value.__notes__ == ["while query 'q5' was evaluated"]
    assert tracked.calls < 10
    assert len(asyncio.all_tasks()) == 1


async def test_a_function_that_gives_an_awaitable():
    def awaitable(text):
        return Tracked()(text)

    result = await aevaluate(awaitable, {"q": "q"})
    assert result.mean["mrr"] == 1


def test_an_error_names_its_query():
    def broken(text):
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network") as caught:
        evaluate(broken, {"first": "a"})
    assert caught.value.__notes__ == ["while query 'first' was evaluated"]


# --- the value ---------------------------------------------------------------------------


def test_times(monkeypatch):
    clock = iter([0, 0.010, 1, 1.020, 2, 2.030])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    result = evaluate(answering("a"), {"1": "a", "2": "a", "3": "a"}, k=1)
    assert result.latency == pytest.approx({"p50": 0.020, "p95": 0.029})
    assert [each.seconds for each in result.per_query] == pytest.approx([0.01, 0.02, 0.03])


def test_the_table(monkeypatch):
    clock = iter([0, 0.002])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    result = evaluate(answering("xa"), {"q": "a"}, k=(1, 5))
    expected = """
               @1      @5
ndcg        0.000   0.631
recall      0.000   1.000
precision   0.000   0.200
hit         0.000   1.000
mrr                 0.500
1 query
2.0 ms a query (p50), 2.0 ms (p95)
no query got more than 2 ids; let the retriever return 5 for what @5 promises"""
    assert str(result) == repr(result) == expected[1:]


def test_html_is_escaped_and_lists_the_worst_first():
    queries = {"fine": "a", "<b>bad</b>": "c"}
    html = evaluate(answering("a"), queries, k=1)._repr_html_()
    assert "<b>" not in html
    assert html.index("&lt;b&gt;bad") < html.index("fine")
    assert html.count("<tr>") == html.count("</tr>")


def test_evaluations_are_values():
    result = evaluate(answering("a"), {"q": "a"}, k=1)
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    with pytest.raises(AttributeError):
        result.k = (2,)


# --- comparing ---------------------------------------------------------------------------

TEN = {f"q{n}": f"a{n}" for n in range(10)}


def finding(numbers):
    return evaluate(
        lambda text: documents(["a" + text[1:]] if int(text[1:]) in numbers else []), TEN
    )


def test_comparison_golden():
    gain = compare(finding(range(9)), finding({0}), metric="hit@5")
    assert (gain.first, gain.second, gain.difference) == pytest.approx((0.9, 0.1, 0.8))
    assert (gain.better, gain.worse, gain.queries, gain.resamples) == (8, 0, 10, 2000)
    # the number of gains among ten draws is binomial(10, .8): 2.5 % is 5, 97.5 % is 10
    assert (gain.low, gain.high) == (0.5, 1.0)
    assert gain.certain
    assert str(gain) == (
        "hit@5: 0.900 - 0.100 = +0.800, 95% interval +0.500 to +1.000; better in 8, "
        "worse in 0 of 10 queries"
    )


def test_no_difference():
    gain = compare(finding({1, 2}), finding({1, 2}))
    assert (gain.metric, gain.difference, gain.low, gain.high) == ("ndcg@10", 0, 0, 0)
    assert not gain.certain


def test_the_worse_one_first():
    loss = compare(finding({0}), finding(range(9)), metric="hit@5")
    assert (loss.low, loss.high) == (-1.0, -0.5)
    assert (loss.better, loss.worse) == (0, 8)
    assert loss.certain


def test_the_interval_of_a_known_mean():
    """Of 400 differences with standard error .05, about ± 1.96 of it."""
    values = [1.0, -1.0] * 200
    low, high = paired_bootstrap(values, 4000, 1, 0.95)
    assert (low, high) == pytest.approx((-0.098, 0.098), abs=0.01)
    assert paired_bootstrap(values, 4000, 1, 0.95) == (low, high)
    assert paired_bootstrap(values, 4000, 2, 0.95) != (low, high)


def test_the_order_of_queries_is_nothing():
    back = dict(reversed(TEN.items()))
    one = finding({1, 2})
    other = evaluate(lambda text: documents(["a" + text[1:]]), back)
    assert compare(one, other).difference == pytest.approx(-0.8)


@pytest.mark.parametrize(
    ("other", "search", "message"),
    [
        (TEN, {"metric": "ndcg@7"}, "metric 'ndcg@7' .*ndcg@5, ndcg@10"),
        (TEN, {"resamples": 0}, "resamples must be a positive int, got 0"),
        (TEN, {"seed": -1}, "seed must be an int of at least 0, got -1"),
        (TEN | {"new": "a"}, {}, "1 are in one alone, such as 'new'"),
        (TEN | {"q3": "b"}, {}, "of 'q3', text or relevant ids differ"),
        ({"q3": "a3"}, {}, "9 are in one alone, such as 'q0'"),
    ],
)
def test_what_cannot_be_compared(other, search, message):
    with pytest.raises(InvalidInputError, match=message):
        compare(finding({1}), evaluate(answering("a"), other), **search)


def test_one_query_tells_nothing():
    one = evaluate(answering("a"), {"q": "a"})
    with pytest.raises(InvalidInputError, match="two queries or more are needed"):
        compare(one, one)
    with pytest.raises(InvalidInputError, match=r"b must be an Evaluation, got 0.5"):
        compare(one, 0.5)


# --- what is refused ---------------------------------------------------------------------


def never(text):
    raise AssertionError("searched before everything was checked")


GOOD = {"text": "good", "relevant": "a"}


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([], "there are no queries"),
        ({}, "there are no queries"),
        ("text", "queries must be items .*'text'"),
        (5, "queries must be items .*5"),
        ([GOOD, "text"], "query 1 must be a mapping .* got 'text'"),
        ([GOOD, {"text": "q"}], "query 1 has no 'relevant'"),
        ([GOOD, {"relevant": "a"}], "query 1 has no 'text'"),
        ([GOOD | {"relevent": "b"}], "query 0 has an unread 'relevent'"),
        ([GOOD | {"text": " "}], "query 0: the text must be a str with words, got ' '"),
        ([GOOD | {"text": 7}], "query 0: the text .* got 7"),
        ([GOOD | {"id": 1.5}], "query 0: the id must be .* got 1.5"),
        ([GOOD | {"id": ""}], "query 0: the id must be .* got ''"),
        ([GOOD, GOOD], "query 1: there are two queries with the id 'good'"),
        ([GOOD | {"id": 7}, GOOD | {"id": "7"}], "two queries with the id '7'"),
        ({"q": []}, r"query 'q' \('q'\) has no relevant id"),
        ({"q": {"a": 0}}, r"query 'q' .* has no relevant id \(got \{'a': 0\}\)"),
        ({"q": None}, "relevant must be ids .* got None"),
        ({"q": b"ab"}, "relevant must be ids .* got b'ab'"),
        ({"q": [["a"]]}, r"a relevant id must be .* got \['a'\]"),
        ({"q": [True]}, "a relevant id must be .* got True"),
        ({"q": ""}, "a relevant id must be .* got ''"),
        ({"q": {"a": -1}}, "the grade of 'a' must be from 0 to 100, got -1"),
        ({"q": {"a": 101}}, "the grade of 'a' .* got 101"),
        ({"q": {"a": math.nan}}, "the grade of 'a' .* got nan"),
        ({"q": {"a": 10**400}}, "the grade of 'a' .* got 1000"),
        ({"q": {"a": True}}, "the grade of 'a' .* got True"),
        ({"q": {"a": "high"}}, "the grade of 'a' .* got 'high'"),
        ({"q": {7: 1, "7": 2}}, "'7' is graded 1 and 2"),
        ({5: "a"}, "query 5: the text must be a str"),
    ],
)
async def test_queries_that_are_none(queries, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate(never, queries)
    with pytest.raises(InvalidInputError, match=message):
        await aevaluate(never, queries)


@pytest.mark.parametrize("k", [0, -1, True, 1.5, "5", None, [5, 0], ["5"]])
def test_k_that_is_none(k):
    with pytest.raises(InvalidInputError, match="k must be a positive int"):
        evaluate(never, [GOOD], k=k)
    with pytest.raises(InvalidInputError, match="k names no rank"):
        evaluate(never, [GOOD], k=())


async def test_other_arguments_that_are_none():
    with (
        filled() as store,
        pytest.raises(InvalidInputError, match=r"as_retriever.*SQLiteV"),
    ):
        evaluate(store, [GOOD])
    with pytest.raises(InvalidInputError, match=r"id_key must be .* got 5"):
        evaluate(never, [GOOD], id_key=5)
    with pytest.raises(InvalidInputError, match=r"max_concurrency must be .* got 0"):
        await aevaluate(never, [GOOD], max_concurrency=0)
    for retriever in (Tracked(), filled().asimilarity_search):
        with pytest.raises(InvalidInputError, match=r"asynchronous; use aevaluate\(\)"):
            evaluate(retriever, [GOOD])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "query 'good': the retriever must give a list of documents.* got NoneType"),
        ("text", "got str"),
        ({"context": []}, "got dict"),
        (["text"], "query 'good', result 1: must be a Document, got 'text'"),
        ([()], r"must be a Document, got \(\)"),
        ([Document("x")], r"result 1: the id \(id_key= names .* got None"),
    ],
)
def test_results_that_are_none(found, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate(lambda text: found, [GOOD])


def test_results_without_the_key():
    with pytest.raises(
        InvalidInputError, match=r"result 1: metadata\['page'\] .* got None"
    ):
        evaluate(answering("a"), [GOOD], id_key="page")
    with pytest.raises(InvalidInputError, match=r"what id_key gives .* got \[\]"):
        evaluate(answering("a"), [GOOD], id_key=lambda document: [])


def test_a_coroutine_among_results_is_closed():
    def awaitable(text):
        return Tracked()(text)

    with pytest.raises(InvalidInputError, match="got coroutine"):
        evaluate(awaitable, [GOOD])
