"""The retriever: LangChain's face of a search, over this package's stores and others."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any, ClassVar, Final

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import model_validator
from typing_extensions import override

from langchain_ragstore import foreign
from langchain_ragstore.config import LEAST_SIMILARITY
from langchain_ragstore.documents import to_filter
from langchain_ragstore.errors import InvalidInputError, StorageError
from langchain_ragstore.filters import both
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.notebook.explanation import Explanation
from langchain_ragstore.retrieval.settings import RetrievalConfig
from langchain_ragstore.search_request import KINDS, SEARCH_KEYWORDS, known_kind
from langchain_ragstore.searching import Scored, Searcher, documents_of
from langchain_ragstore.stage_request import (
    STAGE_KEYWORDS,
    to_config,
    to_reranker,
    to_tags,
)

_OTHERS_SEARCH: Final = "similarity"
"""What stores of other packages can do."""

_LEAST_SCORE: Final = math.nextafter(LEAST_SIMILARITY, 1)
"""The least score of what is not unrelated."""


class RagRetriever(VectorStoreRetriever):
    """What `store.as_retriever()` and `pipeline.as_retriever()` return.

    It differs from LangChain's own: a filter given to `invoke` narrows the one that the
    retriever was made with (LangChain replaces it, so that a caller could widen what a
    user may see); keywords that no search reads are refused; `k` may be given directly;
    and it explains its results.

    Over a store of another package it searches by similarity. It takes `k`, `filter`,
    `score_threshold`, `with_scores`, `core_tags`, `reranker`, and of `retrieval_config`
    what needs no vectors, and says so if it is asked for more.

    Attributes:
        vectorstore: What is searched.
        search_type: `"similarity"`, `"similarity_score_threshold"`, `"mmr"`, `"text"` or
            `"hybrid"`; one given to `invoke` wins. By default the best that the store
            can do: `"hybrid"`, without an embedding `"text"`, and of other packages'
            stores `"similarity"`. (`store.as_retriever()` is LangChain's, and sets
            `"similarity"`.)
        search_kwargs: Passed to every search.
        k: How many documents; None for the search's default. A `k` given to `invoke`
            wins over this one, and this one over that of `search_kwargs`.
        related: Whether documents without any likeness to the query (a score of at most
            1e-10) are left out, and everything for a blank query, as `RagPipeline` does.
            Scores of other packages' stores are not cut.
        retrieval_config: What else is done to what is found; None for nothing. This,
            `core_tags` and `reranker` may be given to `invoke`, too, where they win.
        core_tags: Documents that have one of these tags, or are core by themselves, rank
            higher.
        reranker: A `BaseCrossEncoder`; a function, also an async one, of the query and a
            list of texts that gives their scores; or an `Embeddings`. It orders the first
            candidates; if it fails or takes too long, they stay as they are.

    Example:
        ```python
        from langchain_ragstore import HashingEmbeddings, RagRetriever, SQLiteVectorStore

        store = SQLiteVectorStore(HashingEmbeddings())
        store.add_texts(["red apple", "green tea"], [{"user": "ann"}, {"user": "bob"}])
        retriever = RagRetriever(
            vectorstore=store, search_kwargs={"filter": {"user": "ann"}}
        )
        assert [d.page_content for d in retriever.invoke("tea", k=2)] == ["red apple"]
        assert retriever.search_type == "hybrid"
        ```
    """

    allowed_search_types: ClassVar[Collection[str]] = tuple(KINDS)

    k: int | None = None
    related: bool = False
    retrieval_config: RetrievalConfig | None = None
    core_tags: tuple[str, ...] | None = None
    reranker: Any = None

    @model_validator(mode="before")
    @classmethod
    def _check_search_kwargs(cls, values: dict[str, Any]) -> dict[str, Any]:
        fields = cls.model_fields
        refuse_unknown(
            "RagRetriever", {key: None for key in values if key not in fields}, fields
        )
        search_kwargs = dict(values.get("search_kwargs") or {})
        unknown = {key: None for key in search_kwargs if key not in SEARCH_KEYWORDS}
        refuse_unknown("search_kwargs", unknown, SEARCH_KEYWORDS)
        threshold = search_kwargs.get("score_threshold")
        if isinstance(threshold, Real) and not isinstance(threshold, bool):
            search_kwargs["score_threshold"] = float(threshold)  # LangChain wants a float
        search_type = values.get("search_type")
        if search_type is None:
            search_type = default_search(values.get("vectorstore"))
        tags, given = values.get("core_tags"), values.get("retrieval_config")
        to_reranker(values.get("reranker"))
        return {
            **values,
            "search_type": search_type,
            "search_kwargs": search_kwargs,
            "core_tags": None if tags is None else to_tags(tags),
            "retrieval_config": None if given is None else to_config(given),
        }

    # --- searching -------------------------------------------------------------------

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return documents_of(self.scored(query, **kwargs))

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **kwargs: Any,
    ) -> list[Document]:
        return documents_of(await self.ascored(query, **kwargs))

    def scored(self, query: str, **kwargs: Any) -> Scored:
        """What `invoke` finds, each document with its score.

        Args:
            query: What to look for.
            **kwargs: As `invoke` takes them: `search_type`, and the search's keywords.
        """
        search_type, keywords = self._merged("invoke", kwargs)
        if self._is_blank(query):
            return []
        if isinstance(self.vectorstore, Searcher):
            return self.vectorstore.search_with_score(query, search_type, **keywords)
        from langchain_ragstore.foreign_stages import staged  # noqa: PLC0415 - at first use

        stages = staged(self.vectorstore, keywords)
        found = foreign.scored(self.vectorstore, query, **keywords)
        return stages.result(found, query)

    async def ascored(self, query: str, **kwargs: Any) -> Scored:
        """As `scored`, awaiting the store."""
        search_type, keywords = self._merged("invoke", kwargs)
        if self._is_blank(query):
            return []
        if isinstance(self.vectorstore, Searcher):
            store = self.vectorstore
            return await store.asearch_with_score(query, search_type, **keywords)
        from langchain_ragstore.foreign_stages import staged  # noqa: PLC0415 - at first use

        stages = staged(self.vectorstore, keywords)
        found = await foreign.ascored(self.vectorstore, query, **keywords)
        return await run_in_executor(None, stages.result, found, query)

    # --- why -------------------------------------------------------------------------

    def explain(self, query: str, **kwargs: Any) -> Explanation:
        """Why `invoke(query, **kwargs)` finds what it finds; see `store.explain`.

        Args:
            query: What to look for.
            **kwargs: As `invoke`, and `ids`: documents to account for.

        Raises:
            StorageError: The store is another package's, and cannot tell.
        """
        store, search_type, keywords = self._explaining(kwargs)
        return store.explain(query, search_type=search_type, **keywords)

    async def aexplain(self, query: str, **kwargs: Any) -> Explanation:
        """As `explain`, awaiting the embedder."""
        store, search_type, keywords = self._explaining(kwargs)
        return await store.aexplain(query, search_type=search_type, **keywords)

    def _explaining(self, given: dict[str, Any]) -> tuple[Searcher, str, dict[str, Any]]:
        ids = given.pop("ids", ())
        search_type, keywords = self._merged("explain", given)
        if not isinstance(self.vectorstore, Searcher):
            raise StorageError(
                f"{type(self.vectorstore).__name__} cannot explain its results; this "
                "package's stores can"
            )
        return self.vectorstore, search_type, {**keywords, "ids": ids}

    # --- keywords --------------------------------------------------------------------

    def _merged(
        self, function: str, given: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Kind and keywords of one search, from what is bound here and what is given."""
        known = _keywords(self.vectorstore)
        refuse_unknown(function, {key: None for key in given if key not in known}, known)
        refuse_unknown(
            "search_kwargs",
            {key: None for key in self.search_kwargs if key not in known},
            known,
        )
        search_type = given.get("search_type") or self.search_type
        check_search(self.vectorstore, search_type)
        bound = {name: getattr(self, name) for name in ("k", *STAGE_KEYWORDS)}
        own = {name: value for name, value in bound.items() if value is not None}
        merged = {**self.search_kwargs, **own, **given}
        merged.pop("search_type", None)
        filters = self.search_kwargs.get("filter"), given.get("filter")
        if any(filter is not None for filter in filters):
            merged["filter"] = _narrowed(self.vectorstore, *filters)
        if self.related and isinstance(self.vectorstore, Searcher):
            merged["score_threshold"] = _at_least(merged.get("score_threshold"))
        return search_type, merged

    def _is_blank(self, query: str) -> bool:
        if not isinstance(query, str):
            raise InvalidInputError(f"a query is a string, got {type(query).__name__}")
        return self.related and not query.strip()


def default_search(store: VectorStore | None) -> str:
    """The best kind of search that a store can do."""
    if not isinstance(store, Searcher):
        return _OTHERS_SEARCH
    return "text" if store.embeddings is None else "hybrid"


def check_search(store: VectorStore, search_type: str) -> None:
    """Refuse a kind of search that a store does not know.

    Raises:
        InvalidInputError: There is no such search, or not there.
    """
    if isinstance(store, Searcher):
        known_kind(search_type)
    elif search_type != _OTHERS_SEARCH:
        raise InvalidInputError(
            f"a store of another package has search_type={_OTHERS_SEARCH!r} alone, got "
            f"{search_type!r}"
        )


def _keywords(store: VectorStore) -> tuple[str, ...]:
    own = isinstance(store, Searcher)
    return (*(SEARCH_KEYWORDS if own else foreign.SEARCH_KEYWORDS), "search_type")


def _at_least(threshold: Any) -> Any:
    """A threshold that leaves out what is unrelated, too; what is none stays as it is."""
    if threshold is None:
        return _LEAST_SCORE
    comparable = isinstance(threshold, Real) and not isinstance(threshold, bool)
    return _LEAST_SCORE if comparable and threshold < _LEAST_SCORE else threshold


def _narrowed(store: VectorStore, bound: Any, given: Any) -> Any:
    if isinstance(store, Searcher):
        return both(to_filter(bound), to_filter(given))
    if bound is None or given is None:
        return bound if given is None else given
    return foreign.narrowed(store, bound, given)
