"""However a model is called in batches, its vectors come out where their texts are."""

import asyncio
import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fakes import Service, ServiceError
from langchain_ragstore.embeddings.batched import BatchedEmbeddings
from langchain_ragstore.embeddings.batching import estimated_tokens
from langchain_ragstore.embeddings.running import Timing

TEXTS = st.lists(st.text(max_size=12), max_size=60)
SIZES = st.integers(1, 30)
MAYBE = st.none() | SIZES
IN_FLIGHT = st.integers(1, 4)
SYNC = st.booleans()


async def _no_wait(_seconds):
    pass


TIMING = Timing(sleep=lambda _: None, asleep=_no_wait, random=lambda: 0.5)


def embed(model, texts, sync):
    if sync:
        return model.embed_documents(texts)
    return asyncio.run(model.aembed_documents(texts))


@given(TEXTS, SIZES, MAYBE, MAYBE, MAYBE, IN_FLIGHT, st.booleans(), SYNC)
def test_aligned_and_nothing_twice(
    texts, size, budget, items, tokens, at_once, numbers, sync
):
    """With any budgets of ours and any limits of the service that one text keeps to."""
    if tokens is not None:
        tokens = max(tokens, *map(len, texts), 1) if texts else tokens
    service = Service(items, tokens, numbers)
    model = BatchedEmbeddings(
        service, batch_size=size, batch_tokens=budget, max_concurrency=at_once
    )
    assert embed(model, texts, sync) == service.model.embed_documents(texts)
    assert sorted(service.texts) == sorted(texts)
    assert all(len(batch) <= size for batch in service.batches)


@given(TEXTS, SIZES, SIZES, IN_FLIGHT, SYNC)
def test_a_named_limit_costs_one_call(texts, size, items, at_once, sync):
    service = Service(items)
    model = BatchedEmbeddings(service, batch_size=size, max_concurrency=at_once)
    for _ in range(2):
        embed(model, texts, sync)
    refused = min(size, len(texts)) > items
    assert len(service.refused) == refused
    assert model.limits.items == (items if refused else None)
    calls = math.ceil(len(texts) / min(size, items))
    assert len(service.batches) == 2 * calls


@given(TEXTS, SIZES, SIZES, IN_FLIGHT, SYNC)
def test_an_unnamed_limit_costs_a_call_for_each_half(texts, size, items, at_once, sync):
    service = Service(items, numbers=False)
    model = BatchedEmbeddings(service, batch_size=size, max_concurrency=at_once)
    embed(model, texts, sync)
    sent = min(size, len(texts))
    assert len(service.refused) <= math.ceil(math.log2(max(sent, 1)))
    assert all(later < earlier for earlier, later in pairwise(service.refused))
    first = len(service.refused)
    embed(model, texts, sync)
    assert len(service.refused) == first


@given(TEXTS, st.integers(1, 40), IN_FLIGHT, st.booleans(), SYNC)
def test_a_limit_of_tokens_costs_few_calls(texts, tokens, at_once, numbers, sync):
    tokens = max([tokens, *map(len, texts)])
    service = Service(tokens=tokens, numbers=numbers)
    embed(BatchedEmbeddings(service, max_concurrency=at_once), texts, sync)
    # Each refusal makes the next call at least a tenth smaller.
    assert len(service.refused) <= 1 + math.log(1 + sum(map(len, texts)), 1 / 0.9)


@given(TEXTS, SIZES, SIZES)
def test_a_budget_of_tokens(texts, size, budget):
    service = Service()
    model = BatchedEmbeddings(
        service, batch_size=size, batch_tokens=budget, max_concurrency=1
    )
    model.embed_documents(texts)
    assert [text for batch in service.batches for text in batch] == texts
    for batch in service.batches:
        assert len(batch) == 1 or sum(map(estimated_tokens, batch)) <= budget
    for batch, after in pairwise(service.batches):  # none is smaller than it has to be
        more = [*batch, after[0]]
        assert len(more) > size or sum(map(estimated_tokens, more)) > budget


@given(TEXTS, SIZES, IN_FLIGHT, st.lists(st.booleans(), max_size=20), SYNC)
def test_what_is_busy_now_and_then_loses_nothing(texts, size, at_once, busy, sync):
    errors = [ServiceError("busy", 429) if is_busy else None for is_busy in busy]
    service = Service(errors=errors)
    model = BatchedEmbeddings(
        service,
        batch_size=size,
        max_concurrency=at_once,
        max_retries=len(busy),
        timing=TIMING,
    )
    assert embed(model, texts, sync) == service.model.embed_documents(texts)
    assert sorted(service.texts) == sorted(texts)


@given(TEXTS.filter(bool), SIZES, IN_FLIGHT, st.data(), SYNC)
def test_a_bad_text_is_found_and_the_rest_embedded_once(texts, size, at_once, data, sync):
    """In threads and one by one the others of its batch are not lost, either."""
    bad = data.draw(st.integers(0, len(texts) - 1))
    texts = [f"{at} {text}" for at, text in enumerate(texts)]

    class Picky(Service):
        def _documents(self, name, batch):
            if texts[bad] in batch:
                raise ServiceError("invalid input", 400)
            return super()._documents(name, batch)

    service = Picky()
    model = BatchedEmbeddings(service, batch_size=size, max_concurrency=at_once)
    try:
        embed(model, texts, sync)
    except Exception as error:  # noqa: BLE001 - its type is asserted
        assert type(error).__name__ == "EmbeddingFailedError"
        assert (error.index, error.text, error.count) == (bad, texts[bad], 1)
    else:
        raise AssertionError
    assert len(service.texts) == len(set(service.texts))
    assert texts[bad] not in service.texts
    if at_once == 1:
        assert set(texts[:bad]) <= set(service.texts)


@given(st.text())
def test_the_estimate_is_a_count(text):
    assert estimated_tokens(text) >= max(1, len(text) / 2)
