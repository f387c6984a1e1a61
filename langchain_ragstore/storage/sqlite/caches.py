"""What is made of records and vectors, and can be made anew: checked and rebuilt here.

A cache that lives in the file has an entry in `CACHES`; `verify()` then checks it and
`repair()` rebuilds it. The text index is no entry: only a store knows what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from langchain_ragstore.storage.sqlite import coding
from langchain_ragstore.storage.sqlite.connection import Connection
from langchain_ragstore.storage.sqlite.resident import State


@dataclass(frozen=True, slots=True)
class Cache:
    """One kind of cache.

    Attributes:
        name: What `Problem.kind` says.
        check: What is wrong with a collection's, in a transaction that reads; each a
            sentence without its full stop.
        rebuild: Makes a collection's anew, in a transaction that writes. Copies in memory
            are read anew after it.
    """

    name: str
    check: Callable[[Connection, State], Sequence[str]]
    rebuild: Callable[[Connection, State], None]


CACHES: Final[tuple[Cache, ...]] = (Cache("vector codes", coding.check, coding.rebuild),)
"""All of them, in the order in which they can be rebuilt."""
