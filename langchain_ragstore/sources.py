"""The chunks of a source into any vector store."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_ragstore import foreign
from langchain_ragstore.ingestion import IngestReport
from langchain_ragstore.vectorstores import BackendVectorStore


def replace_source(
    store: VectorStore,
    source_id: str,
    chunks: Sequence[Document],
    batch_size: int,
    former: Sequence[str] = (),
) -> IngestReport:
    """Make these chunks the only ones of a source.

    Args:
        store: One of this package does it in one transaction, another as it can.
        source_id: What the chunks have as `source_id`.
        chunks: With ids.
        batch_size: Texts in one call of the embedder.
        former: As `ingestion.former_ids`; other packages' stores do not need it.
    """
    if isinstance(store, BackendVectorStore):
        return store.replace_source(source_id, chunks, former=former, batch_size=batch_size)
    return foreign.replace_source(store, source_id, chunks)


async def areplace_source(
    store: VectorStore,
    source_id: str,
    chunks: Sequence[Document],
    batch_size: int,
    former: Sequence[str] = (),
) -> IngestReport:
    """As `replace_source`, awaiting the embedder."""
    if isinstance(store, BackendVectorStore):
        return await store.areplace_source(
            source_id, chunks, former=former, batch_size=batch_size
        )
    return await foreign.areplace_source(store, source_id, chunks)
