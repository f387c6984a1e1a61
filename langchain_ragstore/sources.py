"""The chunks of a source into any vector store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_ragstore import foreign
from langchain_ragstore.ingestion import Done, IngestReport, Source
from langchain_ragstore.vectorstores import BackendVectorStore


def replace_source(
    store: VectorStore, source_id: str, chunks: Sequence[Document], batch_size: int
) -> IngestReport:
    """Make these chunks the only ones of a source.

    Args:
        store: One of this package does it in one transaction, another as it can.
        source_id: What the chunks have as `source_id`.
        chunks: With ids.
        batch_size: Texts in one call of the embedder.
    """
    if isinstance(store, BackendVectorStore):
        return store.replace_source(source_id, chunks, batch_size=batch_size)
    return foreign.replace_source(store, source_id, chunks)


async def areplace_source(
    store: VectorStore, source_id: str, chunks: Sequence[Document], batch_size: int
) -> IngestReport:
    """As `replace_source`, awaiting the embedder."""
    if isinstance(store, BackendVectorStore):
        return await store.areplace_source(source_id, chunks, batch_size=batch_size)
    return await foreign.areplace_source(store, source_id, chunks)


def replace_sources(
    store: VectorStore, sources: Iterable[Source], batch_size: int
) -> Iterator[Done]:
    """`replace_source` of several.

    Args:
        store: One of this package embeds the texts of several sources at once.
        sources: Read as they are needed.
        batch_size: Texts in one call of the embedder.

    Yields:
        Each source in order, after it is stored.
    """
    if isinstance(store, BackendVectorStore):
        yield from store.replace_sources(sources, batch_size=batch_size)
        return
    for source in sources:
        report = foreign.replace_source(store, source.source_id, source.chunks)
        yield Done(source.source_id, report)


async def areplace_sources(
    store: VectorStore, sources: Iterable[Source], batch_size: int
) -> AsyncIterator[Done]:
    """As `replace_sources`, awaiting the embedder; `sources` are read in a thread."""
    if isinstance(store, BackendVectorStore):
        async for done in store.areplace_sources(sources, batch_size=batch_size):
            yield done
        return
    iterator = iter(sources)
    while source := await run_in_executor(None, next, iterator, None):
        report = await foreign.areplace_source(store, source.source_id, source.chunks)
        yield Done(source.source_id, report)
