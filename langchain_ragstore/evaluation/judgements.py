"""Queries with their judgements, checked before anything is searched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

from langchain_ragstore.config import MAX_GRADE
from langchain_ragstore.errors import InvalidInputError

_KEYS: Final = ("text", "relevant", "id")


@dataclass(frozen=True, slots=True)
class Query:
    """A question and what answers it.

    Attributes:
        id: Unique among the queries; the text if none was given.
        text: What is searched for.
        relevant: Grades by id, at least one above 0.
    """

    id: str
    text: str
    relevant: Mapping[str, float]


def to_id(value: object, what: str) -> str:
    """An id as text: `7` and `"7"` are one, since data sets and stores mix them.

    Raises:
        InvalidInputError: Neither a str nor an int; named by `what`.
    """
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidInputError(f"{what} must be a non-empty str or an int, got {value!r}")


def positive(name: str, value: object) -> int:
    """A whole number above 0.

    Raises:
        InvalidInputError: It is none; named.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"{name} must be a positive int, got {value!r}")
    return value


def to_queries(given: object) -> list[Query]:
    """Read queries, once through.

    Args:
        given: Items `{"text", "relevant", "id"}`; or a mapping of ids to items, or of
            texts to what is relevant.

    Returns:
        At least one.

    Raises:
        InvalidInputError: None, or one that is not whole; named by its place.
    """
    if isinstance(given, Mapping):
        pairs = [_pair(key, value) for key, value in given.items()]
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        pairs = [(f"query {at}", item) for at, item in enumerate(given)]
    else:
        raise InvalidInputError(
            'queries must be items {"text": …, "relevant": …}, or a mapping of texts to '
            f"relevant ids, got {given!r}"
        )
    queries: dict[str, Query] = {}
    for place, item in pairs:
        query = _query(place, item)
        other = queries.setdefault(query.id, query)
        if other is not query:
            raise InvalidInputError(
                f"{place}: there are two queries with the id {query.id!r}; merge them, or "
                'give each an "id"'
            )
    if not queries:
        raise InvalidInputError("there are no queries")
    return list(queries.values())


def _pair(key: object, value: object) -> tuple[str, object]:
    place = f"query {key!r}"
    # Grades are numbers, so that a str under "text" is no grade of a document named "text".
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return place, {"id": key, **value}
    return place, {"text": key, "relevant": value}


def _query(place: str, item: Any) -> Query:
    if not isinstance(item, Mapping):
        raise InvalidInputError(
            f'{place} must be a mapping {{"text": …, "relevant": …}}, got {item!r}'
        )
    strange = [key for key in item if key not in _KEYS]
    absent = [key for key in ("text", "relevant") if key not in item]
    if strange or absent:
        problem = f"has no {absent[0]!r}" if absent else f"has an unread {strange[0]!r}"
        raise InvalidInputError(
            f"{place} {problem}; the keys are 'text', 'relevant' and, if wanted, 'id'"
        )
    text = item["text"]
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"{place}: the text must be a str with words, got {text!r}")
    id = text if item.get("id") is None else to_id(item["id"], f"{place}: the id")
    return Query(id, text, _grades(f"{place} ({text!r})", item["relevant"]))


def _grades(place: str, relevant: Any) -> dict[str, float]:
    if isinstance(relevant, (str, int)):
        relevant = [relevant]
    if not isinstance(relevant, Iterable) or isinstance(relevant, bytes):
        raise InvalidInputError(
            f"{place}: relevant must be ids or {{id: grade}}, got {relevant!r}"
        )
    if isinstance(relevant, Mapping):
        pairs = list(relevant.items())
    else:
        pairs = [(id, 1.0) for id in relevant]
    grades: dict[str, float] = {}
    for key, value in pairs:
        id = to_id(key, f"{place}: a relevant id")
        grade = _grade(f"{place}: the grade of {id!r}", value)
        if grades.setdefault(id, grade) != grade:
            raise InvalidInputError(
                f"{place}: {id!r} is graded {grades[id]:g} and {grade:g}"
            )
    if not any(grades.values()):
        raise InvalidInputError(
            f"{place} has no relevant id (got {dict(pairs)!r}), so that no result is "
            "right; leave it out"
        )
    return grades


def _grade(name: str, grade: object) -> float:
    number = math.nan
    if isinstance(grade, Real) and not isinstance(grade, bool):
        try:
            number = float(grade)
        except OverflowError:  # an int that no float holds
            number = math.inf
    if 0 <= number <= MAX_GRADE:
        return number
    raise InvalidInputError(f"{name} must be from 0 to {MAX_GRADE:g}, got {grade!r}")
