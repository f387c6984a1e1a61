"""Files that are whole or not there: written beside their place and then put into it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from langchain_ragstore.errors import InvalidInputError, StorageError


@contextmanager
def fresh_file(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """Give a name to write to; what was written then gets its place at once.

    After an error, nothing is left and the place is as it was.

    Args:
        path: The place.
        overwrite: Whether a file may be there, which is replaced.

    Raises:
        InvalidInputError: No file can be put there.
        StorageError: The file system refused.
    """
    place = checked_place(path, overwrite=overwrite)
    part = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(place)
        _remember(place.parent)
    except OSError as error:
        raise StorageError(f"{place} cannot be written: {error}") from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            part.with_name(part.name + suffix).unlink(missing_ok=True)


def absolute(path: str | os.PathLike[str]) -> Path:
    """A file's name from the root on, so that a later chdir() means no other file.

    Symbolic links stay. (Path's expanduser refuses "~name.db", which is a file unless
    there is such a user.)
    """
    return Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - see above


def checked_place(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Where a new file is to be.

    Raises:
        InvalidInputError: No file can be put there.
    """
    given: str | bytes = os.fspath(path)
    if isinstance(given, bytes) or not given or "\0" in given:
        raise InvalidInputError(f"path must be a file name, got {path!r}")
    place = absolute(given)
    if place.is_dir():
        raise InvalidInputError(f"{given} is a folder; path is a file in it")
    if not place.parent.is_dir():
        raise InvalidInputError(f"the folder {place.parent} does not exist; make it first")
    if place.exists() and not overwrite:
        raise InvalidInputError(
            f"{given} exists already; choose another path or give overwrite=True"
        )
    return place


def _remember(folder: Path) -> None:
    """Let the new name outlast a loss of power, where a folder can be synchronised."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
