"""The order of `scan(order_by=...)`, the same in every engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import ORDERED, Field, is_number, kind, order_value
from langchain_ragstore.model import Record

COLUMNS: Final = ("created_at", "updated_at", "expires_at")
"""Times that the store keeps beside the metadata."""

_KINDS: Final = ("null", "bool", "number", "string", "time", "uuid", "bytes")


def parse_order(order_by: str | tuple[str, ...]) -> tuple[str | Field, bool]:
    """Read `order_by`: a time column or a field, and whether it is reversed.

    A leading `-` reverses; a tuple names a metadata key as it is (`("created_at",)`).

    Raises:
        InvalidInputError: Neither a string nor a tuple of strings.
    """
    if (
        isinstance(order_by, tuple)
        and order_by
        and all(isinstance(p, str) for p in order_by)
    ):
        return Field("metadata", order_by), False
    if not isinstance(order_by, str) or not order_by.lstrip("-"):
        msg = f"order_by is a key such as 'created_at' or '-page', got {order_by!r}"
        raise InvalidInputError(msg)
    name, backwards = order_by.removeprefix("-"), order_by.startswith("-")
    if name in COLUMNS:
        return name, backwards
    if name in ("$id", "$content"):
        return Field("id" if name == "$id" else "content"), backwards
    return Field("metadata", (name,)), backwards


def ordered(records: Sequence[Record], order_by: str | tuple[str, ...]) -> list[Record]:
    """Sort records; values of different kinds by kind, records without one last.

    Equal values keep the order they came in, also when reversed.
    """
    key, backwards = parse_order(order_by)
    present: list[tuple[Any, Record]] = []
    absent: list[Record] = []
    for record in records:
        rank = _rank(record, key)
        if rank is None:
            absent.append(record)
        else:
            present.append((rank, record))
    present.sort(key=lambda pair: pair[0], reverse=backwards)
    return [record for _, record in present] + absent


def _rank(record: Record, key: str | Field) -> tuple[int, Any] | None:
    if isinstance(key, str):
        time = getattr(record, key)
        return None if time is None else (0, time)
    found, value = key.find(record.id, record.content, record.metadata)
    if not found:
        return None
    name = kind(value)
    if name == "number" and not is_number(value):
        return None  # NaN has no place
    if name == "bool":
        return _KINDS.index(name), value
    if name not in ORDERED:
        return (0, 0) if value is None else None
    return _KINDS.index(name), order_value(value) if isinstance(value, date) else value
