"""A file's bytes on their way to documents."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from langchain_ragstore.errors import MissingExtraError, UnreadableFileError
from langchain_ragstore.loaders.hygiene import clean, one_line


@dataclass(frozen=True, slots=True)
class RawFile:
    """What a reader gets.

    Attributes:
        source: The path as it was given.
        data: All of the file's bytes; never empty.
        mime_type: Of the true format, which the name may belie.
        encoding: The caller's word on the encoding; None to find out.
        max_bytes: What the file may unpack to.
    """

    source: str
    data: bytes
    mime_type: str
    encoding: str | None
    max_bytes: int

    @property
    def path(self) -> Path:
        """The file's path, for its name, stem and suffix."""
        return Path(self.source)

    def document(self, text: str, title: object = None, **metadata: Any) -> Document:
        """A document of this file.

        Args:
            text: Cleaned here.
            title: The file's own; its stem takes the place of an empty one.
            **metadata: Where in the file the text stands.
        """
        own = one_line(title) if isinstance(title, str) else ""
        return Document(
            page_content=clean(text),
            metadata={
                "source": self.source,
                "mime_type": self.mime_type,
                "title": own or self.path.stem,
                **metadata,
            },
        )

    def unreadable(self, reason: str) -> UnreadableFileError:
        """The error to raise; `reason` continues the sentence "cannot be read: …"."""
        return UnreadableFileError(self.source, reason)


def library(module: str, package: str) -> Any:
    """Import a library of the extra `loaders` at the moment it is needed.

    Args:
        module: What to import.
        package: The distribution that brings it.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(package, "loaders") from error
