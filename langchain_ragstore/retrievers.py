"""Retrievers over this package's stores."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Real
from typing import Any, ClassVar, Final

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStoreRetriever
from pydantic import model_validator
from typing_extensions import override

from langchain_ragstore.documents import to_filter
from langchain_ragstore.filters import both
from langchain_ragstore.keywords import refuse_unknown

SEARCH_KEYWORDS: Final = (
    *("k", "filter", "score_threshold", "with_scores", "fetch_k", "lambda_mult"),
    *("fusion", "weights", "rrf_k"),
)
"""What `search_kwargs` and the keywords of `invoke` may hold."""


class StoreRetriever(VectorStoreRetriever):
    """What `store.as_retriever()` returns.

    It differs from LangChain's own in three ways. A filter given to `invoke` narrows
    the one that the retriever was made with (LangChain replaces it, so that a caller
    could widen what a user may see). Keywords that no search reads are refused. `k` may
    be given directly.

    Attributes:
        k: How many documents; None for the search's default. A `k` given to `invoke`
            wins over this one, and this one over that of `search_kwargs`.
        search_type: `"similarity"`, `"similarity_score_threshold"`, `"mmr"`, `"text"` or
            `"hybrid"`.
        search_kwargs: Passed to every search.

    Example:
        ```python
        from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

        store = SQLiteVectorStore(HashingEmbeddings())
        store.add_texts(["red apple", "green tea"], [{"user": "ann"}, {"user": "bob"}])
        retriever = store.as_retriever(search_kwargs={"filter": {"user": "ann"}})
        assert [d.page_content for d in retriever.invoke("tea", k=2)] == ["red apple"]
        ```
    """

    allowed_search_types: ClassVar[Collection[str]] = (
        "similarity",
        "similarity_score_threshold",
        "mmr",
        "text",
        "hybrid",
    )

    k: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_search_kwargs(cls, values: dict[str, Any]) -> dict[str, Any]:
        search_kwargs = dict(values.get("search_kwargs") or {})
        unknown = {key: None for key in search_kwargs if key not in SEARCH_KEYWORDS}
        refuse_unknown("search_kwargs", unknown, SEARCH_KEYWORDS)
        threshold = search_kwargs.get("score_threshold")
        if isinstance(threshold, Real) and not isinstance(threshold, bool):
            search_kwargs["score_threshold"] = float(threshold)  # LangChain wants a float
        return {**values, "search_kwargs": search_kwargs}

    def _merged(self, given: dict[str, Any]) -> dict[str, Any]:
        """Keywords of one search from those bound here and those given to `invoke`."""
        unknown = {key: None for key in given if key not in SEARCH_KEYWORDS}
        refuse_unknown("invoke", unknown, SEARCH_KEYWORDS)
        own = {} if self.k is None else {"k": self.k}
        merged = self.search_kwargs | own | given
        filters = [search.get("filter") for search in (self.search_kwargs, given)]
        if any(filter is not None for filter in filters):
            merged["filter"] = both(to_filter(filters[0]), to_filter(filters[1]))
        return merged

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self.vectorstore.search(query, self.search_type, **self._merged(kwargs))

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **kwargs: Any,
    ) -> list[Document]:
        return await self.vectorstore.asearch(
            query, self.search_type, **self._merged(kwargs)
        )
