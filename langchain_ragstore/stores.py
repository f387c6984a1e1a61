"""LangChain's key-value store of bytes, in the file of the vector store."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from numbers import Real
from typing import Any, Final

from langchain_core.runnables import run_in_executor
from langchain_core.stores import ByteStore
from typing_extensions import override

from langchain_ragstore.config import DEFAULT_NAMESPACE, SQLITE_KEY_PAGE
from langchain_ragstore.documents import Timestamps, in_utc, to_count, to_ids, to_name
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.storage.sqlite.blobs import Blobs
from langchain_ragstore.storage.sqlite.connection import Database
from langchain_ragstore.storage.sqlite.lease import Lease, Tenant

CONSTRUCTOR_KEYWORDS: Final = ("path", "namespace", "ttl_seconds", "max_bytes", "clock")


class SQLiteByteStore(Tenant, ByteStore):
    """Bytes by key in an SQLite file; any number of processes may use it at once.

    For what LangChain keeps in a `ByteStore`: parent documents, cached embeddings.

    Args:
        path: A file, made if absent; a vector store's own may be used. `":memory:"` for
            values that vanish with their process. (A store hands over its open
            `Database`.)
        namespace: Equal keys of different namespaces are different entries.
        ttl_seconds: How long a value that is written from here is there; None for ever.
        max_bytes: What the values of the namespace may take together (keys and SQLite's
            own needs aside); None for no limit. Beyond it the least recently written
            entries go, in the transaction that wrote too much; reading protects nothing.
        clock: Seconds since the epoch.
        **unknown: None is read; any raises `TypeError` with a guess at what was meant.

    Raises:
        InvalidInputError: A limit is not positive, or the path cannot be a database's.
        StorageError: The file cannot be opened; see its children.

    Example:
        ```python
        from langchain_ragstore import SQLiteByteStore

        with SQLiteByteStore("kb.db", "notes") as notes:
            notes.mset([("ann/1", b"tea"), ("ann/2", b"milk"), ("bob/1", b"rye")])
            assert notes.mget(["ann/2", "ann/3"]) == [b"milk", None]
            assert list(notes.yield_keys(prefix="ann/")) == ["ann/1", "ann/2"]
        ```
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Database = ":memory:",
        namespace: str = DEFAULT_NAMESPACE,
        *,
        ttl_seconds: float | None = None,
        max_bytes: int | None = None,
        clock: Callable[[], float] = time.time,
        **unknown: Any,
    ) -> None:
        refuse_unknown(type(self).__name__, unknown, CONSTRUCTOR_KEYWORDS)
        self.namespace = to_name("namespace", namespace)
        self.ttl_seconds = _duration(ttl_seconds)
        if max_bytes is not None and to_count("max_bytes", max_bytes) < 1:
            raise InvalidInputError(f"max_bytes must be positive, got {max_bytes}")
        self.max_bytes = max_bytes
        self._lease = Lease(path)
        self._blobs = Blobs(
            self._lease, namespace, ttl=self.ttl_seconds, capacity=max_bytes, clock=clock
        )

    @override
    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """The value of each key, in their order; None where there is none.

        Args:
            keys: In any order, also more than once.
        """
        wanted = to_ids(keys, "keys")
        return list(map(self._blobs.get(wanted).get, wanted))

    @override
    def mset(self, key_value_pairs: Iterable[tuple[str, bytes]]) -> None:
        """Write values, all of them or, after an error, none.

        Args:
            key_value_pairs: Of equal keys the last counts.

        Raises:
            InvalidInputError: A value is not `bytes` or larger than `max_bytes`.
        """
        pairs = list(key_value_pairs)
        self._check(pairs)
        if pairs:
            self._blobs.put(pairs)

    def compare_and_set(self, key: str, old: bytes | None, new: bytes) -> bool:
        """Write a value if the present one is as expected; nobody writes in between.

        Args:
            key: Whose value.
            old: What it must be; None for absent.
            new: What it becomes.

        Returns:
            Whether it was so, and `new` is written.

        Raises:
            InvalidInputError: As `mset`.
        """
        self._check([(key, new)])
        return self._blobs.swap(key, old, new)

    def _check(self, pairs: Sequence[tuple[str, bytes]]) -> None:
        """Refuse what is no key or no value."""
        to_ids((key for key, _ in pairs), "keys")
        for key, value in pairs:
            if not isinstance(value, bytes):
                raise InvalidInputError(
                    f"the value of {key!r} is a {type(value).__name__}; values are bytes"
                )
            if self.max_bytes is not None and len(value) > self.max_bytes:
                raise InvalidInputError(
                    f"the value of {key!r} has {len(value)} bytes, max_bytes is "
                    f"{self.max_bytes}"
                )

    @override
    def mdelete(self, keys: Sequence[str]) -> None:
        """Remove keys, all in one transaction; those that are absent are no error."""
        wanted = to_ids(keys, "keys")
        if wanted:
            self._blobs.delete(wanted)

    @override
    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """The keys in the order of their code points.

        No transaction is open while the caller works on a key; keys that are written or
        removed meanwhile are seen or not, each key at most once.

        Args:
            prefix: What the keys begin with, to the letter: no character is special.

        Yields:
            The keys.
        """
        first: str | None = _text(prefix)
        while first is not None:
            keys, first = self._page(first, prefix)
            yield from keys

    @override
    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """As `yield_keys`, reading off the event loop.

        Args:
            prefix: As in `yield_keys`.

        Yields:
            The keys.
        """
        first: str | None = _text(prefix)
        while first is not None:
            keys, first = await run_in_executor(None, self._page, first, prefix)
            for key in keys:
                yield key

    def _page(self, first: str, prefix: str | None) -> tuple[list[str], str | None]:
        """Keys from `first` on, and where the next ones begin (None: there are none)."""
        keys = self._blobs.page(first, SQLITE_KEY_PAGE)
        # In this order the keys with a prefix stand together.
        found = [key for key in keys if key.startswith(prefix or "")]
        if len(found) < SQLITE_KEY_PAGE:
            return found, None
        return found, found[-1] + "\0"  # no string lies between these two

    def timestamps(self, keys: Iterable[str] | str) -> dict[str, Timestamps]:
        """When values were written first and last, and when they expire, by key.

        Overwriting a value does not change when it was written first.
        """
        found = self._blobs.times(to_ids(keys, "keys"))
        return {key: in_utc(*times) for key, times in found.items()}


def _text(prefix: str | None) -> str:
    if prefix is None:
        return ""
    if not isinstance(prefix, str):
        raise InvalidInputError(f"prefix is a string, got {prefix!r}")
    return prefix


def _duration(seconds: Any) -> float | None:
    if seconds is None:
        return None
    number = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= sys.float_info.max:
        raise InvalidInputError(
            f"ttl_seconds must be a positive number, or None for ever; got {seconds!r:.80}"
        )
    return float(seconds)
