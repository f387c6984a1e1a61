"""XLSX workbooks, a table for each sheet."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from io import BytesIO
from typing import Any, Final

from langchain_core.documents import Document

from langchain_ragstore.loaders.archives import own_title
from langchain_ragstore.loaders.hygiene import clean
from langchain_ragstore.loaders.raw import RawFile, library
from langchain_ragstore.loaders.tables import Row, table_documents

_LAST_ROW: Final = 1_048_576
"""Of a sheet. A row that claims to lie beyond would have every row before it made up."""

_quiet: Final = threading.Lock()
"""Python's filters of warnings belong to the process; one sheet at a time sets them."""


def read_xlsx(file: RawFile) -> Iterator[Document]:
    """For each sheet its schema and rows, with the numbers that Excel shows.

    Formulas give the values that were stored with them; charts have none.
    """
    openpyxl = library("openpyxl", "openpyxl")
    title = own_title(file.data) or ""
    with _quiet, warnings.catch_warnings():
        # About styles and validations, which are not read here.
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(BytesIO(file.data), read_only=True, data_only=True)
    empty = True
    for sheet in book.worksheets:
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = _rows(file, sheet)
        place = {"title": title, "sheet": clean(sheet.title)}
        for document in table_documents(file, rows.__iter__, **place):
            empty = False
            yield document
    if empty:
        raise file.unreadable("it has no filled cells")


def _rows(file: RawFile, sheet: Any) -> list[Row]:
    """The rows with content; formatted empty ones may be a million."""
    sheet.reset_dimensions()  # some programs write a wrong range, and cells would be lost
    rows: list[Row] = []
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _LAST_ROW:
            raise file.unreadable(f"sheet {sheet.title} has a row after {_LAST_ROW}")
        if any(cell is not None for cell in cells):
            rows.append((number, [clean(cell_text(cell)) for cell in cells]))
    return rows


def cell_text(value: object) -> str:
    """A cell as text: dates as ISO 8601, numbers with Excel's 15 digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return format(value, ".15g")
    if isinstance(value, datetime):
        whole_day = value.time() == time()
        return value.date().isoformat() if whole_day else value.isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value)
