"""Reranking by a model: its answers, its batches, its time, and what happens without."""

import asyncio
import logging
import re
import subprocess
import sys
import threading
import time

import pytest
from langchain_core.cross_encoders import BaseCrossEncoder

from fakes import label
from langchain_ragstore.config import MAX_ABANDONED
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval import waiting
from langchain_ragstore.retrieval.question import Question
from langchain_ragstore.retrieval.rerank_model import RerankByModel

TEXTS = ("tea", "green tea", "oolong", "te")


def hits(texts=TEXTS):
    return [
        Hit(Record(f"{at:03}", text, {}), 1.0 - at / 1000, {"dense": 0.5})
        for at, text in enumerate(texts)
    ]


def texts_of(found):
    return [h.record.content for h in found]


def by_length(query, texts):
    return [len(text) for text in texts]


async def by_length_later(query, texts):
    await asyncio.sleep(0)
    return [len(text) for text in texts]


class Encoder(BaseCrossEncoder):
    def __init__(self):
        self.asked = []

    def score(self, text_pairs):
        self.asked.append(text_pairs)
        return [len(text) for _, text in text_pairs]


class AsyncEncoder:
    async def score(self, text_pairs):
        await asyncio.sleep(0)
        return [len(text) for _, text in text_pairs]


class Callable:
    async def __call__(self, query, texts):
        return [len(text) for text in texts]


BEST_FIRST = ["green tea", "oolong", "tea", "te"]


@pytest.fixture(params=[None, 5.0], ids=["any time", "limited"])
def seconds(request):
    return request.param


def reason(found):
    (said,) = {dict(h.notes)["reranker_failed"] for h in found}
    return said


# --- answers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        by_length,
        by_length_later,
        Encoder(),
        AsyncEncoder(),
        Callable(),
        lambda query, texts: by_length_later(query, list(texts)),
        lambda query, texts: (float(len(text)) for text in texts),
    ],
    ids=["function", "async", "encoder", "async encoder", "object", "lambda", "generator"],
)
async def test_what_may_be_asked(model, seconds):
    """From a thread with an event loop, from one without, and with that loop given."""
    stage = RerankByModel(model, seconds=seconds)
    for found in (
        stage.reranked(hits(), "tea"),
        await stage.areranked(hits(), "tea"),
        await asyncio.to_thread(stage, hits(), Question("tea"), None),
    ):
        assert texts_of(found) == BEST_FIRST
        assert [h.score for h in found] == [9.0, 6.0, 3.0, 2.0]
        assert found[0].signals == {"dense": 0.5, "reranker": 9.0}
        assert found[0].notes == ()


def test_without_a_loop_anywhere(seconds):
    for model in (by_length, by_length_later):
        stage = RerankByModel(model, seconds=seconds)
        assert texts_of(stage.reranked(hits(), "tea")) == BEST_FIRST


def test_batches_of_the_first():
    encoder = Encoder()
    stage = RerankByModel(encoder, most=3, batch=2)
    assert texts_of(stage.reranked(hits(), "cup")) == ["green tea", "oolong", "tea"]
    assert encoder.asked == [[("cup", "tea"), ("cup", "green tea")], [("cup", "oolong")]]
    assert stage.left_out(hits()[3], 4, hits()) == (
        "rank 4, below the first 3 that Encoder is asked about"
    )
    assert stage.reranked([], "cup") == []
    assert len(encoder.asked) == 2


def test_equal_scores_are_ordered_by_id_and_any_scale_will_do():
    stage = RerankByModel(lambda query, texts: [-5, -5, -1e9, 3])
    assert [h.score for h in stage.reranked(hits(), "x")] == [3.0, -5.0, -5.0, -1e9]
    assert texts_of(stage.reranked(hits(), "x")) == ["te", "tea", "green tea", "oolong"]


def test_it_is_a_value():
    assert RerankByModel(by_length, 9) == RerankByModel(by_length, 9)
    assert RerankByModel(by_length) != RerankByModel(by_length_later)
    text = "RerankByModel(most=50, batch=32, seconds=30.0, name='by_length')"
    assert repr(RerankByModel(by_length)) == text
    assert hash(RerankByModel([].append)) == hash(RerankByModel([].append))


# --- failures ---------------------------------------------------------------------------


def failing(query, texts):
    raise ConnectionError("the service is down")


async def failing_later(query, texts):
    raise ConnectionError("the service is down")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (failing, "ConnectionError: the service is down"),
        (failing_later, "ConnectionError: the service is down"),
        (lambda query: 1, "TypeError: .*positional"),
        (lambda query, texts: None, "TypeError: 'NoneType' object is not iterable"),
        (lambda query, texts: [1.0], "1 scores for 4 texts"),
        (lambda query, texts: [1, 2, float("nan"), 3], "score nan for 'oolong'"),
        (lambda query, texts: [1, 2, 3, float("inf")], "score inf for 'te'"),
        (lambda query, texts: ["much"] * 4, "ValueError: could not convert"),
    ],
    ids=label,
)
def test_what_fails_changes_nothing(model, words, seconds, caplog):
    stage = RerankByModel(model, seconds=seconds)
    with caplog.at_level(logging.WARNING, "langchain_ragstore"):
        found = stage.reranked(hits(), "tea")
    assert [(h.record, h.score, h.signals) for h in found] == [
        (h.record, h.score, h.signals) for h in hits()
    ]
    assert re.match(words, reason(found))
    assert f"{stage.name} did not rerank: " in caplog.text


def test_a_later_success_takes_the_reason_away():
    failed = RerankByModel(failing).reranked(hits(), "tea")
    found = RerankByModel(by_length).reranked(failed, "tea")
    assert texts_of(found) == BEST_FIRST
    assert all(h.notes == () for h in found)


def test_a_search_by_vector_alone_has_nothing_to_ask():
    encoder = Encoder()
    found = RerankByModel(encoder)(hits(), Question(" "), None)
    assert reason(found) == "there is no query to rerank for, only its vector"
    assert encoder.asked == []


def test_what_no_model_should_raise_is_raised(seconds):
    def interrupted(query, texts):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RerankByModel(interrupted, seconds=seconds).reranked(hits(), "tea")


# --- time -------------------------------------------------------------------------------


@pytest.fixture
def stuck():
    """A model that answers when the test is over."""
    free = threading.Event()
    started = []

    def model(query, texts):
        started.append(texts)
        free.wait(20)
        return [0.0] * len(texts)

    yield model, started, free
    free.set()
    for thread in list(waiting._ABANDONED):
        thread.join(20)
        assert not thread.is_alive()
    waiting._ABANDONED.clear()


def test_time_is_over(stuck):
    model, started, _ = stuck
    found = RerankByModel(model, batch=1, seconds=0.01).reranked(hits(), "tea")
    assert reason(found) == "no answer within 0.01 s"
    assert texts_of(found) == list(TEXTS)
    assert started == [["tea"]]


async def test_time_is_over_on_a_loop(stuck):
    model, *_ = stuck
    stage = RerankByModel(model, seconds=0.01)
    assert reason(await stage.areranked(hits(), "tea")) == "no answer within 0.01 s"


def test_what_has_begun_ends_with_its_batch(stuck):
    model, started, free = stuck
    RerankByModel(model, batch=1, seconds=0.01).reranked(hits(), "tea")
    (thread,) = waiting._ABANDONED
    assert thread.daemon
    free.set()
    thread.join(20)
    assert started == [["tea"]]  # the other three were not asked about


def test_no_more_than_a_few_are_left_running(stuck):
    model, started, _ = stuck
    stage = RerankByModel(model, seconds=0.001)
    for _ in range(MAX_ABANDONED):
        assert reason(stage.reranked(hits(), "tea")) == "no answer within 0.001 s"
    assert reason(stage.reranked(hits(), "tea")) == "8 earlier calls still run"
    assert len(started) == MAX_ABANDONED == 8


@pytest.mark.parametrize("on_loop", [True, False])
async def test_what_is_awaited_is_cancelled(on_loop):
    cancelled = threading.Event()

    async def endless(query, texts):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    stage = RerankByModel(endless, seconds=0.02)
    if on_loop:
        found = await stage.areranked(hits(), "tea")
    else:
        found = await asyncio.to_thread(stage.reranked, hits(), "tea")
    assert "no answer within 0.02 s" in reason(found) or "TimeoutError" in reason(found)
    assert await asyncio.to_thread(cancelled.wait, 20)


async def test_an_async_model_runs_where_the_search_was_called():
    loops = []

    async def model(query, texts):
        loops.append(asyncio.get_running_loop())
        return [0.0] * len(texts)

    await RerankByModel(model).areranked(hits(), "tea")
    assert loops == [asyncio.get_running_loop()]


def test_a_loop_that_has_ended_is_not_waited_for():
    loop = asyncio.new_event_loop()
    loop.close()
    stage = RerankByModel(by_length_later, seconds=None, loop=loop)
    assert reason(stage.reranked(hits(), "tea")) == "the event loop has ended"


def test_the_interpreter_ends_although_a_model_does_not():
    code = """
import time
from langchain_ragstore import HashingEmbeddings, RetrievalConfig, SQLiteVectorStore

def endless(query, texts):
    while True:
        time.sleep(1)

store = SQLiteVectorStore(HashingEmbeddings())
store.add_texts(["green tea"])
quick = RetrievalConfig(rerank_seconds=0.01)
(found,) = store.search("tea", "hybrid", reranker=endless, retrieval_config=quick)
print(found.metadata["ragstore"]["reranker_failed"])
"""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "no answer within 0.01 s\n"
    assert time.monotonic() - started < 60
