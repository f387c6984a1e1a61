"""Copies of a store's whole file, and what can be read of a damaged one."""

from __future__ import annotations

import os
from functools import partial

from langchain_core.runnables import run_in_executor

from langchain_ragstore.caring import Caring
from langchain_ragstore.model import Fingerprint, Problem
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.storage.sqlite.files import MEMORY
from langchain_ragstore.storage.sqlite.repairing import recover


class FileCopies(Caring):
    """A store on an SQLite file that can be copied as a whole."""

    _sqlite: SQLiteBackend

    @property
    def path(self) -> str:
        """The file, or `":memory:"`."""
        return self._sqlite.database.path

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Copy the whole file as it is at one moment, while others read and write it.

        Every collection, record manager and byte store is in the copy, and what other
        applications keep in the file. It is opened like the original. A store in memory
        is copied to a file in this way.

        Args:
            path: The copy; it is there when it is complete.
            overwrite: Whether a file may be there, which is replaced.

        Returns:
            Bytes of the copy.

        Raises:
            InvalidInputError: No file can be put there, or this is a scoped view.
        """
        self._check_whole("backup")
        return self._sqlite.backup(path, self._portraits(), overwrite=overwrite)

    async def abackup(
        self, path: str | os.PathLike[str], *, overwrite: bool = False
    ) -> int:
        """As `backup`, off the event loop."""
        return await run_in_executor(None, partial(self.backup, path, overwrite=overwrite))

    def freeze(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Copy the file, compacted, to one for reading alone, as wheels and images ship it.

        The copy has all collections and nothing that was deleted, and none of the tables
        of other applications. `SQLiteVectorStore` knows it again and opens it read-only,
        without locks and without a second file beside it, from a read-only disk, too.

        Args:
            path: The copy; it is there when it is complete.
            overwrite: Whether a file may be there, which is replaced.

        Returns:
            Bytes of the copy.

        Raises:
            InvalidInputError: No file can be put there, or this is a scoped view.
        """
        self._check_whole("freeze")
        return self._sqlite.freeze(path, self._portraits(), overwrite=overwrite)

    async def afreeze(
        self, path: str | os.PathLike[str], *, overwrite: bool = False
    ) -> int:
        """As `freeze`, off the event loop."""
        return await run_in_executor(None, partial(self.freeze, path, overwrite=overwrite))

    def _portraits(self) -> dict[str, Fingerprint | None]:
        """What a copy is to note of models that only this process knows."""
        if self.path != MEMORY:
            return {}
        return {self.collection_name: self._embedder.portrait()}

    @staticmethod
    def recover(
        damaged: str | os.PathLike[str], path: str | os.PathLike[str]
    ) -> list[Problem]:
        """Copy what can be read of a file that no store can open to a new file.

        Open that and call `repair()`, which checks what was read.

        Args:
            damaged: The file; it is not touched.
            path: The new one.

        Returns:
            What could not be read.

        Raises:
            CorruptStoreError: Nothing could; the file is no database.
        """
        return recover(damaged, path)
