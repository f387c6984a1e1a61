"""Connections to one SQLite file: a pool, the one transaction manager, one error map."""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from langchain_ragstore.config import (
    SQLITE_BUSY_TIMEOUT,
    SQLITE_CACHE_KIB,
    SQLITE_IDLE_CONNECTIONS,
    SQLITE_MINIMUM,
    SQLITE_PAGE_SIZE,
)
from langchain_ragstore.errors import (
    CorruptStoreError,
    RagStoreError,
    ReadOnlyError,
    StorageError,
    StoreClosedError,
    StoreLockedError,
    UnsupportedSQLiteError,
)
from langchain_ragstore.storage.sqlite.files import (
    MEMORY,
    checked_path,
    has_content,
    is_frozen,
)

logger = logging.getLogger(__name__)

Connection: TypeAlias = sqlite3.Connection
_RETRY_STEP: Final = 0.02
"""Seconds between two tries of what SQLite does not retry by itself."""

_POOLS: Final[weakref.WeakSet[Database]] = weakref.WeakSet()
_ABANDONED: Final[list[sqlite3.Connection]] = []
"""Connections that were busy when the process forked; closing them would harm the
parent's, who uses them."""


class Database:
    """One SQLite file (or one database in memory), used from any thread and process.

    A connection serves one transaction at a time and then waits for the next, so no
    thread owns one and none leaks when a thread ends. A database in memory is a single
    connection that transactions take turns with.

    Args:
        path: A file, or `":memory:"`.
        read_only: Refuse to write and do not create the file.
        timeout: Seconds to wait for another process's write lock.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = MEMORY,
        *,
        read_only: bool = False,
        timeout: float = SQLITE_BUSY_TIMEOUT,
    ) -> None:
        require_sqlite()
        self.path = checked_path(path, read_only=read_only)
        self.frozen = self.path != MEMORY and is_frozen(self.path)
        self.read_only = read_only or self.frozen
        self.timeout = timeout
        self._limit = 1 if self.path == MEMORY else None
        self._fork_hooks: list[Callable[[], None]] = []
        self._start()
        _POOLS.add(self)

    def on_fork(self, hook: Callable[[], None]) -> None:
        """Call `hook` in a child process, where locks of other threads stay taken."""
        self._fork_hooks.append(hook)

    def _start(self) -> None:
        self._idle: list[sqlite3.Connection] = []
        self._unchanging: set[sqlite3.Connection] = set()
        self._active = 0
        self._owner: int | None = None
        self._closed = False
        self._changed = threading.Condition()

    def _before_fork(self) -> None:
        # A child that inherits open connections believes that it holds their locks, and
        # the parent's last close() would then unlink the log that the child writes to.
        if self.path != MEMORY:
            with self._changed:
                self._close_idle()

    def _after_fork(self) -> None:
        closed, idle, active = self._closed, self._idle, self._active
        self._start()
        self._closed = closed
        if self.path == MEMORY and not active:
            self._idle = idle  # the child's copy of the parent's memory
        else:
            _ABANDONED.extend(idle)
        for hook in self._fork_hooks:
            hook()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that sees one state of the database."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that is written whole, or, after any exception, not at all.

        It takes the write lock at once: one that reads first and then wants to write
        would be refused without waiting whenever another process wrote in between.
        """
        if self.read_only:
            raise self.refusal()
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def outside(self, *, keep: bool = True) -> Iterator[Connection]:
        """A connection outside of any transaction, for what SQLite does in its own.

        Args:
            keep: Whether it may serve others then. Not if it is left with settings of its
                own, or with another file attached; one in memory is the only one there is.
        """
        connection = self._acquire()
        try:
            with translated(self.path):
                yield connection
        finally:
            self._release(connection, keep=keep)

    def refusal(self) -> ReadOnlyError:
        """The error of a write to what is open for reading alone."""
        if self.frozen:
            return ReadOnlyError(
                f"{self.path} was made by freeze() and is never changed; backup() makes a "
                "copy of it that can be"
            )
        return ReadOnlyError(f"{self.path} was opened with read_only=True")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        connection = self._acquire()
        try:
            with translated(self.path):
                connection.execute(begin)
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    _roll_back(connection)
                    raise
        finally:
            self._release(connection)

    def _acquire(self) -> sqlite3.Connection:
        with self._changed:
            while True:
                if self._closed:
                    raise StoreClosedError(
                        f"the store on {self.path} is closed; open it anew"
                    )
                if self._idle:
                    connection = self._idle.pop()
                    break
                if self._limit is None or self._active < self._limit:
                    connection = self._open()
                    break
                if self._owner == threading.get_ident():
                    raise StorageError(
                        "a callable filter used the store that was just calling it; "
                        "a store in memory answers one question at a time"
                    )
                self._changed.wait()
            self._active += 1
            self._owner = threading.get_ident()
            return connection

    def _release(self, connection: sqlite3.Connection, *, keep: bool = True) -> None:
        with self._changed:
            self._active -= 1
            room = self._limit or SQLITE_IDLE_CONNECTIONS
            # A connection whose rollback failed would refuse the next transaction.
            stuck = connection.in_transaction or connection in self._unchanging
            usable = (keep and not stuck) or self._limit is not None
            if not self._closed and usable and len(self._idle) < room:
                self._idle.append(connection)
            else:
                self._unchanging.discard(connection)
                connection.close()
            self._changed.notify_all()

    def _open(self) -> sqlite3.Connection:
        with translated(self.path):
            try:
                return self._connected(unchanging=self.frozen)
            except sqlite3.OperationalError as error:
                # A file with a log needs another beside it, which not every folder lets in.
                unmade = ("SQLITE_CANTOPEN", "SQLITE_READONLY_DIRECTORY")
                lacks_folder = getattr(error, "sqlite_errorname", "").startswith(unmade)
                if not (self.read_only and lacks_folder) or has_content(f"{self.path}-wal"):
                    raise
                connection = self._connected(unchanging=True)
                self._unchanging.add(connection)  # it sees nothing that is written later
                return connection

    def _connected(self, *, unchanging: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri(unchanging=unchanging),
            uri=True,
            timeout=self.timeout,
            isolation_level=None,  # transactions are begun and ended here alone
            check_same_thread=False,
        )
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _uri(self, *, unchanging: bool) -> str:
        if self.path == MEMORY:
            return f"file:{MEMORY}"
        mode = "ro" if self.read_only else "rwc"
        immutable = "&immutable=1" if unchanging else ""
        # SQLite decodes % escapes, so that names with ?, # and % open the right file.
        return f"file:{quote(os.fsencode(self.path))}?mode={mode}{immutable}"

    def _configure(self, connection: sqlite3.Connection) -> None:
        connection.text_factory = _text
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA foreign_keys = ON")
            # Of a new file: one that has pages keeps theirs.
            connection.execute(f"PRAGMA page_size = {SQLITE_PAGE_SIZE:d}")
            connection.execute(f"PRAGMA cache_size = -{SQLITE_CACHE_KIB:d}")
            # Is it a database at all?
            connection.execute("SELECT count(*) FROM sqlite_schema")
        except UnicodeDecodeError as error:  # SQLite quotes what it cannot understand
            raise CorruptStoreError(f"{self.path} is damaged: {error}") from error

    def use_write_ahead_log(self) -> None:
        """Let readers and a writer work at once; the file keeps the setting.

        Where the file system cannot do it, a warning says so and transactions wait for
        each other. Not at opening: a file of a newer release is to stay untouched.
        """
        if self.path == MEMORY or self.read_only:
            return
        with self.outside() as connection:
            mode = self.retried(lambda: _write_ahead(connection))
        if mode != "wal":
            logger.warning("%s: no write-ahead log here, journal mode %s", self.path, mode)

    def retried(self, action: Callable[[], Any]) -> Any:
        """Run what SQLite answers with "busy" at once, without its usual waiting."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_STEP)

    def close(self) -> None:
        """Close every connection, after the transactions under way; twice is fine."""
        with self._changed:
            self._closed = True
            while self._active:
                self._changed.wait()
            self._close_idle()
            self._changed.notify_all()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @property
    def closed(self) -> bool:
        """Whether `close()` was called."""
        return self._closed


def _release_pools() -> None:
    for pool in list(_POOLS):
        pool._before_fork()  # noqa: SLF001 - the module's own class


def _reset_pools() -> None:
    for pool in list(_POOLS):
        pool._after_fork()  # noqa: SLF001 - the module's own class


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_release_pools, after_in_child=_reset_pools)


def require_sqlite(version: tuple[int, ...] | None = None) -> None:
    """Check the SQLite library that this Python is linked to.

    Raises:
        UnsupportedSQLiteError: Older than `config.SQLITE_MINIMUM`, or without JSON.
    """
    found = version or sqlite3.sqlite_version_info
    if found < SQLITE_MINIMUM:
        wanted = ".".join(map(str, SQLITE_MINIMUM))
        raise UnsupportedSQLiteError(
            f"SQLite {'.'.join(map(str, found))} is linked to this Python "
            f"({sys.executable}), {wanted} or newer is needed: use a newer build of Python "
            "(the sqlite3 command is another)"
        )
    with closing(sqlite3.connect(MEMORY)) as probe:
        try:
            probe.execute("SELECT json_type('null')")
        except sqlite3.OperationalError as error:
            raise UnsupportedSQLiteError(
                f"SQLite {sqlite3.sqlite_version}, linked to this Python "
                f"({sys.executable}), was built without JSON: use another build of Python"
            ) from error


def bound(text: str) -> str | bytes:
    """A text as a parameter of `CAST(? AS TEXT)`, lone surrogates included."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise CorruptStoreError(
            f"a text in the file is damaged: {error}; verify() lists all that is, repair() "
            "saves the rest"
        ) from error


def _write_ahead(connection: sqlite3.Connection) -> str:
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    return str(mode)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # a full disk, for one, has rolled back already
        connection.execute("ROLLBACK")


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; errors made by the module itself have none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into this package's; the only place that does."""
    try:
        yield
    except RagStoreError:
        raise
    except sqlite3.Error as error:
        raise _translation(path, error) from error


def _translation(path: str, error: sqlite3.Error) -> StorageError:
    code = _code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLockedError(f"{path} is locked by another writer that does not finish")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return CorruptStoreError(f"{path} is damaged or is not an SQLite database: {error}")
    if code == sqlite3.SQLITE_READONLY:
        return ReadOnlyError(
            f"{path} cannot be written: {error}; read_only=True opens it for reading alone"
        )
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"{path}: the disk is full; nothing of this write was kept")
    return StorageError(f"{path}: {error}")
