"""Documents in a collection: adding, changing, deleting; searching is above."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from typing_extensions import override

from langchain_ragstore.documents import (
    RESULT_KEYS,
    FilterLike,
    last_of_each,
    missing_from,
    to_filter,
    to_ids,
    to_records,
    to_seconds,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import EVERYTHING, Filter, both
from langchain_ragstore.ingestion import Done, IngestReport, Source, SourceWriter, advance
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.model import Record, Vector
from langchain_ragstore.text_index import TextIndexed
from langchain_ragstore.vectors.arrays import unit_matrix

ADD_KEYWORDS: Final = ("ids", "batch_size", "expires_at", "current_time")


class DocumentStore(TextIndexed):
    """What a store over any `Backend` does with documents, but for search."""

    # --- adding ----------------------------------------------------------------

    @override
    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embed and store texts; all of them or, after an error, none.

        Args:
            texts: Any iterable, read once.
            metadatas: One for each text. JSON values, dates, datetimes, Decimals, UUIDs,
                bytes and tuples come back as they were.
            ids: One for each text. A stored document with the id is replaced. A missing
                id is a hash of text and metadata, so adding twice changes nothing.
            **kwargs: `batch_size` (texts in one call of the embedder), `expires_at` (a
                datetime, or seconds since the epoch, from which on the documents are
                absent), `current_time` (ignored; some LangChain retrievers pass it).

        Returns:
            An id for each text, in their order.

        Raises:
            InvalidInputError: Lengths differ, or a value cannot be stored.
            DimensionMismatchError: The embedder's vectors do not fit the collection.
        """
        records = self._records(texts, metadatas, ids, kwargs)
        unique = last_of_each(records)
        self._check_analyzer()
        vectors = self._embedder.embed(
            [r.content for r in unique], kwargs.get("batch_size")
        )
        return self._store(records, unique, vectors)

    @override
    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """As `add_texts`, awaiting the embedder."""
        records = self._records(texts, metadatas, ids, kwargs)
        unique = last_of_each(records)
        await run_in_executor(None, self._check_analyzer)
        vectors = await self._embedder.aembed(
            [r.content for r in unique], kwargs.get("batch_size")
        )
        return await run_in_executor(None, self._store, records, unique, vectors)

    @override
    def add_documents(self, documents: Iterable[Document], **kwargs: Any) -> list[str]:
        """Embed and store documents, under their own ids if they have some.

        Args:
            documents: Any iterable, read once; not changed.
            **kwargs: `ids` (instead of the documents' own) and those of `add_texts`.

        Returns:
            An id for each document, in their order.
        """
        return self.add_texts(*to_parts(documents, kwargs), **kwargs)

    @override
    async def aadd_documents(
        self, documents: Iterable[Document], **kwargs: Any
    ) -> list[str]:
        """As `add_documents`, awaiting the embedder."""
        return await self.aadd_texts(*to_parts(documents, kwargs), **kwargs)

    def add_embeddings(
        self,
        texts: Iterable[str],
        embeddings: Iterable[Sequence[float]],
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts with vectors that were made elsewhere; otherwise as `add_texts`.

        Args:
            texts: Any iterable.
            embeddings: One vector for each text; scaled to unit length.
            metadatas: One for each text.
            ids: One for each text.
            **kwargs: As `add_texts`.
        """
        records = self._records(texts, metadatas, ids, kwargs)
        vectors = list(embeddings)
        if len(vectors) != len(records):
            raise InvalidInputError(f"{len(records)} texts but {len(vectors)} embeddings")
        if not records:
            return []
        matrix = unit_matrix(vectors, [record.content for record in records])
        paired = [replace(r, vector=v) for r, v in zip(records, matrix, strict=True)]
        unique = last_of_each(paired)
        return self._store(records, unique, [record.vector for record in unique])

    def replace_source(
        self,
        source_id: str,
        documents: Iterable[Document],
        *,
        batch_size: int | None = None,
    ) -> IngestReport:
        """Make these documents the only ones of a source, in one transaction.

        A stored text is not embedded anew, whatever its id and metadata became.

        Args:
            source_id: Documents belong to it by `metadata["source_id"]`.
            documents: With ids; to be stored under them.
            batch_size: Texts in one call of the embedder.

        Returns:
            What changed.
        """
        source = Source(source_id, list(documents))
        (done,) = self.replace_sources([source], batch_size=batch_size)
        return done.report

    async def areplace_source(
        self,
        source_id: str,
        documents: Iterable[Document],
        *,
        batch_size: int | None = None,
    ) -> IngestReport:
        """As `replace_source`, awaiting the embedder."""
        source = Source(source_id, list(documents))
        several = self.areplace_sources([source], batch_size=batch_size)
        (done,) = [done async for done in several]
        return done.report

    def replace_sources(
        self, sources: Iterable[Source], *, batch_size: int | None = None
    ) -> Iterator[Done]:
        """`replace_source` of several, whose texts share the calls of the embedder.

        Args:
            sources: Read as they are needed.
            batch_size: Texts in one call of the embedder.

        Yields:
            Each source in order, after its own transaction.
        """
        steps = self._writer().steps(sources, batch_size)
        step = advance(steps, None)
        while step:
            vectors = None
            if isinstance(step, Done):
                yield step
            else:
                vectors = self._embedder.embed(step, batch_size)
            step = advance(steps, vectors)

    async def areplace_sources(
        self, sources: Iterable[Source], *, batch_size: int | None = None
    ) -> AsyncIterator[Done]:
        """As `replace_sources`, awaiting the embedder; `sources` are read in a thread."""
        steps = self._writer().steps(sources, batch_size)
        step = await run_in_executor(None, advance, steps, None)
        while step:
            vectors = None
            if isinstance(step, Done):
                yield step
            else:
                vectors = await self._embedder.aembed(step, batch_size)
            step = await run_in_executor(None, advance, steps, vectors)

    def _writer(self) -> SourceWriter:
        def to_stored(documents: Sequence[Document]) -> list[Record]:
            self._check_analyzer()
            keywords: dict[str, Any] = {}
            texts, metadatas = to_parts(documents, keywords)
            return last_of_each(self._records(texts, metadatas, keywords["ids"], {}))

        place = (self._backend, self.collection_name, self._scope.where)
        return SourceWriter(*place, to_stored, self._terms_of)

    def _records(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None,
        ids: Iterable[str | None] | str | None,
        keywords: Mapping[str, Any],
    ) -> list[Record]:
        unknown = {key: None for key in keywords if key not in ADD_KEYWORDS}
        refuse_unknown("add_texts", unknown, ADD_KEYWORDS)
        records = to_records(
            texts,
            metadatas,
            ids,
            stamp=self._scope.stamp,
            id_factory=self._id_factory,
            expires_at=to_seconds(keywords.get("expires_at")),
        )
        self._scope.check(records)
        return records

    def _store(
        self,
        records: Sequence[Record],
        unique: Sequence[Record],
        vectors: Sequence[Vector | None],
    ) -> list[str]:
        if unique:
            self._backend.upsert(
                self.collection_name,
                [
                    replace(r, vector=v, terms=self._terms_of(r))
                    for r, v in zip(unique, vectors, strict=True)
                ],
                guard=self._scope.where,
            )
        return [record.id for record in records]

    # --- changing and deleting -------------------------------------------------

    def update_document(self, document_id: str, document: Document) -> None:
        """Replace one stored document; see `update_documents`."""
        self.update_documents([document_id], [document])

    def update_documents(self, ids: Iterable[str], documents: Iterable[Document]) -> None:
        """Replace text, metadata and vector of stored documents.

        They expire when they would have; `add_documents` replaces that, too.

        Raises:
            InvalidInputError: An id is not stored (`add_documents` adds), or the
                lengths differ; nothing was changed.
        """
        wanted, given = to_ids(ids), list(documents)
        stored = {record.id: record for record in self._stored(wanted)}
        absent = missing_from(wanted, stored.values())
        if absent:
            msg = f"no document has the id {absent[0]!r}; add_documents() adds new ones"
            raise InvalidInputError(msg)
        records = [
            replace(record, expires_at=stored[record.id].expires_at)
            for record in self._records(*to_parts(given, {}), wanted, {})
        ]
        unique = last_of_each(records)
        self._check_analyzer()
        vectors = self._embedder.embed([r.content for r in unique], None)
        self._store(records, unique, vectors)

    def update_metadata(
        self,
        ids: Iterable[str] | str | None = None,
        *,
        filter: FilterLike = None,
        patch: Mapping[str, Any],
        remove: Iterable[str] = (),
    ) -> int:
        """Change metadata without embedding anything anew.

        Args:
            ids: Which documents; None for any.
            filter: Which documents; with `ids`, those that fulfil both.
            patch: Keys to set; others stay.
            remove: Keys to take away.

        Returns:
            How many documents were changed.

        Raises:
            InvalidInputError: Neither `ids` nor a filter that excludes anything, or a
                key of `patch` is one that searches write.
        """
        if reserved := RESULT_KEYS & patch.keys():
            raise InvalidInputError(
                f"metadata {min(reserved)!r} is written by searches and cannot be stored; "
                "choose another key"
            )
        where = self._chosen("update_metadata", ids, filter)
        removed = [remove] if isinstance(remove, str) else list(remove)
        self._scope.check_patch({*patch, *removed})
        return self._backend.patch(
            self.collection_name,
            ids=None if ids is None else to_ids(ids),
            where=where,
            changes=patch,
            remove=removed,
        )

    @override
    def delete(
        self,
        ids: Iterable[str] | str | None = None,
        *,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> bool:
        """Delete documents by id, by filter, or those that fulfil both.

        Args:
            ids: Ids; those that are not stored are no error.
            filter: As in a search.
            **kwargs: None is read; any raises `TypeError`.

        Returns:
            True.

        Raises:
            InvalidInputError: Neither is given, or the filter excludes nothing;
                `clear()` deletes everything.
        """
        refuse_unknown("delete", kwargs, ("ids", "filter"))
        where = self._chosen("delete", ids, filter)
        wanted = None if ids is None else to_ids(ids)
        self._backend.delete(self.collection_name, ids=wanted, where=where)
        return True

    def delete_where(self, filter: FilterLike) -> int:
        """Delete the documents that match; how many there were."""
        where = self._chosen("delete_where", None, filter)
        return self._backend.delete(self.collection_name, ids=None, where=where)

    def clear(self) -> int:
        """Delete every document that this store sees; how many there were."""
        return self._backend.delete(self.collection_name, ids=None, where=self._scope.where)

    def _chosen(
        self, function: str, ids: Iterable[str] | str | None, filter: FilterLike
    ) -> Filter:
        """The filter of a write, which must not hit everything by accident."""
        where = to_filter(filter)
        if ids is None and where == EVERYTHING:
            raise InvalidInputError(
                f"{function}() needs ids or a filter that excludes something, got "
                f"ids=None, filter={filter!r}; clear() deletes all"
            )
        return both(self._scope.where, where)


def to_parts(
    documents: Iterable[Document], keywords: dict[str, Any]
) -> tuple[list[str], list[Mapping[str, Any]]]:
    """Texts and metadata; the documents' own ids go to `keywords` unless it has some.

    Args:
        documents: Read once; may be a generator.
        keywords: Of an `add_…` method; gets `ids`.

    Raises:
        InvalidInputError: One of them is no document.
    """
    listed = list(documents)
    for at, document in enumerate(listed):
        if not isinstance(document, Document):
            msg = f"document {at} is a {type(document).__name__}; add_texts() takes strings"
            raise InvalidInputError(msg)
    if keywords.get("ids") is None:
        keywords["ids"] = [document.id for document in listed]
    return [d.page_content for d in listed], [d.metadata for d in listed]
