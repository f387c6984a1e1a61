"""Documents and files into a store: the half of a pipeline that writes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import TextSplitter

from langchain_ragstore.config import DEFAULT_INGEST_BATCH, DEFAULT_STABLE_SECONDS
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.ingestion import (
    IngestReport,
    Source,
    by_source,
    former_ids,
    to_chunks,
)
from langchain_ragstore.path_report import PathReport
from langchain_ragstore.progress import bar
from langchain_ragstore.sources import areplace_sources, replace_sources

# Files are read by a part of its own, which is imported when one is: it takes a fifth of
# the time that the whole package takes, and many programs have their documents already.
if TYPE_CHECKING:
    from langchain_ragstore.folders import Folder, Run
    from langchain_ragstore.loaders.files import Patterns


class Ingester:
    """What `RagPipeline` does with documents and files.

    Attributes:
        store: Where chunks go.
        splitter: Cuts documents into chunks; None to keep them whole.
    """

    store: VectorStore
    splitter: TextSplitter | None

    def ingest(
        self,
        documents: Iterable[Document],
        *,
        batch_size: int = DEFAULT_INGEST_BATCH,
        progress: bool | None = None,
    ) -> IngestReport:
        """Split, embed and store documents; a second time only what changed.

        Each source (`Document.id`, else `metadata["source"]`, else the text's hash) is
        written in one transaction: its new chunks come and those it no longer has go.
        A text that its source had already, or that comes again, is not embedded again.
        Sources share the calls of the embedder: an error of it leaves those that were
        stored before, and the others as they were.

        Args:
            documents: Any iterable, read once. Documents of one source are one source.
            batch_size: Texts in one call of the embedder.
            progress: Whether to show a bar on stderr; None for a terminal or a notebook
                where tqdm (extra `progress`) is installed.

        Returns:
            How many chunks were added, updated, skipped and deleted.

        Raises:
            MissingExtraError: `progress=True` without tqdm.
        """
        report = IngestReport()
        groups = by_source(_checked(documents))
        with bar(progress, len(groups), "sources") as step:
            for done in replace_sources(self.store, self._cut(groups), batch_size):
                report += done.report
                step(done.source_id)
        return report

    async def aingest(
        self,
        documents: Iterable[Document],
        *,
        batch_size: int = DEFAULT_INGEST_BATCH,
        progress: bool | None = None,
    ) -> IngestReport:
        """As `ingest`, awaiting the embedder; `documents` are read in a thread."""
        report = IngestReport()
        groups = await run_in_executor(None, lambda: by_source(_checked(documents)))
        with bar(progress, len(groups), "sources") as step:
            async for done in areplace_sources(self.store, self._cut(groups), batch_size):
                report += done.report
                step(done.source_id)
        return report

    def _cut(self, groups: Mapping[str, list[Document]]) -> Iterator[Source]:
        for name, group in groups.items():
            chunks = to_chunks(name, group, self.splitter)
            yield Source(name, chunks, former_ids(name, group))

    def ingest_path(
        self,
        path: str | os.PathLike[str],
        include: Patterns = None,
        exclude: Patterns = None,
        *,
        delete_missing: bool = False,
        encoding: str | None = None,
        batch_size: int = DEFAULT_INGEST_BATCH,
        progress: bool | None = None,
    ) -> PathReport:
        """Ingest a file or the files of a folder; a second time only what changed.

        A file's source is its absolute path, so that it is the same from everywhere. Each
        file is written in one transaction and then noted in the store: an interrupted
        run is continued by the next. A file whose size and time of change are as noted
        is not read; one whose bytes are is not loaded. Stores of other packages and
        scoped views keep no notes: every file is loaded and compared.

        Args:
            path: A file or a folder; what links in it lead to.
            include: As `loaders.find_files`.
            exclude: As `loaders.find_files`.
            delete_missing: Whether files that were ingested from this folder, fit the
                patterns and are gone lose their chunks; so does a single file that is.
            encoding: Of text files; None to find out.
            batch_size: Texts in one call of the embedder.
            progress: As in `ingest`.

        Returns:
            What was done, and which files cannot be read; those keep the chunks that
            they had.

        Raises:
            InvalidInputError: There is no such path, or `delete_missing` where no notes
                are kept.
            ReadOnlyError: The store is open for reading.

        Example:
            ```python
            from pathlib import Path

            from langchain_ragstore import HashingEmbeddings, RagPipeline

            Path("docs").mkdir()
            Path("docs/tea.md").write_text("Green tea wants 80 °C.", encoding="utf-8")
            pipeline = RagPipeline(HashingEmbeddings())
            assert pipeline.ingest_path("docs").loaded == 1
            assert pipeline.ingest_path("./docs/").unchanged == 1
            ```
        """
        patterns = (include, exclude)
        folder = self._folder(path, patterns, encoding, delete_missing=delete_missing)
        return folder.run().ingest(batch_size, progress)

    async def aingest_path(
        self,
        path: str | os.PathLike[str],
        include: Patterns = None,
        exclude: Patterns = None,
        *,
        delete_missing: bool = False,
        encoding: str | None = None,
        batch_size: int = DEFAULT_INGEST_BATCH,
        progress: bool | None = None,
    ) -> PathReport:
        """As `ingest_path`, awaiting the embedder; files are read off the event loop."""
        patterns = (include, exclude)

        def begin() -> Run:
            folder = self._folder(path, patterns, encoding, delete_missing=delete_missing)
            return folder.run()

        run = await run_in_executor(None, begin)
        return await run.aingest(batch_size, progress)

    def watch(
        self,
        path: str | os.PathLike[str],
        include: Patterns = None,
        exclude: Patterns = None,
        *,
        stable_seconds: float = DEFAULT_STABLE_SECONDS,
        delete_missing: bool = True,
        encoding: str | None = None,
        stop_event: threading.Event | None = None,
    ) -> Iterator[PathReport]:
        """Ingest a path, and again whenever it changes.

        Ctrl-C while it waits or works, `stop_event` and `close()` of the iterator end it.
        What fails is reported and tried again: at the next change, and by itself after a
        while, at longer and longer intervals.

        Args:
            path: As `ingest_path`.
            include: As `ingest_path`.
            exclude: As `ingest_path`.
            stable_seconds: How long a file must keep its size and time before it is read.
            delete_missing: As `ingest_path`; False for stores that keep no notes.
            encoding: As `ingest_path`.
            stop_event: Set it, from another thread, to end the iteration.

        Returns:
            An iterator over a report of the first ingestion, and one for each batch of
            changes that had an effect. It works only while it is asked for the next one.

        Raises:
            InvalidInputError: As `ingest_path`, or `stable_seconds` is negative.
            MissingExtraError: watchfiles (extra `watch`) is not installed.
            StoreClosedError: The store was closed; also out of the iterator.
        """
        from langchain_ragstore import watching  # noqa: PLC0415 - see above

        patterns = (include, exclude)
        folder = self._folder(path, patterns, encoding, delete_missing=delete_missing)
        return watching.watch(folder, stable_seconds, stop_event)

    def _folder(
        self,
        path: str | os.PathLike[str],
        patterns: tuple[Patterns, Patterns],
        encoding: str | None,
        *,
        delete_missing: bool,
    ) -> Folder:
        from langchain_ragstore.folders import Folder  # noqa: PLC0415 - see above
        from langchain_ragstore.loaders.files import Choice  # noqa: PLC0415

        return Folder(
            self.store,
            self.splitter,
            path,
            Choice(*patterns),
            delete_missing=delete_missing,
            encoding=encoding,
        )


def _checked(documents: Iterable[Document]) -> list[Document]:
    if isinstance(documents, Document):
        raise InvalidInputError("ingest() takes an iterable of documents: write [document]")
    listed = list(documents)
    for at, document in enumerate(listed):
        if not isinstance(document, Document):
            raise InvalidInputError(f"document {at} is a {type(document).__name__}")
    return listed
