"""PDF files, a document for each page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from langchain_core.documents import Document

from langchain_ragstore.loaders.raw import RawFile, library

logger = logging.getLogger(__name__)


def read_pdf(file: RawFile) -> Iterator[Document]:
    """The pages that have text, numbered from 1.

    `page_label` is what the page calls itself (`iv`), where that is not its number.
    """
    pypdf = library("pypdf", "pypdf")
    try:
        reader = pypdf.PdfReader(BytesIO(file.data))
        count = len(reader.pages)
    except pypdf.errors.FileNotDecryptedError as error:
        raise file.unreadable("it is encrypted; save a copy without a password") from error
    except pypdf.errors.DependencyError as error:
        raise file.unreadable(
            'it is encrypted with AES; run: pip install "langchain-ragstore[loaders]"'
        ) from error
    if not count:
        raise file.unreadable("it has no pages")
    title = _title(reader)
    labels = _labels(reader, count)
    blank = []
    for number, label in enumerate(labels, start=1):
        try:
            text = reader.pages[number - 1].extract_text()
        except Exception as error:
            raise file.unreadable(
                f"page {number} is damaged ({type(error).__name__}: {error})"
            ) from error
        if not text.strip():
            blank.append(number)
            continue
        own = {} if label in (None, str(number)) else {"page_label": label}
        yield file.document(text, title, page=number, **own)
    if len(blank) == count:
        raise file.unreadable("it has no text; was it scanned? Recognise its text first")
    if blank:
        logger.info("%s: no text on pages %s", file.source, blank)


def _title(reader: Any) -> str | None:
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:  # noqa: BLE001 - broken properties do not make the text unreadable
        return None
    if not isinstance(title, str) or title.startswith("þÿ"):  # UTF-16 that was not read
        return None
    return title


def _labels(reader: Any, count: int) -> list[str | None]:
    try:
        labels = list(reader.page_labels)
    except Exception:  # noqa: BLE001 - as above
        labels = []
    return labels if len(labels) == count else [None] * count
