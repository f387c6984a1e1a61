"""`FileLoader` for one file, `load_files` for many."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from typing_extensions import override

from langchain_ragstore.config import DEFAULT_MAX_FILE_BYTES
from langchain_ragstore.errors import (
    InvalidInputError,
    MissingExtraError,
    UnreadableFileError,
)
from langchain_ragstore.loaders.formats import read
from langchain_ragstore.loaders.hygiene import one_line, source_name
from langchain_ragstore.loaders.raw import RawFile


class FileLoader(BaseLoader):
    r"""Load a file as LangChain documents.

    A PDF gives one document a page, CSV and XLSX one a row after a `table_schema` that
    describes the columns, everything else one document; HTML and DOCX become Markdown.
    Metadata: `source` (the path as given), `mime_type`, `title`, and where they apply
    `page` and `page_label`, `sheet`, `row`, `content_type`.

    Args:
        path: The file.
        encoding: Of a text file; None to find out.
        max_bytes: Larger files are refused, and so are archives that unpack to more.

    Raises:
        InvalidInputError: No such encoding, or `max_bytes` is not a positive integer.

    Example:
        ```python
        from pathlib import Path

        from langchain_ragstore.loaders import FileLoader

        Path("tea.md").write_text("# Tea\n\nGreen tea wants 80 °C.", encoding="utf-8")
        (document,) = FileLoader("tea.md").load()
        assert document.metadata["title"] == "Tea"
        ```
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        encoding: str | None = None,
        max_bytes: int = DEFAULT_MAX_FILE_BYTES,
    ) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidInputError(f"path is a string or a Path, got {path!r}")
        _check(encoding, max_bytes)
        self.path = path
        self.encoding = encoding
        self.max_bytes = max_bytes

    @override
    def lazy_load(self) -> Iterator[Document]:
        """Give the documents as they are read.

        Raises:
            UnreadableFileError: The file cannot be read, or not to its end; documents
                before the damage have been given then.
            MissingExtraError: A library is not installed.
        """
        source = source_name(self.path)
        try:
            data = self._bytes(source)
            yield from read(RawFile(source, data, "", self.encoding, self.max_bytes))
        except (UnreadableFileError, MissingExtraError):
            raise
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UnreadableFileError(source, reason) from error
        except Exception as error:  # libraries raise whatever a broken file leads them to
            detail = one_line(f"{type(error).__name__}: {error}")[:200]
            raise UnreadableFileError(source, f"it is damaged ({detail})") from error

    def _bytes(self, source: str) -> bytes:
        """All of the file; read once, so it cannot change between two looks at it."""
        mode = os.stat(self.path).st_mode  # noqa: PTH116 - the path stays as it was given
        if stat.S_ISDIR(mode):
            os.scandir(self.path).close()  # a folder that may not be listed says so
            raise UnreadableFileError(
                source, "it is a folder; find_files() lists its files"
            )
        if not stat.S_ISREG(mode):  # a pipe would be waited for, a device never ends
            raise UnreadableFileError(source, "it is not a regular file")
        with open(self.path, "rb") as stream:  # noqa: PTH123 - as above
            data = stream.read(self.max_bytes + 1)
        if not data:
            raise UnreadableFileError(source, "it is empty")
        if len(data) > self.max_bytes:
            raise UnreadableFileError(
                source, f"it is larger than max_bytes={self.max_bytes}; raise the limit"
            )
        return data


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file's documents, or why there are none.

    Attributes:
        path: The file.
        source: What its documents have as `source`.
        documents: All of them; empty if the file could not be read to its end, so that
            no half of a file is taken for the whole.
        error: The reason, None for a file that was read.
    """

    path: Path
    source: str
    documents: tuple[Document, ...]
    error: UnreadableFileError | None = None


def load_files(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    encoding: str | None = None,
    max_bytes: int = DEFAULT_MAX_FILE_BYTES,
) -> Iterator[LoadedFile]:
    """Load files one after another; one that cannot be read does not stop the others.

    Args:
        paths: Files, as `find_files` lists them.
        encoding: As `FileLoader`.
        max_bytes: As `FileLoader`.

    Returns:
        An iterator with one value for each path, in order; a file is read when its turn
        comes. A missing library is a reason, too, so that the rest is loaded.

    Raises:
        InvalidInputError: As `FileLoader`.

    Example:
        ```python
        from pathlib import Path

        from langchain_ragstore.loaders import load_files

        Path("good.txt").write_text("Green tea wants 80 °C.", encoding="utf-8")
        good, bad = load_files(["good.txt", "missing.pdf"])
        assert good.documents[0].metadata["source"] == "good.txt"
        assert str(bad.error) == "missing.pdf cannot be read: No such file or directory"
        ```
    """
    _check(encoding, max_bytes)
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return (
        _loaded(FileLoader(path, encoding=encoding, max_bytes=max_bytes)) for path in listed
    )


def _loaded(loader: FileLoader) -> LoadedFile:
    path, source = Path(loader.path), source_name(loader.path)
    try:
        return LoadedFile(path, source, tuple(loader.lazy_load()))
    except UnreadableFileError as error:
        return LoadedFile(path, source, (), error)
    except MissingExtraError as error:
        reason = UnreadableFileError(source, str(error))
        reason.__cause__ = error
        return LoadedFile(path, source, (), reason)


def _check(encoding: str | None, max_bytes: int) -> None:
    if encoding is not None:
        try:
            "".encode(encoding)
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidInputError(f"there is no encoding {encoding!r}") from error
    if type(max_bytes) is not int or max_bytes < 1:
        raise InvalidInputError(f"max_bytes is a positive integer, got {max_bytes!r}")
