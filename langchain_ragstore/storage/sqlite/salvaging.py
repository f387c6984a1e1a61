"""Reading what can be read of a damaged file into a new one.

Ranges of rows are copied within SQLite. Where one cannot be read it is halved, down to
the rows that are lost.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from langchain_ragstore.config import SALVAGE_TRIES
from langchain_ragstore.model import Problem
from langchain_ragstore.storage.sqlite.connection import Connection

SAVED: Final = "saved"
"""Name under which the new file is attached to the connection to the damaged one."""

_NEWEST: Final = 1 << 40
"""A key that no table reaches, for where the highest one cannot be read."""

_RESTORE: Final = "take it from a backup, if there is one"


def salvage(connection: Connection) -> list[Problem]:
    """Copy all tables, other applications' too, as far as they can be read.

    Args:
        connection: To the damaged file, outside of a transaction; to a new one with this
            package's empty tables it is attached as `SAVED`.

    Returns:
        What could not be read.
    """
    problems: list[Problem] = []
    ours, theirs = _tables(connection)
    for name, keyed in ours:
        problems += _copied(connection, name, keyed=keyed)
    for name, keyed in theirs:
        problems += _adopted(connection, name, keyed=keyed)
    problems += _rest(connection)
    _keep_counting(connection)
    return problems


def _tables(
    connection: Connection,
) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Names of this package's tables and of others', and whether they have row ids."""
    ours: list[tuple[str, bool]] = []
    theirs: list[tuple[str, bool]] = []
    rows = connection.execute(
        "SELECT name, type, wr FROM pragma_table_list "
        "WHERE schema = 'main' AND type IN ('table', 'shadow') AND name NOT GLOB 'sqlite_*'"
    ).fetchall()
    for name, _, without_rowid in rows:
        mine = name.startswith("ragstore_") and name != "ragstore_schema"
        if name != "ragstore_schema":
            (ours if mine else theirs).append((name, not without_rowid))
    return ours, theirs


def _copied(connection: Connection, name: str, *, keyed: bool) -> Iterator[Problem]:
    """Copy the rows of a table that is there already."""
    table = _quoted(name)
    if not keyed:
        try:
            connection.execute(
                f"INSERT OR IGNORE INTO {SAVED}.{table} SELECT * FROM main.{table}"
            )
        except sqlite3.Error as error:
            yield _lost(name, f"cannot be read: {error}")
        return
    among = f"main.{table} NOT INDEXED WHERE rowid BETWEEN ? AND ?"
    ranged = f"INSERT OR IGNORE INTO {SAVED}.{table} SELECT * FROM {among}"
    todo, failed, lost = [(-_NEWEST, _highest(connection, table))], 0, 0
    while todo and failed < SALVAGE_TRIES:
        first, last = todo.pop()
        try:
            copied = connection.execute(ranged, (first, last)).rowcount
            (read,) = connection.execute(
                f"SELECT count(*) FROM {among}", (first, last)
            ).fetchone()
            lost += max(0, read - copied)  # two that claim to be the same
        except sqlite3.Error:
            failed += 1
            if first == last:
                lost += 1
            else:
                middle = (first + last) // 2
                todo += [(middle + 1, last), (first, middle)]
    if todo:
        yield _lost(name, "can hardly be read; what was found first is saved")
    elif lost:
        yield _lost(name, f"lost {lost} rows, or places where rows may have stood")


def _highest(connection: Connection, table: str) -> int:
    try:
        (key,) = connection.execute(f"SELECT max(rowid) FROM main.{table}").fetchone()
    except sqlite3.Error:
        return _NEWEST
    return 0 if key is None else int(key)


def _adopted(connection: Connection, name: str, *, keyed: bool) -> Iterator[Problem]:
    """Make another application's table and copy its rows."""
    try:
        (text,) = connection.execute(
            "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", (name,)
        ).fetchone()
        connection.execute(_in_saved(text))
    except (sqlite3.Error, TypeError, ValueError) as error:
        yield _lost(name, f"cannot be made: {error}")
        return
    yield from _copied(connection, name, keyed=keyed)


def _rest(connection: Connection) -> Iterator[Problem]:
    """Make other applications' indexes, views, triggers and virtual tables."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL "
        "AND name NOT GLOB 'ragstore_*' AND name NOT GLOB 'sqlite_*' "
        "AND (type <> 'table' OR rootpage = 0)"
    ).fetchall()
    for row in rows:
        try:
            if row[0] == "index":
                connection.execute(_in_saved(row[3]))
            else:  # not run, only written down: nobody need be able to make it here
                connection.execute(
                    f"INSERT INTO {SAVED}.sqlite_schema "
                    "(type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)",
                    row,
                )
        except (sqlite3.Error, ValueError) as error:
            yield _lost(row[1], f"cannot be made: {error}")


def _in_saved(text: str) -> str:
    """The statement that made a table or index, for the other file."""
    for head in ("CREATE TABLE ", "CREATE UNIQUE INDEX ", "CREATE INDEX "):
        if text.upper().startswith(head):
            return f"{text[: len(head)]}{SAVED}.{text[len(head) :].lstrip()}"
    raise ValueError(f"no statement that makes a table or an index: {text[:60]}")


def _keep_counting(connection: Connection) -> None:
    """Give no key twice, also not that of a row that is lost."""
    try:
        connection.execute(
            f"UPDATE {SAVED}.sqlite_sequence AS new SET seq = max(new.seq, old.seq) "
            "FROM main.sqlite_sequence AS old WHERE old.name = new.name"
        )
    except sqlite3.Error:
        connection.execute(f"UPDATE {SAVED}.sqlite_sequence SET seq = seq + 1000000")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _lost(name: str, what: str) -> Problem:
    return Problem(None, "file", (), f"table {name} {what}", _RESTORE)
