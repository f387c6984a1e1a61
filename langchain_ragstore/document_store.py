"""Documents in a collection: changing and deleting; adding is below, search above."""

from __future__ import annotations

from collections.abc import (
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document
from typing_extensions import override

from langchain_ragstore.config import DEPARTING_AT_ONCE, REINDEX_ATTEMPTS
from langchain_ragstore.document_writer import DocumentWriter, by_digest, to_parts
from langchain_ragstore.documents import (
    RESULT_KEYS,
    TITLE_KEYS,
    FilterLike,
    last_of_each,
    missing_from,
    text_digest,
    to_filter,
    to_ids,
    to_indexed,
    with_titles,
)
from langchain_ragstore.errors import (
    ConflictError,
    CorruptStoreError,
    EmbeddingMismatchError,
    InvalidInputError,
)
from langchain_ragstore.filters import EVERYTHING, Filter, both
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.model import Record
from langchain_ragstore.storage.base import patched


class DocumentStore(DocumentWriter):
    """What a store over any `Backend` does with documents, but for search."""

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
        with self._embedder.rescue([r.indexed for r in records]):
            unique = last_of_each(records)
            self._check_analyzer()
            self._write(unique, self._embedder.embed(by_digest(unique)))

    def update_metadata(
        self,
        ids: Iterable[str] | str | None = None,
        *,
        filter: FilterLike = None,
        patch: Mapping[str, Any],
        remove: Iterable[str] = (),
    ) -> int:
        """Change metadata; a text is embedded anew only if what is indexed of it changes.

        That is so for `title` and `heading_path`, and what an `index_text` of your own
        reads. If other writers change the same documents meanwhile, it starts again.

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
        if not isinstance(patch, Mapping):
            raise InvalidInputError(f"patch must be a dict, got {type(patch).__name__}")
        if reserved := RESULT_KEYS & patch.keys():
            raise InvalidInputError(
                f"metadata {min(reserved)!r} is written by searches and cannot be stored; "
                "choose another key"
            )
        where = self._chosen("update_metadata", ids, filter)
        removed = [remove] if isinstance(remove, str) else list(remove)
        self._scope.check_patch({*patch, *removed})
        wanted = None if ids is None else to_ids(ids)
        if self._reads({*patch, *removed}):
            return self._reindexed(wanted, where, patch, removed)
        return self._backend.patch(
            self.collection_name, ids=wanted, where=where, changes=patch, remove=removed
        )

    def _reads(self, keys: set[str]) -> bool:
        """Whether what is indexed of a document may depend on metadata keys."""
        return self._index_text is not with_titles or not keys.isdisjoint(TITLE_KEYS)

    def _reindexed(
        self,
        ids: Sequence[str] | None,
        where: Filter,
        changes: Mapping[str, Any],
        removed: Sequence[str],
    ) -> int:
        """Change metadata that are indexed, too; how many documents were changed."""
        for _ in range(REINDEX_ATTEMPTS - 1):
            with suppress(ConflictError, EmbeddingMismatchError):
                return self._reindexed_once(ids, where, changes, removed)
        return self._reindexed_once(ids, where, changes, removed)

    def _reindexed_once(
        self,
        ids: Sequence[str] | None,
        where: Filter,
        changes: Mapping[str, Any],
        removed: Sequence[str],
    ) -> int:
        self._check_analyzer()
        if ids is not None:
            where = both(where, to_filter({"$id": {"$in": list(ids)}}))
        model = self._backend.fingerprint(self.collection_name)  # of the vectors read next
        old = self._backend.scan(self.collection_name, where=where, vectors=True)
        new = [self._patched(record, changes, removed) for record in old]
        with self._embedder.rescue():
            made = self._embedder.embed(by_digest(new))
            self._write(new, made, expected=old, model=None if made else model)
        return len(old)

    def _patched(
        self, old: Record, changes: Mapping[str, Any], removed: Sequence[str]
    ) -> Record:
        """With other metadata; without its vector if that is of another text now."""
        metadata = patched(old.metadata, changes, removed)
        indexed = to_indexed(old.id, old.content, metadata, self._index_text)
        new = replace(old, metadata=metadata, indexed=indexed)
        foreign = old.vector is not None and old.digest is None
        if foreign or old.digest == text_digest(indexed):
            return new
        return replace(new, vector=None, digest=text_digest(indexed))

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
        if wanted is not None and len(wanted) <= DEPARTING_AT_ONCE:
            self._remember(wanted, where)
        self._backend.delete(self.collection_name, ids=wanted, where=where)
        return True

    def _remember(self, ids: Sequence[str], where: Filter) -> None:
        """Have the vectors at hand of what `index()` may delete and add again."""
        if self._embedder.model is None:
            return
        name = self.collection_name
        model = self._backend.fingerprint(name)  # before the records are read
        if model is not None:
            with suppress(CorruptStoreError):  # what is damaged can be deleted
                records = self._backend.get(name, ids, where=where, vectors=True)
                self._embedder.remember(records, model)

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
