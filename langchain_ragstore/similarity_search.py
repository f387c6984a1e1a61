"""LangChain's searches by vector: the nearest, and the nearest that differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from typing_extensions import override

from langchain_ragstore.config import DEFAULT_FETCH_K, DEFAULT_K, DEFAULT_LAMBDA_MULT
from langchain_ragstore.documents import FilterLike
from langchain_ragstore.retrieval.cut import relevance
from langchain_ragstore.searching import Scored, documents_of
from langchain_ragstore.text_search import TextSearch


class SimilaritySearch(TextSearch):
    """Searches by vector, under the names that LangChain gives them."""

    # --- the nearest -----------------------------------------------------------------

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
                `with_scores` (whether results carry `relevance_score` and `ragstore`),
                `exact` (whether none of the most similar may be missed; otherwise one in
                a hundred may be, in large collections), `window` (how many chunks before
                and after a result are joined to it), `group_by` (a metadata key; a tuple
                for a nested one) and `per_group` (how many results may have the same
                value there, 1). `core_tags`, `reranker` and `retrieval_config` choose
                from `fetch_k` candidates; see `RagRetriever`.

        Returns:
            The most similar first; equal ones by id.
        """
        return documents_of(self.similarity_search_with_score(query, k, filter, **kwargs))

    @override
    async def asimilarity_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """As `similarity_search`, awaiting the embedder."""
        found = await self.asimilarity_search_with_score(query, k, filter, **kwargs)
        return documents_of(found)

    @override
    def similarity_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> Scored:
        """As `similarity_search`, each document with its cosine in [-1, 1]."""
        keywords = {"k": k, "filter": filter, **kwargs}
        return self._searched(query, "similarity", keywords)

    @override
    async def asimilarity_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> Scored:
        """As `similarity_search_with_score`, awaiting the embedder."""
        keywords = {"k": k, "filter": filter, **kwargs}
        return await self._asearched(query, "similarity", keywords)

    @override
    def similarity_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As `similarity_search`, for a query that is already embedded."""
        return documents_of(
            self.similarity_search_with_score_by_vector(embedding, k, filter, **kwargs)
        )

    def similarity_search_with_score_by_vector(
        self,
        embedding: Sequence[float],
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> Scored:
        """As `similarity_search_with_score`, for a query that is already embedded."""
        return self._by_vector(
            embedding, "similarity", {"k": k, "filter": filter, **kwargs}
        )

    async def asimilarity_search_with_score_by_vector(
        self,
        embedding: Sequence[float],
        k: int = DEFAULT_K,
        filter: FilterLike = None,
        **kwargs: Any,
    ) -> Scored:
        """As `similarity_search_with_score_by_vector`, off the event loop."""
        keywords = {"k": k, "filter": filter, **kwargs}
        return await run_in_executor(
            None, self._by_vector, embedding, "similarity", keywords
        )

    @override
    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return relevance

    # --- the nearest that differ -------------------------------------------------------

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
            **kwargs: `score_threshold`, `with_scores`, `exact`, `window`, `group_by`,
                `per_group`, `core_tags`, `reranker` and `retrieval_config`, as in
                `similarity_search`.

        Returns:
            In the order of choice.
        """
        given = _mmr(k, fetch_k, lambda_mult, filter)
        return documents_of(self._searched(query, "mmr", {**given, **kwargs}))

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
        given = _mmr(k, fetch_k, lambda_mult, filter)
        return documents_of(await self._asearched(query, "mmr", {**given, **kwargs}))

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
        given = _mmr(k, fetch_k, lambda_mult, filter)
        return documents_of(self._by_vector(embedding, "mmr", {**given, **kwargs}))


def _mmr(k: int, fetch_k: int, lambda_mult: float, filter: FilterLike) -> dict[str, Any]:
    return {"k": k, "fetch_k": fetch_k, "lambda_mult": lambda_mult, "filter": filter}
