"""What an ingestion of files tells."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_ragstore.errors import UnreadableFileError


@dataclass(frozen=True, slots=True)
class PathReport:
    """What an ingestion of files did.

    Attributes:
        added: Chunks stored under ids that were not there.
        updated: Chunks replaced, since text or metadata changed.
        skipped: Chunks stored already just so, those of unchanged files, too.
        deleted: Chunks left over from earlier versions, and those of removed files.
        loaded: Files that were new or changed.
        unchanged: Files that were left alone.
        removed: Files that are gone and lost their chunks.
        failed: Why files could not be read; they keep the chunks that they had.
        errors: Files that were read but not stored, and why. Only `watch` goes on after
            one, and tries again.
    """

    added: int = 0
    updated: int = 0
    skipped: int = 0
    deleted: int = 0
    loaded: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: tuple[UnreadableFileError, ...] = ()
    errors: tuple[tuple[str, Exception], ...] = ()

    def __str__(self) -> str:
        files = ("loaded", "unchanged", "removed")
        chunks = ("added", "updated", "skipped", "deleted")
        told = [
            ", ".join(f"{getattr(self, n)} {n}" for n in names) for names in (files, chunks)
        ]
        lines = [f"files: {told[0]}, {len(self.failed)} failed; chunks: {told[1]}"]
        lines += [str(error) for error in self.failed]
        lines += [f"{path} was not stored: {error!r}" for path, error in self.errors]
        return "\n".join(lines)

    @property
    def tells(self) -> bool:
        """Whether anything was done or failed."""
        return self != PathReport(skipped=self.skipped, unchanged=self.unchanged)
