"""The record manager of LangChain's `index()`, in the file of the store."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

from langchain_core.indexing import RecordManager
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from typing_extensions import override

from langchain_ragstore.documents import to_count, to_ids, to_name
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.numeric import number
from langchain_ragstore.storage.sqlite.connection import Database
from langchain_ragstore.storage.sqlite.lease import Lease, Tenant
from langchain_ragstore.storage.sqlite.ledger import Ledger

CONSTRUCTOR_KEYWORDS: Final = ("namespace", "path", "store", "clock")


class SQLiteRecordManager(Tenant, RecordManager):
    """What `index()` has written, and when; any number of processes may use it at once.

    Times only go forward, across processes and restarts and whatever the clocks do: a
    key that was updated before a `get_time()` is earlier than it, one updated after is
    later. With a store, a key exists only if the store holds its document, too, so that
    documents which left the store by another way are indexed again.

    Args:
        namespace: Managers with different namespaces know nothing of each other.
        path: A file, made if absent; a store's own may be used. `":memory:"` for records
            that vanish with their process. (A store hands over its open `Database`.)
        store: The vector store that is indexed into; any with `get_by_ids`.
        clock: Seconds since the epoch.
        **unknown: None is read; any raises `TypeError` with a guess at what was meant.

    Raises:
        InvalidInputError: No namespace, a path that cannot be a database's, or a store
            that cannot tell which ids it holds.
        StorageError: The file cannot be opened; see its children.

    Example:
        ```python
        from langchain_core.documents import Document
        from langchain_core.indexing import index
        from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

        page = Document("Tides rise twice a day.", metadata={"source": "sea.md"})
        with SQLiteVectorStore(HashingEmbeddings(), "kb.db") as store:
            records = store.record_manager()
            for _ in range(2):
                done = index(
                    [page],
                    records,
                    store,
                    cleanup="incremental",
                    source_id_key="source",
                    key_encoder="sha256",
                )
        assert (done["num_added"], done["num_skipped"]) == (0, 1)
        ```
    """

    def __init__(
        self,
        namespace: str,
        path: str | os.PathLike[str] | Database = ":memory:",
        *,
        store: VectorStore | None = None,
        clock: Callable[[], float] = time.time,
        **unknown: Any,
    ) -> None:
        refuse_unknown(type(self).__name__, unknown, CONSTRUCTOR_KEYWORDS)
        super().__init__(to_name("namespace", namespace))
        self._store = _checked(store)
        self._lease = Lease(path)
        self._ledger = Ledger(self._lease, namespace, clock=clock)

    @override
    def create_schema(self) -> None:
        """Nothing is left to do: the tables are made when the file is opened."""
        self._lease.check()

    @override
    async def acreate_schema(self) -> None:
        """As `create_schema`."""
        await run_in_executor(None, self.create_schema)

    @override
    def get_time(self) -> float:
        """A time later than any so far, and earlier than any to come.

        Usually that of the clock; where the clock is not ahead of the last time, the
        next larger float, 2.4e-7 s after it. The last time is kept in the file.

        Returns:
            Seconds since the epoch.
        """
        return self._ledger.time()

    @override
    async def aget_time(self) -> float:
        """As `get_time`."""
        return await run_in_executor(None, self.get_time)

    @override
    def update(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """Write keys down, all at one time, in one transaction.

        Args:
            keys: Known or new; of equal ones the last counts. An empty list does
                nothing.
            group_ids: One for each key, the source of its document (an int counts as
                its digits). It replaces the one that a key had; without `group_ids`
                the keys are in no group, as in LangChain's own record managers.
            time_at_least: A `get_time()` that must have passed.

        Raises:
            InvalidInputError: Lengths differ, or `time_at_least` lies in the future;
                nothing was written.
        """
        wanted = to_ids(keys, "keys")
        least = _moment("time_at_least", time_at_least)
        groups: list[str | None] = [None] * len(wanted)
        if group_ids is not None:
            groups = [None if id is None else _group(id) for id in _listed(group_ids)]
        if len(groups) != len(wanted):
            raise InvalidInputError(
                f"{len(wanted)} keys but {len(groups)} group_ids; give one for each"
            )
        if wanted:
            self._ledger.update(wanted, groups, time_at_least=least)

    @override
    async def aupdate(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """As `update`."""
        await run_in_executor(
            None, self.update, keys, group_ids=group_ids, time_at_least=time_at_least
        )

    @override
    def exists(self, keys: Sequence[str]) -> list[bool]:
        """Whether each key is written down and, if there is a store, is stored.

        Args:
            keys: In any order, also more than once.
        """
        wanted = to_ids(keys, "keys")
        known = self._ledger.present(wanted)
        if self._store is not None and known:
            known &= {d.id for d in self._store.get_by_ids(sorted(known))}
        return [key in known for key in wanted]

    @override
    async def aexists(self, keys: Sequence[str]) -> list[bool]:
        """As `exists`, awaiting the store."""
        wanted = to_ids(keys, "keys")
        known = await run_in_executor(None, self._ledger.present, wanted)
        if self._store is not None and known:
            known &= {d.id for d in await self._store.aget_by_ids(sorted(known))}
        return [key in known for key in wanted]

    @override
    def list_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """The keys that fulfil all conditions, those updated longest ago first.

        As in LangChain's own record managers, a 0 and an empty list are no condition.

        Args:
            before: Updated earlier than this; not at it.
            after: Updated later than this; not at it.
            group_ids: In one of these groups.
            limit: How many at most.
        """
        if limit is not None and to_count("limit", limit) < 0:
            raise InvalidInputError(f"limit must not be negative, got {limit}")
        groups = None if group_ids is None else [_group(id) for id in _listed(group_ids)]
        return self._ledger.keys(
            before=_moment("before", before) or None,
            after=_moment("after", after) or None,
            group_ids=groups or None,
            limit=limit or None,
        )

    @override
    async def alist_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """As `list_keys`."""
        return await run_in_executor(
            None,
            self.list_keys,
            before=before,
            after=after,
            group_ids=group_ids,
            limit=limit,
        )

    @override
    def delete_keys(self, keys: Sequence[str]) -> None:
        """Strike keys out; those that are not written down are no error."""
        wanted = to_ids(keys, "keys")
        if wanted:
            self._ledger.delete(wanted)

    @override
    async def adelete_keys(self, keys: Sequence[str]) -> None:
        """As `delete_keys`."""
        await run_in_executor(None, self.delete_keys, keys)


def _checked(store: VectorStore | None) -> VectorStore | None:
    if store is None:
        return None
    if not isinstance(store, VectorStore):
        raise InvalidInputError(
            f"store must be a LangChain VectorStore, got a {type(store).__name__}"
        )
    if type(store).get_by_ids is VectorStore.get_by_ids:
        raise InvalidInputError(
            f"{type(store).__name__} has no get_by_ids() of its own and cannot tell what "
            "it holds; use store=None"
        )
    return store


def _listed(group_ids: Iterable[Any] | str) -> Collection[Any]:
    return [group_ids] if isinstance(group_ids, str) else list(group_ids)


def _group(id: Any) -> str:
    """A group's id; ints are metadata's usual other kind of source."""
    if isinstance(id, int) and not isinstance(id, bool):
        return str(id)
    if not isinstance(id, str):
        raise InvalidInputError(
            f"group_ids are strings, got {id!r} ({type(id).__name__}); a function as "
            "source_id_key can make them"
        )
    return id


def _moment(name: str, value: Any) -> float | None:
    if value is None:
        return None
    return number(f"{name} is seconds since the epoch and", value, finite=False)
