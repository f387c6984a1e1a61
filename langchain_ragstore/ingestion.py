"""What a source becomes in a store: its chunks, and what changes for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from langchain_ragstore.documents import canonical, content_id
from langchain_ragstore.metadata import encode
from langchain_ragstore.model import Record, Vector


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingestion did, counted in chunks.

    Attributes:
        added: Stored under ids that were not there.
        updated: Replaced, since text or metadata changed.
        skipped: Already stored just so.
        deleted: Left over from an earlier version of their source.
    """

    added: int = 0
    updated: int = 0
    skipped: int = 0
    deleted: int = 0

    def __add__(self, other: IngestReport) -> IngestReport:
        """The report of both."""
        return IngestReport(
            self.added + other.added,
            self.updated + other.updated,
            self.skipped + other.skipped,
            self.deleted + other.deleted,
        )


@dataclass(frozen=True, slots=True)
class SourceChange:
    """The difference between the chunks a source has and those it should have.

    Attributes:
        records: To be written.
        stale: Ids to be removed.
        vectors: Of texts that are stored already.
        unknown: Texts to be embedded, each once.
        report: The counts.
    """

    records: Sequence[Record]
    stale: Sequence[str]
    vectors: Mapping[str, Vector | None]
    unknown: Sequence[str]
    report: IngestReport


def source_change(new: Sequence[Record], stored: Iterable[Record]) -> SourceChange:
    """Compare what should be stored with what is.

    Args:
        new: The chunks of the source now.
        stored: Its chunks in the store, what else it was stored as, and those that have
            the new ones' ids, with their vectors.

    Returns:
        What is to be done.
    """
    old = {record.id: record for record in stored}
    wanted = {record.id for record in new}
    changed = [r for r in new if r.id not in old or not _same(r, old[r.id])]
    known = {r.content: r.vector for r in old.values() if r.vector is not None}
    stale = [id for id in old if id not in wanted]
    added = sum(record.id not in old for record in changed)
    return SourceChange(
        records=changed,
        stale=stale,
        vectors=known,
        unknown=list(dict.fromkeys(r.content for r in changed if r.content not in known)),
        report=IngestReport(
            added, len(changed) - added, len(new) - len(changed), len(stale)
        ),
    )


def _same(first: Record, second: Record) -> bool:
    return first.content == second.content and _encoded(first) == _encoded(second)


def _encoded(record: Record) -> str:
    return encode(canonical(record.metadata))


def by_source(documents: Iterable[Document]) -> dict[str, list[Document]]:
    """Group documents by their source.

    A source is the document's id, else `metadata["source"]`, else a hash of the text;
    documents that share one (the pages of a file) are one source.
    """
    groups: dict[str, list[Document]] = {}
    for document in documents:
        source = document.id or document.metadata.get("source")
        name = str(source) if source else content_id(document.page_content, {})
        groups.setdefault(name, []).append(document)
    return groups


def former_ids(source_id: str, documents: Sequence[Document]) -> list[str]:
    """Under what else than `source_id` in the metadata a source may have been stored.

    Without a splitter, a document that has an id, or no source, is stored under its id as
    it is (see `to_chunks`). A source that is named by metadata never is: what has its name
    as id is another document.
    """
    is_document = any(d.id or not d.metadata.get("source") for d in documents)
    return [source_id] if is_document else []


def to_chunks(
    source_id: str, documents: Sequence[Document], splitter: TextSplitter | None
) -> list[Document]:
    """The chunks of one source, numbered through all of its documents.

    Args:
        source_id: As `by_source` gives it.
        documents: The source's documents in order.
        splitter: None to keep each document whole. A single document that has an id, or
            that has no source, then keeps its id and metadata as they are.

    Returns:
        Documents with ids. Chunks are called `{source_id}:chunk:{index:04d}` and carry
        `source_id`, `chunk_index` and `chunk_count` beside the document's metadata.
    """
    if splitter is None and len(documents) == 1:
        (document,) = documents
        if document.id or not document.metadata.get("source"):
            return [document.model_copy(update={"id": document.id or source_id})]
    pieces = splitter.split_documents(documents) if splitter else list(documents)
    return [
        Document(
            id=chunk_id(source_id, index),
            page_content=piece.page_content,
            metadata=piece.metadata | _place(source_id, index, len(pieces)),
        )
        for index, piece in enumerate(pieces)
    ]


def chunk_id(source_id: str, index: int) -> str:
    """The id of a chunk; past 9999 it grows a digit."""
    return f"{source_id}:chunk:{index:04d}"


def _place(source_id: str, index: int, count: int) -> dict[str, Any]:
    return {"source_id": source_id, "chunk_index": index, "chunk_count": count}
