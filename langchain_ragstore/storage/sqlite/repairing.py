"""Making a file as it should be, as far as it can be.

First the pages: indexes are made anew, and if that does not help, all that can be read is
copied to a new file, which takes the place of the old content. Then the records: what is
not what was written goes, and is named. Then everything that is made of them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from langchain_ragstore.errors import CorruptStoreError, InvalidInputError, RagStoreError
from langchain_ragstore.model import Problem
from langchain_ragstore.storage.fresh import fresh_file
from langchain_ragstore.storage.sqlite import checking, reindexing, steps
from langchain_ragstore.storage.sqlite import statements as sql
from langchain_ragstore.storage.sqlite.caches import CACHES
from langchain_ragstore.storage.sqlite.checking import Own
from langchain_ragstore.storage.sqlite.connection import Connection, Database, translated
from langchain_ragstore.storage.sqlite.copying import attached, backup
from langchain_ragstore.storage.sqlite.files import MEMORY
from langchain_ragstore.storage.sqlite.resident import State
from langchain_ragstore.storage.sqlite.salvaging import SAVED, salvage
from langchain_ragstore.storage.sqlite.schema import opened

_LOSSES = {"file", "record", "vector", "orphan"}
_ADD_AGAIN = "add the document again, or take it from a backup"
_NOTHING = "nothing more need be done"


def repair(database: Database, own: Own, now: Callable[[], float]) -> list[Problem]:
    """See `Backend.repair`.

    Args:
        database: What is to be repaired.
        own: The store that asks.
        now: The time.

    Returns:
        What was done; nothing if nothing was wrong.
    """
    if database.read_only:
        raise database.refusal()
    found = checking.verify(database, own)
    if not found:
        return []
    done = _set_aside(database) if _LOSSES & {p.kind for p in found} else []
    if any(p.kind == "file" for p in found):
        done += _mended_pages(database)
    with database.write() as connection:
        done += _without_orphans(connection)
        for name, state in checking.known(connection):
            done += _without_damage(connection, name, state)
    done += _rebuilt(database, own, now)
    return done + [
        Problem(p.collection, p.kind, p.ids, f"not repaired: {p.what}", p.way_out)
        for p in checking.verify(database, own)
    ]


def _set_aside(database: Database) -> list[Problem]:
    """Keep a copy of the file as it is, since something of it will go."""
    if database.path == MEMORY:
        return []
    names = (
        f"{database.path}.damaged{n}" for n in ("", *map("-{}".format, range(2, 1000)))
    )
    aside = next(name for name in names if not Path(name).exists())
    backup(database, aside, {}, overwrite=False)
    return [
        Problem(None, "file", (), f"{aside} is the file as it was", "delete it at will")
    ]


# --- pages -------------------------------------------------------------------------------


def _mended_pages(database: Database) -> list[Problem]:
    with suppress(CorruptStoreError), database.write() as connection:
        if list(checking.of_file(connection)):
            connection.execute("REINDEX")
        if not list(checking.of_file(connection)):
            return [Problem(None, "file", (), "made the file's indexes anew", _NOTHING)]
    with tempfile.TemporaryDirectory(dir=_beside(database)) as folder:
        saved = Path(folder) / "saved.db"
        with database.outside(keep=False) as connection:
            problems = salvaged(connection, saved)
        with database.outside() as connection, closing(sqlite3.connect(saved)) as source:
            source.backup(connection)
    what = "copied what can be read of the file and put it in place of the rest"
    return [Problem(None, "file", (), what, _NOTHING), *problems]


def _beside(database: Database) -> str | None:
    return None if database.path == MEMORY else str(Path(database.path).parent)


def salvaged(connection: Connection, saved: Path) -> list[Problem]:
    """Copy what can be read of a database to a new file; what could not."""
    opened(saved).close()
    connection.execute("PRAGMA writable_schema = ON")  # else a file that was cut is refused
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        with attached(connection, saved, SAVED):
            return salvage(connection)
    finally:
        connection.execute("PRAGMA writable_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")


# --- records -----------------------------------------------------------------------------


def _without_orphans(connection: Connection) -> list[Problem]:
    done = []
    for (name,) in connection.execute(sql.FOUND_COLLECTIONS).fetchall():
        what = "a collection whose name is lost has got this one"
        done.append(Problem(name, "orphan", (), what, "reindex_text() of a store on it"))
    for table, count in checking.orphans(connection).items():
        rows = connection.execute(f"PRAGMA foreign_key_check({table})").fetchall()
        connection.executemany(
            f"DELETE FROM {table} WHERE rowid = ?", [(row[1],) for row in rows]
        )
        what = f"{count} rows of {table} belonged to what is not there, and are gone"
        done.append(Problem(None, "orphan", (), what, _NOTHING))
    return done


def _without_damage(connection: Connection, name: str, state: State) -> list[Problem]:
    done = []
    damage = checking.damage(connection, state)
    for id, reason in damage.records.values():
        what = f"the record of {id!r} is lost: {reason}"
        done.append(Problem(name, "record", (id,), what, _ADD_AGAIN))
    for id, reason in damage.vectors.values():
        what = f"the vector of {id!r} is lost, its text is not: {reason}"
        done.append(Problem(name, "vector", (id,), what, _ADD_AGAIN))
    connection.executemany(sql.LOSE_VECTOR, [(key,) for key in damage.vectors])
    connection.executemany(sql.LOSE_DIGEST, [(key,) for key in damage.vectors])
    if damage.kept:
        connection.execute(sql.DROP_ALL_KEPT, (state.collection,))
        what = f"dropped {damage.kept} vectors that waited for their documents"
        done.append(Problem(name, "vector", (), what, _NOTHING))
    if damage.dimension not in (None, state.dimension):
        connection.execute(sql.SET_DIMENSION, (damage.dimension, state.collection))
        what = f"noted that vectors have {damage.dimension} dimensions"
        done.append(Problem(name, "collection", (), what, _NOTHING))
    generation, floor, stamp = checking.counters(connection, state)
    counted = connection.execute(sql.COUNTERS, (state.collection,)).fetchone()
    if counted != (generation, stamp, floor):
        given = (generation, floor, stamp, state.collection)
        connection.execute(sql.SET_COUNTERS, given)
        what = "set its counters to what its records need"
        done.append(Problem(name, "collection", (), what, _NOTHING))
    steps.forget(connection, state, list(damage.records))
    steps.outdate_copies(connection, state)
    return done


# --- what is made of them ----------------------------------------------------------------


def _rebuilt(database: Database, own: Own, now: Callable[[], float]) -> list[Problem]:
    done = []
    problems = checking.verify(database, own)
    mine = (own.collection, checking.TEXT_INDEX)
    if mine in {(p.collection, p.kind) for p in problems}:
        try:
            count = reindexing.reindex(database, own.collection, now, own.terms_of)
        except RagStoreError as error:
            what, way_out = f"not made anew: {error}", "reindex_text()"
        else:
            what, way_out = f"made it anew, of {count} documents", _NOTHING
        done.append(Problem(*mine, (), what, way_out))
    for cache in CACHES:
        for name in {p.collection for p in problems if p.kind == cache.name}:
            with database.write() as connection:
                state = steps.state(connection, name or "")
                if state is not None:
                    cache.rebuild(connection, state)
                    steps.outdate_copies(connection, state)
            done.append(Problem(name, cache.name, (), "made it anew", _NOTHING))
    return done


def recover(damaged: str | os.PathLike[str], path: str | os.PathLike[str]) -> list[Problem]:
    """Copy what can be read of a file that cannot be opened to a new one.

    Args:
        damaged: Is not touched.
        path: The new file.

    Returns:
        What could not be read.

    Raises:
        CorruptStoreError: Nothing can be read.
    """
    source = Path(damaged)
    if not source.is_file():
        raise InvalidInputError(f"{damaged} is no file")
    with fresh_file(path) as part, tempfile.TemporaryDirectory(dir=part.parent) as folder:
        copied = Path(folder) / "damaged.db"
        for suffix in ("", "-wal", "-journal"):
            log = source.with_name(source.name + suffix)
            if log.exists():
                shutil.copyfile(log, f"{copied}{suffix}")
        with (
            translated(str(damaged)),
            closing(sqlite3.connect(f"file:{quote(os.fsencode(copied))}", uri=True)) as raw,
        ):
            raw.isolation_level = None
            raw.execute("PRAGMA trusted_schema = OFF")
            return salvaged(raw, part)
