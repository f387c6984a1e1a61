"""What a source becomes in a store: its chunks, and what changes for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from langchain_ragstore.config import DEFAULT_EMBED_BATCH
from langchain_ragstore.documents import (
    canonical,
    chunk_id,
    content_id,
    to_count,
    to_filter,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import Filter, both
from langchain_ragstore.metadata import encode
from langchain_ragstore.model import Record, Vector
from langchain_ragstore.storage.base import Backend


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
        unknown: Texts to be embedded for `records`, by digest.
        report: The counts.
        ids: Of everything that was compared.
    """

    records: Sequence[Record]
    stale: Sequence[str]
    unknown: dict[bytes, str]
    report: IngestReport
    ids: frozenset[str]


def source_change(
    new: Sequence[Record],
    stored: Iterable[Record],
    foreign: Mapping[str, Vector | None],
    *,
    embeds: bool,
) -> SourceChange:
    """Compare what should be stored with what is.

    Args:
        new: The chunks of the source now.
        stored: Its chunks in the store, what else it was stored as, and those that have
            the new ones' ids.
        foreign: Vectors, by id, of those of them that no model made; None for none.
        embeds: Whether there is a model to make vectors.

    Returns:
        What is to be done.
    """
    old = {record.id: record for record in stored}
    lacking = {id for id, vector in foreign.items() if vector is None} if embeds else ()
    changed = [
        _with_foreign(record, old.get(record.id), foreign)
        for record in new
        if record.id not in old or record.id in lacking or not _same(record, old[record.id])
    ]
    wanted = {record.id for record in new}
    stale = [id for id in old if id not in wanted]
    added = sum(record.id not in old for record in changed)
    unknown = {r.digest: r.indexed or "" for r in changed if r.digest} if embeds else {}
    return SourceChange(
        records=changed,
        stale=stale,
        unknown=unknown,
        report=IngestReport(
            added, len(changed) - added, len(new) - len(changed), len(stale)
        ),
        ids=frozenset(old) | wanted,
    )


def _with_foreign(
    new: Record, old: Record | None, foreign: Mapping[str, Vector | None]
) -> Record:
    """With the vector that was given for the same text, which no model can make again."""
    vector = foreign.get(new.id)
    if old is None or vector is None or old.content != new.content:
        return new
    return replace(new, vector=vector, digest=None)


def _same(new: Record, old: Record) -> bool:
    return (
        new.content == old.content
        and _encoded(new) == _encoded(old)
        and (old.digest is None or new.digest == old.digest)
    )


def _encoded(record: Record) -> str:
    return encode(canonical(record.metadata))


@dataclass(frozen=True, slots=True)
class Source:
    """What a source is to become.

    Attributes:
        source_id: What its chunks have as `source_id`.
        chunks: With ids; all that it is to have.
        former: As `former_ids`.
    """

    source_id: str
    chunks: Sequence[Document]
    former: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """A source that is stored, and what that changed."""

    source_id: str
    report: IngestReport


Texts: TypeAlias = dict[bytes, str]
Vectors: TypeAlias = Mapping[bytes, Vector]
Steps: TypeAlias = Generator[Done | Texts, Vectors | None, None]
"""Gives what is done, and texts to embed, whose vectors it is to be sent; by digest."""


def advance(steps: Steps, vectors: Vectors | None) -> Done | Texts | None:
    """The next step; None after the last."""
    try:
        return steps.send(vectors)
    except StopIteration:
        return None


class SourceWriter:
    """Sources into a collection: each in a transaction, their texts in shared batches.

    Args:
        backend: The engine, to read.
        collection: Where in it.
        where: The part of the collection that may be seen and changed.
        to_records: Checks chunks, before anything is embedded.
        write: Stores records with vectors and removes ids, in one transaction.
        embeds: Whether there is a model to make vectors.
    """

    def __init__(
        self,
        backend: Backend,
        collection: str,
        where: Filter,
        to_records: Callable[[Sequence[Document]], list[Record]],
        write: Callable[[Sequence[Record], Vectors, Collection[str]], None],
        *,
        embeds: bool,
    ) -> None:
        self._backend, self._collection, self._where = backend, collection, where
        self._to_records, self._write, self._embeds = to_records, write, embeds
        self._waiting: list[tuple[Source, SourceChange]] = []
        self._vectors: dict[bytes, Vector] = {}  # of texts of what is waiting

    def steps(self, sources: Iterable[Source], batch_size: int | None) -> Steps:
        """Store sources in order, as soon as their texts have filled batches.

        If one cannot be read, those before it are stored; if texts cannot be embedded,
        the sources that wait for them and all that follow are left as they were.

        Args:
            sources: Read as they are needed.
            batch_size: How many texts are asked for at once.
        """
        size = DEFAULT_EMBED_BATCH if batch_size is None else batch_size
        if to_count("batch_size", size) < 1:
            raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
        iterator = iter(sources)
        while True:
            try:
                source = next(iterator, None)
                change = self._change(source) if source else None
            except Exception:
                yield from self._embedded(size, 1)
                raise
            if source is None or change is None:
                yield from self._embedded(size, 1)
                return
            if self._depends(source, change):
                yield from self._embedded(size, 1)
                change = self._change(source)
            self._waiting.append((source, change))
            yield from self._embedded(size, 1 if len(self._waiting) >= size else size)

    def _embedded(self, size: int, least: int) -> Steps:
        """Embed what is unknown while it is that much, and store what is complete."""
        yield from self._stored()
        unknown = self._unknown()
        for start in range(0, len(unknown), size):
            batch = dict(unknown[start : start + size])
            if len(batch) < least:
                break
            self._vectors.update((yield batch) or {})
            yield from self._stored()

    def _unknown(self) -> list[tuple[bytes, str]]:
        texts = {d: t for _, change in self._waiting for d, t in change.unknown.items()}
        return [item for item in texts.items() if item[0] not in self._vectors]

    def _stored(self) -> Steps:
        while self._waiting:
            source, change = self._waiting[0]
            if not all(digest in self._vectors for digest in reversed(change.unknown)):
                return
            if change.records or change.stale:
                made = {digest: self._vectors[digest] for digest in change.unknown}
                self._write(change.records, made, change.stale)
            del self._waiting[0]
            needed = {digest for _, later in self._waiting for digest in later.unknown}
            self._vectors = {d: v for d, v in self._vectors.items() if d in needed}
            yield Done(source.source_id, change.report)

    def _change(self, source: Source) -> SourceChange:
        new = self._to_records(source.chunks)
        where = both(self._where, to_filter({"source_id": source.source_id}))
        ids = dict.fromkeys([*(record.id for record in new), *source.former])
        stored = [*self._backend.scan(self._collection, where=where), *self._get(ids)]
        unmade = dict.fromkeys(record.id for record in stored if record.digest is None)
        foreign = {record.id: record.vector for record in self._get(unmade, vectors=True)}
        change = source_change(new, stored, foreign, embeds=self._embeds)
        return replace(change, ids=change.ids | ids.keys())

    def _get(self, ids: Iterable[str], *, vectors: bool = False) -> list[Record]:
        return self._backend.get(
            self._collection, list(ids), where=self._where, vectors=vectors
        )

    def _depends(self, source: Source, change: SourceChange) -> bool:
        """Whether what waits will change what this one was compared with."""
        return any(
            not change.ids.isdisjoint(earlier.ids)
            or any(r.metadata.get("source_id") == source.source_id for r in earlier.records)
            for _, earlier in self._waiting
        )


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


def _place(source_id: str, index: int, count: int) -> dict[str, Any]:
    return {"source_id": source_id, "chunk_index": index, "chunk_count": count}
