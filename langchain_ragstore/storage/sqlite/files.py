"""The names of database files, and what can be told of one before it is opened."""

from __future__ import annotations

import os
from typing import Final

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.storage.fresh import absolute

MEMORY: Final = ":memory:"
"""A database that has no file."""

FROZEN_ID: Final = 0x52414746
"""`RAGF`, the `application_id` of a file that is opened for reading alone."""


def checked_path(path: str | os.PathLike[str], *, read_only: bool) -> str:
    """The absolute name of a file that can be opened.

    Raises:
        InvalidInputError: It cannot be a database's.
    """
    text: str | bytes = os.fspath(path)
    if isinstance(text, bytes) or not text or "\0" in text:
        raise InvalidInputError(f"path must be a file name or {MEMORY!r}, got {path!r}")
    if text == MEMORY:
        if read_only:
            raise InvalidInputError(f"read_only=True needs a file, got {MEMORY!r}")
        return MEMORY
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"no file can have the name {path!r}: {error}") from error
    file = absolute(text)
    if file.is_dir():
        raise InvalidInputError(
            f"{text} is a folder; path is a file in it: {file / 'rag.db'}"
        )
    if not file.parent.is_dir():
        raise InvalidInputError(f"the folder {file.parent} does not exist; make it first")
    if read_only and not file.exists():
        raise InvalidInputError(f"{text} does not exist and read_only=True creates nothing")
    return str(file)


def is_frozen(path: str) -> bool:
    """Whether a file was made by `copying.freeze`, which says so in its header."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a name that may be no text
            header = file.read(100)
    except OSError:
        return False
    rolls_back = header[18:20] == b"\x01\x01"
    return rolls_back and header[68:72] == FROZEN_ID.to_bytes(4, "big")


def has_content(path: str) -> bool:
    """Whether there is a file that is not empty."""
    return os.path.exists(path) and os.path.getsize(path) > 0  # noqa: PTH110, PTH202
