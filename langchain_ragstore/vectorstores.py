"""The vector store: LangChain's surface over a storage engine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from typing_extensions import override

from langchain_ragstore.config import (
    DEFAULT_COLLECTION,
    DEFAULT_FETCH_K,
    DEFAULT_K,
    DEFAULT_LAMBDA_MULT,
    DEFAULT_NAMESPACE,
)
from langchain_ragstore.document_writer import ADD_KEYWORDS, to_parts
from langchain_ragstore.documents import FilterLike, IndexText, to_count, to_document
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.indexing import SQLiteRecordManager
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.model import Hit, Vector
from langchain_ragstore.retrieval.diversify import maximal_marginal_relevance
from langchain_ragstore.retrievers import StoreRetriever
from langchain_ragstore.search_request import MMR_KEYWORDS, Search
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.storage.sqlite.connection import MEMORY
from langchain_ragstore.stores import SQLiteByteStore
from langchain_ragstore.text.analyzer import TextAnalyzer
from langchain_ragstore.text_search import TextSearch, marked
from langchain_ragstore.vectors.arrays import unit_vector

SEARCH_TYPES: Final = ("similarity", "similarity_score_threshold", "mmr", "text", "hybrid")


class BackendVectorStore(TextSearch):
    """LangChain's vector store over any `Backend`; see `SQLiteVectorStore`."""

    # --- searching -------------------------------------------------------------

    @override
    def search(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """Documents by a named kind of search, with that search's keywords.

        Args:
            query: What to look for.
            search_type: `"similarity"`, `"similarity_score_threshold"`, `"mmr"`,
                `"text"` (words alone) or `"hybrid"` (words and meaning).
            **kwargs: Of `similarity_search`, `max_marginal_relevance_search`,
                `text_search` or `hybrid_search`.

        Raises:
            InvalidInputError: There is no such search.
        """
        if search_type == "text":
            return self.text_search(query, **kwargs)
        if search_type == "hybrid":
            return self.hybrid_search(query, **kwargs)
        return super().search(query, _known(search_type), **kwargs)

    @override
    async def asearch(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """As `search`, awaiting the embedder."""
        if search_type == "text":
            return await self.atext_search(query, **kwargs)
        if search_type == "hybrid":
            return await self.ahybrid_search(query, **kwargs)
        return await super().asearch(query, _known(search_type), **kwargs)

    @override
    def similarity_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents most similar to a text.

        Args:
            query: Embedded as a query.
            k: How many; none for 0 or less.
            filter: A dictionary (`{"lang": "ja", "page": {"$gte": 3}}`), a function of a
                document, or None. If n documents match, min(k, n) come back.
            **kwargs: `score_threshold` (the least relevance: cosine, at least 0),
                `with_scores` (whether results carry `relevance_score` and `ragstore`).

        Returns:
            The most similar first; equal ones by id.
        """
        return _documents(self.similarity_search_with_score(query, k, filter, **kwargs))

    @override
    async def asimilarity_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """As `similarity_search`, awaiting the embedder."""
        return _documents(
            await self.asimilarity_search_with_score(query, k, filter, **kwargs)
        )

    @override
    def similarity_search_with_score(
        self,
        query: str,
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """As `similarity_search`, each document with its cosine in [-1, 1]."""
        search = self._search("similarity_search", k, filter, kwargs)
        return self._scored(self._embedder.embed_query(query), search)

    @override
    async def asimilarity_search_with_score(
        self,
        query: str,
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """As `similarity_search_with_score`, awaiting the embedder."""
        search = self._search("similarity_search", k, filter, kwargs)
        vector = await self._embedder.aembed_query(query)
        return await run_in_executor(None, self._scored, vector, search)

    @override
    def similarity_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As `similarity_search`, for a query that is already embedded."""
        return _documents(
            self.similarity_search_with_score_by_vector(embedding, k, filter, **kwargs)
        )

    def similarity_search_with_score_by_vector(
        self,
        embedding: Sequence[float],
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """As `similarity_search_with_score`, for a query that is already embedded."""
        return self._scored(embedding, self._search("similarity_search", k, filter, kwargs))

    async def asimilarity_search_with_score_by_vector(
        self,
        embedding: Sequence[float],
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """As `similarity_search_with_score_by_vector`, off the event loop."""
        search = self._search("similarity_search", k, filter, kwargs)
        return await run_in_executor(None, self._scored, embedding, search)

    def _scored(
        self, embedding: Sequence[float], search: Search
    ) -> list[tuple[Document, float]]:
        hits = self._nearest(unit_vector(embedding), search)
        return [
            (marked(hit) if search.marked else to_document(hit.record), hit.score)
            for hit in hits
        ]

    def _nearest(
        self, vector: Vector, search: Search, *, vectors: bool = False
    ) -> list[Hit]:
        if not vector.any():
            return []  # a zero vector is similar to nothing
        hits = self._backend.dense(
            self.collection_name, vector, search.k, where=search.where, vectors=vectors
        )
        if search.threshold is None:
            return hits
        return [hit for hit in hits if relevance(hit.score) >= search.threshold]

    @override
    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return relevance

    @override
    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = DEFAULT_K,
        fetch_k: int = DEFAULT_FETCH_K,
        lambda_mult: float = DEFAULT_LAMBDA_MULT,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[Document]:
        """`k` documents that are similar to a text but not all to each other.

        Args:
            query: Embedded as a query.
            k: How many.
            fetch_k: Candidates to choose from; at least `k` are taken.
            lambda_mult: 1 for relevance alone, 0 for diversity alone.
            filter: As in `similarity_search`.
            **kwargs: `score_threshold`, as in `similarity_search`.

        Returns:
            In the order of choice.
        """
        search = self._mmr(k, fetch_k, lambda_mult, filter, kwargs)
        return self._diverse(self._embedder.embed_query(query), k, lambda_mult, search)

    @override
    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = DEFAULT_K,
        fetch_k: int = DEFAULT_FETCH_K,
        lambda_mult: float = DEFAULT_LAMBDA_MULT,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, awaiting the embedder."""
        search = self._mmr(k, fetch_k, lambda_mult, filter, kwargs)
        vector = await self._embedder.aembed_query(query)
        return await run_in_executor(None, self._diverse, vector, k, lambda_mult, search)

    @override
    def max_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = DEFAULT_K,
        fetch_k: int = DEFAULT_FETCH_K,
        lambda_mult: float = DEFAULT_LAMBDA_MULT,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, for a query that is already embedded."""
        search = self._mmr(k, fetch_k, lambda_mult, filter, kwargs)
        return self._diverse(embedding, k, lambda_mult, search)

    def _mmr(
        self,
        k: int,
        fetch_k: int,
        lambda_mult: float,
        filter: FilterLike,
        keywords: Mapping[str, Any],
    ) -> Search:
        """The search for the candidates, checked as `_search` does."""
        unknown = {key: None for key in keywords if key not in MMR_KEYWORDS}
        refuse_unknown("max_marginal_relevance_search", unknown, MMR_KEYWORDS)
        if not 0 <= lambda_mult <= 1:
            raise InvalidInputError(f"lambda_mult must be in [0, 1], got {lambda_mult!r}")
        number = to_count("k", k)
        candidates = max(number, to_count("fetch_k", fetch_k)) if number > 0 else 0
        return self._search("max_marginal_relevance_search", candidates, filter, keywords)

    def _diverse(
        self, embedding: Sequence[float], k: int, lambda_mult: float, search: Search
    ) -> list[Document]:
        vector = unit_vector(embedding)
        hits = self._nearest(vector, search, vectors=True)
        found = [hit.record.vector for hit in hits if hit.record.vector is not None]
        if not found:
            return []
        chosen = maximal_marginal_relevance(vector, np.stack(found), k, lambda_mult)
        return [to_document(hits[place].record) for place in chosen]

    @override
    def as_retriever(self, **kwargs: Any) -> StoreRetriever:
        """A retriever over this store.

        Args:
            **kwargs: `search_type` (see `search`), `search_kwargs` (the keywords of
                that search), `k`, and LangChain's `tags`, `metadata`, `name`.

        Returns:
            A retriever whose filter a caller can narrow but not widen.

        Raises:
            TypeError: A keyword that nothing reads.
        """
        known = ("search_type", "search_kwargs", "k", "tags", "metadata", "name")
        unknown = {key: None for key in kwargs if key not in known}
        refuse_unknown("as_retriever", unknown, (*known, "search_kwargs={'filter': ...}"))
        tags = [*(kwargs.pop("tags", None) or []), *self._get_retriever_tags()]
        return StoreRetriever(vectorstore=self, tags=tags, **kwargs)


def _known(search_type: str) -> str:
    if search_type not in SEARCH_TYPES:
        raise InvalidInputError(
            f"search_type is one of {', '.join(SEARCH_TYPES)}, got {search_type!r}"
        )
    return search_type


def relevance(cosine: float) -> float:
    """A cosine as LangChain's relevance in [0, 1]: opposite counts as unrelated."""
    return min(1.0, max(0.0, cosine))


def _documents(scored: Iterable[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in scored]


class SQLiteVectorStore(BackendVectorStore):
    """Documents and their vectors in one SQLite file, searched exactly.

    Any number of threads and processes may use the file at once; each sees what the
    others have written at its next search.

    Args:
        embedding: An `Embeddings`, a `"provider:model"` string for LangChain's
            `init_embeddings`, or None (then vectors come with `add_embeddings`).
        path: The file, made if absent; `":memory:"` for a store that vanishes with its
            process.
        collection_name: Collections of one file do not see each other.
        read_only: Refuse every write; the file must exist.
        check_model: Whether the embedding is compared with the one that made the
            collection's vectors, by its vector of a probe, before it is first used after
            opening. Another one is refused; turn this off only for a model that gives
            different vectors every time.
        index_text: A function of a document that makes the text that is embedded and
            searched for it. None: title and headings, a blank line, the text. What is
            returned is always the text alone.
        id_factory: Makes the ids of documents that have none; None for ids that are a
            hash of text and metadata.
        clock: Seconds since the epoch; decides what has expired.
        text_analyzer: What full text is made of: stemming, words of Chinese and Japanese,
            a dictionary, synonyms; None for the default `TextAnalyzer()`.
        **unknown: None is read; any raises `TypeError` with a guess at what was meant.

    Raises:
        InvalidInputError: The path cannot be a database's.
        StorageError: The file cannot be opened; see its children.

    Example:
        ```python
        from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

        with SQLiteVectorStore(HashingEmbeddings(), "kb.db") as store:
            store.add_texts(
                ["The library charges late fees.", "退款将在七个工作日内到账。"],
                [{"lang": "en"}, {"lang": "zh"}],
            )
            (found,) = store.similarity_search("退款", k=1, filter={"lang": "zh"})
        assert found.page_content == "退款将在七个工作日内到账。"
        ```
    """

    def __init__(
        self,
        embedding: Embeddings | str | None = None,
        path: str | os.PathLike[str] = ":memory:",
        *,
        collection_name: str = DEFAULT_COLLECTION,
        read_only: bool = False,
        check_model: bool = True,
        index_text: IndexText | None = None,
        id_factory: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.time,
        text_analyzer: TextAnalyzer | None = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown(type(self).__name__, unknown, CONSTRUCTOR_KEYWORDS)
        backend = SQLiteBackend(path, read_only=read_only, clock=clock)
        self._database, self._clock = backend.database, clock
        super().__init__(
            backend,
            embedding,
            collection_name=collection_name,
            id_factory=id_factory,
            text_analyzer=text_analyzer,
            # What lives in memory alone is never opened with another model.
            check_model=check_model and backend.database.path != MEMORY,
            index_text=index_text,
        )

    @classmethod
    @override
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | str | None,
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open a store and add texts to it.

        Args:
            texts: Any iterable.
            embedding: As in the constructor.
            metadatas: One for each text.
            ids: One for each text.
            **kwargs: Keywords of the constructor and of `add_texts`.
        """
        adding = {key: kwargs.pop(key) for key in ADD_KEYWORDS if key in kwargs}
        store = cls(embedding, **kwargs)
        with store.closed_on_error():
            store.add_texts(texts, metadatas, ids=ids, **adding)
        return store

    @classmethod
    @override
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | str | None,
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> Self:
        """As `from_texts`, awaiting the embedder."""
        adding = {key: kwargs.pop(key) for key in ADD_KEYWORDS if key in kwargs}
        store = await run_in_executor(None, lambda: cls(embedding, **kwargs))
        with store.closed_on_error():
            await store.aadd_texts(texts, metadatas, ids=ids, **adding)
        return store

    @classmethod
    @override
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings | str | None,
        **kwargs: Any,
    ) -> Self:
        """As `from_texts`, for documents: any iterable of them."""
        texts, metadatas = to_parts(documents, kwargs)
        return cls.from_texts(texts, embedding, metadatas, **kwargs)

    @classmethod
    @override
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings | str | None,
        **kwargs: Any,
    ) -> Self:
        """As `from_documents`, awaiting the embedder."""
        texts, metadatas = to_parts(documents, kwargs)
        return await cls.afrom_texts(texts, embedding, metadatas, **kwargs)

    # --- other things in the same file -------------------------------------------

    @property
    def path(self) -> str:
        """The file, or `":memory:"`."""
        return self._database.path

    def record_manager(self, namespace: str | None = None) -> SQLiteRecordManager:
        """What LangChain's `index()` keeps beside this store, in the same file.

        A key exists for it only if this store holds its document. Closing it leaves the
        store open; it ends with the store.

        Args:
            namespace: None for one that belongs to the collection. A scoped view needs
                one of its own: a clean-up through a view must not strike out what
                belongs to others.

        Raises:
            InvalidInputError: A scoped view, and no namespace.
        """
        if namespace is None and self._scope.where != EVERYTHING:
            raise InvalidInputError(
                "the records of a scoped view need a namespace of their own, such as "
                "record_manager('ann'); the collection's belong to the whole of it"
            )
        if namespace is None:
            namespace = f"ragstore/{self.collection_name}"
        return SQLiteRecordManager(namespace, self._database, store=self, clock=self._clock)

    def byte_store(
        self,
        namespace: str = DEFAULT_NAMESPACE,
        *,
        ttl_seconds: float | None = None,
        max_bytes: int | None = None,
    ) -> SQLiteByteStore:
        """Bytes by key in the same file; every collection of the file shares them.

        Closing it leaves the store open; it ends with the store.

        Args:
            namespace: Equal keys of different namespaces are different entries.
            ttl_seconds: As in `SQLiteByteStore`.
            max_bytes: As in `SQLiteByteStore`.

        Raises:
            InvalidInputError: This is a scoped view, whose filter could not see values.
        """
        if self._scope.where != EVERYTHING:
            raise InvalidInputError(
                "a scoped view has no byte store: values have no metadata that its "
                "filter could see; call byte_store() on the whole store"
            )
        return SQLiteByteStore(
            self._database,
            namespace,
            ttl_seconds=ttl_seconds,
            max_bytes=max_bytes,
            clock=self._clock,
        )


CONSTRUCTOR_KEYWORDS: Final = (
    "embedding",
    "path",
    "collection_name",
    "read_only",
    "check_model",
    "index_text",
    "id_factory",
    "clock",
    "text_analyzer",
)
