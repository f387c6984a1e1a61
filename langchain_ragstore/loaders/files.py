"""Which files a path stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.loaders.formats import SUFFIXES

Patterns: TypeAlias = str | Iterable[str] | None
Parts: TypeAlias = tuple[str, ...]

_EVERYTHING: Final[Parts] = ("**",)


def find_files(
    path: str | os.PathLike[str],
    include: Patterns = None,
    exclude: Patterns = None,
) -> list[Path]:
    """The files under a path, in the order of their names.

    Patterns are relative to the folder: `*.md` is in the folder itself, `**/*.md` at
    every depth, `drafts/**` (or `drafts`) everything under `drafts`. Case counts. Files
    and folders whose names begin with a dot are left out unless `include` writes the
    dot; so are Office's lock files (`~$…`). A link to a folder is followed if what it
    leads to has not been walked yet, so that loops end and no file comes twice.

    Args:
        path: A folder, or a file, which is given back whatever the patterns.
        include: Glob patterns; None for everything. A pattern that names files
            (`**/*.log`) takes them whatever their format; one that names folders, or
            None, takes the formats that can be loaded.
        exclude: Glob patterns of what is left out; these win.

    Returns:
        Paths that begin with `path`. What cannot be read, such as a folder without
        permission or a link to nowhere, is among them, so that loading reports it.

    Raises:
        InvalidInputError: There is no such path, or a pattern is not relative.

    Example:
        ```python
        from pathlib import Path

        from langchain_ragstore.loaders import find_files

        Path("drafts").mkdir()
        for name in ("a.md", "b.txt", "drafts/c.md"):
            Path(name).write_text("Tea", encoding="utf-8")
        assert find_files(".", exclude="drafts") == [Path("a.md"), Path("b.txt")]
        assert find_files(".", "**/*.md") == [Path("a.md"), Path("drafts/c.md")]
        ```
    """
    return files_of(Path(path), Choice(include, exclude))


def files_of(root: Path, choice: Choice) -> list[Path]:
    """As `find_files`, with the patterns parsed."""
    if not os.path.lexists(root):
        raise InvalidInputError(f"there is no file or folder {os.fspath(root)!r}")
    if not root.is_dir():
        return [root]
    walk = _Walk(root, choice)
    return [root.joinpath(*parts) for parts in sorted(walk.files())]


class Choice:
    """What patterns choose of a folder, by the parts of a path below it.

    Args:
        include: As `find_files`.
        exclude: As `find_files`.

    Raises:
        InvalidInputError: A pattern is not relative.
    """

    def __init__(self, include: Patterns = None, exclude: Patterns = None) -> None:
        self._wanted = _parsed("include", include) or [_EVERYTHING]
        self._unwanted = _parsed("exclude", exclude)
        self._hidden = any(p.startswith(".") for parts in self._wanted for p in parts)

    def enters(self, parts: Parts) -> bool:
        """Whether a folder is looked into."""
        return (self._hidden or not parts[-1].startswith(".")) and not self.drops(parts)

    def drops(self, parts: Parts) -> bool:
        """Whether `exclude` names a path or a folder that it lies in."""
        return any(_covers(pattern, parts) for pattern in self._unwanted)

    def takes(self, parts: Parts) -> bool:
        """Whether `include` takes a file."""
        if parts[-1].startswith("~$"):
            return False
        if any(p[-1] != "**" and _matches(p, parts, dots=False) for p in self._wanted):
            return True
        loadable = Path(parts[-1]).suffix.lower() in SUFFIXES
        return loadable and any(_covers(p, parts, dots=False) for p in self._wanted)

    def finds(self, parts: Parts) -> bool:
        """Whether `find_files` would list a file if it were there."""
        return (
            all(self.enters(parts[:length]) for length in range(1, len(parts)))
            and not self.drops(parts)
            and self.takes(parts)
        )


class _Walk:
    """One walk through a folder."""

    def __init__(self, root: Path, choice: Choice) -> None:
        self.root = root
        self.choice = choice
        self.seen: set[tuple[int, int]] = set()
        self.links: list[Parts] = []

    def files(self) -> list[Parts]:
        """Real folders first, so that a file keeps its own name rather than a link's."""
        found = self._under(())
        while self.links:
            self.links.sort(reverse=True)
            found += self._under(self.links.pop())
        return found

    def _under(self, top: Parts) -> list[Parts]:
        found: list[Parts] = []
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                if self._was_seen(folder):
                    continue
                entries = sorted(os.scandir(self.root.joinpath(*folder)), key=_name)
            except OSError:
                found.append(folder)
                continue
            for entry in entries:
                parts = (*folder, entry.name)
                if not _is_folder(entry):
                    chosen = self.choice.takes(parts) and not self.choice.drops(parts)
                    found += [parts] if chosen else []
                elif self.choice.enters(parts):
                    (self.links if entry.is_symlink() else pending).append(parts)
        return found

    def _was_seen(self, folder: Parts) -> bool:
        status = self.root.joinpath(*folder).stat()
        known = (status.st_dev, status.st_ino)
        if known in self.seen:
            return True
        self.seen.add(known)
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; loading it will tell
        return False


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _parsed(name: str, patterns: Patterns) -> list[Parts]:
    listed = [patterns] if isinstance(patterns, str) else list(patterns or ())
    parsed = []
    for pattern in listed:
        if not isinstance(pattern, str):
            raise InvalidInputError(f"{name} takes glob patterns, got {pattern!r}")
        parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
        if not parts or pattern.startswith("/") or ".." in parts:
            raise InvalidInputError(
                f"{name} patterns are relative to the folder, got {pattern!r}"
            )
        parsed.append(parts)
    return parsed


def _covers(pattern: Parts, parts: Parts, *, dots: bool = True) -> bool:
    """Whether a pattern matches a path or a folder that it lies in."""
    return any(
        _matches(pattern, parts[:length], dots=dots)
        # What lies below a named folder is hidden by its own dots alone.
        and (dots or not any(part.startswith(".") for part in parts[length:]))
        for length in range(1, len(parts) + 1)
    )


def _matches(pattern: Parts, parts: Parts, *, dots: bool) -> bool:
    """Whether a pattern matches a whole path; `**` stands for any number of parts.

    Args:
        pattern: The pattern's parts.
        parts: The path's.
        dots: Whether wildcards match a leading dot.
    """
    at = {0}  # how many parts of the path each reading of the pattern has used up
    for wild in pattern:
        if wild == "**":
            reach = set()
            for start in at:
                reach.add(start)
                for end in range(start, len(parts)):
                    if not dots and parts[end].startswith("."):
                        break
                    reach.add(end + 1)
            at = reach
        else:
            at = {
                start + 1
                for start in at
                if start < len(parts) and _fits(wild, parts[start], dots=dots)
            }
    return len(parts) in at


def _fits(wild: str, name: str, *, dots: bool) -> bool:
    if not dots and name.startswith(".") and not wild.startswith("."):
        return False
    return _compiled(wild).match(name) is not None


@cache
def _compiled(wild: str) -> re.Pattern[str]:
    return re.compile(translate(wild))
