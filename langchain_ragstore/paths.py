"""Paths that are the same from everywhere, and what is at their end."""

from __future__ import annotations

import os
from pathlib import Path


def canonical(path: str | os.PathLike[str]) -> Path:
    """The absolute path of a folder or file, from whatever working folder.

    Links on the way are resolved, and a link to a folder; a file that is a link keeps its
    own name.
    """
    given = Path(path)
    if given.is_dir():
        return Path(os.path.realpath(given))
    absolute = Path(os.path.abspath(given))  # noqa: PTH100 - `..` and `.` go, links stay
    return Path(os.path.realpath(absolute.parent)) / absolute.name


def is_gone(path: Path) -> bool:
    """Whether a file is certainly not there; a folder that may not be entered hides it.

    A folder in its place is not the file.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return os.path.isdir(path)  # noqa: PTH112 - raises nothing


def mount_of(folder: Path) -> str:
    """Where the file system of a folder is mounted."""
    while not os.path.ismount(folder) and folder != folder.parent:
        folder = folder.parent
    return os.fspath(folder)


def is_mounted(mount: str) -> bool:
    """Whether a disk is mounted; one that is not looks like an empty folder."""
    return os.path.ismount(mount)
