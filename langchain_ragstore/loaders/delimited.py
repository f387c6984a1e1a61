"""CSV and its kin."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Final

from langchain_core.documents import Document

from langchain_ragstore.loaders.encodings import decode
from langchain_ragstore.loaders.hygiene import clean
from langchain_ragstore.loaders.raw import RawFile
from langchain_ragstore.loaders.tables import Row, table_documents

_DELIMITERS: Final = ",;\t|"
_SAMPLE_LENGTH: Final = 256 * 1024
_SAMPLE_ROWS: Final = 100
_SAID: Final = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)


def read_delimited(file: RawFile) -> Iterator[Document]:
    """A table's schema and rows; the delimiter is found out.

    Rows are numbered as a spreadsheet shows them: a header is row 1, and a cell of
    several lines does not shift what follows.
    """
    text = clean(decode(file))
    said = _SAID.match(text)  # Excel's own hint; Excel does not show the line
    delimiter = said[1] if said else find_delimiter(text)
    start = said.end() if said else 0

    def rows() -> Iterator[Row]:
        stream = StringIO(text, newline="")
        stream.seek(start)
        reader = csv.reader(stream, delimiter=delimiter)
        try:
            yield from enumerate(reader, start=1)
        except csv.Error as error:
            raise file.unreadable(
                f"line {reader.line_num}: {error}; is a quotation mark left open? "
                "csv.field_size_limit() sets the limit"
            ) from error

    empty = True
    for document in table_documents(file, rows):
        empty = False
        yield document
    if empty:
        raise file.unreadable("it has no text")


def find_delimiter(text: str) -> str:
    """The delimiter by which most rows have equally many cells, more than one.

    Args:
        text: Its first rows are looked at.

    Returns:
        A comma if there is none.
    """
    best, delimiter = (0.0, 0), ","
    for candidate in _DELIMITERS:
        stream = StringIO(text[:_SAMPLE_LENGTH], newline="")
        try:
            rows = list(islice(csv.reader(stream, delimiter=candidate), _SAMPLE_ROWS))
        except csv.Error:
            continue
        widths = Counter(len(row) for row in rows if row)
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        score = (count / widths.total(), width) if width > 1 else (0.0, 0)
        if score > best:
            best, delimiter = score, candidate
    return delimiter
