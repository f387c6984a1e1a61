"""Every error that this package raises.

```text
RagStoreError
├── InvalidInputError (ValueError)        what the caller gave cannot be stored or answered
│   ├── FilterError                       a filter that does not parse
│   ├── DimensionMismatchError            a vector of another length than the collection's
│   ├── EmbeddingMismatchError            another embedding model than the collection's
│   └── AnalyzerMismatchError             another text analyzer than the collection's
├── StorageError                          the file or its state refuses
│   ├── StoreClosedError                  used after `close()`
│   ├── ReadOnlyError                     a write to a store that is open for reading
│   ├── StoreLockedError                  another writer held the lock for too long
│   ├── ConflictError                     others changed the same documents meanwhile
│   ├── SchemaTooNewError                 written by a newer release
│   ├── UnsupportedSQLiteError            the SQLite library is too old or lacks JSON1
│   └── CorruptStoreError                 not a database, or a damaged one
├── EmbeddingFailedError                  an embedding model raised an error; at which text
│   └── EmbeddingUnreachableError (ConnectionError)   nobody answered
├── UnreadableFileError                   a file that cannot be loaded, and why
└── MissingExtraError (ImportError)       a missing extra; the message is the pip command
```

Errors about input are also `ValueError`, so code written against other LangChain
stores keeps working. Messages name the values that disagree and the way out.
"""

from __future__ import annotations

from langchain_ragstore.config import EXCERPT


class RagStoreError(Exception):
    """Base of every error of this package; catch this to catch them all."""


class InvalidInputError(RagStoreError, ValueError):
    """The input cannot be stored or answered; nothing was written."""


class FilterError(InvalidInputError):
    """A filter does not parse: unknown operator, wrong operand, wrong shape."""


class DimensionMismatchError(InvalidInputError):
    """A vector's length differs from that of the collection or of its batch."""


class EmbeddingMismatchError(InvalidInputError):
    """Two embedding models where one is needed; their vectors cannot be compared."""


class AnalyzerMismatchError(InvalidInputError):
    """A collection's texts were indexed with another `TextAnalyzer`."""


class StorageError(RagStoreError):
    """The storage refused: full disk, I/O error, or one of the children below."""


class StoreClosedError(StorageError):
    """The store was used after `close()`."""


class ReadOnlyError(StorageError):
    """A write to a store that was opened read-only or lies on a read-only disk."""


class StoreLockedError(StorageError):
    """Another process held the write lock for longer than the time limit."""


class ConflictError(StorageError):
    """Other writers changed the same documents again and again; nothing was written."""


class SchemaTooNewError(StorageError):
    """The file was written by a newer release; it is left untouched."""


class UnsupportedSQLiteError(StorageError):
    """The SQLite library that Python is linked to is too old or lacks a feature."""


class CorruptStoreError(StorageError):
    """The file is not a database, or is damaged."""


class UnreadableFileError(RagStoreError):
    """A file cannot be loaded: missing, empty, too large, encrypted, damaged.

    Attributes:
        path: The file, as it was given.
        reason: Why, and if there is one the way out.
    """

    def __init__(self, path: str, reason: str) -> None:
        """Name the file and the reason.

        Args:
            path: The file.
            reason: Continues the sentence "… cannot be read: ".
        """
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} cannot be read: {self.reason}"


class EmbeddingFailedError(RagStoreError):
    """An embedding model raised an error, which is this one's `__cause__`.

    Attributes:
        model: What the model is called.
        text: The one it failed at, or the first of the batch it failed at.
        index: Where in the caller's list that is; None if the caller gave no list.
        count: How many texts the batch had: 1 if it is known which one is at fault.
        reason: What the model said.
        way_out: What to do about it.
    """

    def __init__(
        self,
        reason: str,
        way_out: str,
        model: str,
        text: str,
        index: int | None = None,
        count: int = 1,
    ) -> None:
        """Name the model, the text and the reason."""
        super().__init__(reason, way_out, model, text, index, count)
        self.reason, self.way_out = reason, way_out
        self.model, self.text, self.index, self.count = model, text, index, count

    def __str__(self) -> str:
        shown = f"{self.text[:EXCERPT]!r}" + ("…" if len(self.text) > EXCERPT else "")
        place = (
            f"the text {shown}" if self.index is None else f"text {self.index} ({shown})"
        )
        if self.count > 1:
            place = f"a batch of {self.count} texts that begins with {place}"
        return f"{self.model} failed at {place}: {self.reason}; {self.way_out}"


class EmbeddingUnreachableError(EmbeddingFailedError, ConnectionError):
    """The service behind an embedding model did not answer."""


class MissingExtraError(RagStoreError, ImportError):
    """An optional dependency is not installed; the message is the pip command."""

    def __init__(
        self, package: str, extra: str | None = None, *, problem: str | None = None
    ) -> None:
        """Name what is missing and how to install it.

        Args:
            package: The distribution that could not be imported.
            extra: The extra of this package that brings it, if there is one.
            problem: What is wrong, if it is more than that the package is missing.
        """
        target = f'"langchain-ragstore[{extra}]"' if extra else package
        problem = problem or f"{package} is not installed"
        super().__init__(f"{problem}; run: pip install {target}")
