"""The tables, and the steps from each version of them to the next.

Every name begins with `ragstore_`, and the version lives in a table of its own rather
than in `user_version`, because other applications keep tables in the same file.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Final

from langchain_ragstore.errors import SchemaTooNewError, StorageError
from langchain_ragstore.storage.sqlite.connection import Database

_VERSION_TABLE: Final = """
CREATE TABLE ragstore_schema (
    version INTEGER PRIMARY KEY,
    applied_at REAL NOT NULL
) STRICT
"""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        # `generation` counts the writes to a collection; `floor` is the oldest one from
        # which the tombstones are complete. `model` and `probe` identify an embedding.
        """
        CREATE TABLE ragstore_collection (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            generation INTEGER NOT NULL DEFAULT 0,
            floor INTEGER NOT NULL DEFAULT 0,
            dimension INTEGER,
            model TEXT,
            probe BLOB
        ) STRICT
        """,
        # AUTOINCREMENT: a key is never used again, so a tombstone means one record.
        """
        CREATE TABLE ragstore_record (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            collection INTEGER NOT NULL REFERENCES ragstore_collection ON DELETE CASCADE,
            id TEXT NOT NULL,
            content TEXT NOT NULL,
            metadata TEXT NOT NULL,
            generation INTEGER NOT NULL,
            created_at REAL NOT NULL,
            updated_at REAL NOT NULL,
            expires_at REAL,
            UNIQUE (collection, id)
        ) STRICT
        """,
        # Holds all that a resident copy needs beside the vectors: the texts stay unread.
        """
        CREATE INDEX ragstore_record_generation
        ON ragstore_record (collection, generation, expires_at)
        """,
        """
        CREATE INDEX ragstore_record_expiry
        ON ragstore_record (collection, expires_at) WHERE expires_at IS NOT NULL
        """,
        # Vectors stand apart from texts, so that reading one does not page in the other.
        """
        CREATE TABLE ragstore_vector (
            record INTEGER PRIMARY KEY REFERENCES ragstore_record ON DELETE CASCADE,
            data BLOB NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE ragstore_tombstone (
            collection INTEGER NOT NULL REFERENCES ragstore_collection ON DELETE CASCADE,
            generation INTEGER NOT NULL,
            record INTEGER NOT NULL,
            PRIMARY KEY (collection, generation, record)
        ) STRICT, WITHOUT ROWID
        """,
    ),
)
"""Statements that lead from version i to i + 1; a released entry never changes."""

APPLICATION_ID: Final = 0x52414753
"""`RAGS`: what the `file` command shows of a file that this package created."""


def migrate(database: Database) -> None:
    """Bring a database to the newest version; each step commits with its record.

    Raises:
        SchemaTooNewError: Written by a newer release; nothing was changed.
    """
    with database.read() as connection:
        version = _version(connection, database.path)
    database.use_write_ahead_log()
    if version == len(MIGRATIONS):
        return
    if database.read_only:
        found = "no tables of this package" if version is None else f"schema {version}"
        raise StorageError(
            f"{database.path} holds {found} and read_only=True changes nothing; "
            "open it once for writing"
        )
    with database.write() as connection:
        # Another process may have been faster.
        version = _version(connection, database.path)
        if version is None:
            if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            connection.execute(_VERSION_TABLE)
        for step in range(version or 0, len(MIGRATIONS)):
            for statement in MIGRATIONS[step]:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO ragstore_schema VALUES (?, ?)", (step + 1, time.time())
            )


def _version(connection: sqlite3.Connection, path: str) -> int | None:
    known = connection.execute(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ragstore_schema'"
    ).fetchone()
    if known is None:
        return None
    (version,) = connection.execute("SELECT max(version) FROM ragstore_schema").fetchone()
    if version > len(MIGRATIONS):
        raise SchemaTooNewError(
            f"{path} has schema version {version}, this release knows {len(MIGRATIONS)}; "
            "upgrade: pip install -U langchain-ragstore"
        )
    return int(version)
