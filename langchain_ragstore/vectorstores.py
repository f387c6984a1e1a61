"""The vector store: LangChain's surface over a storage engine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from typing_extensions import override

from langchain_ragstore.caring import Caring, OnConflict
from langchain_ragstore.config import (
    DEFAULT_COLLECTION,
    DEFAULT_NAMESPACE,
    MEMORY_BUDGET,
)
from langchain_ragstore.document_writer import ADD_KEYWORDS, to_parts
from langchain_ragstore.documents import IndexText, to_name
from langchain_ragstore.embeddings.named import to_model
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.file_copies import FileCopies
from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.indexing import SQLiteRecordManager
from langchain_ragstore.ingestion import IngestReport
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.numeric import whole
from langchain_ragstore.retrievers import RagRetriever
from langchain_ragstore.similarity_search import SimilaritySearch
from langchain_ragstore.stage_request import STAGE_KEYWORDS
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.storage.sqlite.files import MEMORY
from langchain_ragstore.stores import SQLiteByteStore
from langchain_ragstore.text.analyzer import TextAnalyzer


class BackendVectorStore(Caring, SimilaritySearch):
    """LangChain's vector store over any `Backend`; see `SQLiteVectorStore`."""

    @override
    def as_retriever(self, **kwargs: Any) -> RagRetriever:
        """A retriever over this store.

        Args:
            **kwargs: `search_type` (see `search`), `search_kwargs` (the keywords of
                that search), `k`, `retrieval_config`, `core_tags` and `reranker` (see
                `RagRetriever`), and LangChain's `tags`, `metadata`, `name`.

        Returns:
            A retriever whose filter a caller can narrow but not widen.

        Raises:
            TypeError: A keyword that nothing reads.
        """
        known = (
            *("search_type", "search_kwargs", "k", *STAGE_KEYWORDS),
            *("tags", "metadata", "name"),
        )
        unknown = {key: None for key in kwargs if key not in known}
        refuse_unknown("as_retriever", unknown, (*known, "search_kwargs={'filter': ...}"))
        tags = [*(kwargs.pop("tags", None) or []), *self._get_retriever_tags()]
        given = {"search_type": "similarity"} | kwargs
        return RagRetriever(vectorstore=self, tags=tags, **given)


class SQLiteVectorStore(FileCopies, BackendVectorStore):
    """Documents and their vectors in one SQLite file.

    Small collections are searched exactly, large ones by sketches and codes first; scores
    are exact cosines always. `exact=True` in a search misses none in a large one, too.

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
        memory_budget: Bytes that the vectors of the file's collections may take in
            memory. What does not fit is read from the file, which is slower;
            `stats()["searches"]` tells how searches were done.
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
        memory_budget: int = MEMORY_BUDGET,
        **unknown: Any,
    ) -> None:
        refuse_unknown(type(self).__name__, unknown, CONSTRUCTOR_KEYWORDS)
        embedding = to_model(embedding)  # before there is a file
        memory_budget = whole("memory_budget", memory_budget, 0)
        backend = SQLiteBackend(
            path, read_only=read_only, clock=clock, memory_budget=memory_budget
        )
        self._sqlite, self._database, self._clock = backend, backend.database, clock
        super().__init__(
            backend,
            embedding,
            collection_name=collection_name,
            id_factory=id_factory,
            text_analyzer=text_analyzer,
            check_model=check_model,
            # Nobody else can open it with another model: no need to ask this one.
            in_memory=backend.database.path == MEMORY,
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

    # --- copies of the file --------------------------------------------------------

    @override
    def merge(
        self,
        other: Caring | str | os.PathLike[str],
        *,
        collection_name: str | None = None,
        on_conflict: OnConflict = "replace",
    ) -> IngestReport:
        """Store the documents of another store in this one, with their vectors and times.

        What would be refused is refused before the first document is stored. Documents
        are stored some hundred at a time, between which others may write; a broken-off
        merge is finished by the next.

        Args:
            other: A store (of a view, what it sees), or a file.
            collection_name: Of a file, which collection; None for one of this store's name.
            on_conflict: As in `import_jsonl`.

        Returns:
            How many were added, updated (replaced) and skipped.

        Raises:
            InvalidInputError: It is this very collection, or there is none of the name, or
                an id is stored already and `on_conflict` is `"error"`.
            EmbeddingMismatchError: Another model made its vectors.
            AnalyzerMismatchError: Its texts were indexed otherwise than this store does.

        Example:
            ```python
            from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

            with SQLiteVectorStore(HashingEmbeddings(64), "mine.db") as mine:
                mine.add_texts(["green tea"])
            with SQLiteVectorStore(HashingEmbeddings(64), "ours.db") as ours:
                assert ours.merge("mine.db").added == 1
            ```
        """
        if isinstance(other, Caring):
            if collection_name is not None:
                raise InvalidInputError(
                    "collection_name says which collection of a file; a store is on one"
                )
            return super().merge(other, on_conflict=on_conflict)
        name = self.collection_name if collection_name is None else collection_name
        with SQLiteVectorStore(
            None, other, collection_name=name, read_only=True, clock=self._clock
        ) as opened:
            if name not in (there := opened.collections()):
                raise InvalidInputError(
                    f"{other} has no collection {name!r}, but {there}; name one of these"
                )
            return super().merge(opened, on_conflict=on_conflict)

    async def amerge(
        self,
        other: Caring | str | os.PathLike[str],
        *,
        collection_name: str | None = None,
        on_conflict: OnConflict = "replace",
    ) -> IngestReport:
        """As `merge`, off the event loop."""
        call = partial(self.merge, other, collection_name=collection_name)
        return await run_in_executor(None, partial(call, on_conflict=on_conflict))

    # --- other things in the same file -------------------------------------------

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
        namespace = (
            f"ragstore/{self.collection_name}"
            if namespace is None
            else self._apart(namespace)
        )
        return SQLiteRecordManager(namespace, self._database, store=self, clock=self._clock)

    def byte_store(
        self,
        namespace: str = DEFAULT_NAMESPACE,
        *,
        ttl_seconds: float | None = None,
        max_bytes: int | None = None,
    ) -> SQLiteByteStore:
        """Bytes by key in the same file; every collection of the file shares them.

        (Not those of a `CollectionManager`: each has its own.)

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
            self._apart(namespace),
            ttl_seconds=ttl_seconds,
            max_bytes=max_bytes,
            clock=self._clock,
        )

    def _apart(self, namespace: str) -> str:
        """Stores of a `CollectionManager` share the file, and nothing else."""
        if self._keeper is None:
            return namespace
        # Their names have no slash, and no record manager's default begins like this.
        return f"{self.collection_name}//{to_name('namespace', namespace)}"


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
    "memory_budget",
)
