"""A file or a folder into a store: what changed, once, and what is gone."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Collection, Generator
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import TextSplitter

from langchain_ragstore.config import (
    DEFAULT_INGEST_BATCH,
    DEFAULT_MAX_FILE_BYTES,
    INGEST_ATTEMPTS,
    WATCH_FAILURES,
)
from langchain_ragstore.documents import chunk_id
from langchain_ragstore.errors import (
    InvalidInputError,
    ReadOnlyError,
    StoreClosedError,
    UnreadableFileError,
)
from langchain_ragstore.file_ledger import (
    Entry,
    FileLedger,
    Status,
    digest,
    fingerprint,
    new_claim,
)
from langchain_ragstore.ingestion import IngestReport, to_chunks
from langchain_ragstore.loaders.file_loader import load_files
from langchain_ragstore.loaders.files import Choice, files_of
from langchain_ragstore.loaders.hygiene import source_name
from langchain_ragstore.path_report import PathReport
from langchain_ragstore.paths import canonical, is_gone, is_mounted, mount_of
from langchain_ragstore.progress import bar
from langchain_ragstore.sources import areplace_source, replace_source
from langchain_ragstore.vectorstores import BackendVectorStore, SQLiteVectorStore

logger = logging.getLogger(__name__)

_AT_ONCE = 200
"""Files whose chunks are removed in one transaction."""


class Folder:
    """A path to ingest, checked; `run()` it any number of times.

    Args:
        store: Where chunks go.
        splitter: Makes them.
        path: A file or a folder.
        choice: Which files of a folder.
        delete_missing: Whether files that are gone lose their chunks.
        encoding: Of text files; None to find out.

    Raises:
        InvalidInputError: No such path, and none that was ingested and is to be
            forgotten; no such encoding; or a store that keeps no ledger is to
            forget files.
        ReadOnlyError: The store is open for reading.
    """

    def __init__(
        self,
        store: VectorStore,
        splitter: TextSplitter | None,
        path: str | os.PathLike[str],
        choice: Choice,
        *,
        delete_missing: bool = False,
        encoding: str | None = None,
    ) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidInputError(f"path is a string or a Path, got {path!r}")
        if not os.fspath(path):  # else it were the working folder
            raise InvalidInputError(f"path names a file or a folder, got {path!r}")
        self.store, self.splitter, self.encoding = store, splitter, encoding
        self.choice, self.delete_missing = choice, delete_missing
        if isinstance(store, BackendVectorStore):
            store.delete([])  # refuses, if the store does, before anything is read
        self.ledger = FileLedger.of(store)
        if delete_missing and self.ledger is None:
            raise InvalidInputError(
                "delete_missing needs to know which files were ingested, which is kept "
                "for whole collections in SQLite; stores of other packages and scoped "
                "views cannot tell: pass delete_missing=False"
            )
        load_files([], encoding=encoding)  # refuses what is no encoding
        self.root = canonical(path)
        self._is_file = not self.root.is_dir()
        if not os.path.lexists(self.root) and not self._was_ingested():
            raise InvalidInputError(f"there is no file or folder {os.fspath(path)!r}")
        self._own = _own_files(store)

    def files(self) -> list[Path]:
        """The files to ingest; the store's own are none, nor is a file that is gone.

        Raises:
            InvalidInputError: The folder, or that of the file, is not there.
        """
        if self._is_file and is_gone(self.root) and self.root.parent.is_dir():
            return []
        return [path for path in files_of(self.root, self.choice) if not self.owns(path)]

    def gone(self, ledger: FileLedger, listed: Collection[str]) -> list[str]:
        """Sources that were ingested from here and whose files are not there."""
        root, found = self.root, []
        if is_gone(root) and root.parent.is_dir():  # else taken away meanwhile
            found = list(ledger.read([source_name(root)]))
        if not self._is_file and root.is_dir():
            below = source_name(root).rstrip(os.sep) + os.sep
            found += [s for s in ledger.under(below) if self.chooses(Path(s))]
        return [s for s in found if s not in listed and is_gone(Path(s))]

    def _was_ingested(self) -> bool:
        """Whether a file that is not there is to lose its chunks."""
        source = source_name(self.root)
        return self.delete_missing and bool(self.ledger and self.ledger.read([source]))

    def owns(self, path: Path) -> bool:
        """Whether a file is the store itself, which changes by being written to."""
        return os.fspath(path) in self._own

    def chooses(self, path: Path) -> bool:
        """Whether a file below the folder would be ingested if it were there."""
        parts = path.relative_to(self.root).parts
        return bool(parts) and self.choice.finds(parts) and not self.owns(path)

    def run(
        self,
        skip: Collection[str] = (),
        stopped: Callable[[], bool] = lambda: False,
        *,
        tolerant: bool = False,
        last: Collection[str] = (),
    ) -> Run:
        """Prepare one ingestion.

        Args:
            skip: Paths that are left alone this time.
            stopped: Asked between two files.
            tolerant: Whether to go on after a file that cannot be stored.
            last: Sources whose turn comes after all others.
        """
        run = Run(self, skip, stopped, tolerant=tolerant)
        run.files.sort(key=lambda path: source_name(path) in last)  # else as listed
        return run


class Visit:
    """A file whose chunks are to be stored; the one who does so sets `report`."""

    def __init__(self, source: str, chunks: list[Document]) -> None:
        self.source = source
        self.chunks = chunks
        self.report = IngestReport()


class Run:
    """One ingestion of a folder; see `Folder.run`."""

    def __init__(
        self,
        folder: Folder,
        skip: Collection[str],
        stopped: Callable[[], bool],
        *,
        tolerant: bool,
    ) -> None:
        self.folder = folder
        self.files = [path for path in folder.files() if os.fspath(path) not in skip]
        self.listed = {source_name(path) for path in self.files}
        self.listed.update(source_name(path) for path in skip)
        self._stopped, self._tolerant = stopped, tolerant
        self._made_by = fingerprint(folder.splitter, folder.encoding)
        self._mount = cache(mount_of)
        self._entries = (
            folder.ledger.read([source_name(path) for path in self.files])
            if folder.ledger
            else {}
        )
        self._chunks = IngestReport()
        self._loaded = self._unchanged = self._removed = 0
        self._failed: list[UnreadableFileError] = []
        self._errors: list[tuple[str, Exception]] = []

    def ingest(
        self,
        batch_size: int = DEFAULT_INGEST_BATCH,
        progress: bool | None = False,  # noqa: FBT001, FBT002 - as `RagPipeline.ingest` has it
    ) -> PathReport:
        """Do it."""
        store = self.folder.store
        with (
            bar(progress, len(self.files), "files") as step,
            closing(self._visits(step)) as visits,
        ):
            for visit in visits:
                try:
                    visit.report = replace_source(
                        store, visit.source, visit.chunks, batch_size
                    )
                except Exception as error:  # noqa: BLE001 - told, or raised again
                    self._excuse(visit, error)
        self._remove_missing()
        return self.report()

    async def aingest(
        self,
        batch_size: int = DEFAULT_INGEST_BATCH,
        progress: bool | None = False,  # noqa: FBT001, FBT002 - as above
    ) -> PathReport:
        """As `ingest`, awaiting the embedder."""
        store = self.folder.store
        with bar(progress, len(self.files), "files") as step:
            visits = self._visits(step)
            try:
                while visit := await run_in_executor(None, next, visits, None):
                    visit.report = await areplace_source(
                        store, visit.source, visit.chunks, batch_size
                    )
            finally:
                with suppress(ValueError):  # cancelled while a thread reads a file
                    visits.close()
        await run_in_executor(None, self._remove_missing)
        return self.report()

    def report(self, *errors: tuple[str, Exception]) -> PathReport:
        """What was done so far.

        Args:
            *errors: What ended it, if something did.
        """
        return PathReport(
            self._chunks.added,
            self._chunks.updated,
            self._chunks.skipped,
            self._chunks.deleted,
            self._loaded,
            self._unchanged,
            self._removed,
            tuple(self._failed),
            (*self._errors, *errors),
        )

    def _excuse(self, visit: Visit, error: Exception) -> None:
        """Note that a file was not stored, if that is to be survived."""
        if not self._tolerant or isinstance(error, (StoreClosedError, ReadOnlyError)):
            raise error
        self._errors.append((visit.source, error))

    def _visits(self, step: Callable[[str], None]) -> Generator[Visit, None, None]:
        in_a_row = 0
        for path in self.files:
            if self._stopped() or in_a_row == WATCH_FAILURES:
                return
            before = len(self._errors)
            yield from self._visit(path)
            in_a_row = in_a_row + 1 if len(self._errors) > before else 0
            step(path.name)

    def _visit(self, path: Path) -> Generator[Visit, None, None]:
        """Ask for a file's chunks to be stored, if it is new or changed.

        If it changes meanwhile, or someone else writes its chunks, it is done again. In
        the end there is either a note of what was read or a claim, and the next run
        reads the file anew.
        """
        ledger, done = self.folder.ledger, None
        for attempt in range(INGEST_ATTEMPTS):
            entry = self._look(path)
            if entry and attempt == 0 and self._is_unchanged(path, entry):
                self._unchanged += 1
                self._chunks += IngestReport(
                    skipped=self._entries[source_name(path)].chunks
                )
                return
            visit = self._load(path)
            if visit is None:
                break
            if ledger and entry:
                entry = replace(entry, chunks=len(visit.chunks))
                ledger.write(visit.source, entry)
            failures = len(self._errors)
            yield visit
            if len(self._errors) > failures:
                break
            done = _joined(done, visit.report)
            if ledger is None or (
                entry and _is_still(path, entry) and ledger.confirm(visit.source, entry)
            ):
                break
        if done is not None:
            self._loaded += 1
            self._chunks += done

    def _look(self, path: Path) -> Entry | None:
        """A claim on a file as it is now; None if it cannot be noted."""
        if self.folder.ledger is None:
            return None
        try:
            status = Status.of(path)
            mode = path.stat().st_mode
            # What the loader refuses is not read here; and a pipe would be waited for.
            if not stat.S_ISREG(mode) or not 0 < status.size <= DEFAULT_MAX_FILE_BYTES:
                return None
            known = self._entries.get(source_name(path))
            trusted = known and known.status.agrees(status) and not known.status.is_racy
            # Before the file is loaded: if it changes in between, the note is of the
            # older state, and the next run sees that it does not hold.
            sha256 = known.sha256 if known and trusted else digest(path)
        except OSError:
            return None
        mount = self._mount(path.parent)
        return Entry(status, sha256, self._made_by, 0, mount, new_claim())

    def _is_unchanged(self, path: Path, entry: Entry) -> bool:
        source, ledger = source_name(path), self.folder.ledger
        known = self._entries.get(source)
        if ledger is None or known is None or known.claim:
            return False
        if (known.sha256, known.made_by) != (entry.sha256, entry.made_by):
            return False
        if not ledger.holds([chunk_id(source, at) for at in range(known.chunks)]):
            return False
        now = replace(entry, chunks=known.chunks, claim="")
        if (
            now.mount != known.mount
            or not now.status.agrees(known.status)
            or (known.status.is_racy and not now.status.is_racy)
        ):
            return ledger.swap(source, known, now)  # else someone is writing it
        return True

    def _load(self, path: Path) -> Visit | None:
        (loaded,) = load_files([path], encoding=self.folder.encoding)
        if loaded.error:
            if not is_gone(path):
                logger.warning("%s", loaded.error)
                self._failed.append(loaded.error)
            return None
        source = loaded.source
        return Visit(source, to_chunks(source, loaded.documents, self.folder.splitter))

    def _remove_missing(self) -> None:
        ledger = self.folder.ledger
        if ledger is None or not self.folder.delete_missing or self._stopped():
            return
        gone = self.folder.gone(ledger, self.listed)
        for start in range(0, len(gone), _AT_ONCE):
            known = ledger.read(gone[start : start + _AT_ONCE])
            sources = [s for s, entry in known.items() if is_mounted(entry.mount)]
            if len(sources) < len(known):
                logger.warning("files of a disk that is not mounted keep their chunks")
            if isinstance(self.folder.store, BackendVectorStore) and sources:
                where = {"source_id": {"$in": sources}}
                deleted = self.folder.store.delete_where(where)
                ledger.forget(sources)  # later: if this fails, it is done again
                self._chunks += IngestReport(deleted=deleted)
                self._removed += len(sources)


def _own_files(store: VectorStore) -> set[str]:
    if not isinstance(store, SQLiteVectorStore):
        return set()
    path = os.path.realpath(store.path)
    return {path + ending for ending in ("", "-wal", "-shm", "-journal")}


def _joined(first: IngestReport | None, second: IngestReport) -> IngestReport:
    """The report of two attempts: what the first wrote, the second may have skipped."""
    if first is None:
        return second
    return replace(first + second, skipped=min(first.skipped, second.skipped))


def _is_still(path: Path, entry: Entry) -> bool:
    try:
        return Status.of(path).agrees(entry.status)
    except OSError:
        return False
