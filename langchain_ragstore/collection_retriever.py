"""LangChain's retriever over a user's collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, runtime_checkable

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from langchain_ragstore.collection_names import Kinds, named
from langchain_ragstore.collection_search import OF_SEARCH
from langchain_ragstore.config import DEFAULT_RETRIEVED, RETRIEVED_KINDS
from langchain_ragstore.documents import to_filter
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import both
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.searching import Scored, documents_of

_OF_CALL: Final = ("k", "kinds", "importance_threshold", "search_type", *OF_SEARCH)


@runtime_checkable
class Retrieving(Protocol):
    """What the retriever asks: a `CollectionManager`."""

    def retrieve(self, query: str, k: int, **keywords: Any) -> Scored:
        """See `CollectionManager.retrieve`."""

    async def aretrieve(self, query: str, k: int, **keywords: Any) -> Scored:
        """See `CollectionManager.aretrieve`."""

    def bounds(self, user_id: str | None, kinds: Kinds) -> Kinds:
        """See `CollectionManager.bounds`."""


class CollectionRetriever(BaseRetriever):
    """What `manager.as_retriever()` returns: `retrieve` with some keywords bound.

    A caller of `invoke` can narrow what is bound, never widen it: `kinds` must be among
    those bound (or among those that the bound route names for the query), `filter` holds
    beside the bound one, and of two values of `importance_threshold` the higher one holds.
    `user_id` cannot be given at all.

    Attributes:
        manager: Whose collections are searched.
        user_id: Of which user; None for what belongs to no user.
        kinds: Of which kinds; or a function of the query that names them.
        k: How many documents; one given to `invoke` wins.
        importance_threshold: As in `retrieve`.
        search_type: As in `retrieve`; one given to `invoke` wins.
        search_kwargs: Keywords of every search; those given to `invoke` win.

    Example:
        ```python
        from langchain_ragstore import CollectionManager, HashingEmbeddings

        manager = CollectionManager(":memory:", HashingEmbeddings())
        manager.get(user_id="ann").add_texts(["Ann drinks green tea."])
        manager.get(user_id="bob").add_texts(["Bob drinks black tea."])
        retriever = manager.as_retriever(user_id="ann", kinds=["default"])
        assert [d.page_content for d in retriever.invoke("tea")] == [
            "Ann drinks green tea."
        ]
        ```
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    manager: Retrieving
    user_id: str | None = Field(default=None, frozen=True)
    kinds: tuple[str, ...] | Callable[[str], Iterable[str] | str] = Field(
        default=RETRIEVED_KINDS, frozen=True
    )
    k: int = DEFAULT_RETRIEVED
    importance_threshold: float = 0.0
    search_type: str | None = None
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, values: dict[str, Any]) -> dict[str, Any]:
        given = dict(values.get("search_kwargs") or {})
        unknown = {key: None for key in given if key not in OF_SEARCH}
        refuse_unknown("search_kwargs", unknown, OF_SEARCH)
        manager, kinds = values.get("manager"), values.get("kinds", RETRIEVED_KINDS)
        if isinstance(manager, Retrieving):
            kinds = manager.bounds(values.get("user_id"), kinds)
        return {**values, "search_kwargs": given, "kinds": kinds}

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        k, keywords = self._merged(query, kwargs)
        return documents_of(self.manager.retrieve(query, k, **keywords))

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **kwargs: Any,
    ) -> list[Document]:
        # A route may take its time.
        k, keywords = await run_in_executor(None, self._merged, query, kwargs)
        return documents_of(await self.manager.aretrieve(query, k, **keywords))

    def _merged(self, query: str, given: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """What is asked in one call, within the bounds."""
        if "user_id" in given:
            raise InvalidInputError(
                f"this retriever is bound to user_id={self.user_id!r}, got user_id="
                f"{given['user_id']!r}; make one for each user: "
                "manager.as_retriever(user_id=...)"
            )
        refuse_unknown("invoke", {k: None for k in given if k not in _OF_CALL}, _OF_CALL)
        merged = {**self.search_kwargs, **given}
        filters = self.search_kwargs.get("filter"), given.get("filter")
        merged |= {
            "user_id": self.user_id,
            "kinds": self._kinds(query, given.get("kinds")),
            "importance_threshold": self._least(given.get("importance_threshold")),
            "search_type": given.get("search_type") or self.search_type,
        }
        if any(filter is not None for filter in filters):
            merged["filter"] = both(*map(to_filter, filters))
        return merged.pop("k", self.k), merged

    def _kinds(self, query: str, given: Kinds | None) -> Kinds:
        if given is None:
            return self.kinds
        bound, wanted = named(self.kinds, query), named(given, query)
        for kind in wanted:
            if kind not in bound:
                raise InvalidInputError(
                    f"this retriever is bound to the kinds {', '.join(bound)}, got "
                    f"{kind!r}; make one for it: manager.as_retriever(kinds=...)"
                )
        # What a route said is not asked twice: it could say more.
        return (lambda _query: wanted) if callable(given) else wanted

    def _least(self, given: float | None) -> float:
        if given is None:
            return self.importance_threshold
        # What is no number is refused where it is read.
        return given if not given < self.importance_threshold else self.importance_threshold
