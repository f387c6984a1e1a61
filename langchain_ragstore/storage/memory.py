"""The exact, obvious engine: what every other engine is compared with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.metadata import decode, encode
from langchain_ragstore.model import Hit, Record, Vector, ranked
from langchain_ragstore.storage.base import check_dimension, outside_guard, patched
from langchain_ragstore.storage.ordering import ordered
from langchain_ragstore.vectors.arrays import cosines


class MemoryBackend:
    """Records in dictionaries, every search a full and exact scan.

    Args:
        clock: Seconds since the epoch.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._records: dict[str, dict[str, Record]] = {}

    def upsert(
        self,
        collection: str,
        records: Sequence[Record],
        *,
        remove: Collection[str] = (),
        guard: Filter = EVERYTHING,
    ) -> None:
        """See `Backend.upsert`."""
        with self._lock:
            now = self._clock()
            old = {
                id: record
                for id, record in self._records.get(collection, {}).items()
                if not _expired(record, now)
            }
            new = dict(old)
            for id in [*remove, *(record.id for record in records)]:
                if id in old and not _matches(old[id], guard):
                    raise outside_guard(collection, id)
            for id in remove:
                new.pop(id, None)
            self._check_dimension(collection, new, records)
            for record in records:
                before = new.get(record.id)
                new[record.id] = replace(
                    record,
                    metadata=decode(encode(record.metadata)),
                    vector=None if record.vector is None else record.vector.copy(),
                    created_at=before.created_at if before is not None else now,
                    updated_at=now,
                )
            self._records[collection] = new

    def _check_dimension(
        self, collection: str, rest: Mapping[str, Record], records: Sequence[Record]
    ) -> None:
        stay = [r.vector for r in rest.values() if r.vector is not None]
        given = [r.vector for r in records if r.vector is not None]
        for vector in given:
            check_dimension(collection, len((stay or given)[0]), len(vector))

    def patch(
        self,
        collection: str,
        *,
        ids: Collection[str] | None,
        where: Filter,
        changes: Mapping[str, Any],
        remove: Collection[str] = (),
    ) -> int:
        """See `Backend.patch`."""
        encode(changes)  # refuse what cannot be stored, also when nothing matches
        with self._lock:
            found = self._chosen(collection, ids, where)
            records = {
                record.id: replace(
                    record,
                    metadata=decode(encode(patched(record.metadata, changes, remove))),
                    updated_at=self._clock(),
                )
                for record in found
            }
            if records:
                self._records[collection] = {**self._records[collection], **records}
            return len(records)

    def delete(self, collection: str, *, ids: Collection[str] | None, where: Filter) -> int:
        """See `Backend.delete`."""
        with self._lock:
            found = self._chosen(collection, ids, where)
            for record in found:
                del self._records[collection][record.id]
            return len(found)

    def get(
        self,
        collection: str,
        ids: Sequence[str],
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
    ) -> list[Record]:
        """See `Backend.get`."""
        with self._lock:
            found = {r.id: r for r in self._chosen(collection, ids, where)}
            return [_copy(found[id], vectors) for id in ids if id in found]

    def scan(
        self,
        collection: str,
        *,
        where: Filter = EVERYTHING,
        order_by: str | tuple[str, ...] | None = None,
        limit: int | None = None,
        offset: int = 0,
        vectors: bool = False,
    ) -> list[Record]:
        """See `Backend.scan`."""
        with self._lock:
            found = self._chosen(collection, None, where)
            if order_by is not None:
                found = ordered(found, order_by)
            end = None if limit is None else offset + limit
            return [_copy(record, vectors) for record in found[offset:end]]

    def dense(
        self,
        collection: str,
        vector: Vector,
        k: int,
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
    ) -> list[Hit]:
        """See `Backend.dense`."""
        with self._lock:
            everything = self._chosen(collection, None, EVERYTHING)
            known = [r.vector for r in everything if r.vector is not None]
            if not known or k < 1:
                return []
            check_dimension(collection, len(known[0]), len(vector))
            hits = []
            for record in everything:
                if record.vector is not None and _matches(record, where):
                    score = float(cosines(record.vector[np.newaxis], vector)[0])
                    hits.append(Hit(_copy(record, vectors), score, {"dense": score}))
            return ranked(hits, k)

    def count(self, collection: str, *, where: Filter = EVERYTHING) -> int:
        """See `Backend.count`."""
        with self._lock:
            return len(self._chosen(collection, None, where))

    def collections(self) -> list[str]:
        """See `Backend.collections`."""
        with self._lock:
            return sorted(name for name in self._records if self.count(name))

    def stats(self, collection: str) -> dict[str, Any]:
        """See `Backend.stats`."""
        return {"engine": "memory", "records": self.count(collection)}

    def close(self) -> None:
        """See `Backend.close`."""
        with self._lock:
            self._records = {}

    def _chosen(
        self, collection: str, ids: Collection[str] | None, where: Filter
    ) -> list[Record]:
        now = self._clock()
        wanted = None if ids is None else set(ids)
        return [
            record
            for record in self._records.get(collection, {}).values()
            if (wanted is None or record.id in wanted)
            and not _expired(record, now)
            and _matches(record, where)
        ]


def _expired(record: Record, now: float) -> bool:
    return record.expires_at is not None and record.expires_at <= now


def _matches(record: Record, where: Filter) -> bool:
    return where.matches(record.id, record.content, record.metadata)


def _copy(record: Record, vectors: bool) -> Record:  # noqa: FBT001 - private
    vector = record.vector.copy() if vectors and record.vector is not None else None
    return replace(record, metadata=decode(encode(record.metadata)), vector=vector)
