"""Filters: parsed once into a tree; `matches()` is what they mean.

The dialect is Mongo-like dictionaries (`{"lang": "ja", "page": {"$gte": 3}}`). Every
engine must answer as `matches()` does; the engines' tests hold them to it.

Values have a kind, and only values of one kind are equal or ordered: null, bool,
number (int, float, Decimal), string, time (date, datetime), uuid, bytes, list (a
tuple counts as one), dict. So `True`, `1` and `"1"` differ, while `5` equals `5.0`. A
date stands for its midnight, and a time without a zone is read as UTC.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from langchain_ragstore.errors import FilterError, InvalidInputError
from langchain_ragstore.metadata import normalised

ORDERED: Final = frozenset({"number", "string", "time", "uuid", "bytes"})
"""Kinds with an order, usable with `$gt`, `$gte`, `$lt`, `$lte` and `$between`."""

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - the difference is what counts

Source: TypeAlias = Literal["id", "content", "metadata"]
Operation: TypeAlias = Literal[
    "eq", "in", "gt", "gte", "lt", "lte", "contains", "like", "ilike", "exists"
]


def kind(value: object) -> str:
    """The kind of a value: what it can be equal to and ordered against."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    for name, types in _KINDS:
        if isinstance(value, types):
            return name
    msg = f"{value!r} has no kind that metadata can hold"
    raise FilterError(msg)


def is_number(value: object) -> bool:
    """Whether a value is a number that can be compared, which NaN is not."""
    if isinstance(value, Decimal):
        return not value.is_nan()  # a signalling NaN may not even be compared
    return kind(value) == "number" and value == value  # noqa: PLR0124


_KINDS: Final[tuple[tuple[str, tuple[type, ...]], ...]] = (
    ("string", (str,)),
    ("number", (int, float, Decimal)),
    ("time", (date,)),
    ("list", (list, tuple)),
    ("dict", (dict,)),
    ("uuid", (UUID,)),
    ("bytes", (bytes,)),
)


def identity(value: object) -> Hashable:
    """A key that two values share exactly if a filter takes them for equal.

    Not-a-number equals nothing, itself included, so each gets a key of its own.
    """
    name = kind(value)
    if name == "number" and not is_number(value):
        return object()
    if name == "time":
        return name, _instant(value)  # type: ignore[arg-type]
    if isinstance(value, (list, tuple)):
        return name, tuple(identity(item) for item in value)
    if isinstance(value, dict):
        return name, frozenset((key, identity(item)) for key, item in value.items())
    return name, value


def _instant(value: date) -> timedelta:
    """Time since the epoch; a timedelta, since year 1 has no UTC in some zones."""
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day) - _EPOCH  # noqa: DTZ001
    offset = value.utcoffset() or timedelta(0)
    return value.replace(tzinfo=None) - _EPOCH - offset


def order_value(value: object) -> Any:
    """What values of one ordered kind are compared by."""
    return _instant(value) if isinstance(value, date) else value


@dataclass(frozen=True, slots=True)
class Field:
    """Where a condition looks: the id, the text, or a path of metadata keys."""

    source: Source
    path: tuple[str, ...] = ()

    def find(self, id: str, content: str, metadata: Mapping[str, Any]) -> tuple[bool, Any]:
        """Whether there is a value, and the value."""
        if self.source != "metadata":
            return True, id if self.source == "id" else content
        value: Any = metadata
        for key in self.path:
            if not isinstance(value, Mapping) or key not in value:
                return False, None
            value = value[key]
        return True, value


@dataclass(frozen=True)
class Compare:
    """One condition on one field: `operation(value in the record, operand)`."""

    field: Field
    operation: Operation
    operand: Any

    def matches(self, id: str, content: str, metadata: Mapping[str, Any]) -> bool:
        """Whether a record fulfils the condition; a missing value fulfils none."""
        found, value = self.field.find(id, content, metadata)
        if self.operation == "exists":
            return found is self.operand
        return found and self._test(value)

    @functools.cached_property
    def _test(self) -> Callable[[object], bool]:
        operand = self.operand
        if self.operation == "eq":
            wanted = identity(operand)
            return lambda value: identity(value) == wanted
        if self.operation == "in":
            members = frozenset(identity(item) for item in operand)
            return lambda value: identity(value) in members
        if self.operation == "contains":
            wanted = identity(operand)
            return lambda value: _contains(value, operand, wanted)
        if self.operation in ("like", "ilike"):
            pattern = like_pattern(operand, ignore_case=self.operation == "ilike")
            return lambda value: isinstance(value, str) and bool(pattern.fullmatch(value))
        return functools.partial(
            _ordered, self.operation, kind(operand), order_value(operand)
        )


def _contains(value: object, operand: object, wanted: Hashable) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    return isinstance(value, (list, tuple)) and any(identity(v) == wanted for v in value)


def _ordered(operation: str, name: str, bound: Any, value: object) -> bool:
    if kind(value) != name:
        return False
    if name == "number" and not is_number(value):
        return False  # a Decimal NaN would raise
    left = order_value(value)
    if operation == "gt":
        return bool(left > bound)
    if operation == "gte":
        return bool(left >= bound)
    return bool(left < bound if operation == "lt" else left <= bound)


@functools.lru_cache(maxsize=256)
def like_pattern(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    r"""A LIKE pattern as a regex: `%` any run, `_` one character, `\` escapes."""
    pieces = [""]
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            pieces.append("")
        elif character == "_":
            pieces[-1] += "."
        else:
            # A backslash at the very end stands for itself.
            literal = next(characters, "\\") if character == "\\" else character
            pieces[-1] += re.escape(literal)
    first, *inner = pieces
    last = f".*{inner.pop()}" if inner else ""
    # Between two % the first place that fits is as good as any later one. Atomic groups
    # keep it; plain `.*` would try every combination, n^k of them for k signs.
    whole = first + "".join(f"(?>.*?{piece})" for piece in inner if piece) + last
    return re.compile(whole, re.DOTALL | (re.IGNORECASE if ignore_case else 0))


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition in Python: called with id, text and metadata of each record."""

    function: Callable[[str, str, Mapping[str, Any]], bool]

    def matches(self, id: str, content: str, metadata: Mapping[str, Any]) -> bool:
        """Whether the function says yes."""
        return bool(self.function(id, content, metadata))


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold; without parts, always."""

    parts: tuple[Filter, ...]

    def matches(self, id: str, content: str, metadata: Mapping[str, Any]) -> bool:
        """Whether every part matches."""
        return all(part.matches(id, content, metadata) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds; without parts, never."""

    parts: tuple[Filter, ...]

    def matches(self, id: str, content: str, metadata: Mapping[str, Any]) -> bool:
        """Whether any part matches."""
        return any(part.matches(id, content, metadata) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter

    def matches(self, id: str, content: str, metadata: Mapping[str, Any]) -> bool:
        """Whether the part does not match."""
        return not self.part.matches(id, content, metadata)


Filter: TypeAlias = Compare | Predicate | And | Or | Not

EVERYTHING: Final = And(())
NOTHING: Final = Or(())


def both(first: Filter, second: Filter) -> Filter:
    """The records that two filters share."""
    return _joined(And, (first, second))


def parse(filter: Mapping[Any, Any] | Filter | None) -> Filter:
    """Read a filter.

    Args:
        filter: A dictionary of the dialect, a parsed filter, or None for everything.

    Returns:
        A tree whose `matches()` is the meaning. A filter that holds for every record
        whatever it contains (`{}`, `{"$and": []}`, `{"a": {"$nin": []}}`) is
        `EVERYTHING`.

    Raises:
        FilterError: An unknown operator, an operand that it cannot take, or a filter
            that contains itself.

    Example:
        ```python
        from langchain_ragstore.filters import parse

        adults = parse({"age": {"$gte": 18}, "name": {"$like": "A%"}})
        assert adults.matches("1", "", {"age": 20, "name": "Ann"})
        assert not adults.matches("2", "", {"age": "20", "name": "Ann"})
        ```
    """
    if filter is None:
        return EVERYTHING
    if isinstance(filter, (Compare, Predicate, And, Or, Not)):
        return filter
    try:
        if not isinstance(filter, Mapping):
            found = f"{type(filter).__name__}: {filter!r}"
            raise FilterError(f"a filter is a dict, a callable or None, got {found}")
        return _joined(And, (_entry(key, value) for key, value in filter.items()))
    except RecursionError:
        msg = "a filter is nested too deeply, or contains itself"
        raise FilterError(msg) from None


def _joined(form: type[And | Or], parts: Iterable[Filter]) -> Filter:
    """And/Or of parts: flat, and of one part that part itself."""
    flat: list[Filter] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, form) else (part,))
    other = NOTHING if form is And else EVERYTHING
    if other in flat:
        return other
    return flat[0] if len(flat) == 1 else form(tuple(flat))


def _negated(part: Filter) -> Filter:
    if part in (EVERYTHING, NOTHING):
        return NOTHING if part == EVERYTHING else EVERYTHING
    return Not(part)


def _entry(key: object, value: Any) -> Filter:
    if key in ("$and", "$or", "$not"):
        return _logical(str(key), value)
    field = _field(key)
    if isinstance(value, Mapping):
        return _operations(key, field, value)
    return Compare(field, "eq", _operand(key, "$eq", value))


def _logical(key: str, value: Any) -> Filter:
    if key == "$not":
        whole = value if not isinstance(value, (list, tuple)) else {"$and": value}
        return _negated(parse(whole))
    if not isinstance(value, (list, tuple)):
        msg = f"{key} takes a list of filters, got {type(value).__name__}: {value!r}"
        raise FilterError(msg)
    return _joined(And if key == "$and" else Or, (parse(part) for part in value))


def _field(key: object) -> Field:
    if key in ("$id", "$content"):
        return Field("id" if key == "$id" else "content")
    if isinstance(key, str):
        if key.startswith("$"):
            known = ["$and", "$or", "$not", "$id", "$content"]
            raise FilterError(
                f"unknown operator {key!r} at the top of a filter{_guess(key, known)}; "
                f"a metadata key that begins with $ is written as a tuple: ({key!r},)"
            )
        return Field("metadata", (key,))
    if isinstance(key, tuple) and key and all(isinstance(part, str) for part in key):
        return Field("metadata", key)
    msg = f"a filter key is a string or a tuple of strings (a nested path), got {key!r}"
    raise FilterError(msg)


def _operations(key: object, field: Field, operations: Mapping[Any, Any]) -> Filter:
    if not operations or not all(str(name).startswith("$") for name in operations):
        raise FilterError(
            f"{key!r}: {dict(operations)!r} holds no operators{_guess_bare(operations)}; "
            f'to compare with a dict as a value write {{"$eq": {dict(operations)!r}}}'
        )
    return _joined(And, (_operation(key, field, n, v) for n, v in operations.items()))


def _operation(key: object, field: Field, name: str, value: Any) -> Filter:
    if name == "$not":
        if not isinstance(value, Mapping):
            msg = f"{key!r}: $not takes operators, such as {{'$gt': 5}}, got {value!r}"
            raise FilterError(msg)
        return _negated(_operations(key, field, value))
    if name not in OPERATORS:
        msg = f"{key!r}: unknown operator {name!r}{_guess(name, OPERATORS)}"
        raise FilterError(msg)
    operand = _operand(key, name, value)
    if name == "$ne":
        return Not(Compare(field, "eq", operand))
    if name in ("$in", "$nin"):
        found = Compare(field, "in", operand) if operand else NOTHING
        return found if name == "$in" else _negated(found)
    if name == "$between":
        low, high = operand
        return And((Compare(field, "gte", low), Compare(field, "lte", high)))
    return Compare(field, OPERATORS[name], operand)


OPERATORS: Final[dict[str, Operation]] = {
    "$eq": "eq",
    "$ne": "eq",
    "$gt": "gt",
    "$gte": "gte",
    "$lt": "lt",
    "$lte": "lte",
    "$in": "in",
    "$nin": "in",
    "$between": "gte",
    "$contains": "contains",
    "$like": "like",
    "$ilike": "ilike",
    "$exists": "exists",
}
"""Operators on a field, and the comparison that each is made of."""


def _operand(key: object, name: str, value: Any) -> Any:
    """The operand as the store would hold it, checked for its operator."""
    if name in ("$in", "$nin", "$between"):
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            msg = f"{key!r}: {name} takes a list of values, got {value!r}"
            raise FilterError(msg)
        items = [_checked(key, name, item) for item in value]
        if name == "$between":
            _check_bounds(key, items)
        return items
    if name == "$exists" and not isinstance(value, bool):
        msg = f"{key!r}: $exists takes True or False, got {value!r}"
        raise FilterError(msg)
    if name in ("$like", "$ilike") and not isinstance(value, str):
        msg = f"{key!r}: {name} takes a string, got {value!r}"
        raise FilterError(msg)
    value = _checked(key, name, value)
    if name in ("$gt", "$gte", "$lt", "$lte"):
        _check_order(key, name, value)
    return value


def _checked(key: object, name: str, value: Any) -> Any:
    try:
        return normalised(value)
    except InvalidInputError as error:
        msg = f"{key!r}: {name} cannot compare with {value!r}: no metadata can hold it"
        raise FilterError(msg) from error


def _check_order(key: object, name: str, value: Any) -> None:
    if kind(value) not in ORDERED or (kind(value) == "number" and not is_number(value)):
        wanted = "a number, string, date, datetime, UUID or bytes"
        msg = f"{key!r}: {name} takes {wanted}, got {value!r}"
        raise FilterError(msg)


def _check_bounds(key: object, bounds: list[Any]) -> None:
    if len(bounds) != 2:  # noqa: PLR2004 - a range has two ends
        msg = f"{key!r}: $between takes [low, high], got {len(bounds)} values: {bounds!r}"
        raise FilterError(msg)
    for bound in bounds:
        _check_order(key, "$between", bound)
    if kind(bounds[0]) != kind(bounds[1]):
        msg = f"{key!r}: $between takes two values of one kind, got {bounds!r}"
        raise FilterError(msg)


def _guess(name: object, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}"


def _guess_bare(operations: Mapping[Any, Any]) -> str:
    for name in operations:
        close = difflib.get_close_matches(f"${name}", OPERATORS, n=1, cutoff=0.8)
        if close:
            return f"; did you mean {close[0]!r}?"
    return ""
