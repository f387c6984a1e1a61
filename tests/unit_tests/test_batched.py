"""BatchedEmbeddings: what is under way, what is tried again, what is said of a failure."""

import asyncio
import logging
import pickle
import threading
from inspect import signature

import pytest

from fakes import Counting, Service, ServiceError
from langchain_ragstore import (
    BatchedEmbeddings,
    EmbeddingFailedError,
    EmbeddingUnreachableError,
    HashingEmbeddings,
    InvalidInputError,
    LocalEmbeddings,
)
from langchain_ragstore.embeddings.batched import name_of
from langchain_ragstore.embeddings.batching import estimated_tokens
from langchain_ragstore.embeddings.running import Timing

TEXTS = [f"text {n}" for n in range(40)]


class Waits:
    """Timing that notes what it is asked to wait."""

    def __init__(self, chance=0.0):
        self.seconds = []
        self.timing = Timing(
            sleep=self.seconds.append,
            asleep=self.asleep,
            now=lambda: 1_000.0,
            random=lambda: chance,
        )

    async def asleep(self, seconds):
        self.seconds.append(seconds)


@pytest.fixture(params=["sync", "async"])
def embed(request):
    async def embedded(model, texts):
        if request.param == "sync":
            return model.embed_documents(texts)
        return await model.aembed_documents(texts)

    return embedded


def test_defaults():
    given = signature(BatchedEmbeddings).parameters
    assert {n: p.default for n, p in given.items() if n not in ("inner", "timing")} == {
        "batch_size": 64,
        "batch_tokens": None,
        "max_concurrency": 4,
        "max_retries": 6,
        "length_function": estimated_tokens,
        "progress": None,
    }


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"batch_size": 0}, "batch_size must be an integer, at least 1; got 0"),
        ({"batch_tokens": 0}, "batch_tokens must be an integer, at least 1; got 0"),
        ({"max_concurrency": 0}, "max_concurrency must be an integer, at least 1; got 0"),
        ({"max_retries": -1}, "max_retries must be an integer, at least 0; got -1"),
        ({"batch_size": 2.5}, "batch_size must be an integer, at least 1; got 2.5"),
        ({"inner": "openai"}, "inner is a LangChain Embeddings, got str: 'openai'"),
    ],
)
def test_wrong_arguments_are_named(keywords, words):
    with pytest.raises(InvalidInputError, match=words):
        BatchedEmbeddings(**({"inner": Counting()} | keywords))


async def test_no_texts_are_no_call(embed):
    model = Counting()
    assert await embed(BatchedEmbeddings(model), []) == []
    assert model.calls == []


async def test_a_string_is_no_list(embed):
    with pytest.raises(InvalidInputError, match="texts is one string, not a list: 'tea'"):
        await embed(BatchedEmbeddings(Counting()), "tea")


async def test_the_models_own_async_methods_are_awaited(embed):
    model = Counting()
    await embed(BatchedEmbeddings(model), ["a"])
    assert model.calls[0] in ("embed_documents", "aembed_documents")
    await BatchedEmbeddings(model).aembed_query("a")
    BatchedEmbeddings(model).embed_query("a")
    assert model.calls[1:] == ["aembed_query", "embed_query"]


async def test_a_text_over_the_budget_is_sent_alone(embed):
    model = Counting()
    batched = BatchedEmbeddings(model, batch_tokens=5, length_function=len)
    await embed(batched, ["ab", "cd", "much too long", "e", "fghi", "j"])
    assert sorted(map(tuple, model.batches)) == [
        ("ab", "cd"),
        ("e", "fghi"),
        ("j",),
        ("much too long",),
    ]


def test_the_estimate():
    assert [estimated_tokens(t) for t in ("", "tea", "茶", "绿茶", "\ud83d")] == [
        1,
        2,
        2,
        3,
        2,
    ]


async def test_progress_is_told(embed):
    told = []
    batched = BatchedEmbeddings(
        Counting(), batch_size=3, progress=lambda *counts: told.append(counts)
    )
    await embed(batched, TEXTS[:7])
    assert [total for _, total in told] == [7, 7, 7]
    assert sorted(done for done, _ in told) == [done for done, _ in told]
    assert told[-1] == (7, 7)


def test_it_is_known_by_its_models_name():
    class Named(Counting):
        model_name = "small"

    assert name_of(BatchedEmbeddings(BatchedEmbeddings(Named()))) == "Named 'small'"
    assert repr(BatchedEmbeddings(HashingEmbeddings(8), batch_size=2)) == (
        "BatchedEmbeddings(HashingEmbeddings(dim=8), batch_size=2, batch_tokens=None, "
        "max_concurrency=4)"
    )


# --- under way --------------------------------------------------------------------------


class Meeting(Counting):
    """Answers only when so many calls are under way; the first one is alone."""

    def __init__(self, parties):
        super().__init__()
        self.barrier = threading.Barrier(parties, timeout=20)
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def embed_documents(self, texts):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        if texts != ["text 0"]:
            self.barrier.wait()
        with self.lock:
            self.now -= 1
        return super().embed_documents(texts)


def test_as_many_as_allowed_are_under_way_in_threads():
    model = Meeting(3)
    batched = BatchedEmbeddings(model, batch_size=1, max_concurrency=3)
    vectors = batched.embed_documents(TEXTS[:10])
    assert model.most == 3
    assert vectors == model.model.embed_documents(TEXTS[:10])


async def test_as_many_as_allowed_are_under_way_in_tasks():
    class Slow(Counting):
        now = most = 0
        barrier = asyncio.Barrier(3)

        async def aembed_documents(self, texts):
            self.now += 1
            self.most = max(self.most, self.now)
            if texts != ["text 0"]:
                await self.barrier.wait()
            for _ in range(20 - int(texts[0].split()[1])):  # later ones are done earlier
                await asyncio.sleep(0)
            self.now -= 1
            return self.model.embed_documents(texts)

    model = Slow()
    batched = BatchedEmbeddings(model, batch_size=1, max_concurrency=3)
    vectors = await batched.aembed_documents(TEXTS[:10])
    assert model.most == 3
    assert vectors == model.model.embed_documents(TEXTS[:10])


def test_one_at_a_time_is_called_in_the_callers_thread():
    threads = set()

    class Local(Counting):
        def embed_documents(self, texts):
            threads.add(threading.current_thread())
            return super().embed_documents(texts)

    BatchedEmbeddings(Local(), batch_size=1, max_concurrency=1).embed_documents(TEXTS)
    assert threads == {threading.current_thread()}


def test_after_a_failure_nothing_is_sent_and_what_is_under_way_is_given_out():
    class Failing(Meeting):
        def embed_documents(self, texts):
            vectors = super().embed_documents(texts)
            if texts == ["text 2"]:
                raise RuntimeError("boom")
            return vectors

    model = Failing(3)
    batched = BatchedEmbeddings(model, batch_size=1, max_concurrency=3)
    given = []
    with pytest.raises(EmbeddingFailedError) as raised:
        given.extend(answered.start for answered in batched.answers(TEXTS))
    assert raised.value.index == 2
    assert sorted(given) == [0, 1, 3]
    assert len(model.texts) == 4


async def test_after_a_failure_tasks_are_cancelled():
    cancelled, sent = [], []

    class Failing(Counting):
        async def aembed_documents(self, texts):
            sent.extend(texts)
            if texts == ["text 0"]:
                return [[1.0]]
            if texts == ["text 2"]:
                raise RuntimeError("boom")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.extend(texts)
                raise

    batched = BatchedEmbeddings(Failing(), batch_size=1, max_concurrency=3)
    with pytest.raises(EmbeddingFailedError, match="text 2"):
        await batched.aembed_documents(TEXTS)
    assert sent == TEXTS[:4]
    assert sorted(cancelled) == ["text 1", "text 3"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_caller_cancels_its_calls():
    started, cancelled = asyncio.Event(), []

    class Endless(Counting):
        async def aembed_documents(self, texts):
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.extend(texts)
                raise

    task = asyncio.ensure_future(BatchedEmbeddings(Endless()).aembed_documents(["a"]))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled == ["a"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("at_once", [1, 3])
def test_an_interruption_leaves_nothing_running(at_once):
    def interrupt(done, _total):
        if done >= 2:
            raise KeyboardInterrupt

    model = Counting()
    batched = BatchedEmbeddings(
        model, batch_size=1, max_concurrency=at_once, progress=interrupt
    )
    with pytest.raises(KeyboardInterrupt):
        batched.embed_documents(TEXTS)
    assert not [t for t in threading.enumerate() if t.name.startswith("embedding")]
    assert len(model.texts) <= 2 + at_once


async def test_texts_are_counted_off_the_event_loop():
    threads = set()

    def count(_text):
        threads.add(threading.current_thread())
        return 1

    batched = BatchedEmbeddings(Counting(), batch_tokens=2, length_function=count)
    await batched.aembed_documents(TEXTS)
    assert threading.main_thread() not in threads


def test_one_call_is_under_way_until_an_answer_and_after_a_refusal():
    work = BatchedEmbeddings(Counting(), batch_size=1)._work(TEXTS)
    assert work.window == 1
    work.answered(work.take(), [[1.0]])
    assert work.window == 4
    work.failed(work.take(), ServiceError("busy", 429))
    assert work.window == 1


# --- tried again ------------------------------------------------------------------------


async def test_it_waits_as_long_as_the_service_says(embed, caplog):
    busy = ServiceError("slow down", 429, {"Retry-After": "7"})
    model, waits = Service(errors=[busy, None, busy]), Waits()
    batched = BatchedEmbeddings(model, batch_size=20, timing=waits.timing)
    with caplog.at_level(logging.WARNING):
        await embed(batched, TEXTS)
    assert waits.seconds == [7, 7]
    assert "trying again in 7.0 s (1 of 6)" in caplog.text
    assert sorted(model.texts) == sorted(TEXTS)


@pytest.mark.parametrize(
    ("chance", "seconds"),
    [(0.0, [1, 2, 4, 8, 16, 32, 60, 60]), (1.0, [0.5, 1, 2, 4, 8, 16, 30, 30])],
)
async def test_else_twice_as_long_each_time(embed, chance, seconds):
    waits = Waits(chance)
    model = Service(errors=[ServiceError("busy", 503)] * 9)
    batched = BatchedEmbeddings(model, max_retries=8, timing=waits.timing)
    with pytest.raises(EmbeddingFailedError, match="it was sent 9 times: try again later"):
        await embed(batched, TEXTS)
    assert waits.seconds == seconds


async def test_who_asks_for_hours_is_not_waited_for(embed):
    waits = Waits()
    model = Service(errors=[ServiceError("", 429, {"Retry-After": "3600"})])
    batched = BatchedEmbeddings(model, timing=waits.timing)
    with pytest.raises(
        EmbeddingFailedError, match="the service asks to come back in 3600 s"
    ):
        await embed(batched, TEXTS)
    assert waits.seconds == []


async def test_a_queries_call_is_tried_again():
    for asynchronous in (False, True):

        class Busy(Counting):
            failures = 2

            def embed_query(self, text):
                self.failures -= 1
                if self.failures >= 0:
                    raise ServiceError("busy", 429)
                return super().embed_query(text)

            async def aembed_query(self, text):
                return self.embed_query(text)

        waits = Waits()
        batched = BatchedEmbeddings(Busy(), timing=waits.timing)
        vector = (
            await batched.aembed_query("a") if asynchronous else batched.embed_query("a")
        )
        assert vector == batched.inner.model.embed_query("a")
        assert waits.seconds == [1, 2]


async def test_nobody_answers(embed):
    waits = Waits()
    model = Service(errors=[ConnectionResetError("reset"), *[TimeoutError()] * 2])
    await embed(BatchedEmbeddings(model, timing=waits.timing), TEXTS)
    assert waits.seconds == [1, 2, 4]
    model.errors = [ConnectionRefusedError("refused")]
    batched = BatchedEmbeddings(model, max_retries=0)
    with pytest.raises(EmbeddingUnreachableError, match="is the service running") as raised:
        await embed(batched, TEXTS)
    assert isinstance(raised.value, ConnectionError)


async def test_a_refusal_makes_calls_smaller_for_good(embed):
    model = Service(items=10)
    batched = BatchedEmbeddings(model)
    assert await embed(batched, TEXTS) == model.model.embed_documents(TEXTS)
    await embed(batched, TEXTS)
    assert model.refused == [40]
    assert [len(batch) for batch in model.batches] == [10] * 8
    assert (batched.limits.items, batched.limits.tokens) == (10, None)


async def test_a_limit_of_tokens_is_rescaled(embed):
    """400 letters are 200 tokens by the estimate, and 400 to a service that takes 100."""
    model = Service(tokens=100)
    batched = BatchedEmbeddings(model)
    await embed(batched, ["0123456789"] * 40)
    assert model.refused == [40]
    assert (batched.limits.items, batched.limits.tokens) == (None, 45)
    assert {len(batch) for batch in model.batches} == {9, 4}


async def test_a_text_at_fault_lowers_no_limit(embed):
    """An unnumbered refusal that goes down to one text says nothing of how many."""
    model = Service(tokens=20, numbers=False)
    batched = BatchedEmbeddings(model)
    with pytest.raises(EmbeddingFailedError, match="too much although it is alone"):
        await embed(batched, [*TEXTS[:5], "x" * 30])
    assert batched.limits.items is None


# --- what is said -----------------------------------------------------------------------


async def test_a_failure_names_text_batch_model_and_way_out(embed):
    class Model(Service):
        model_name = "embed-1"

    model = Model(errors=[None, ServiceError("Incorrect API key", 401)])
    batched = BatchedEmbeddings(model, batch_size=10)
    with pytest.raises(EmbeddingFailedError) as raised:
        await embed(batched, TEXTS[:20])
    error = raised.value
    assert str(error) == (
        "Model 'embed-1' failed at a batch of 10 texts that begins with text 10 "
        "('text 10'): ServiceError: Incorrect API key; check the API key"
    )
    assert isinstance(error.__cause__, ServiceError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.index, again.count) == (str(error), 10, 10)


def test_a_long_text_is_shown_in_part():
    error = EmbeddingUnreachableError("why", "do it", "M", "x" * 61)
    assert str(error) == f"M failed at the text '{'x' * 60}'…: why; do it"


async def test_too_few_vectors(embed):
    class Short(Counting):
        def _documents(self, name, texts):
            return super()._documents(name, texts)[1:]

    with pytest.raises(InvalidInputError, match="returned 39 vectors for 40 texts"):
        await embed(BatchedEmbeddings(Short()), TEXTS)


async def test_errors_of_this_packages_models_stay_and_say_where(embed):
    batched = BatchedEmbeddings(LocalEmbeddings(), batch_size=1, max_concurrency=1)
    with pytest.raises(InvalidInputError, match="text 0 has") as raised:
        await embed(batched, ["tea", "tea " * 2000])
    assert raised.value.__notes__ == ["Its text 0 is text 1 of what was to be embedded."]


async def test_one_in_another_counts_from_the_outer_ones_start(embed):
    model = Service(errors=[None, RuntimeError("boom")])
    nested = BatchedEmbeddings(BatchedEmbeddings(model), batch_size=3, max_concurrency=1)
    with pytest.raises(EmbeddingFailedError) as raised:
        await embed(nested, TEXTS)
    assert raised.value.index == 3
