"""From documents to answers: ingest, retrieve, and a chain, over any vector store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_text_splitters import TextSplitter
from pydantic import ConfigDict
from typing_extensions import override

from langchain_ragstore import foreign
from langchain_ragstore.chains import answering
from langchain_ragstore.config import DEFAULT_K, LEAST_SIMILARITY
from langchain_ragstore.documents import FilterLike, to_filter
from langchain_ragstore.errors import EmbeddingMismatchError, InvalidInputError
from langchain_ragstore.filters import both
from langchain_ragstore.ingester import Ingester
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.vectorstores import BackendVectorStore, SQLiteVectorStore, relevance

_RETRIEVER_KEYWORDS: Final = ("k", "filter", "search_type")

Scored: TypeAlias = list[tuple[Document, float]]

_OTHERS_SEARCH: Final = "similarity"
"""What stores of other packages can do."""


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
    ) -> list[tuple[Document, float]]:
        """Find the documents that fit a query.

        Args:
            query: A blank one finds nothing.
            k: How many at most.
            search_type: `"hybrid"` (words and meaning), `"similarity"` (meaning alone:
                the score is the cosine) or `"text"` (words alone). None is the first
                that the store can do: without an embedding it has words alone, and
                stores of other packages have similarity.
            filter: As the store takes it.

        Returns:
            Documents and scores, best first. From this package's stores, documents
            without any likeness (a score of at most 1e-10) are left out; the scores of
            others are their relevance.
        """
        if not _wanted(query):
            return []
        if isinstance(self.store, BackendVectorStore):
            search = _own_searches(self.store, search_type)[0]
            return _alike(search(query, k, filter))
        _check_others(search_type)
        if isinstance(self.store, InMemoryVectorStore):  # it has cosines, no relevance
            return _relevant(
                self.store.similarity_search_with_score(query, k, **_function(filter))
            )
        keywords = {} if filter is None else {"filter": filter}
        with foreign.named_errors(self.store):
            return self.store.similarity_search_with_relevance_scores(query, k, **keywords)

    async def aretrieve(
        self,
        query: str,
        k: int = DEFAULT_K,
        *,
        search_type: str | None = None,
        filter: FilterLike = None,
    ) -> list[tuple[Document, float]]:
        """As `retrieve`, awaiting the embedder."""
        if not _wanted(query):
            return []
        if isinstance(self.store, BackendVectorStore):
            search = _own_searches(self.store, search_type)[1]
            return _alike(await search(query, k, filter))
        _check_others(search_type)
        if isinstance(self.store, InMemoryVectorStore):
            return _relevant(
                await self.store.asimilarity_search_with_score(
                    query, k, **_function(filter)
                )
            )
        keywords = {} if filter is None else {"filter": filter}
        with foreign.named_errors(self.store):
            return await self.store.asimilarity_search_with_relevance_scores(
                query, k, **keywords
            )

    def as_retriever(
        self,
        *,
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        search_type: str | None = None,
        **unknown: Any,
    ) -> PipelineRetriever:
        """What `retrieve` finds, as a LangChain retriever.

        Args:
            k: How many documents.
            filter: Bound; one given to `invoke` narrows it.
            search_type: As `retrieve`.
            **unknown: None is read; any raises `TypeError`.
        """
        refuse_unknown("as_retriever", unknown, _RETRIEVER_KEYWORDS)
        return PipelineRetriever(pipeline=self, k=k, filter=filter, search_type=search_type)

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


class PipelineRetriever(BaseRetriever):
    """What `RagPipeline.as_retriever()` returns.

    Attributes:
        pipeline: What is asked.
        k: How many documents; `invoke(query, k=...)` wins.
        filter: Which documents; one given to `invoke` narrows it.
        search_type: As `RagPipeline.retrieve`; one given to `invoke` wins.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    pipeline: Any
    k: int = DEFAULT_K
    filter: Any = None
    search_type: str | None = None

    def _keywords(self, given: Mapping[str, Any]) -> dict[str, Any]:
        unknown = {key: None for key in given if key not in _RETRIEVER_KEYWORDS}
        refuse_unknown("invoke", unknown, _RETRIEVER_KEYWORDS)
        filter = _narrowed(self.pipeline.store, self.filter, given.get("filter"))
        own = {"k": self.k, "search_type": self.search_type}
        return {**own, **given, "filter": filter}

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        found = self.pipeline.retrieve(query, **self._keywords(kwargs))
        return [document for document, _ in found]

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **kwargs: Any,
    ) -> list[Document]:
        found = await self.pipeline.aretrieve(query, **self._keywords(kwargs))
        return [document for document, _ in found]


def _narrowed(store: VectorStore, bound: Any, given: Any) -> Any:
    if bound is None or given is None:
        return bound if given is None else given
    if isinstance(store, (BackendVectorStore, InMemoryVectorStore)):
        return both(to_filter(bound), to_filter(given))
    return foreign.narrowed(store, bound, given)


def _function(filter: FilterLike) -> dict[str, Any]:
    """The filter of `InMemoryVectorStore`, which takes functions alone, as a keyword."""
    if filter is None:
        return {}
    where = to_filter(filter)
    return {"filter": lambda d: where.matches(str(d.id), d.page_content, d.metadata)}


def _check_same(embedding: Embeddings | str, store: VectorStore) -> None:
    known = store.embeddings
    if known is not embedding and known != embedding:
        raise EmbeddingMismatchError(
            f"the store embeds with {known!r}, the pipeline was given {embedding!r}; "
            "pass embedding=None to use the store's"
        )


def _wanted(query: str) -> bool:
    if not isinstance(query, str):
        raise InvalidInputError(f"a query is a string, got {type(query).__name__}")
    return bool(query.strip())


def _own_searches(
    store: BackendVectorStore, search_type: str | None
) -> tuple[Callable[..., Scored], Callable[..., Awaitable[Scored]]]:
    """The search of a kind, sync and async."""
    searches = {
        "hybrid": (store.hybrid_search_with_score, store.ahybrid_search_with_score),
        "similarity": (
            store.similarity_search_with_score,
            store.asimilarity_search_with_score,
        ),
        "text": (store.text_search_with_score, store.atext_search_with_score),
    }
    if search_type is None:
        search_type = "text" if store.embeddings is None else "hybrid"
    if search_type not in searches:
        raise InvalidInputError(
            f"search_type is one of {', '.join(searches)}, got {search_type!r}"
        )
    return searches[search_type]


def _check_others(search_type: str | None) -> None:
    if search_type not in (None, _OTHERS_SEARCH):
        raise InvalidInputError(
            f"a store of another package has search_type={_OTHERS_SEARCH!r} alone, got "
            f"{search_type!r}"
        )


def _alike(found: Scored) -> Scored:
    return [(document, score) for document, score in found if score > LEAST_SIMILARITY]


def _relevant(found: list[tuple[Document, float]]) -> list[tuple[Document, float]]:
    return [(document, relevance(score)) for document, score in found]
