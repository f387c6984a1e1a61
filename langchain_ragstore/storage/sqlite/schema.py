"""The tables, and the steps from each version of them to the next.

Every name begins with `ragstore_`, and the version lives in a table of its own rather
than in `user_version`, because other applications keep tables in the same file.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from typing import Final

from langchain_ragstore.errors import SchemaTooNewError, StorageError
from langchain_ragstore.storage.sqlite.connection import Database
from langchain_ragstore.storage.sqlite.files import MEMORY

logger = logging.getLogger(__name__)

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
        # `stamp` is the last one that a record's terms were indexed under, `analyzer` what
        # made the terms. `coded` counts the measurements of the codes, 0: there are none;
        # `written` the vectors since the last one.
        """
        CREATE TABLE ragstore_collection (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            generation INTEGER NOT NULL DEFAULT 0,
            floor INTEGER NOT NULL DEFAULT 0,
            stamp INTEGER NOT NULL DEFAULT 0,
            analyzer TEXT,
            dimension INTEGER,
            coded INTEGER NOT NULL DEFAULT 0,
            written INTEGER NOT NULL DEFAULT 0,
            model TEXT,
            probe BLOB
        ) STRICT
        """,
        # AUTOINCREMENT: a key is never used again, so a tombstone means one record.
        # `stamp` tells which of its postings are in force; NULL: not in the text index.
        # `digest` is of the text that a model embedded; NULL: the vector is not its work.
        # `checksum`, here and below, is of the bytes beside it; see `checksums`. That of
        # `created_at` stands apart: an update keeps both, without reading them.
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
            stamp INTEGER,
            digest BLOB,
            checksum INTEGER NOT NULL,
            created_checksum INTEGER NOT NULL,
            UNIQUE (collection, id)
        ) STRICT
        """,
        """
        CREATE INDEX ragstore_record_digest
        ON ragstore_record (collection, digest) WHERE digest IS NOT NULL
        """,
        # Holds all that a resident copy needs beside the vectors: the texts stay unread.
        """
        CREATE INDEX ragstore_record_generation
        ON ragstore_record (collection, generation, expires_at, stamp)
        """,
        """
        CREATE UNIQUE INDEX ragstore_record_stamp
        ON ragstore_record (collection, stamp) WHERE stamp IS NOT NULL
        """,
        """
        CREATE INDEX ragstore_record_expiry
        ON ragstore_record (collection, expires_at) WHERE expires_at IS NOT NULL
        """,
        # Vectors stand apart from texts, so that reading one does not page in the other.
        """
        CREATE TABLE ragstore_vector (
            record INTEGER PRIMARY KEY REFERENCES ragstore_record ON DELETE CASCADE,
            data BLOB NOT NULL,
            checksum INTEGER NOT NULL
        ) STRICT
        """,
        # Vectors in a byte a dimension, those of neighbouring keys in one row, so that a
        # collection is read in few and large pieces; see `coding`.
        """
        CREATE TABLE ragstore_code (
            collection INTEGER NOT NULL REFERENCES ragstore_collection ON DELETE CASCADE,
            number INTEGER NOT NULL,
            rows INTEGER NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (collection, number)
        ) STRICT
        """,
        # What was learned from the vectors: their mean, and how deep a search must look.
        """
        CREATE TABLE ragstore_codebook (
            collection INTEGER PRIMARY KEY
                REFERENCES ragstore_collection ON DELETE CASCADE,
            rows INTEGER NOT NULL,
            needed TEXT NOT NULL,
            mean BLOB NOT NULL
        ) STRICT
        """,
        # Vectors of texts whose records are not stored yet, so that a failure between
        # does not lose what a model was paid for.
        """
        CREATE TABLE ragstore_kept_vector (
            collection INTEGER NOT NULL REFERENCES ragstore_collection ON DELETE CASCADE,
            digest BLOB NOT NULL,
            data BLOB NOT NULL,
            checksum INTEGER NOT NULL,
            PRIMARY KEY (collection, digest)
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
        # A segment is a part of the text index that never changes once it is written:
        # `slots` are its rows' stamps and lengths, `fences` its blocks' first terms.
        # `merging` is what a merge needs to go on; NULL: complete, and searched.
        """
        CREATE TABLE ragstore_segment (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            collection INTEGER NOT NULL REFERENCES ragstore_collection ON DELETE CASCADE,
            rows INTEGER NOT NULL,
            merging TEXT,
            slots BLOB NOT NULL,
            fences BLOB NOT NULL
        ) STRICT
        """,
        """
        CREATE INDEX ragstore_segment_collection ON ragstore_segment (collection)
        """,
        """
        CREATE TABLE ragstore_posting (
            segment INTEGER NOT NULL REFERENCES ragstore_segment ON DELETE CASCADE,
            number INTEGER NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (segment, number)
        ) STRICT
        """,
        # What LangChain's index() has written and when. The last time given out stands
        # apart from the keys: it must not go back when the newest key is deleted.
        """
        CREATE TABLE ragstore_ledger_time (
            namespace TEXT PRIMARY KEY,
            time REAL NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE ragstore_ledger (
            namespace TEXT NOT NULL,
            key TEXT NOT NULL,
            group_id TEXT,
            updated_at REAL NOT NULL,
            PRIMARY KEY (namespace, key)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE INDEX ragstore_ledger_updated
        ON ragstore_ledger (namespace, updated_at)
        """,
        # index() asks for the old keys of its sources after every batch.
        """
        CREATE INDEX ragstore_ledger_group
        ON ragstore_ledger (namespace, group_id, updated_at) WHERE group_id IS NOT NULL
        """,
        # `sequence` is the order of writing, which a clock cannot tell. The data come
        # last, so that nothing is paged in for the other columns.
        """
        CREATE TABLE ragstore_blob (
            sequence INTEGER PRIMARY KEY,
            namespace TEXT NOT NULL,
            key TEXT NOT NULL,
            size INTEGER NOT NULL,
            created_at REAL NOT NULL,
            updated_at REAL NOT NULL,
            expires_at REAL,
            data BLOB NOT NULL,
            UNIQUE (namespace, key)
        ) STRICT
        """,
        """
        CREATE INDEX ragstore_blob_size ON ragstore_blob (namespace, sequence, size)
        """,
        """
        CREATE INDEX ragstore_blob_expiry
        ON ragstore_blob (namespace, expires_at) WHERE expires_at IS NOT NULL
        """,
    ),
)
"""Statements that lead from version i to i + 1; a released entry never changes."""

APPLICATION_ID: Final = 0x52414753
"""`RAGS`: what the `file` command shows of a file that this package created."""


def opened(path: str | os.PathLike[str] = MEMORY, *, read_only: bool = False) -> Database:
    """Open a file and bring it to the newest version; a refused one is not held open.

    Args:
        path: A file, made if absent, or `":memory:"`.
        read_only: Open for reading alone.
    """
    database = Database(path, read_only=read_only)
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    logger.info("opened %s (SQLite %s)", database.path, sqlite3.sqlite_version)
    return database


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
