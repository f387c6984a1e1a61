"""Which collections stay in memory: those in use, and the latest ones that fit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from langchain_ragstore.config import GIVE_BACK_BYTES


@dataclass(slots=True)
class _Loaded:
    """A collection that may be in memory.

    Attributes:
        used: When it was last used.
        users: Searches under way.
        bytes: What it took after the last of them.
    """

    used: float
    users: int = 0
    bytes: int = 0


class Residency:
    """Notes uses, and frees what was unused for too long or takes too much.

    It looks whenever a use begins or ends; there is no thread behind it.

    Args:
        measure: How many bytes a collection takes.
        release: Frees them. It is called while no use can begin, so it must not wait.
        ttl: Seconds after the last use.
        budget: Bytes that all may take, but for those in use; None for no limit.
        clock: Seconds.
        give_back: Returns freed memory to the system; called after much was freed.
    """

    def __init__(
        self,
        measure: Callable[[str], int],
        release: Callable[[str], None],
        *,
        ttl: float,
        budget: int | None,
        clock: Callable[[], float],
        give_back: Callable[[], None],
    ) -> None:
        self._measure, self._release, self._give_back = measure, release, give_back
        self._ttl, self._budget, self._clock = ttl, budget, clock
        self._lock = threading.Lock()
        self._loaded: dict[str, _Loaded] = {}  # the least recently used first
        self._bytes = self._freed = 0
        self.unloaded = 0

    def note(self, name: str) -> None:
        """A collection was opened."""
        with self._lock:
            self._touch(name)
            self._make_room()
        self._return(GIVE_BACK_BYTES)

    @contextmanager
    def using(self, name: str) -> Iterator[None]:
        """While the block runs, a collection is not unloaded."""
        with self._lock:
            self._touch(name).users += 1
        try:
            yield
        finally:
            with self._lock:
                loaded = self._touch(name)
                loaded.users = max(0, loaded.users - 1)  # a fork has begun anew
                self._weigh(name)
                self._make_room()
            self._return(GIVE_BACK_BYTES)

    def unload(self, name: str) -> None:
        """Free a collection now, unless it is in use."""
        with self._lock:
            loaded = self._loaded.get(name)
            if loaded is not None and not loaded.users:
                self._free(name)
        self._return(GIVE_BACK_BYTES)

    def sweep(self) -> list[str]:
        """Free what is due, whatever it takes by now; its names."""
        with self._lock:
            for name in self._loaded:
                self._weigh(name)
            freed = self._make_room()
        self._return(1)
        return freed

    def loaded(self) -> dict[str, int]:
        """Bytes of each collection that was used and not unloaded since, latest last."""
        with self._lock:
            return {name: self._measure(name) for name in self._loaded}

    def in_use(self) -> list[str]:
        """Names of the collections that are being searched."""
        with self._lock:
            return [name for name, loaded in self._loaded.items() if loaded.users]

    def forget(self) -> None:
        """Note that nothing is in memory any more."""
        with self._lock:
            self._loaded.clear()
            self._bytes = 0

    def after_fork(self) -> None:
        """In a child process, where no other thread's search goes on."""
        self._lock = threading.Lock()
        for loaded in self._loaded.values():
            loaded.users = 0

    def _touch(self, name: str) -> _Loaded:
        loaded = self._loaded.pop(name, None) or _Loaded(0.0)
        loaded.used = self._clock()
        self._loaded[name] = loaded
        return loaded

    def _weigh(self, name: str) -> None:
        loaded, now = self._loaded[name], self._measure(name)
        self._bytes += now - loaded.bytes
        loaded.bytes = now

    def _make_room(self) -> list[str]:
        before = self._clock() - self._ttl
        excess = 0 if self._budget is None else self._bytes - self._budget
        due = []
        for name, loaded in self._loaded.items():
            if loaded.used > before and excess <= 0:
                break
            if not loaded.users:
                due.append(name)
                excess -= loaded.bytes
        for name in due:
            self._free(name)
        return due

    def _return(self, least: int) -> None:
        """Give memory back if enough was freed; not under the lock, since it takes time."""
        if self._freed >= least:
            self._freed = 0
            self._give_back()

    def _free(self, name: str) -> None:
        freed = self._loaded.pop(name).bytes
        self._bytes -= freed
        self._freed += freed
        self._release(name)
        self.unloaded += 1
