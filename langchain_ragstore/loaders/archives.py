"""The zip archives behind DOCX and XLSX."""

from __future__ import annotations

import html
import re
import zipfile
from io import BytesIO
from typing import Final

_TITLE: Final = re.compile(r"<(?:\w+:)?title\b[^>]*>(.*?)</(?:\w+:)?title>", re.DOTALL)
_PROPERTIES: Final = "docProps/core.xml"

OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How old Office files and encrypted new ones begin."""

ZIP: Final = b"PK\x03\x04"
"""How an archive begins that is not empty."""

_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")


def kind(data: bytes) -> str | None:
    """`"docx"` or `"xlsx"`, None for every other archive.

    Raises:
        zipfile.BadZipFile: The archive is damaged.
    """
    names = _names(data)
    for folder, found in (("word/", "docx"), ("xl/", "xlsx")):
        if "[Content_Types].xml" in names and any(n.startswith(folder) for n in names):
            return found
    return None


def unpacked_size(data: bytes) -> int:
    """The sum of what the parts say they unpack to.

    Python's reader stops at what a part says, so the sum is a bound even if it lies.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return sum(part.file_size for part in archive.infolist())


def own_title(data: bytes) -> str | None:
    """The title in the document's properties."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        if _PROPERTIES not in archive.namelist():
            return None
        found = _TITLE.search(archive.read(_PROPERTIES).decode("utf-8", "replace"))
    return html.unescape(found[1]) if found else None


def is_encrypted(data: bytes) -> bool:
    """Whether an OLE file is a new Office file behind a password."""
    return data.startswith(OLE) and _ENCRYPTED in data


def _names(data: bytes) -> set[str]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return set(archive.namelist())
