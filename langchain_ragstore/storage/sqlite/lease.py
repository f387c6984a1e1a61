"""One database with several users: a store, its record manager, its byte store."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Self

from langchain_ragstore.errors import StoreClosedError
from langchain_ragstore.storage.sqlite.connection import Connection, Database
from langchain_ragstore.storage.sqlite.schema import opened


class Lease:
    """The use of a database by one of several; closing it ends this use alone.

    Args:
        path: A file that is opened and, at the end, closed; or an open database, which
            stays its owner's to close.

    Raises:
        StoreClosedError: The database is closed.
    """

    def __init__(self, path: str | os.PathLike[str] | Database) -> None:
        self._closed = False
        self._owned = not isinstance(path, Database)
        self.database = path if isinstance(path, Database) else opened(path)
        if not self._owned:
            self.check()

    def read(self) -> AbstractContextManager[Connection]:
        """As `Database.read`."""
        return self._used().read()

    def write(self) -> AbstractContextManager[Connection]:
        """As `Database.write`."""
        return self._used().write()

    def check(self) -> None:
        """Raise `StoreClosedError` if this use or the database has ended."""
        with self.read():
            pass

    def close(self) -> None:
        """End this use; twice is fine."""
        self._closed = True
        if self._owned:
            self.database.close()

    def _used(self) -> Database:
        if self._closed and not self._owned:
            raise StoreClosedError(
                f"this user of {self.database.path} was closed; its store makes another"
            )
        return self.database


class Tenant:
    """What keeps its rows in a database that others may use as well."""

    _lease: Lease

    def close(self) -> None:
        """End the use of the file, and close it unless a store shares it. Twice is fine.

        Any later use raises `StoreClosedError`.
        """
        self._lease.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
