"""Models of collections in memory, and vectors that have no record yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langchain_ragstore.model import Fingerprint, Vector, alike
from langchain_ragstore.storage.base import check_model


class Models:
    """Which model made what, by collection."""

    def __init__(self) -> None:
        self._noted: dict[str, Fingerprint | None] = {}
        self._kept: dict[str, dict[bytes, Vector]] = {}

    def noted(self, collection: str) -> Fingerprint | None:
        """The model that was last noted."""
        return self._noted.get(collection)

    def agree(self, collection: str, model: Fingerprint | None, *, empty: bool) -> None:
        """Check the model of vectors that are to be stored, or note it.

        Args:
            collection: Its name.
            model: What made the vectors.
            empty: Whether the collection holds no vector.

        Raises:
            EmbeddingMismatchError: Another model made the vectors that are there.
        """
        stored = self._noted.get(collection)
        if not empty:
            check_model(collection, stored, model)
            self._noted[collection] = stored or model
        elif not alike(stored, model):
            self._kept.pop(collection, None)
            self._noted[collection] = model

    def kept(self, collection: str, model: Fingerprint | None) -> dict[bytes, Vector]:
        """What a model made and no record holds yet, by digest."""
        if not alike(self._noted.get(collection), model):
            return {}
        return dict(self._kept.get(collection, {}))

    def keep(self, collection: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors; those of another length go."""
        kept = self._kept.setdefault(collection, {})
        lengths = {len(vector) for vector in vectors.values()}
        if lengths and any(len(vector) not in lengths for vector in kept.values()):
            kept.clear()
        kept.update({digest: vector.copy() for digest, vector in vectors.items()})

    def settle(self, collection: str, digests: Iterable[bytes | None]) -> None:
        """Forget what records hold now."""
        for digest in digests:
            self._kept.get(collection, {}).pop(digest or b"", None)

    def forget(self, collection: str) -> None:
        """Forget all that is kept."""
        self._kept.pop(collection, None)

    def forget_all(self) -> None:
        """Forget all that is kept of any collection."""
        self._kept = {}

    def move(self, collection: str, to: str | None) -> None:
        """Give a model to another collection."""
        model = self._noted.pop(collection, None)
        self.forget(collection)
        if to is not None:
            self._noted[to] = model
