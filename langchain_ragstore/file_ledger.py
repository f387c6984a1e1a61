"""Which files a store holds, as they were when they were read.

Each collection keeps one entry a file in the store's own file, so that it moves with it.
An entry is first a claim, made before the file's chunks are written, and becomes a note
after that; a claim says that the chunks may be anything.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import types
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Number
from pathlib import Path
from typing import Any, Final

from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import TextSplitter

from langchain_ragstore.config import FILES_FORMAT, RACY_SECONDS
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.vectorstores import SQLiteVectorStore

_DEEPEST: Final = 50
"""How far a splitter's settings are followed into one another."""

_MOST_PARTS: Final = 100_000
"""How many settings are looked at."""

_NAMED: Final = ("sentence_transformers", "tiktoken", "tokenizers", "transformers")
"""Packages whose objects are what their name says, and large."""


@dataclass(frozen=True, slots=True)
class Status:
    """What tells of a file without reading it.

    Attributes:
        size: In bytes.
        mtime_ns: When it was changed last, by its own file system.
        seen_ns: When we looked, by our clock.
    """

    size: int
    mtime_ns: int
    seen_ns: int

    @classmethod
    def of(cls, path: Path) -> Status:
        """Look at a file.

        Raises:
            OSError: It cannot be looked at.
        """
        seen = time.time_ns()  # before: what changes after this counts as later
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns, seen)

    def agrees(self, other: Status) -> bool:
        """Whether size and time are the same."""
        return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)

    @property
    def is_racy(self) -> bool:
        """Whether a change right after this look could have left size and time alone."""
        return self.mtime_ns > self.seen_ns - RACY_SECONDS * 1e9


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as its chunks show it.

    Attributes:
        status: When it was read.
        sha256: Of its bytes.
        made_by: `fingerprint` of what made the chunks.
        chunks: How many there are.
        mount: Where the file system that it lay on was mounted.
        claim: Who is writing the chunks; empty when they are written.
    """

    status: Status
    sha256: str
    made_by: str
    chunks: int
    mount: str
    claim: str = ""

    def encoded(self) -> bytes:
        """As it is stored."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def decoded(cls, data: bytes) -> Entry | None:
        """From what is stored; None if another release wrote it otherwise."""
        try:
            fields = json.loads(data)
            return cls(**{**fields, "status": Status(**fields["status"])})
        except (ValueError, TypeError, KeyError):
            return None


class FileLedger:
    """The entries of one collection, by source.

    Args:
        store: A whole collection in SQLite.
    """

    def __init__(self, store: SQLiteVectorStore) -> None:
        self._store = store
        self._bytes = store.byte_store(f"ragstore/files/{store.collection_name}")

    @staticmethod
    def of(store: VectorStore) -> FileLedger | None:
        """A store's ledger; None for another package's store and for a scoped view."""
        if not isinstance(store, SQLiteVectorStore):
            return None
        try:
            return FileLedger(store)
        except InvalidInputError:  # a view: what it noted, its filter could not hide
            return None

    def read(self, sources: Sequence[str]) -> dict[str, Entry]:
        """The entries of sources; of those that have one."""
        found = zip(sources, self._bytes.mget(sources), strict=True)
        decoded = {source: Entry.decoded(data) for source, data in found if data}
        return {source: entry for source, entry in decoded.items() if entry}

    def under(self, prefix: str) -> list[str]:
        """The sources that begin with a prefix."""
        return list(self._bytes.yield_keys(prefix=prefix))

    def write(self, source: str, entry: Entry) -> None:
        """Write an entry."""
        self._bytes.mset([(source, entry.encoded())])

    def forget(self, sources: Iterable[str]) -> None:
        """Remove entries."""
        self._bytes.mdelete(list(sources))

    def holds(self, ids: Sequence[str]) -> bool:
        """Whether all of these chunks are in the store; their texts are not read."""
        return not ids or self._store.count({"$id": {"$in": list(ids)}}) == len(ids)

    def swap(self, source: str, old: Entry, new: Entry) -> bool:
        """Write an entry in another's place, unless that is no longer there."""
        return self._bytes.compare_and_set(source, old.encoded(), new.encoded())

    def confirm(self, source: str, entry: Entry) -> bool:
        """Turn one's claim into a note, unless it is no longer there."""
        return self.swap(source, entry, replace(entry, claim=""))


def new_claim() -> str:
    """Tells one write of a file's chunks from all others."""
    return uuid.uuid4().hex


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fingerprint(splitter: TextSplitter | None, encoding: str | None) -> str:
    """What turns a file into chunks, as a short text.

    Too fine is better than too coarse: another fingerprint costs a reading of the files,
    but chunks that come out as before are not embedded again. So what cannot be described
    has another fingerprint every time.

    Args:
        splitter: Its class and settings count, and the settings of objects in these;
            classes by name, functions by name, code and what they hold, tokenizers by
            class and name.
        encoding: As it was given.
    """
    described = _Description().of(splitter)
    parts = [FILES_FORMAT, _name(type(splitter)), described, encoding]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


class _Description:
    """Settings as JSON, the same in every process; nothing that holds an address."""

    def __init__(self) -> None:
        self._above: list[Any] = []
        self._left = _MOST_PARTS

    def of(self, value: Any) -> Any:
        """A value, and all that is in it."""
        if value is None or value is ... or isinstance(value, (str, bytes, Number)):
            return [_name(type(value)), repr(value)]
        if isinstance(value, re.Pattern):  # its `repr` is cut off
            return ["pattern", repr(value.pattern), value.flags]
        if isinstance(value, (type, types.ModuleType)):
            return [_name(type(value)), _name(value), value.__name__]
        for at, above in enumerate(self._above):
            if above is value:
                return ["above", at]
        self._left -= 1
        if self._left < 0 or len(self._above) == _DEEPEST:
            return _unlike_any()
        self._above.append(value)
        try:
            return [_name(type(value)), self._parts(value)]
        except Exception:  # noqa: BLE001 - whatever an object does when it is looked at
            return _unlike_any()
        finally:
            self._above.pop()

    def _parts(self, value: Any) -> Any:
        if type(value) in (dict, types.MappingProxyType):
            return [[self.of(key), self.of(item)] for key, item in value.items()]
        if type(value) in (list, tuple):
            return [self.of(item) for item in value]
        if type(value) in (set, frozenset):
            return sorted(json.dumps(self.of(item)) for item in value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.CodeType):
            names = [value.co_names, value.co_varnames, value.co_freevars]
            return [value.co_code.hex(), *names, self.of(value.co_consts)]
        if isinstance(value, types.MethodType):
            return [self.of(value.__func__), self.of(value.__self__)]
        if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
            return [value.__qualname__, self.of(value.__self__)]
        if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            return [value.__qualname__, self.of(value.__objclass__)]
        if isinstance(value, TextSplitter):
            return self.of(vars(value))
        return self._object(value)

    def _function(self, value: types.FunctionType) -> Any:
        code = value.__code__
        cells = dict(zip(code.co_freevars, value.__closure__ or (), strict=True))
        constants = {
            name: value.__globals__[name]
            for name in code.co_names
            if isinstance(value.__globals__.get(name), (str, bytes, Number))
        }
        held = [{name: cell.cell_contents for name, cell in cells.items()}, constants]
        settings = [value.__defaults__, value.__kwdefaults__, vars(value)]
        return [_name(value), *map(self.of, (code, *held, *settings))]

    def _object(self, value: Any) -> Any:
        if type(value).__module__.partition(".")[0] in _NAMED:
            names = [getattr(value, key, None) for key in ("name", "name_or_path")]
            if any(names):
                return [*map(self.of, names)]
        # What a copy would be made of: complete, or an error.
        made = value.__reduce_ex__(4)
        if isinstance(made, str):
            return [made, self.of(getattr(value, "__wrapped__", None))]
        listed = [part if part is None else list(part) for part in made[3:5]]
        return [*map(self.of, (*made[:3], *listed, *made[5:]))]


def _unlike_any() -> str:
    return uuid.uuid4().hex


def _name(value: Any) -> str:
    module = getattr(value, "__module__", None)
    return f"{module}.{getattr(value, '__qualname__', type(value).__name__)}"
