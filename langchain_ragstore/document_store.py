"""Documents in a collection: adding, changing, reading, scoping; searching is above."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from typing_extensions import override

from langchain_ragstore.config import (
    DEFAULT_COLLECTION,
)
from langchain_ragstore.documents import (
    FilterLike,
    Timestamps,
    last_of_each,
    missing_from,
    to_count,
    to_document,
    to_filter,
    to_ids,
    to_name,
    to_records,
    to_seconds,
    to_timestamps,
)
from langchain_ragstore.embedder import Embedder
from langchain_ragstore.errors import FilterError, InvalidInputError
from langchain_ragstore.filters import EVERYTHING, Filter, both, identity
from langchain_ragstore.ingestion import IngestReport, SourceChange, source_change
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.model import Record, Vector
from langchain_ragstore.scope import Scope
from langchain_ragstore.storage.base import Backend
from langchain_ragstore.storage.ordering import parse_order
from langchain_ragstore.vectors.arrays import unit_matrix

ADD_KEYWORDS: Final = ("ids", "batch_size", "expires_at", "current_time")


class DocumentStore(VectorStore):
    """The part of LangChain's vector store that is not search, over any `Backend`."""

    def __init__(
        self,
        backend: Backend,
        embedding: Embeddings | str | None,
        *,
        collection_name: str = DEFAULT_COLLECTION,
        id_factory: Callable[[], str] | None = None,
        scope: Scope | None = None,
    ) -> None:
        self._backend = backend
        self._embedder = Embedder(embedding)
        self._scope = scope or Scope()
        self._id_factory = id_factory
        self.collection_name = to_name("collection_name", collection_name)

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
        change = self._source_change(source_id, documents)
        vectors = self._embedder.embed(change.unknown, batch_size)
        return self._apply_change(change, vectors)

    async def areplace_source(
        self,
        source_id: str,
        documents: Iterable[Document],
        *,
        batch_size: int | None = None,
    ) -> IngestReport:
        """As `replace_source`, awaiting the embedder."""
        change = await run_in_executor(None, self._source_change, source_id, documents)
        vectors = await self._embedder.aembed(change.unknown, batch_size)
        return await run_in_executor(None, self._apply_change, change, vectors)

    def _source_change(self, source_id: str, documents: Iterable[Document]) -> SourceChange:
        keywords: dict[str, Any] = {}
        texts, metadatas = to_parts(documents, keywords)
        new = last_of_each(self._records(texts, metadatas, keywords["ids"], {}))
        where = both(self._scope.where, to_filter({"source_id": source_id}))
        scan, get = self._backend.scan, self._backend.get
        stored = scan(self.collection_name, where=where, vectors=True)
        stored += get(
            self.collection_name,
            # The source itself: it was stored whole when there was no splitter.
            list(dict.fromkeys([*(record.id for record in new), source_id])),
            where=self._scope.where,
            vectors=True,
        )
        return source_change(new, stored)

    def _apply_change(
        self, change: SourceChange, vectors: Sequence[Vector | None]
    ) -> IngestReport:
        if change.records or change.stale:
            of_text = {**change.vectors, **dict(zip(change.unknown, vectors, strict=True))}
            self._backend.upsert(
                self.collection_name,
                [replace(r, vector=of_text[r.content]) for r in change.records],
                remove=change.stale,
                guard=self._scope.where,
            )
        return change.report

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
                [replace(r, vector=v) for r, v in zip(unique, vectors, strict=True)],
                guard=self._scope.where,
            )
        return [record.id for record in records]

    # --- changing and deleting -------------------------------------------------

    def update_document(self, document_id: str, document: Document) -> None:
        """Replace one stored document; see `update_documents`."""
        self.update_documents([document_id], [document])

    def update_documents(self, ids: Iterable[str], documents: Iterable[Document]) -> None:
        """Replace text, metadata and vector of stored documents.

        Raises:
            InvalidInputError: An id is not stored (`add_documents` adds), or the
                lengths differ; nothing was changed.
        """
        wanted, given = to_ids(ids), list(documents)
        absent = missing_from(wanted, self._stored(wanted))
        if absent:
            msg = f"no document has the id {absent[0]!r}; add_documents() adds new ones"
            raise InvalidInputError(msg)
        self.add_documents(given, ids=wanted)

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
            InvalidInputError: Neither `ids` nor a filter that excludes anything.
        """
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

    # --- reading ---------------------------------------------------------------

    @override
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Documents by id, in the order of `ids`; those not stored are left out."""
        return [to_document(record) for record in self._stored(to_ids(ids))]

    def get(
        self,
        ids: Iterable[str] | str | None = None,
        *,
        filter: FilterLike = None,
        limit: int | None = None,
        offset: int = 0,
        order_by: str | tuple[str, ...] | None = None,
    ) -> list[Document]:
        """Documents without a query.

        Args:
            ids: Which ones; None for any.
            filter: Which ones; with `ids`, those that fulfil both.
            limit: How many at most; None for all.
            offset: How many to pass over first.
            order_by: `"created_at"`, `"updated_at"`, `"expires_at"`, `"$id"` or a
                metadata key; a leading `-` reverses. Documents without a value come
                last. None for the order of `ids` or of adding.

        Returns:
            The documents.
        """
        where = both(self._scope.where, to_filter(filter))
        if order_by is not None:
            parse_order(order_by)
        if limit is not None and to_count("limit", limit) < 0:
            raise InvalidInputError(f"limit must not be negative, got {limit}")
        if to_count("offset", offset) < 0:
            raise InvalidInputError(f"offset must not be negative, got {offset}")
        if ids is not None and order_by is None:
            end = None if limit is None else offset + limit
            return [to_document(r) for r in self._stored(to_ids(ids), where)[offset:end]]
        if ids is not None:
            where = both(where, to_filter({"$id": {"$in": to_ids(ids)}}))
        records = self._backend.scan(
            self.collection_name, where=where, order_by=order_by, limit=limit, offset=offset
        )
        return [to_document(record) for record in records]

    def _stored(self, ids: Sequence[str], where: Filter | None = None) -> list[Record]:
        return self._backend.get(
            self.collection_name, ids, where=where or self._scope.where
        )

    def count(self, filter: FilterLike = None) -> int:
        """How many documents match; without a filter, how many there are."""
        where = both(self._scope.where, to_filter(filter))
        return self._backend.count(self.collection_name, where=where)

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True  # an empty store is a store

    def distinct(self, key: str | tuple[str, ...]) -> dict[Any, int]:
        """The values of a metadata key and how many documents have each.

        Members of a list are counted one by one, each once for a document.

        Args:
            key: A metadata key; a tuple for a nested one.

        Raises:
            InvalidInputError: A value cannot be a key of the result: a dictionary, a
                nested list, or `True` beside 1.
        """
        path = (key,) if isinstance(key, str) else tuple(key)
        counts: Counter[Any] = Counter()
        values: dict[Any, Any] = {}
        where = both(self._scope.where, to_filter({path: {"$exists": True}}))
        for record in self._backend.scan(self.collection_name, where=where):
            value: Any = record.metadata
            for part in path:
                value = value[part]
            members = value if isinstance(value, (list, tuple)) else [value]
            for name in {identity(member): member for member in members}.items():
                values.setdefault(*name)
                counts[name[0]] += 1
        try:
            result = {values[name]: number for name, number in counts.items()}
        except TypeError as error:
            msg = f"values of {key!r} are dictionaries or nested lists: {error}"
            raise InvalidInputError(msg) from error
        if len(result) != len(counts):
            raise InvalidInputError(f"values of {key!r} mix True and False with 1 and 0")
        return result

    def timestamps(self, ids: Iterable[str] | str) -> dict[str, Timestamps]:
        """When documents were stored first and last, and when they expire, by id."""
        return {record.id: to_timestamps(record) for record in self._stored(to_ids(ids))}

    def collections(self) -> list[str]:
        """Names of the collections that hold documents, in the same file."""
        return self._backend.collections()

    def stats(self) -> dict[str, Any]:
        """Facts about the collection and its file: counts, dimension, bytes, versions."""
        return {
            "collection": self.collection_name,
            "embedding": repr(self.embeddings),
            **self._backend.stats(self.collection_name),
        }

    # --- the store itself ------------------------------------------------------

    @property
    @override
    def embeddings(self) -> Embeddings | None:
        """The embedding model, if the store has one."""
        return self._embedder.model

    def scoped(self, filter: FilterLike) -> Self:
        """A view of the part of the collection that matches a filter.

        Every read of the view sees that part alone. Every write must stay in it: values
        that the filter prescribes by equality (`{"user": "ann"}`) are stamped onto the
        metadata, and a document or an id that belongs elsewhere is refused.

        Args:
            filter: What the view sees.

        Returns:
            A store of the same class on the same file.

        Raises:
            FilterError: The filter excludes nothing.
        """
        where = to_filter(filter)
        if where == EVERYTHING:
            raise FilterError(
                f"scoped() needs a filter that excludes something, got {filter!r}"
            )
        view = copy.copy(self)
        view._scope = self._scope.narrowed(where)  # noqa: SLF001 - a copy of this very store
        return view

    def close(self) -> None:
        """Close the file; any later use raises `StoreClosedError`. Twice is fine."""
        self._backend.close()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the store if the block raises, so that nobody is left holding it."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


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
