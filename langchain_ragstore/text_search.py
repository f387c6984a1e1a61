"""Full-text and hybrid search: the words of a query, alone or beside its meaning."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document

from langchain_ragstore.config import DEFAULT_K
from langchain_ragstore.documents import FilterLike
from langchain_ragstore.searching import Scored, Searcher, documents_of


class TextSearch(Searcher):
    """Searches that read words; a store mixes them in beside those by vector."""

    # --- by words --------------------------------------------------------------

    def text_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents that hold the words of a query best, by BM25.

        Words of alphabetic scripts are compared after case folding and, in English,
        without their endings; Chinese, Japanese and Korean by pairs of characters. No
        embedding is needed. Any string is a valid query.

        Args:
            query: Words.
            k: How many at most; a document without any of the words is no hit.
            filter: As in `similarity_search`.
            **kwargs: `score_threshold` (least score), `with_scores`, `window`,
                `group_by`, `per_group`, `core_tags`, `reranker`, `retrieval_config`,
                `fetch_k`, as in `similarity_search`.

        Returns:
            The best first; equal ones by id.
        """
        return documents_of(self.text_search_with_score(query, k, filter, **kwargs))

    async def atext_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """As `text_search`, off the event loop."""
        return documents_of(await self.atext_search_with_score(query, k, filter, **kwargs))

    def text_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> Scored:
        """As `text_search`, each with its score in [0, 1].

        The score is BM25 divided by the most that any document could reach for the
        query, so that scores of different queries can be compared.
        """
        keywords = {"k": k, "filter": filter, **kwargs}
        return self._searched(query, "text", keywords)

    async def atext_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> Scored:
        """As `text_search_with_score`, off the event loop."""
        keywords = {"k": k, "filter": filter, **kwargs}
        return await self._asearched(query, "text", keywords)

    # --- by words and meaning --------------------------------------------------

    def hybrid_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents that fit a query best by its words and its meaning.

        Args:
            query: Embedded as a query, and read as words.
            k: How many.
            filter: As in `similarity_search`.
            **kwargs: `fusion` (`"weighted"`, the default, or `"rrf"`), `weights`
                (`{"dense": 0.3, "text": 0.7}`, and by default less for text where
                the query is in another script than what fits its meaning; what is given
                is obeyed), `rrf_k` (60), `fetch_k` (candidates
                of each leg, 50), `lambda_mult` (choose from the candidates by maximal
                marginal relevance; 1 is by score alone), `score_threshold` (least
                score), `with_scores`, `exact` (of the search by meaning), `window`,
                `group_by`, `per_group`, `core_tags`, `reranker`, `retrieval_config`, as
                in `similarity_search`.

        Returns:
            The best first, equal ones by id; with `lambda_mult`, in the order of choice.
        """
        return documents_of(self.hybrid_search_with_score(query, k, filter, **kwargs))

    async def ahybrid_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """As `hybrid_search`, awaiting the embedder."""
        found = await self.ahybrid_search_with_score(query, k, filter, **kwargs)
        return documents_of(found)

    def hybrid_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> Scored:
        """As `hybrid_search`, each with its score in [0, 1].

        Weighted, the score depends on query, document and collection alone, not on how
        many candidates were fetched; see `retrieval.fuse`.
        """
        keywords = {"k": k, "filter": filter, **kwargs}
        return self._searched(query, "hybrid", keywords)

    async def ahybrid_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> Scored:
        """As `hybrid_search_with_score`, awaiting the embedder."""
        keywords = {"k": k, "filter": filter, **kwargs}
        return await self._asearched(query, "hybrid", keywords)
