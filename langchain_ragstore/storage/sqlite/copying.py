"""Whole files: a copy while others write, and one that is never written again."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Fingerprint
from langchain_ragstore.storage.fresh import absolute, fresh_file
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.compacting import compact
from langchain_ragstore.storage.sqlite.connection import (
    Connection,
    Database,
    bound,
    translated,
)
from langchain_ragstore.storage.sqlite.files import FROZEN_ID, MEMORY
from langchain_ragstore.storage.sqlite.models import note
from langchain_ragstore.storage.sqlite.schema import APPLICATION_ID, opened

_OURS: Final = """
SELECT name FROM main.sqlite_schema
WHERE type = 'table' AND name GLOB 'ragstore_*' AND name <> 'ragstore_schema'
"""


Models: TypeAlias = Mapping[str, Fingerprint | None]


def backup(
    database: Database, path: str | os.PathLike[str], models: Models, *, overwrite: bool
) -> int:
    """Copy a database as it is at one moment, other applications' tables included.

    Args:
        database: What is copied; others may read and write it meanwhile.
        path: The copy.
        models: What it is to note of collections' models, where that is not what is noted.
        overwrite: Whether a file may be there, which is replaced.

    Returns:
        Bytes of the copy.
    """
    with _begun(database, path, overwrite=overwrite) as (part, named):
        with translated(named), closing(sqlite3.connect(part)) as copy:
            with database.read() as connection, translated(named):
                # All pages in one step: one in many begins anew whenever another process
                # writes. With a log, nobody waits for it.
                connection.backup(copy)
            _note(copy, models)
            if database.frozen:
                copy.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            copy.commit()
        return part.stat().st_size


def freeze(
    database: Database,
    path: str | os.PathLike[str],
    models: Models,
    now: Callable[[], float],
    *,
    overwrite: bool,
) -> int:
    """Copy this package's tables to a file that is opened for reading alone.

    Args:
        database: What is copied; others may read and write it meanwhile.
        path: The copy.
        models: As in `backup`.
        now: The time; what has expired is left out.
        overwrite: Whether a file may be there, which is replaced.

    Returns:
        Bytes of the copy.
    """
    with _begun(database, path, overwrite=overwrite) as (part, named):
        opened(part).close()
        with database.outside(keep=False) as connection, translated(named):
            _copy_tables(connection, part)
        with closing(Database(part)) as copy:
            with copy.write() as connection:
                _note(connection, models)
            compact(copy, now)
            with copy.outside() as connection:
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute(f"PRAGMA application_id = {FROZEN_ID:d}")
        return part.stat().st_size


@contextmanager
def _begun(
    database: Database, path: str | os.PathLike[str], *, overwrite: bool
) -> Iterator[tuple[Path, str]]:
    """A file to write a copy to, and what errors call it."""
    _check_apart(database, path)
    with fresh_file(path, overwrite=overwrite) as part:
        yield part, f"{path} (a copy of {database.path})"


def _note(connection: Connection, models: Models) -> None:
    for name, model in models.items():
        row = connection.execute(sql.COLLECTION, (bound(name),)).fetchone()
        if row is not None:
            note(connection, row[0], model)


def _copy_tables(connection: Connection, part: Path) -> None:
    with attached(connection, part, "frozen"):
        connection.execute("BEGIN")
        try:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            for (name,) in connection.execute(_OURS).fetchall():
                connection.execute(f"INSERT INTO frozen.{name} SELECT * FROM main.{name}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def attached(connection: Connection, path: Path, name: str) -> Iterator[None]:
    """Let a connection use a second file, under a name."""
    there = [row[1] for row in connection.execute("PRAGMA database_list")]
    if name in there:  # of an earlier use that failed
        connection.execute(f"DETACH {name}")
    uri = f"file:{quote(os.fsencode(path))}?mode=rw"
    connection.execute(f"ATTACH ? AS {name}", (uri,))
    try:
        yield
    finally:
        connection.execute(f"DETACH {name}")


def _check_apart(database: Database, path: str | os.PathLike[str]) -> None:
    """Refuse to replace what is in use: its log would be taken for that of the new file.

    Raises:
        InvalidInputError: It is this one, or another that is open.
    """
    place = absolute(path)
    if database.path != MEMORY and place.exists() and place.samefile(database.path):
        raise InvalidInputError(f"{path} is the store itself; choose another path")
    for suffix in ("-wal", "-journal"):
        log = place.with_name(place.name + suffix)
        if log.exists():
            raise InvalidInputError(
                f"{path} is open somewhere, or was not closed ({log.name} is there); close "
                "it first or choose another path"
            )
