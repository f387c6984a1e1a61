"""The exact, obvious engine: what every other engine is compared with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.metadata import decode, encode
from langchain_ragstore.model import (
    Fingerprint,
    Record,
    Terms,
    Unanalyzed,
    Vector,
)
from langchain_ragstore.storage.base import (
    View,
    changed_meanwhile,
    check_dimension,
    outside_guard,
    patched,
)
from langchain_ragstore.storage.memory_models import Models
from langchain_ragstore.storage.memory_view import (
    MemoryView,
    check_analyzers,
    copied,
    terms_of_all,
)
from langchain_ragstore.storage.ordering import ordered
from langchain_ragstore.storage.searches import Searches

T = TypeVar("T")


class MemoryBackend(Searches):
    """Records in dictionaries, every search a full and exact scan.

    Args:
        clock: Seconds since the epoch.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._records: dict[str, dict[str, Record]] = {}
        self._models = Models()

    def upsert(
        self,
        collection: str,
        records: Sequence[Record],
        *,
        remove: Collection[str] = (),
        guard: Filter = EVERYTHING,
        expected: Sequence[Record] = (),
        model: Fingerprint | None = None,
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
            for record in expected:
                if record.id not in old or not _unchanged(record, old[record.id]):
                    raise changed_meanwhile(collection, record.id)
            for id in remove:
                new.pop(id, None)
            rest = dict(new)
            terms = [_own(record.terms) for record in records]
            given = [made for made in terms if made is not None]
            if given:
                check_analyzers(collection, terms_of_all(new.values()), given)
            for record, made in zip(records, terms, strict=True):
                before = new.get(record.id)
                new[record.id] = replace(
                    record,
                    metadata=decode(encode(record.metadata)),
                    vector=None if record.vector is None else record.vector.copy(),
                    created_at=before.created_at if before is not None else now,
                    updated_at=now,
                    terms=made,
                    indexed=None,
                    encoded=None,
                )
            self._agree_on_vectors(collection, rest, records, model)
            self._models.settle(collection, (record.digest for record in records))
            self._records[collection] = new

    def _agree_on_vectors(
        self,
        collection: str,
        rest: Mapping[str, Record],
        records: Sequence[Record],
        model: Fingerprint | None,
    ) -> None:
        stay = [r.vector for r in rest.values() if r.vector is not None]
        given = [r.vector for r in records if r.vector is not None]
        for vector in given:
            check_dimension(collection, len((stay or given)[0]), len(vector))
        if given:
            self._models.agree(collection, model, empty=not stay)

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
            if ids is None and where == EVERYTHING:
                self._models.forget(collection)
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
            return [copied(found[id], vectors=vectors) for id in ids if id in found]

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
            return [copied(record, vectors=vectors) for record in found[offset:end]]

    def within(self, collection: str, ask: Callable[[View], T]) -> T:
        """See `Backend.within`."""
        with self._lock:
            return ask(MemoryView(collection, self._chosen(collection, None, EVERYTHING)))

    def analyzer(self, collection: str) -> str | None:
        """See `Backend.analyzer`."""
        with self._lock:
            indexed = terms_of_all(self._chosen(collection, None, EVERYTHING))
        return indexed[0].analyzer if indexed else None

    def reindex(
        self, collection: str, terms_of: Callable[[Record], Terms | Unanalyzed | None]
    ) -> int:
        """See `Backend.reindex`."""
        with self._lock:
            old = {r.id: r for r in self._chosen(collection, None, EVERYTHING)}
            made = {
                id: _own(terms_of(copied(record, vectors=False)))
                for id, record in old.items()
            }
            check_analyzers(collection, (), filter(None, made.values()))
            new = {id: replace(r, terms=made[id]) for id, r in old.items()}
            if new:
                self._records[collection] = new
            return len(terms_of_all(new.values()))

    def fingerprint(self, collection: str) -> Fingerprint | None:
        """See `Backend.fingerprint`."""
        with self._lock:
            return self._models.noted(collection) if self._vectors(collection) else None

    def known(
        self, collection: str, digests: Collection[bytes], model: Fingerprint | None
    ) -> dict[bytes, Vector]:
        """See `Backend.known`."""
        with self._lock:
            found = self._models.kept(collection, model)
            for record in self._chosen(collection, None, EVERYTHING):
                if record.vector is not None and record.digest is not None:
                    found[record.digest] = record.vector
            return {digest: found[digest].copy() for digest in digests if digest in found}

    def keep(
        self,
        collection: str,
        vectors: Mapping[bytes, Vector],
        model: Fingerprint | None,
    ) -> None:
        """See `Backend.keep`."""
        with self._lock:
            stored = self._vectors(collection)
            for vector in vectors.values():
                if stored:
                    check_dimension(collection, len(stored[0]), len(vector))
            self._models.agree(collection, model, empty=not stored)
            self._models.keep(collection, vectors)

    def adopt(
        self, collection: str, staged: str, digest_of: Callable[[Record], bytes]
    ) -> list[str]:
        """See `Backend.adopt`."""
        with self._lock:
            present = self._chosen(collection, None, EVERYTHING)
            digests = {r.id: digest_of(copied(r, vectors=False)) for r in present}
            made = self._models.kept(staged, self._models.noted(staged))
            lacking = [id for id, digest in digests.items() if digest not in made]
            if not lacking:
                self._models.forget(collection)
                self._models.move(staged, collection if present else None)
                records = [
                    replace(r, vector=made[digests[r.id]].copy(), digest=digests[r.id])
                    for r in present
                ]
                if records:
                    self._records[collection] = {r.id: r for r in records}
            return lacking

    def _vectors(self, collection: str) -> list[Vector]:
        present = self._chosen(collection, None, EVERYTHING)
        return [record.vector for record in present if record.vector is not None]

    def count(self, collection: str, *, where: Filter = EVERYTHING) -> int:
        """See `Backend.count`."""
        with self._lock:
            return len(self._chosen(collection, None, where))

    def collections(self) -> list[str]:
        """See `Backend.collections`."""
        with self._lock:
            return sorted(name for name in self._records if self.count(name))

    def resident_bytes(self, collection: str) -> int:  # noqa: ARG002 - there is no copy
        """See `Backend.resident_bytes`."""
        return 0

    def release(self, collection: str) -> None:
        """See `Backend.release`."""

    def stats(self, collection: str) -> dict[str, Any]:
        """See `Backend.stats`."""
        return {"engine": "memory", "records": self.count(collection)}

    def close(self) -> None:
        """See `Backend.close`."""
        with self._lock:
            self._records = {}
            self._models = Models()

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


def _unchanged(first: Record, second: Record) -> bool:
    return (first.content, encode(first.metadata)) == (
        second.content,
        encode(second.metadata),
    )


def _expired(record: Record, now: float) -> bool:
    return record.expires_at is not None and record.expires_at <= now


def _matches(record: Record, where: Filter) -> bool:
    return where.matches(record.id, record.content, record.metadata)


def _own(given: Terms | Unanalyzed | None) -> Terms | None:
    if given is None:
        return None
    terms = given.terms() if isinstance(given, Unanalyzed) else given
    return replace(terms, body=dict(terms.body), title=dict(terms.title))
