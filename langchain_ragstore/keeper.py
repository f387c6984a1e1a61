"""Who looks after what a collection has in memory, if it is not its store alone."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Keeper(Protocol):
    """Looks after several collections of one file, whose stores share an engine."""

    def using(self, collection: str) -> AbstractContextManager[None]:
        """While the block runs, the collection is in use and stays in memory."""

    def hold(self, store: Any) -> None:
        """Keep a store: its model is not the one that another would be made with."""

    def unload(self, collection: str) -> None:
        """Free what is in memory of a collection, unless it is in use."""
