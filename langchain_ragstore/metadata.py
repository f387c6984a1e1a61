"""Metadata as text: JSON, and what users also put there, back as it was.

JSON values are stored as plain JSON, so that SQL can read them. Dates, times,
decimals, UUIDs, bytes, tuples and everything that JSON or SQLite would bend
(integers beyond 64 bits, infinities, strings with NUL or lone surrogates) become an
object with one `$`-key, such as `{"$date": "2026-01-31"}`. A user's own dictionary of
that shape is wrapped, so the two are never confused.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

import numpy as np

from langchain_ragstore.errors import CorruptStoreError, InvalidInputError

MAX_DEPTH: Final = 100
"""Nesting of lists and dictionaries; SQLite's JSON parser stops at 1 000 or 2 000."""

_INT64: Final = range(-(2**63), 2**63)
_UNCLEAN: Final = re.compile("[\x00\ud800-\udfff]")

_RESTORE: Final[dict[str, Callable[[Any], Any]]] = {
    "$date": date.fromisoformat,
    "$datetime": datetime.fromisoformat,
    "$decimal": Decimal,
    "$uuid": UUID,
    "$bytes": base64.b64decode,
    "$int": lambda digits: int(digits, 16),
    "$float": float,
    "$str": json.loads,
    "$tuple": tuple,
    "$dict": dict,
}


_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
)


def is_clean(text: str) -> bool:
    """Whether SQLite keeps a text as it is: no NUL and no lone surrogate in it."""
    return _UNCLEAN.search(text) is None


def encode(metadata: Mapping[str, Any]) -> str:
    """Turn metadata into JSON text.

    Args:
        metadata: String keys; values are JSON, date, datetime, Decimal, UUID, bytes,
            tuples, numpy scalars, or members of `str` and `int` enumerations.

    Returns:
        Compact JSON that `decode` turns back into equal metadata.

    Raises:
        InvalidInputError: A value that could not be given back equal (a set, an
            object, a cycle, a key that is no string); names the key.

    Example:
        ```python
        from langchain_ragstore.metadata import decode, encode

        assert decode(encode({"page": 3, "tags": ["a"]})) == {"page": 3, "tags": ["a"]}
        ```
    """
    if not isinstance(metadata, Mapping):
        msg = f"metadata must be a dict, got {type(metadata).__name__}"
        raise InvalidInputError(msg)
    plain = {}
    for key, value in metadata.items():
        if not isinstance(key, str):
            msg = f"metadata key {key!r} is a {type(key).__name__}; keys must be strings"
            raise InvalidInputError(msg)
        if not is_clean(key):
            msg = f"metadata key {key!r} holds a NUL or a lone surrogate; rename it"
            raise InvalidInputError(msg)
        plain[str(key)] = _plain(value, (key,), ())
    return _ENCODER.encode(plain)


def decode(text: str) -> dict[str, Any]:
    """Turn the text of `encode` back into metadata that nothing else refers to.

    Raises:
        CorruptStoreError: Not a text of `encode`, or of a newer release's.
    """
    try:
        raw: dict[str, Any] = json.loads(text)
        if '{"$' not in text:
            return raw
        return {key: _restored(value) for key, value in raw.items()}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CorruptStoreError(f"unreadable metadata: {text[:80]!r}") from error


def normalised(value: object) -> Any:
    """One value as it would come back from the store: its kind made plain.

    Raises:
        InvalidInputError: As `encode`.
    """
    return decode(encode({"value": value}))["value"]


def _plain(value: Any, path: tuple[str, ...], outer: tuple[int, ...]) -> Any:
    """One value as plain JSON; `path` names it, `outer` are the ids around it."""
    if value is None or isinstance(value, bool):
        return value
    if type(value) is str and is_clean(value):  # the most frequent: no further questions
        return value
    if isinstance(value, Enum) and isinstance(value, (str, int)):
        return _plain(value.value, path, outer)
    if isinstance(value, str):
        return str(value) if is_clean(value) else {"$str": json.dumps(str(value))}
    if isinstance(value, np.generic):
        return _plain_numpy(value, path, outer)
    if isinstance(value, int):
        # Hexadecimal: Python refuses to write out more than 4 300 decimal digits.
        return int(value) if int(value) in _INT64 else {"$int": hex(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, (list, tuple, dict)):
        return _plain_container(value, path, outer)
    return _plain_scalar(value, path)


def _plain_numpy(value: np.generic, path: tuple[str, ...], outer: tuple[int, ...]) -> Any:
    item = value.item()
    if isinstance(value, np.void) or isinstance(item, np.generic):
        return _refuse(value, path)
    if item != value and item == item:  # noqa: PLR0124 - NaN comes back as NaN
        return _refuse(value, path)
    return _plain(item, path, outer)


def _plain_container(
    value: list[Any] | tuple[Any, ...] | dict[Any, Any],
    path: tuple[str, ...],
    outer: tuple[int, ...],
) -> Any:
    if id(value) in outer:
        msg = f"metadata {_name(path)} contains itself"
        raise InvalidInputError(msg)
    if len(outer) >= MAX_DEPTH:
        msg = f"metadata {_name(path[:1])} is nested more than {MAX_DEPTH} deep"
        raise InvalidInputError(msg)
    outer = (*outer, id(value))
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                msg = f"metadata {_name(path)} has the key {key!r}; keys must be strings"
                raise InvalidInputError(msg)
        pairs = [(str(k), _plain(v, (*path, k), outer)) for k, v in value.items()]
        if all(is_clean(key) for key, _ in pairs) and not _looks_tagged(value):
            return dict(pairs)
        return {"$dict": [[_plain(key, path, ()), item] for key, item in pairs]}
    items = [_plain(item, (*path, str(i)), outer) for i, item in enumerate(value)]
    return items if isinstance(value, list) else {"$tuple": items}


def _plain_scalar(value: object, path: tuple[str, ...]) -> Any:
    """The tagged form of what JSON has no type for."""
    if isinstance(value, date):
        return _plain_time(value, path)
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, UUID):
        return {"$uuid": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    return _refuse(value, path)


def _plain_time(value: date, path: tuple[str, ...]) -> Any:
    """A date or datetime; subclasses may hold more than these do (pandas' NaT)."""
    text = value.isoformat()
    try:
        if isinstance(value, datetime):  # first: a datetime is a date, too
            back = datetime.fromisoformat(text)
            kept = back.replace(tzinfo=None) == value.replace(tzinfo=None)
            return {"$datetime": text} if kept else _refuse(value, path)
        kept = date.fromisoformat(text) == value
    except ValueError:
        kept = False
    return {"$date": text} if kept else _refuse(value, path)


def _refuse(value: object, path: tuple[str, ...]) -> Any:
    hint = {
        set: "use a sorted list",
        frozenset: "use a sorted list",
        np.ndarray: "use .tolist()",
    }.get(type(value), "store a str, number, bool, None, list, dict, date or bytes")
    kind = type(value).__name__
    msg = f"metadata {_name(path)} is a {kind}, which does not round-trip; {hint}"
    raise InvalidInputError(msg)


def _looks_tagged(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _looks_tagged(value):
        ((tag, inner),) = value.items()
        return _RESTORE[tag](_restored(inner))
    return {key: _restored(item) for key, item in value.items()}


def _name(path: tuple[str, ...]) -> str:
    return ".".join(repr(part) for part in path)
