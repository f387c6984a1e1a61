"""Many collections, of users and kinds, in one file: opened, searched and unloaded."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakValueDictionary

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_ragstore.collection_names import Kinds, Naming
from langchain_ragstore.collection_search import (
    Part,
    Request,
    aanswer,
    answer,
)
from langchain_ragstore.config import (
    DEFAULT_COLLECTION,
    DEFAULT_KINDS,
    DEFAULT_RETRIEVED,
    DEFAULT_UNLOAD_SECONDS,
    KIND_WEIGHTS,
    MEMORY_BUDGET,
    OTHER_KIND_WEIGHT,
    RETRIEVED_KINDS,
)
from langchain_ragstore.errors import InvalidInputError, StoreClosedError
from langchain_ragstore.heap import give_back
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.numeric import number, whole
from langchain_ragstore.residency import Residency
from langchain_ragstore.retrievers import default_search
from langchain_ragstore.searching import Scored
from langchain_ragstore.vectorstores import SQLiteVectorStore

if TYPE_CHECKING:
    from langchain_ragstore.collection_retriever import CollectionRetriever

logger = logging.getLogger(__name__)

STORE_KEYWORDS: Final = (
    *("read_only", "check_model", "index_text", "id_factory", "text_analyzer"),
)
"""Keywords of a store that the manager takes for all of its stores."""


class CollectionManager:
    """Collections of many users and kinds in one file, in memory only while they are used.

    A collection is in memory from its first search on. It is unloaded when it was unused
    for `ttl_seconds`; where there is a `memory_budget`, the least recently used ones are,
    until the others fit. Both is looked after whenever a collection is opened or a search
    ends, and by `sweep()`. What a running search uses stays. Nothing is lost: a store that
    somebody holds loads its collection again at its next search.

    All stores share one pool of connections and one probe of the embedding model. The
    manager closes the file; a store's own `close()` only unloads its collection.

    Args:
        path: The file, made if absent; `":memory:"` for what vanishes with its process.
        embedding: As in `SQLiteVectorStore`.
        ttl_seconds: How long a collection stays in memory unused; `math.inf` for ever.
        memory_budget: Bytes that all collections may take while none is searched; one
            that alone takes more is loaded for every search. None for no limit.
        clock: Seconds, of any beginning, for `ttl_seconds`.
        kinds: The kinds of collections that there are: words without `_`.
        kind_weights: Factors for `retrieve` beside the default ones, which are 1.2 for
            `"important"` and 0.8 for all others.
        **keywords: `read_only`, `check_model`, `index_text`, `id_factory` and
            `text_analyzer` of `SQLiteVectorStore`, for all stores.

    Raises:
        InvalidInputError: A value that is none, or the path cannot be a database's.
        StorageError: The file cannot be opened; see its children.

    Example:
        ```python
        from langchain_ragstore import CollectionManager, HashingEmbeddings

        with CollectionManager("kb.db", HashingEmbeddings()) as manager:
            manager.get(user_id="ann").add_texts(["Ann drinks green tea."])
            manager.get("important", user_id="ann").add_texts(["Ann: no milk in tea!"])
            manager.get(user_id="bob").add_texts(["Bob drinks tea with milk."])
            found = manager.retrieve("tea", user_id="ann")
        assert [document.page_content for document, score in found] == [
            "Ann: no milk in tea!",
            "Ann drinks green tea.",
        ]
        ```
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        embedding: Embeddings | str | None = None,
        *,
        ttl_seconds: float = DEFAULT_UNLOAD_SECONDS,
        memory_budget: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        kinds: Iterable[str] = DEFAULT_KINDS,
        kind_weights: Mapping[str, float] | None = None,
        **keywords: Any,
    ) -> None:
        unknown = {key: None for key in keywords if key not in STORE_KEYWORDS}
        own = ("path", "embedding", "ttl_seconds", "memory_budget", "kinds", "kind_weights")
        refuse_unknown(type(self).__name__, unknown, (*own, *STORE_KEYWORDS))
        if isinstance(path, Embeddings):
            raise InvalidInputError(
                "the path comes first here: CollectionManager('kb.db', embedding)"
            )
        self._naming = Naming((kinds,) if isinstance(kinds, str) else tuple(kinds))
        self._weights = self._checked_weights(kind_weights or {})
        self._ttl = number("ttl_seconds", ttl_seconds, 0, finite=False)
        given = memory_budget
        self._budget = None if given is None else whole("memory_budget", given, 0)
        room = max(MEMORY_BUDGET, self._budget or 0)
        self._first = SQLiteVectorStore(embedding, path, memory_budget=room, **keywords)
        backend = self._first._backend  # noqa: SLF001 - all stores share the first one's
        self._database = self._first._database  # noqa: SLF001 - as above
        self._residency = Residency(
            backend.resident_bytes,
            backend.release,
            ttl=self._ttl,
            budget=self._budget,
            clock=clock,
            give_back=give_back,
        )
        self._stores: WeakValueDictionary[str, SQLiteVectorStore] = WeakValueDictionary()
        self._held: dict[str, SQLiteVectorStore] = {}
        self._lock = threading.Lock()
        self._database.on_fork(self._after_fork)

    # --- collections -------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The file, or `":memory:"`."""
        return self._first.path

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of collections that there are."""
        return self._naming.kinds

    @property
    def embeddings(self) -> Embeddings | None:
        """The embedding model of all stores, if they have one."""
        return self._first.embeddings

    def get(
        self, kind: str = DEFAULT_COLLECTION, *, user_id: str | None = None
    ) -> SQLiteVectorStore:
        """The store of a collection; this reads and writes nothing.

        Args:
            kind: One of `kinds`.
            user_id: Whose; None for what belongs to no user.

        Returns:
            A store on the collection `user_{user_id}_{kind}`, or `{kind}`; the same one as
            long as somebody holds it. It sees nothing of other collections, and its record
            managers and byte stores are its own.

        Raises:
            InvalidInputError: There is no such kind, or no user can have such an id.
            StoreClosedError: The manager is closed.
        """
        name = self._naming.name(kind, user_id)
        if self._database.closed:
            raise StoreClosedError(
                f"the collection manager of {self.path} is closed; open it anew"
            )
        with self._lock:
            store = self._stores.get(name)
            if store is None:
                store = self._stores[name] = self._first.beside(name, self)
                logger.debug("%s: opened %s", self.path, name)
        self._residency.note(name)
        return store

    # --- what is in memory -------------------------------------------------------------

    def using(self, collection: str) -> AbstractContextManager[None]:
        """While the block runs, a collection stays in memory; its store calls this.

        Args:
            collection: Its name, as everywhere below.
        """
        return self._residency.using(collection)

    def hold(self, store: SQLiteVectorStore) -> None:
        """Keep a store that has another model by now; it calls this."""
        self._held[store.collection_name] = store

    def unload(self, collection: str) -> None:
        """Free the memory of a collection, unless it is being searched."""
        self._residency.unload(collection)

    def sweep(self) -> list[str]:
        """Unload what was unused for too long, or exceeds the budget.

        Returns:
            Names of the collections that were unloaded.
        """
        swept = self._residency.sweep()
        logger.info("%s: unloaded %d collections", self.path, len(swept))
        return swept

    def stats(self) -> dict[str, Any]:
        """Facts about what is in memory.

        `loaded` has the bytes of each collection that was used and not unloaded since,
        the latest last; `in_use` names those that are being searched, and `unloaded` is
        how often one was unloaded so far.
        """
        loaded = self._residency.loaded()
        return {
            "path": self.path,
            "kinds": self.kinds,
            "loaded": loaded,
            "resident_bytes": sum(loaded.values()),
            "in_use": self._residency.in_use(),
            "unloaded": self._residency.unloaded,
            "memory_budget": self._budget,
            "ttl_seconds": self._ttl,
        }

    # --- retrieving ----------------------------------------------------------------------

    def retrieve(
        self,
        query: str,
        k: int = DEFAULT_RETRIEVED,
        *,
        user_id: str | None = None,
        kinds: Kinds = RETRIEVED_KINDS,
        importance_threshold: float = 0.0,
        **keywords: Any,
    ) -> Scored:
        """The `k` documents that fit a query best, from several kinds of collections.

        Every score is multiplied by the weight of its kind (`kind_weights`); one below 0
        stays as it is. Two documents of the same id and text are one result, the better.

        Args:
            query: What to look for; it is embedded once.
            k: How many. Twice as many are fetched from `"default"`.
            user_id: Whose collections; None for those of no user.
            kinds: Which of them; or a function of the query that names them, maybe none.
                Of equal scores, those of an earlier kind win.
            importance_threshold: Documents whose metadata `importance` (without a number:
                0) is below it are passed over.
            **keywords: `search_type` (by default `"hybrid"`, without an embedding
                `"text"`), and what that search takes, such as `filter`. A
                `score_threshold` is compared before weighting. Of `"mmr"` the choice
                remains, but not its order.

        Returns:
            The best first, each with its weighted score. With `with_scores=True`,
            `metadata["ragstore"]` tells `collection`, `kind` and `weight` of each, too.

        Raises:
            InvalidInputError: An unknown kind, or another value that is none.
            EmbeddingMismatchError: A collection's vectors are another model's.
        """
        request = Request(k, user_id, kinds, importance_threshold)
        return answer(query, self._parts(query, request, keywords), k)

    async def aretrieve(
        self,
        query: str,
        k: int = DEFAULT_RETRIEVED,
        *,
        user_id: str | None = None,
        kinds: Kinds = RETRIEVED_KINDS,
        importance_threshold: float = 0.0,
        **keywords: Any,
    ) -> Scored:
        """As `retrieve`, awaiting the embedder."""
        request = Request(k, user_id, kinds, importance_threshold)
        parts = await run_in_executor(None, self._parts, query, request, keywords)
        return await aanswer(query, parts, k)

    def as_retriever(self, **keywords: Any) -> CollectionRetriever:
        """A LangChain retriever over some kinds of one user's collections.

        Args:
            **keywords: `user_id`, `kinds`, `k`, `importance_threshold`, `search_type`,
                `search_kwargs` (what that search takes), and LangChain's `tags`,
                `metadata`, `name`.

        Returns:
            A retriever whose bounds a caller can narrow but not widen.

        Raises:
            TypeError: A keyword that nothing reads.
            InvalidInputError: An unknown kind, or an id that no user can have.
        """
        bounds = ("user_id", "kinds", "k", "importance_threshold", "search_type")
        known = (*bounds, "search_kwargs", "tags", "metadata", "name")
        unknown = {key: None for key in keywords if key not in known}
        refuse_unknown("as_retriever", unknown, known)
        # Pydantic takes long to build a model, for programs that may not use it.
        from langchain_ragstore.collection_retriever import (  # noqa: PLC0415 - see above
            CollectionRetriever,
        )

        kinds = self.bounds(keywords.get("user_id"), keywords.pop("kinds", RETRIEVED_KINDS))
        return CollectionRetriever(manager=self, kinds=kinds, **keywords)

    def bounds(self, user_id: str | None, kinds: Kinds) -> Kinds:
        """Kinds, each once, or a route, after a look whether they and the user can be.

        Raises:
            InvalidInputError: They cannot.
        """
        self._naming.name(self.kinds[0], user_id)
        return kinds if callable(kinds) else self._naming.some(kinds)

    def _parts(
        self, query: str, request: Request, keywords: Mapping[str, Any]
    ) -> list[Part]:
        """What is asked of each collection, checked before anything is embedded."""
        if not isinstance(query, str):
            raise InvalidInputError(f"a query is a string, got {type(query).__name__}")
        default = default_search(self._first)
        kinds = self._naming.some(self.bounds(request.user_id, request.kinds), query)
        searches = [(kind, request.search(kind, default, keywords)) for kind in kinds]
        stores = [self.get(kind, user_id=request.user_id) for kind, _ in searches]
        if request.k <= 0:
            return []
        return [
            Part(kind, self._weight(kind), store, search)
            for (kind, search), store in zip(searches, stores, strict=True)
        ]

    def _weight(self, kind: str) -> float:
        return self._weights.get(kind, OTHER_KIND_WEIGHT)

    def _checked_weights(self, given: Mapping[str, float]) -> dict[str, float]:
        own = {self._naming.kind(kind): weight for kind, weight in given.items()}
        for kind, weight in own.items():
            number(f"the weight of {kind!r}", weight, 0)
        return {**KIND_WEIGHTS, **own}

    # --- the file ------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file; any later use raises `StoreClosedError`. Twice is fine."""
        self._first.close()
        self._residency.forget()

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._residency.after_fork()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
