"""Judged queries are searched for, and what comes back is measured."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, run_in_executor

from langchain_ragstore.config import DEFAULT_CONCURRENCY, DEFAULT_EVALUATION_K
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.evaluation.judgements import Query, positive, to_id, to_queries
from langchain_ragstore.evaluation.metrics import measure
from langchain_ragstore.evaluation.results import Evaluation, QueryResult

Retriever: TypeAlias = Runnable[str, Any] | Callable[[str], Any]
"""A LangChain retriever or other runnable, or a function; of a text, gives a list of
documents or of (document, score), best first."""

Queries: TypeAlias = Mapping[Any, Any] | Iterable[Mapping[str, Any]]
"""See `evaluate`."""

IdKey: TypeAlias = str | Callable[[Document], str | int] | None
"""Where a result's id stands: a key of its metadata, or what a function gives, or None for
`Document.id`."""


def evaluate(
    retriever: Retriever,
    queries: Queries,
    *,
    k: int | Iterable[int] = DEFAULT_EVALUATION_K,
    id_key: IdKey = None,
) -> Evaluation:
    """Search for judged queries and measure what comes back.

    nDCG@k (Järvelin and Kekäläinen 2002, with gain 2^grade − 1), recall@k, precision@k,
    hit@k (1 if anything relevant is found), and `mrr`, the reciprocal rank within the
    largest k; `evaluation/metrics.py` has the formulas. A document that comes back twice
    counts once, where it comes first. What is not judged counts as irrelevant.

    Args:
        retriever: A LangChain retriever or another runnable, or a function of a text;
            gives documents, or (document, score) pairs, best first. It is called as it
            is: set it to return at least the largest k.
        queries: Items `{"text": …, "relevant": …}` with an `"id"` if wanted (else the
            text is the id), or a mapping of ids to items, or simply of texts to what is
            relevant. That is an id, ids, or `{id: grade}`, where 0 is irrelevant. Ids
            are compared as text: 7 is `"7"`.
        k: Ranks down to which results are judged.
        id_key: What the relevant ids name: None for `Document.id`; a key of the metadata,
            such as `"source_id"` for the pages that chunks come from, of which several
            count once; or a function of the document.

    Returns:
        Means, each query's figures, and times.

    Raises:
        InvalidInputError: Something is wrong with the input, found before anything is
            searched; or a result that is no document or has no id.

    Example:
        ```python
        from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore, evaluate

        store = SQLiteVectorStore(HashingEmbeddings())
        store.add_texts(["red apple", "green tea", "tea cup"], ids=["r", "g", "c"])
        retriever = store.as_retriever(search_kwargs={"k": 2})
        result = evaluate(retriever, {"tea": ["g", "c"], "apple tree": "r"}, k=2)
        assert result.mean["recall@2"] == 1.0
        assert result.mean["precision@2"] == 0.75  # there is but one apple
        ```
    """
    if _is_async(retriever):
        raise InvalidInputError(f"{retriever!r} is asynchronous; use aevaluate()")
    ks, judged = _checked(retriever, queries, k, id_key)
    search = retriever.invoke if isinstance(retriever, Runnable) else retriever
    results = []
    for query in judged:
        start = time.perf_counter()
        with _named(query):
            found = search(query.text)
        seconds = time.perf_counter() - start
        results.append(_result(query, found, seconds, ks, id_key))
    return Evaluation(tuple(results), ks)


async def aevaluate(
    retriever: Retriever,
    queries: Queries,
    *,
    k: int | Iterable[int] = DEFAULT_EVALUATION_K,
    id_key: IdKey = None,
    max_concurrency: int = DEFAULT_CONCURRENCY,
) -> Evaluation:
    """As `evaluate`, several queries at once.

    Args:
        retriever: Asynchronous or not; a function that is not runs in a thread.
        queries: As for `evaluate`.
        k: As for `evaluate`.
        id_key: As for `evaluate`.
        max_concurrency: How many queries are under way at once. Their times include what
            they wait for each other; give 1 to measure the retriever alone.

    Returns:
        As `evaluate`.

    Raises:
        InvalidInputError: As for `evaluate`.
    """
    ks, judged = _checked(retriever, queries, k, id_key)
    limit = asyncio.Semaphore(positive("max_concurrency", max_concurrency))

    async def one(query: Query) -> QueryResult:
        async with limit:
            start = time.perf_counter()
            with _named(query):
                found = await _asearch(retriever, query.text)
            seconds = time.perf_counter() - start
        return _result(query, found, seconds, ks, id_key)

    tasks = [asyncio.create_task(one(query)) for query in judged]
    try:
        return Evaluation(tuple(await asyncio.gather(*tasks)), ks)
    finally:  # after an error, no search goes on behind the caller's back
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _checked(
    retriever: Retriever, queries: Queries, k: int | Iterable[int], id_key: IdKey
) -> tuple[tuple[int, ...], list[Query]]:
    """The ranks and the queries, before anything is searched."""
    if not isinstance(retriever, Runnable) and not callable(retriever):
        raise InvalidInputError(
            "retriever must be a LangChain retriever or a function of a text, such as "
            f"store.as_retriever(search_kwargs={{'k': 20}}); got {retriever!r}"
        )
    if not (id_key is None or isinstance(id_key, str) or callable(id_key)):
        raise InvalidInputError(
            f"id_key must be a key of the metadata or a function, got {id_key!r}"
        )
    given = list(k) if isinstance(k, Iterable) and not isinstance(k, str) else [k]
    ks = tuple(sorted({positive("k", each) for each in given}))
    if not ks:
        raise InvalidInputError(f"k names no rank: {k!r}")
    return ks, to_queries(queries)


def _is_async(retriever: Retriever) -> bool:
    if isinstance(retriever, Runnable):
        return False
    call = getattr(retriever, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(retriever) or inspect.iscoroutinefunction(call)


@contextmanager
def _named(query: Query) -> Iterator[None]:
    """Let a retriever's error tell for which query it came."""
    try:
        yield
    except Exception as error:
        error.add_note(f"while query {query.id!r} was evaluated")
        raise


async def _asearch(retriever: Retriever, text: str) -> Any:
    if isinstance(retriever, Runnable):
        return await retriever.ainvoke(text)
    if _is_async(retriever):
        return await retriever(text)
    found = await run_in_executor(None, retriever, text)
    return await found if inspect.isawaitable(found) else found


def _result(
    query: Query, found: Any, seconds: float, ks: tuple[int, ...], id_key: IdKey
) -> QueryResult:
    ids = tuple(dict.fromkeys(_ids(query, found, id_key)))
    metrics = measure(ids, query.relevant, ks)
    return QueryResult(query.id, query.text, query.relevant, ids, metrics, seconds)


def _ids(query: Query, found: Any, id_key: IdKey) -> Iterator[str]:
    if inspect.iscoroutine(found):
        found.close()  # else Python warns that nobody awaited it
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise InvalidInputError(
            f"query {query.id!r}: the retriever must give a list of documents, or of "
            f"(document, score), got {type(found).__name__}"
        )
    for place, item in enumerate(found, start=1):
        what = f"query {query.id!r}, result {place}"
        document = item[0] if isinstance(item, tuple) and item else item
        if not isinstance(document, Document):
            raise InvalidInputError(f"{what}: must be a Document, got {item!r}")
        if id_key is None:
            hint = "the id (id_key= names another place for it)"
            yield to_id(document.id, f"{what}: {hint}")
        elif isinstance(id_key, str):
            yield to_id(document.metadata.get(id_key), f"{what}: metadata[{id_key!r}]")
        else:
            yield to_id(id_key(document), f"{what}: what id_key gives")
