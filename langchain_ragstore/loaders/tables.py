"""Rows of cells → a document that describes the columns, and one for each row.

The first row names the columns if all its cells are filled, different and plain text
(no number, date or truth value), and it is no narrower than the row below; empty cells
at its end do not count. Else they are `column_1`, `column_2`, …
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from langchain_core.documents import Document

from langchain_ragstore.loaders.hygiene import one_line
from langchain_ragstore.loaders.raw import RawFile

Row: TypeAlias = tuple[int, Sequence[str]]
"""The number that a spreadsheet shows beside the row, and its cells."""

_EXAMPLES: Final = 3
_EXAMPLE_LENGTH: Final = 60
_TYPES: Final = (
    ("integer", re.compile(r"[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(,\d{3})+)", re.ASCII)),
    (
        "number",
        re.compile(
            r"[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([,.]\d{3})+[.,]\d+)([eE][+-]?\d+)?",
            re.ASCII,
        ),
    ),
    (
        "date",
        re.compile(
            r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4}"
            r"|\d{4}年\d{1,2}月\d{1,2}日)"
            r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?",
            re.ASCII,
        ),
    ),
    ("boolean", re.compile(r"true|false|yes|no", re.IGNORECASE)),
)
_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")
"""`007` is a code, not a number."""


def table_documents(
    file: RawFile, rows: Callable[[], Iterator[Row]], **place: str
) -> Iterator[Document]:
    """The documents of one table.

    Args:
        file: Where it stands.
        rows: Gives the rows from the first on; called more than once, so that a large
            table need not be held.
        **place: Further metadata, such as the sheet.

    Yields:
        First the `table_schema`, then a document for each row with a filled cell, in
        lines of `column: value`; empty cells are left out.
    """
    names = _header(rows())
    body = _filled(rows())
    if names:
        next(body)
    columns = [_Column(name) for name in names]
    count = 0
    for _, cells in body:
        count += 1
        while len(columns) < len(cells):
            columns.append(_Column(f"column_{len(columns) + 1}"))
        for column, cell in zip(columns, cells, strict=False):
            column.see(cell)
    if not columns:
        return
    title = place.pop("title", None)
    yield file.document(
        _schema(file, columns, count, place.get("sheet")),
        title,
        content_type="table_schema",
        **place,
    )
    body = _filled(rows())
    if names:
        next(body)
    for number, cells in body:
        lines = [
            f"{column.name}: {cell}"
            for column, cell in zip(columns, cells, strict=False)
            if cell
        ]
        yield file.document("\n".join(lines), title, **place, row=number)


def type_of(cell: str) -> str:
    """`"integer"`, `"number"`, `"date"`, `"boolean"` or `"text"`."""
    if _LEADING_ZERO.match(cell):
        return "number" if _TYPES[1][1].fullmatch(cell) and "." in cell else "text"
    return next((name for name, form in _TYPES if form.fullmatch(cell)), "text")


@dataclass(slots=True)
class _Column:
    """What has been seen of a column."""

    name: str
    types: set[str] = field(default_factory=set)
    examples: list[str] = field(default_factory=list)

    def see(self, cell: str) -> None:
        if not cell:
            return
        if "text" not in self.types:
            self.types.add(type_of(cell))
        if len(self.examples) < _EXAMPLES:
            short = one_line(cell)
            if len(short) > _EXAMPLE_LENGTH:
                short = f"{short[: _EXAMPLE_LENGTH - 1]}…"
            if short not in self.examples:
                self.examples.append(short)

    @property
    def type(self) -> str:
        if self.types == {"integer", "number"}:
            return "number"
        return next(iter(self.types)) if len(self.types) == 1 else "text"


def _filled(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows with stripped cells, without empty ones at the end; empty rows fall out."""
    for number, cells in rows:
        kept = [cell.strip() for cell in cells]
        while kept and not kept[-1]:
            kept.pop()
        if kept:
            yield number, kept


def _header(rows: Iterable[Row]) -> list[str]:
    """The names in the first row, or none."""
    first = [cells for _, cells in islice(_filled(rows), 2)]
    if not first or (len(first) > 1 and len(first[0]) < len(first[1])):
        return []
    names = [one_line(cell) for cell in first[0]]
    plain = all(name and type_of(name) == "text" for name in names)
    return names if plain and len(set(names)) == len(names) else []


def _schema(
    file: RawFile, columns: Sequence[_Column], count: int, sheet: str | None
) -> str:
    place = f"{file.path.name}, sheet {sheet}" if sheet else file.path.name
    lines = [f"Table {place}: {count} rows, {len(columns)} columns."]
    for column in columns:
        examples = f", for example: {'; '.join(column.examples)}" if column.examples else ""
        lines.append(f"{column.name} ({column.type}){examples}")
    return "\n".join(lines)
