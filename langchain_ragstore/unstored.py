"""Vectors that a model has made and that no record holds yet."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping

from langchain_ragstore.config import KEEP_SECONDS
from langchain_ragstore.errors import RagStoreError
from langchain_ragstore.model import Fingerprint, Vector
from langchain_ragstore.storage.base import Backend

logger = logging.getLogger(__name__)


class Unstored:
    """Keeps them from being lost, without writing what is stored in a moment anyway.

    Args:
        backend: Where they are kept.
        collection: Of which collection.
        clock: Seconds.
    """

    def __init__(
        self, backend: Backend, collection: str, clock: Callable[[], float]
    ) -> None:
        self._backend, self._collection, self._clock = backend, collection, clock
        self._lock = threading.Lock()
        self._vectors: dict[bytes, Vector] = {}
        self._since = 0.0
        self._model: Fingerprint | None = None

    def elsewhere(self, collection: str) -> Unstored:
        """The same for another collection."""
        return Unstored(self._backend, collection, self._clock)

    def add(self, vectors: Mapping[bytes, Vector], model: Fingerprint | None) -> None:
        """Note new vectors; write them and the earlier ones if those have waited long."""
        with self._lock:
            if not self._vectors:
                self._since = self._clock()
            self._vectors.update(vectors)
            self._model = model
            waited = self._clock() - self._since
        if waited >= KEEP_SECONDS:
            self.keep()

    def stored(self, digests: Iterable[bytes | None]) -> None:
        """Forget those whose records are stored now."""
        with self._lock:
            for digest in digests:
                self._vectors.pop(digest or b"", None)

    def keep(self) -> None:
        """Write what is noted; a file that refuses is no reason to fail."""
        with self._lock:
            vectors, self._vectors = self._vectors, {}
        if not vectors or self._model is None:
            return  # who knows whether the next try has the same model
        try:
            self._backend.keep(self._collection, vectors, self._model)
        except RagStoreError as error:
            logger.warning(
                "%s: %d new vectors could not be kept: %s",
                self._collection,
                len(vectors),
                error,
            )
