"""A filter that every read of a view obeys and every write fulfils."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import EVERYTHING, And, Compare, Filter, Not, Or, both
from langchain_ragstore.metadata import decode, encode, normalised
from langchain_ragstore.model import Record


@dataclass(frozen=True)
class Scope:
    """What part of a collection a view sees.

    Attributes:
        where: The part.
    """

    where: Filter = EVERYTHING

    def narrowed(self, where: Filter) -> Scope:
        """The part of this scope that matches another filter, too."""
        return Scope(both(self.where, where))

    def stamp(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Metadata with the values that the scope prescribes by equality.

        Raises:
            InvalidInputError: The metadata name another value.
        """
        stamped = dict(metadata)
        for part in _prescribing(self.where):
            (key,) = part.field.path
            if key not in stamped:
                stamped[key] = part.operand
            elif not part.matches("", "", {key: normalised(stamped[key])}):
                raise InvalidInputError(
                    f"metadata {key!r} is {stamped[key]!r}, "
                    f"the scope prescribes {part.operand!r}"
                )
        return stamped

    def check(self, records: Collection[Record]) -> None:
        """Refuse records that the view would not see after writing them.

        Raises:
            InvalidInputError: A record lies outside the scope.
        """
        if self.where == EVERYTHING:
            return
        for record in records:
            metadata = decode(encode(record.metadata))  # as they will be read
            if not self.where.matches(record.id, record.content, metadata):
                raise InvalidInputError(
                    f"document {record.id!r} with metadata {dict(record.metadata)!r} "
                    "lies outside the scope of this view"
                )

    def check_patch(self, keys: Collection[str]) -> None:
        """Refuse to change metadata that decide who sees a document.

        Raises:
            InvalidInputError: The scope depends on one of the keys.
        """
        decisive = _decisive(self.where)
        for key in keys:
            if decisive is None or key in decisive:
                raise InvalidInputError(
                    f"metadata {key!r} may not be changed here: the scope depends on it"
                )


def _prescribing(where: Filter) -> list[Compare]:
    """The conditions that leave a top-level key one value."""
    parts = where.parts if isinstance(where, And) else (where,)
    return [
        part
        for part in parts
        if isinstance(part, Compare)
        and part.operation == "eq"
        and part.field.source == "metadata"
        and len(part.field.path) == 1
    ]


def _decisive(where: Filter) -> set[str] | None:
    """Top-level keys that a filter reads; None if a callable may read any."""
    if isinstance(where, Compare):
        return set(where.field.path[:1])
    if isinstance(where, (And, Or)):
        keys: set[str] = set()
        for part in where.parts:
            read = _decisive(part)
            if read is None:
                return None
            keys |= read
        return keys
    return _decisive(where.part) if isinstance(where, Not) else None
