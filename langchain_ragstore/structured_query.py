"""LangChain's structured queries as this package's filters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)
from typing_extensions import override

from langchain_ragstore.errors import FilterError


class StructuredQueryTranslator(Visitor):
    """Pass one as `structured_query_translator` to LangChain's `SelfQueryRetriever`.

    Example:
        ```python
        from langchain_core.structured_query import Comparator, Comparison

        from langchain_ragstore import StructuredQueryTranslator

        recent = Comparison(comparator=Comparator.GTE, attribute="year", value=2020)
        assert recent.accept(StructuredQueryTranslator()) == {"year": {"$gte": 2020}}
        ```
    """

    allowed_comparators: Sequence[Comparator] | None = tuple(Comparator)
    allowed_operators: Sequence[Operator] | None = tuple(Operator)

    @override
    def visit_operation(self, operation: Operation) -> dict[str, Any]:
        """And, or, not of filters."""
        parts = [argument.accept(self) for argument in operation.arguments]
        if operation.operator != Operator.NOT:
            return {f"${operation.operator.value}": parts}
        if len(parts) != 1:
            raise FilterError(f"not takes one condition, got {len(parts)}")
        return {"$not": parts[0]}

    @override
    def visit_comparison(self, comparison: Comparison) -> dict[str, Any]:
        """One condition on one metadata key."""
        name = comparison.comparator.value
        operator = "$contains" if name == "contain" else f"${name}"
        value = _value(comparison.value)
        if operator in ("$in", "$nin") and not isinstance(value, (list, tuple)):
            value = [value]
        if operator == "$like" and "%" not in str(value):
            value = f"%{value}%"  # the model means "contains"
        return {comparison.attribute: {operator: value}}

    @override
    def visit_structured_query(
        self, structured_query: StructuredQuery
    ) -> tuple[str, dict[str, Any]]:
        """The text to search for, and the keywords of the search."""
        keywords: dict[str, Any] = {}
        if structured_query.filter is not None:
            keywords["filter"] = structured_query.filter.accept(self)
        if structured_query.limit is not None:
            keywords["k"] = structured_query.limit
        return structured_query.query, keywords


def _value(value: Any) -> Any:
    """LangChain's parser gives dates as `{"date": "2026-01-31", "type": "date"}`."""
    if isinstance(value, (list, tuple)):
        return [_value(item) for item in value]
    if isinstance(value, dict) and value.get("type") in ("date", "datetime"):
        return _moment(value)
    return value


def _moment(value: dict[str, Any]) -> Any:
    kind = value["type"]
    text = value.get(kind) or value.get("date") or value.get("datetime")
    parse = date.fromisoformat if kind == "date" else datetime.fromisoformat
    try:
        return parse(str(text))
    except ValueError as error:
        raise FilterError(f"{value!r} is no {kind}: {error}") from error
