"""Which reader a file is for: its first bytes decide, then its name."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from langchain_core.documents import Document

from langchain_ragstore.loaders import archives
from langchain_ragstore.loaders.delimited import read_delimited
from langchain_ragstore.loaders.markup import read_docx, read_html
from langchain_ragstore.loaders.pdf import read_pdf
from langchain_ragstore.loaders.raw import RawFile
from langchain_ragstore.loaders.sheets import read_xlsx
from langchain_ragstore.loaders.text import read_markdown, read_text

logger = logging.getLogger(__name__)


class Format(NamedTuple):
    """How files of one kind are read."""

    mime_type: str
    read: Callable[[RawFile], Iterator[Document]]


_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
FORMATS: Final = {
    "text": Format("text/plain", read_text),
    "markdown": Format("text/markdown", read_markdown),
    "html": Format("text/html", read_html),
    "csv": Format("text/csv", read_delimited),
    "tsv": Format("text/tab-separated-values", read_delimited),
    "pdf": Format("application/pdf", read_pdf),
    "docx": Format(f"{_OFFICE}.wordprocessingml.document", read_docx),
    "xlsx": Format(f"{_OFFICE}.spreadsheetml.sheet", read_xlsx),
}
SUFFIXES: Final = {
    **dict.fromkeys((".txt", ".text"), "text"),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".xlsx", ".xlsm"), "xlsx"),
    ".csv": "csv",
    ".docx": "docx",
    ".pdf": "pdf",
}
"""The endings of file names that `find_files` looks for, and what they promise."""

_PACKED: Final = ("pdf", "docx", "xlsx")


def read(file: RawFile) -> Iterator[Document]:
    """The documents of a file by its true format.

    A PDF called `notes.txt` is read as a PDF. Text under any other name is plain text.

    Raises:
        UnreadableFileError: Names the reason.
        MissingExtraError: A library is not installed.
    """
    named = SUFFIXES.get(file.path.suffix.lower())
    found = _sniffed(file) or named or "text"
    if named and found != named:
        logger.debug("%s: read as %s, not as its name says", file.source, found)
    if found in _PACKED and _sniffed(file) != found:
        raise file.unreadable(f"it is not a {found.upper()} file, whatever its name says")
    form = FORMATS[found]
    return form.read(replace(file, mime_type=form.mime_type))


def _sniffed(file: RawFile) -> str | None:
    """What the first bytes say; None if they are no packed format's."""
    data = file.data
    if _is_pdf(data, anywhere=file.path.suffix.lower() == ".pdf"):
        return "pdf"
    if data.startswith(archives.OLE):
        if archives.is_encrypted(data):
            raise file.unreadable("it is encrypted; save a copy without a password")
        raise file.unreadable("it is of an old Office format; save it as DOCX or XLSX")
    if not data.startswith(archives.ZIP):
        return None
    try:
        kind = archives.kind(data)
        size = archives.unpacked_size(data)
    except zipfile.BadZipFile as error:
        raise file.unreadable(f"it is damaged ({error})") from error
    if kind is None:
        raise file.unreadable("it is an archive, neither DOCX nor XLSX")
    if size > file.max_bytes:
        raise file.unreadable(
            f"it unpacks to {size} bytes, more than max_bytes={file.max_bytes}"
        )
    return kind


def _is_pdf(data: bytes, *, anywhere: bool) -> bool:
    """Readers of PDF look for its mark in 1024 bytes; a text may speak of it there."""
    if anywhere:
        return b"%PDF-" in data[:1024]
    return data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"%PDF-")
