"""Filters as SQL conditions that mean what `Filter.matches()` means.

SQLite decides the cases in which it agrees with Python exactly: plain strings,
integers, booleans and null, found by `json_type`. Everything else (fractions, whose
text SQLite reads with a rounding of its own; dates and other tagged values; lists;
nested paths; patterns; callables) is handed to the same Python objects that the oracle
uses, through one SQL function.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from langchain_ragstore.filters import (
    And,
    Compare,
    Filter,
    Not,
    Or,
    is_number,
)
from langchain_ragstore.metadata import decode, is_clean
from langchain_ragstore.storage.sqlite.statements import MATCH_FUNCTION

_MOST_LEAVES: Final = 50
"""Conditions in one statement: each binds up to 9 variables, of which some builds allow
999, and SQLite stops at expressions 1 000 deep, as a chain of 1 000 ORs is."""

_DEEPEST: Final = 10
"""Nesting of And, Or and Not in one statement: SQLite's parser has a stack of 100."""

_SYMBOLS: Final = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_INT64: Final = range(-(2**63), 2**63)
_TRUE, _FALSE = "1", "0"


@dataclass
class Clause:
    """An SQL condition on `ragstore_record r` under construction.

    Attributes:
        sql: The condition; nothing in it comes from the user.
        parameters: What is bound to it, in order.
        leaves: What `MATCH_FUNCTION` decides, by number.
    """

    sql: str = _TRUE
    parameters: list[Any] = field(default_factory=list)
    leaves: list[Filter] = field(default_factory=list)

    def bind(self, *values: Any) -> None:
        """Append parameters in the order of their place in the SQL."""
        self.parameters.extend(values)


@contextmanager
def applied(connection: sqlite3.Connection, where: Filter) -> Iterator[Clause]:
    """Compile a filter for use on one connection while the context lasts.

    A filter too large or too deep for one statement is decided by Python as a whole.
    An exception of a callable filter reaches the caller as it is.
    """
    clause = Clause()
    leaves, depth = _size(where)
    fits = leaves <= _MOST_LEAVES and depth <= _DEEPEST
    clause.sql = (_compiled if fits else _in_python)(where, clause)
    raised: list[BaseException] = []
    if clause.leaves:
        match = _matcher(clause.leaves, raised)
        connection.create_function(MATCH_FUNCTION, 4, match)
    try:
        yield clause
    except sqlite3.OperationalError:
        if raised:
            raise raised[0] from None
        raise


def _matcher(
    leaves: list[Filter], raised: list[BaseException]
) -> Callable[[int, bytes, bytes, str], bool]:
    def match(number: int, id: bytes, content: bytes, metadata: str) -> bool:
        try:
            return leaves[number].matches(_text(id), _text(content), decode(metadata))
        except BaseException as error:
            raised.append(error)
            raise

    return match


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _compiled(where: Filter, clause: Clause) -> str:
    if isinstance(where, (And, Or)):
        word, empty = (" AND ", _TRUE) if isinstance(where, And) else (" OR ", _FALSE)
        parts = [_compiled(part, clause) for part in where.parts]
        return f"({word.join(parts)})" if parts else empty
    if isinstance(where, Not):
        return f"NOT {_compiled(where.part, clause)}"
    if isinstance(where, Compare):
        if where.field.source == "metadata":
            return _on_metadata(where, clause)
        return _on_column(where, clause)
    return _in_python(where, clause)


def _size(where: Filter) -> tuple[int, int]:
    """How many conditions a filter holds and how deeply they are nested."""
    if isinstance(where, (And, Or)):
        sizes = [_size(part) for part in where.parts]
        deepest = max((depth for _, depth in sizes), default=0)
        return sum(leaves for leaves, _ in sizes), 1 + deepest
    if isinstance(where, Not):
        leaves, depth = _size(where.part)
        return leaves, 1 + depth
    return 1, 0


def _in_python(leaf: Filter, clause: Clause) -> str:
    clause.leaves.append(leaf)
    clause.bind(len(clause.leaves) - 1)
    columns = "CAST(r.id AS BLOB), CAST(r.content AS BLOB), r.metadata"
    return f"{MATCH_FUNCTION}(?, {columns})"


def _on_column(leaf: Compare, clause: Clause) -> str:
    """A condition on the id or the text, which are strings and always there."""
    column = f"r.{leaf.field.source}"
    operand = leaf.operand
    if leaf.operation == "exists":
        return _TRUE if operand else _FALSE
    if leaf.operation == "in" and all(_is_plain_string(item) for item in operand):
        clause.bind(json.dumps(operand, ensure_ascii=False))
        return f"{column} IN (SELECT value FROM json_each(?))"
    if not _is_plain_string(operand):
        return _in_python(leaf, clause)
    if leaf.operation == "contains":
        clause.bind(operand)
        return f"(instr({column}, ?) > 0)"
    if leaf.operation in _SYMBOLS:
        clause.bind(operand)
        return f"({column} {_SYMBOLS[leaf.operation]} ?)"
    return _in_python(leaf, clause)


def _on_metadata(leaf: Compare, clause: Clause) -> str:
    path = json_path(leaf.field.path)
    if path is None:
        return _in_python(leaf, clause)
    kind_of = "json_type(r.metadata, ?)"
    if leaf.operation == "exists":
        clause.bind(path)
        return f"({kind_of} IS {'NOT ' if leaf.operand else ''}NULL)"
    if leaf.operation == "eq" and (leaf.operand is None or isinstance(leaf.operand, bool)):
        clause.bind(path, json.dumps(leaf.operand))
        return f"({kind_of} IS ?)"
    clause.bind(path)
    branches = [
        f"WHEN '{name}' THEN {decide(path, clause)}" for name, decide in _branches(leaf)
    ]
    return f"(CASE {kind_of} {' '.join(branches)} ELSE 0 END)"


Decision: TypeAlias = Callable[[str, Clause], str]


def _branches(leaf: Compare) -> Iterable[tuple[str, Decision]]:
    """For each JSON type that can fulfil the condition, who decides and how."""

    def python(_path: str, clause: Clause) -> str:
        return _in_python(leaf, clause)

    def sql(symbol: str, operand: Any) -> Decision:
        def decide(path: str, clause: Clause) -> str:
            clause.bind(path, operand)
            return f"json_extract(r.metadata, ?) {symbol} ?"

        return decide

    operand = leaf.operand
    yield "object", python
    yield "array", python
    if leaf.operation == "in":
        yield from _members(operand)
        yield "real", python
    elif leaf.operation == "contains":
        if _is_plain_string(operand):
            yield "text", _substring(operand)
    elif leaf.operation not in _SYMBOLS:
        yield "text", python
    elif _is_plain_string(operand):
        yield "text", sql(_SYMBOLS[leaf.operation], operand)
    elif is_number(operand):
        exact = _is_plain_number(operand)
        yield "real", python
        yield "integer", sql(_SYMBOLS[leaf.operation], operand) if exact else python


def _substring(operand: str) -> Decision:
    def decide(path: str, clause: Clause) -> str:
        clause.bind(path, operand)
        return "instr(json_extract(r.metadata, ?), ?) > 0"

    return decide


def _members(operands: list[Any]) -> Iterable[tuple[str, Decision]]:
    """`in`, for the JSON types whose members one list parameter can hold."""
    strings = [item for item in operands if _is_plain_string(item)]
    numbers = [_integer(item) for item in operands if is_number(item)]
    integers = [number for number in numbers if number is not None]
    for name, members in (("text", strings), ("integer", integers)):

        def decide(path: str, clause: Clause, members: list[Any] = members) -> str:
            clause.bind(path, json.dumps(members, ensure_ascii=False))
            return "json_extract(r.metadata, ?) IN (SELECT value FROM json_each(?))"

        yield name, decide
    for name, value in (("null", None), ("true", True), ("false", False)):
        if any(item is value for item in operands):
            yield name, lambda _path, _clause: _TRUE


def _integer(value: Any) -> int | None:
    """The 64-bit integer that equals a number, if there is one."""
    if not _INT64.start <= value < _INT64.stop:  # NaN is neither
        return None
    whole = int(value)
    return whole if whole == value else None


def _is_plain_string(value: object) -> bool:
    return isinstance(value, str) and is_clean(value)


def _is_plain_number(value: object) -> bool:
    if isinstance(value, int):
        return value in _INT64
    return isinstance(value, float) and math.isfinite(value)


def json_path(keys: tuple[str, ...]) -> str | None:
    """The JSON path of a key, or None where SQLite's paths cannot name it."""
    if len(keys) != 1:
        return None
    (key,) = keys
    if not key or not is_clean(key) or any(c in '"\\' or c < " " for c in key):
        return None
    return f'$."{key}"'
