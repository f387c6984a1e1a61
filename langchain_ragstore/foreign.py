"""Vector stores of other packages, by what LangChain's interface offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_ragstore.documents import FilterLike, chunk_id, to_filter
from langchain_ragstore.errors import StorageError
from langchain_ragstore.filters import both
from langchain_ragstore.ingestion import IngestReport
from langchain_ragstore.retrieval.cut import relevance
from langchain_ragstore.stage_request import STAGE_KEYWORDS

UNSTAGED_KEYWORDS: Final = (
    *("k", "filter", "score_threshold", "with_scores"),
    *STAGE_KEYWORDS,
)
"""What a retriever over any store takes; `foreign_stages` reads what no store does."""

SEARCH_KEYWORDS: Final = (*UNSTAGED_KEYWORDS, "fetch_k")
"""The same, with candidates to choose from."""

# --- searching ---------------------------------------------------------------------------


def scored(
    store: VectorStore, query: str, filter: Any = None, **keywords: Any
) -> list[tuple[Document, float]]:
    """Documents with their relevance, by similarity.

    Args:
        store: What is searched.
        query: What to look for.
        filter: As the store takes it; `InMemoryVectorStore`, which takes functions
            alone, gets one from a dictionary, too.
        **keywords: `k` and `score_threshold`.

    Raises:
        StorageError: The store has no such search.
    """
    if isinstance(store, InMemoryVectorStore):  # it has cosines, no relevance
        least = keywords.pop("score_threshold", None)
        found = store.similarity_search_with_score(query, **_function(filter), **keywords)
        return _relevant(found, least)
    given = keywords if filter is None else {**keywords, "filter": filter}
    with named_errors(store):
        return store.similarity_search_with_relevance_scores(query, **given)


async def ascored(
    store: VectorStore, query: str, filter: Any = None, **keywords: Any
) -> list[tuple[Document, float]]:
    """As `scored`, through the store's async methods."""
    if isinstance(store, InMemoryVectorStore):
        least = keywords.pop("score_threshold", None)
        found = await store.asimilarity_search_with_score(
            query, **_function(filter), **keywords
        )
        return _relevant(found, least)
    given = keywords if filter is None else {**keywords, "filter": filter}
    with named_errors(store):
        return await store.asimilarity_search_with_relevance_scores(query, **given)


def _function(filter: FilterLike) -> dict[str, Any]:
    """The filter of `InMemoryVectorStore` as a keyword."""
    if filter is None:
        return {}
    where = to_filter(filter)
    return {"filter": lambda d: where.matches(str(d.id), d.page_content, d.metadata)}


def _relevant(
    found: list[tuple[Document, float]], least: float | None
) -> list[tuple[Document, float]]:
    graded = [(document, relevance(score)) for document, score in found]
    return [pair for pair in graded if least is None or pair[1] >= least]


# --- sources -----------------------------------------------------------------------------


def replace_source(
    store: VectorStore, source_id: str, documents: Sequence[Document]
) -> IngestReport:
    """Make these documents the only chunks of a source, as far as a store can.

    Chunks left over from an earlier version are found by the `chunk_count` of its first
    chunk. A foreign store has no transactions: an error in between leaves a part, which
    the next run completes.

    Raises:
        StorageError: The store cannot get or delete by id.
    """
    with named_errors(store):
        stored = store.get_by_ids(_first(source_id))
        old = store.get_by_ids(_ids(source_id, documents, stored))
        changed, stale, report = _compared(documents, old)
        if stale:  # first: it is the old first chunk that tells what is left over
            store.delete(stale)
        if changed:
            store.add_documents(changed, ids=[document.id for document in changed])
    return report


async def areplace_source(
    store: VectorStore, source_id: str, documents: Sequence[Document]
) -> IngestReport:
    """As `replace_source`, through the store's async methods."""
    with named_errors(store):
        stored = await store.aget_by_ids(_first(source_id))
        old = await store.aget_by_ids(_ids(source_id, documents, stored))
        changed, stale, report = _compared(documents, old)
        if stale:  # first: it is the old first chunk that tells what is left over
            await store.adelete(stale)
        if changed:
            await store.aadd_documents(changed, ids=[document.id for document in changed])
    return report


def narrowed(store: VectorStore, bound: Any, given: Any) -> Any:
    """What fulfils both filters, in the store's own language.

    Two functions are joined into one, two dictionaries by the `$and` of Chroma, Postgres
    and others; what a store makes of its other filters is not known here. The language
    of `InMemoryVectorStore` is this package's, since `scored` translates.

    Raises:
        StorageError: The filters are of other kinds, or of two.
    """
    if isinstance(store, InMemoryVectorStore):
        return both(to_filter(bound), to_filter(given))
    if callable(bound) and callable(given):
        return lambda document: bound(document) and given(document)
    if isinstance(bound, Mapping) and isinstance(given, Mapping):
        return {"$and": [bound, given]}
    raise StorageError(
        f"{type(store).__name__} cannot be asked for what fulfils both filters, "
        f"{bound!r} and {given!r}; write them as one"
    )


@contextmanager
def named_errors(store: VectorStore) -> Iterator[None]:
    """Say which store cannot do what, instead of a bare `NotImplementedError`.

    Raises:
        StorageError: In place of `NotImplementedError`.
    """
    try:
        yield
    except NotImplementedError as error:
        name = type(store).__name__
        detail = f": {error}" if str(error) else ""
        raise StorageError(f"{name} cannot do what the pipeline needs{detail}") from error


def _first(source_id: str) -> list[str]:
    return [chunk_id(source_id, 0)]


def _ids(
    source_id: str, documents: Sequence[Document], stored: Sequence[Document]
) -> list[str]:
    """Ids of the new chunks and of all that the source had, stored whole or cut."""
    counts = [document.metadata.get("chunk_count", 1) for document in stored]
    earlier = [chunk_id(source_id, at) for at in range(counts[0] if counts else 0)]
    return list(dict.fromkeys([*(str(d.id) for d in documents), *earlier, source_id]))


def _compared(
    documents: Sequence[Document], old: Sequence[Document]
) -> tuple[list[Document], list[str], IngestReport]:
    known = {str(document.id): document for document in old}
    wanted = {str(document.id): document for document in documents}
    changed = [d for id, d in wanted.items() if id not in known or not _same(d, known[id])]
    stale = [id for id in known if id not in wanted]
    added = sum(str(document.id) not in known for document in changed)
    report = IngestReport(
        added, len(changed) - added, len(wanted) - len(changed), len(stale)
    )
    return changed, stale, report


def _same(first: Document, second: Document) -> bool:
    return (first.page_content, first.metadata) == (second.page_content, second.metadata)
