"""Full-text and hybrid search: the words of a query, alone or beside its meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor

from langchain_ragstore.config import DEFAULT_K
from langchain_ragstore.document_store import DocumentStore
from langchain_ragstore.documents import (
    FilterLike,
    to_count,
    to_document,
    to_filter,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import both
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.model import Hit, ranked
from langchain_ragstore.retrieval.hybrid import Fusion, hybrid
from langchain_ragstore.search_request import (
    FUSION_KEYWORDS,
    SEARCH_KEYWORDS,
    Search,
    to_fusion,
    to_threshold,
)
from langchain_ragstore.vectors.arrays import unit_vector

HYBRID_KEYWORDS: Final = (*SEARCH_KEYWORDS, *FUSION_KEYWORDS)


class TextSearch(DocumentStore):
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
            **kwargs: `score_threshold` (least score), `with_scores` (whether results
                carry `relevance_score` and `ragstore` in their metadata).

        Returns:
            The best first; equal ones by id.
        """
        return _documents(self.text_search_with_score(query, k, filter, **kwargs))

    async def atext_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """As `text_search`, off the event loop."""
        return _documents(await self.atext_search_with_score(query, k, filter, **kwargs))

    def text_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As `text_search`, each with its score in [0, 1].

        The score is BM25 divided by the most that any document could reach for the
        query, so that scores of different queries can be compared.
        """
        search = self._search("text_search", k, filter, kwargs)
        return self._by_words(query, search)

    async def atext_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As `text_search_with_score`, off the event loop."""
        search = self._search("text_search", k, filter, kwargs)
        return await run_in_executor(None, self._by_words, query, search)

    def _by_words(self, query: str, search: Search) -> list[tuple[Document, float]]:
        terms = self._analyzer.query_terms(_checked(query))
        hits = self._backend.lexical(
            self.collection_name, terms, search.k, where=search.where
        )
        if not hits:
            return []
        top = self._backend.lexical_scores(self.collection_name, terms, ()).reachable
        return _results(
            ranked(replace(hit, score=min(1.0, hit.score / top)) for hit in hits), search
        )

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
                (`{"dense": 0.35, "text": 0.65}`), `rrf_k` (60), `fetch_k` (candidates
                of each leg, 50), `score_threshold` (least score), `with_scores`.

        Returns:
            The best first; equal ones by id.
        """
        return _documents(self.hybrid_search_with_score(query, k, filter, **kwargs))

    async def ahybrid_search(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[Document]:
        """As `hybrid_search`, awaiting the embedder."""
        return _documents(await self.ahybrid_search_with_score(query, k, filter, **kwargs))

    def hybrid_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As `hybrid_search`, each with its score in [0, 1].

        Weighted, the score depends on query, document and collection alone, not on how
        many candidates were fetched; see `retrieval.fuse`.
        """
        search, fusion = self._hybrid(k, filter, kwargs)
        return self._fused(query, self._embedder.embed_query(query), search, fusion)

    async def ahybrid_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: FilterLike = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As `hybrid_search_with_score`, awaiting the embedder."""
        search, fusion = self._hybrid(k, filter, kwargs)
        vector = await self._embedder.aembed_query(query)
        return await run_in_executor(None, self._fused, query, vector, search, fusion)

    def _hybrid(
        self, k: int, filter: FilterLike, keywords: Mapping[str, Any]
    ) -> tuple[Search, Fusion]:
        unknown = {key: None for key in keywords if key not in HYBRID_KEYWORDS}
        refuse_unknown("hybrid_search", unknown, HYBRID_KEYWORDS)
        own = {key: value for key, value in keywords.items() if key in SEARCH_KEYWORDS}
        return self._search("hybrid_search", k, filter, own), to_fusion(keywords)

    def _fused(
        self, query: str, embedding: Sequence[float], search: Search, fusion: Fusion
    ) -> list[tuple[Document, float]]:
        hits = hybrid(
            self._backend,
            self.collection_name,
            unit_vector(embedding),
            self._analyzer.query_terms(query),
            search.k,
            fusion=fusion,
            where=search.where,
        )
        return _results(hits, search)

    # --- what all searches share -----------------------------------------------

    def _search(
        self, function: str, k: int, filter: FilterLike, keywords: Mapping[str, Any]
    ) -> Search:
        """Check what is asked for, before the embedder is called for it."""
        unknown = {key: None for key in keywords if key not in SEARCH_KEYWORDS}
        refuse_unknown(function, unknown, SEARCH_KEYWORDS)
        where = both(self._scope.where, to_filter(filter))
        threshold = to_threshold(keywords.get("score_threshold"))
        return Search(
            to_count("k", k), where, threshold, bool(keywords.get("with_scores", False))
        )


def _checked(query: str) -> str:
    if not isinstance(query, str):
        raise InvalidInputError(f"a query is a string, got {type(query).__name__}")
    return query


def _documents(scored: Sequence[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in scored]


def _results(hits: Sequence[Hit], search: Search) -> list[tuple[Document, float]]:
    return [
        (marked(hit) if search.marked else to_document(hit.record), hit.score)
        for hit in hits
        if search.threshold is None or hit.score >= search.threshold
    ]


def marked(hit: Hit) -> Document:
    """A result that says how it was found: `relevance_score`, and `ragstore` in detail."""
    document = to_document(hit.record)
    document.metadata["relevance_score"] = hit.score
    document.metadata["ragstore"] = dict(hit.signals)
    return document
