"""Reading documents of a collection without a query, and the life of a store."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from typing_extensions import override

from langchain_ragstore.config import DEFAULT_COLLECTION
from langchain_ragstore.documents import (
    FilterLike,
    IndexText,
    Timestamps,
    to_analyzer,
    to_count,
    to_document,
    to_filter,
    to_ids,
    to_index_text,
    to_name,
    to_timestamps,
)
from langchain_ragstore.embedder import Embedder, new_identity
from langchain_ragstore.errors import FilterError, InvalidInputError
from langchain_ragstore.filters import EVERYTHING, Filter, both, identity
from langchain_ragstore.keeper import Keeper
from langchain_ragstore.model import Record
from langchain_ragstore.scope import Scope
from langchain_ragstore.storage.base import Backend
from langchain_ragstore.storage.ordering import parse_order
from langchain_ragstore.text.analyzer import TextAnalyzer


class DocumentReader(VectorStore):
    """What a store over any `Backend` is and tells, but for search."""

    def __init__(
        self,
        backend: Backend,
        embedding: Embeddings | str | None,
        *,
        collection_name: str = DEFAULT_COLLECTION,
        id_factory: Callable[[], str] | None = None,
        scope: Scope | None = None,
        text_analyzer: TextAnalyzer | None = None,
        check_model: bool = True,
        index_text: IndexText | None = None,
        in_memory: bool = False,
    ) -> None:
        self.collection_name = to_name("collection_name", collection_name)
        self._backend = backend
        self._embedder = Embedder(
            embedding,
            backend,
            self.collection_name,
            check=check_model and not in_memory,
            identity=new_identity(embedding) if in_memory else None,
        )
        self._scope = scope or Scope()
        self._keeper: Keeper | None = None
        self._id_factory = id_factory
        self._analyzer = to_analyzer(text_analyzer)
        self._index_text = to_index_text(index_text)

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
        """Names of the collections that hold documents, in the same file.

        A view, and a store of a `CollectionManager`, names its own alone, and only if it
        sees something in it.
        """
        if self._scope.where == EVERYTHING and self._keeper is None:
            return self._backend.collections()
        return [self.collection_name] if self.count() else []

    def stats(self) -> dict[str, Any]:
        """Facts about the collection and its file: counts, dimension, bytes, versions.

        `text_analyzer` is what made the text index, None where there is none.

        A view tells only how many documents it sees.
        """
        facts: dict[str, Any] = {
            "collection": self.collection_name,
            "embedding": repr(self.embeddings),
        }
        if self._scope.where == EVERYTHING:
            facts["text_analyzer"] = self._backend.analyzer(self.collection_name)
            return facts | self._backend.stats(self.collection_name)
        return facts | {"records": self.count()}

    # --- the store itself ------------------------------------------------------

    @property
    def text_analyzer(self) -> TextAnalyzer:
        """How texts and queries become what full text compares."""
        return self._analyzer

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

    def beside(self, collection_name: str, keeper: Keeper) -> Self:
        """The store of another collection of the same file.

        Args:
            collection_name: Its name.
            keeper: Who closes the file, and is told when the collection is searched.

        Returns:
            A store of the same class, with the same model and settings.
        """
        store = copy.copy(self)
        store.collection_name = to_name("collection_name", collection_name)
        store._embedder = self._embedder.elsewhere(collection_name)  # noqa: SLF001 - as above
        store._keeper = keeper  # noqa: SLF001 - as above
        return store

    def _in_use(self) -> AbstractContextManager[None]:
        """While the block runs, nobody frees what is in memory of the collection."""
        keeper = self._keeper
        return nullcontext() if keeper is None else keeper.using(self.collection_name)

    def close(self) -> None:
        """Close the file; any later use raises `StoreClosedError`. Twice is fine.

        The store of a `CollectionManager` only frees its memory: the file is the
        manager's.
        """
        if self._keeper is None:
            self._backend.close()
        else:
            self._keeper.unload(self.collection_name)

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
