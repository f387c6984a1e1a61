"""From documents to answers: ingest, retrieve, and a chain, over any vector store."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import TextSplitter

from langchain_ragstore.chains import answering
from langchain_ragstore.config import DEFAULT_K
from langchain_ragstore.documents import FilterLike
from langchain_ragstore.errors import EmbeddingMismatchError, InvalidInputError
from langchain_ragstore.ingester import Ingester
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.notebook.explanation import Explanation
from langchain_ragstore.retrievers import RagRetriever, check_search, default_search
from langchain_ragstore.search_request import SEARCH_KEYWORDS
from langchain_ragstore.vectorstores import SQLiteVectorStore


class RagPipeline(Ingester):
    """Ingest documents and find them again.

    Args:
        embedding: An embedding model; None for the store's.
        store: Any LangChain vector store; None for one of this package in memory.
        splitter: Cuts documents into chunks; None to keep them whole.

    Raises:
        EmbeddingMismatchError: `embedding` is not the store's.
        InvalidInputError: Neither an embedding nor a store.

    Example:
        ```python
        from langchain_ragstore import HashingEmbeddings, RagPipeline, make_document

        pipeline = RagPipeline(HashingEmbeddings())
        report = pipeline.ingest([make_document("a", "Green tea wants 80 °C water.")])
        assert report.added == 1
        ((document, score),) = pipeline.retrieve("How hot for tea?")
        assert document.id == "a"
        ```
    """

    def __init__(
        self,
        embedding: Embeddings | str | None = None,
        store: VectorStore | None = None,
        splitter: TextSplitter | None = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown("RagPipeline", unknown, ("embedding", "store", "splitter"))
        if store is None and embedding is None:
            raise InvalidInputError("RagPipeline needs an embedding or a store")
        self.store = SQLiteVectorStore(embedding) if store is None else store
        self.splitter = splitter
        if store is not None and embedding is not None:
            _check_same(embedding, store)

    # --- retrieving ------------------------------------------------------------------

    def retrieve(
        self,
        query: str,
        k: int = DEFAULT_K,
        *,
        search_type: str | None = None,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Find the documents that fit a query.

        Args:
            query: A blank one finds nothing.
            k: How many at most.
            search_type: `"hybrid"` (words and meaning), `"similarity"` (meaning alone:
                the score is the cosine), `"mmr"` or `"text"` (words alone). None is the
                first that the store can do: without an embedding it has words alone, and
                stores of other packages have similarity.
            filter: As the store takes it.
            **kwargs: Keywords of that search, such as `window` or `group_by`.

        Returns:
            Documents and scores, best first. From this package's stores, documents
            without any likeness (a score of at most 1e-10) are left out; the scores of
            others are their relevance.
        """
        return self.as_retriever(search_type=search_type).scored(
            query, k=k, filter=filter, **kwargs
        )

    async def aretrieve(
        self,
        query: str,
        k: int = DEFAULT_K,
        *,
        search_type: str | None = None,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """As `retrieve`, awaiting the embedder."""
        return await self.as_retriever(search_type=search_type).ascored(
            query, k=k, filter=filter, **kwargs
        )

    def explain(
        self,
        query: str,
        k: int = DEFAULT_K,
        *,
        search_type: str | None = None,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> Explanation:
        """Why `retrieve` finds what it finds; see `SQLiteVectorStore.explain`.

        Args:
            query: What to look for.
            k: As `retrieve`.
            search_type: As `retrieve`.
            filter: As `retrieve`.
            **kwargs: As `retrieve`, and `ids`: documents to account for.

        Raises:
            StorageError: The store is another package's, and cannot tell.
        """
        return self.as_retriever(search_type=search_type).explain(
            query, k=k, filter=filter, **kwargs
        )

    async def aexplain(
        self,
        query: str,
        k: int = DEFAULT_K,
        *,
        search_type: str | None = None,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> Explanation:
        """As `explain`, awaiting the embedder."""
        return await self.as_retriever(search_type=search_type).aexplain(
            query, k=k, filter=filter, **kwargs
        )

    def as_retriever(
        self,
        *,
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        search_type: str | None = None,
        **kwargs: Any,
    ) -> RagRetriever:
        """What `retrieve` finds, as a LangChain retriever.

        Args:
            k: How many documents.
            filter: Bound; one given to `invoke` narrows it.
            search_type: As `retrieve`.
            **kwargs: As `retrieve`; what no search reads raises `TypeError`.
        """
        refuse_unknown(
            "as_retriever",
            {key: None for key in kwargs if key not in SEARCH_KEYWORDS},
            ("k", "filter", "search_type", *SEARCH_KEYWORDS[2:]),
        )
        kind = default_search(self.store) if search_type is None else search_type
        check_search(self.store, kind)
        bound = kwargs if filter is None else {**kwargs, "filter": filter}
        return RagRetriever(
            vectorstore=self.store, search_type=kind, search_kwargs=bound, k=k, related=True
        )

    def as_chain(
        self,
        llm: Runnable[Any, Any],
        prompt: BasePromptTemplate[Any] | str | None = None,
        *,
        k: int = DEFAULT_K,
        filter: FilterLike = None,
    ) -> Runnable[Any, dict[str, Any]]:
        """A chain that answers questions from what is stored; it streams its tokens.

        Args:
            llm: A chat model or a language model.
            prompt: With `{context}` and `{question}`, and if wanted a placeholder
                `chat_history`; None for a short one.
            k: How many documents the answer may use.
            filter: Which documents it may use.

        Returns:
            A runnable. It takes the question as a string, or a dictionary with
            `question` (or `input`) and, if wanted, `chat_history`. It gives `question`,
            `context` (the documents) and `answer`.

        Example:
            ```python
            from langchain_core.language_models import FakeListChatModel

            from langchain_ragstore import HashingEmbeddings, RagPipeline, make_document

            pipeline = RagPipeline(HashingEmbeddings())
            pipeline.ingest([make_document("a", "Green tea wants 80 °C water.")])
            chain = pipeline.as_chain(FakeListChatModel(responses=["At 80 °C."]))
            assert chain.invoke("How hot for tea?")["answer"] == "At 80 °C."
            ```
        """
        return answering(self.as_retriever(k=k, filter=filter), llm, prompt)


def _check_same(embedding: Embeddings | str, store: VectorStore) -> None:
    known = store.embeddings
    if known is not embedding and known != embedding:
        raise EmbeddingMismatchError(
            f"the store embeds with {known!r}, the pipeline was given {embedding!r}; "
            "pass embedding=None to use the store's"
        )
