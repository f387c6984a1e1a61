"""Looking after a collection: copies of it as text, records from elsewhere, its health."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

from langchain_core.runnables import run_in_executor

from langchain_ragstore.config import REINDEX_ATTEMPTS
from langchain_ragstore.documents import last_of_each
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.exchange import Exported, Origin, write
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.ingestion import IngestReport
from langchain_ragstore.model import Compacted, Fingerprint, Problem, Record
from langchain_ragstore.reembedding import Reembedding
from langchain_ragstore.storage.base import (
    check_analyzer,
    check_dimension,
    check_model,
    outside_guard,
)
from langchain_ragstore.storage.fresh import fresh_file

OnConflict: TypeAlias = Literal["replace", "skip", "error"]
"""What becomes of a record whose id is stored already."""

Pages: TypeAlias = Callable[[], Generator[list[Record], None, None]]

_NOTHING: Final = parse({"$id": {"$in": []}})


class Caring(Reembedding):
    """A store that can be copied, checked and cleaned."""

    # --- as text -----------------------------------------------------------------------

    def export_jsonl(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Write the collection as lines of JSON, vectors included, bit for bit.

        All lines are of the same moment, while others go on writing. The file is there
        when it is complete. What the text index holds is not written: `import_jsonl`
        makes it anew.

        Args:
            path: The file.
            overwrite: Whether a file may be there, which is replaced.

        Returns:
            How many documents were written.

        Raises:
            InvalidInputError: No file can be put there.

        Example:
            ```python
            from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

            store = SQLiteVectorStore(HashingEmbeddings(64), "kb.db")
            store.add_texts(["green tea", "black coffee"])
            assert store.export_jsonl("kb.jsonl") == 2

            copy = SQLiteVectorStore(HashingEmbeddings(64), "copy.db")
            assert copy.import_jsonl("kb.jsonl").added == 2
            ```
        """
        origin = Origin(
            self.collection_name,
            self._embedder.portrait(),
            self._backend.analyzer(self.collection_name),
        )
        with (
            fresh_file(path, overwrite=overwrite) as part,
            part.open("xb") as file,
            closing(self._pages()) as pages,
        ):
            return write(file, origin, pages)

    async def aexport_jsonl(
        self, path: str | os.PathLike[str], *, overwrite: bool = False
    ) -> int:
        """As `export_jsonl`, off the event loop."""
        call = partial(self.export_jsonl, path, overwrite=overwrite)
        return await run_in_executor(None, call)

    def _pages(self) -> Generator[list[Record], None, None]:
        yield from self._backend.pages(self.collection_name, where=self._scope.where)

    def import_jsonl(
        self, path: str | os.PathLike[str], *, on_conflict: OnConflict = "replace"
    ) -> IngestReport:
        """Store what `export_jsonl` wrote: texts, metadata, vectors, times.

        Nothing is embedded. The file is read twice: it is checked whole before the first
        document is stored. Documents are stored some hundred at a time, between which
        others may write; a broken-off import is finished by the next.

        Args:
            path: The file.
            on_conflict: What becomes of a document whose id is stored already: the file's
                takes its place, or is skipped, or the whole import is refused.

        Returns:
            How many were added, updated (replaced) and skipped.

        Raises:
            InvalidInputError: A line cannot be read, lines are missing, or an id is stored
                already and `on_conflict` is `"error"`; nothing was written.
            EmbeddingMismatchError: Another model made the vectors; nothing was written.
        """
        _check_conflict(on_conflict)
        exported = Exported(path)
        return self._take(exported.origin, exported.pages, on_conflict)

    async def aimport_jsonl(
        self, path: str | os.PathLike[str], *, on_conflict: OnConflict = "replace"
    ) -> IngestReport:
        """As `import_jsonl`, off the event loop."""
        call = partial(self.import_jsonl, path, on_conflict=on_conflict)
        return await run_in_executor(None, call)

    def merge(
        self,
        other: Caring,
        *,
        on_conflict: OnConflict = "replace",
    ) -> IngestReport:
        """Store the documents of another store in this one, with their vectors and times.

        What would be refused is refused before the first document is stored. Documents
        are stored some hundred at a time, between which others may write; a broken-off
        merge is finished by the next.

        Args:
            other: The other store; of a view, what it sees.
            on_conflict: As in `import_jsonl`.

        Returns:
            How many were added, updated (replaced) and skipped.

        Raises:
            InvalidInputError: It is this very collection, or an id is stored already and
                `on_conflict` is `"error"`; nothing was written.
            EmbeddingMismatchError: Another model made its vectors.
            AnalyzerMismatchError: Its texts were indexed otherwise than this store does.
        """
        _check_conflict(on_conflict)
        name, backend = other.collection_name, other._backend
        here = self._shares_file(other)
        if here and name == self.collection_name:
            raise InvalidInputError(
                f"collection {name!r} cannot be merged with itself; other is another store"
            )
        analyzer = backend.analyzer(name)
        if analyzer is not None:
            check_analyzer(name, analyzer, self._analyzer.description)
        origin = Origin(name, other._embedder.portrait(), analyzer)

        def pages() -> Generator[list[Record], None, None]:
            # In one file that has no log, a reader and a writer wait for each other.
            yield from list(other._pages()) if here else other._pages()

        return self._take(origin, pages, on_conflict)

    def _shares_file(self, other: Caring) -> bool:
        if other._backend is self._backend:
            return True
        place = self._backend.stats(self.collection_name).get("path")
        other_place = other._backend.stats(other.collection_name).get("path")
        return place == other_place and place not in (None, ":memory:")

    # --- health ------------------------------------------------------------------------

    def verify(self) -> list[Problem]:
        """What is not as it should be in the file; nothing is changed. `[]`: all is well.

        Looked at are the file's pages and indexes, every text, every vector and its
        checksum, of all collections; their text indexes and other caches; and whether
        each document of this collection is indexed under the words of its text.

        Returns:
            Each finding with what it concerns and what to do.

        Raises:
            InvalidInputError: This is a scoped view, which may not see it all.

        Example:
            ```python
            from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

            store = SQLiteVectorStore(HashingEmbeddings(64), "kb.db")
            store.add_texts(["green tea"])
            assert store.verify() == []
            ```
        """
        self._check_whole("verify")
        return self._backend.verify(self.collection_name, self._terms_anew)

    async def averify(self) -> list[Problem]:
        """As `verify`, off the event loop."""
        return await run_in_executor(None, self.verify)

    def repair(self) -> list[Problem]:
        """Mend what `verify` finds, and tell what was done and what is lost.

        A document or a vector whose bytes are not what was written is taken out; a
        document without its vector is still found by its words. Everything else is saved,
        and what is made of it (indexes, caches) is made anew. Before anything is taken
        out, the file as it was is copied to `….damaged` beside it. If its pages are
        damaged, nobody else should have it open.

        Returns:
            Each thing that was done or lost, with what to do now; nothing if all was well.

        Raises:
            InvalidInputError: This is a scoped view.
        """
        self._check_whole("repair")
        return self._backend.repair(self.collection_name, self._terms_anew)

    async def arepair(self) -> list[Problem]:
        """As `repair`, off the event loop."""
        return await run_in_executor(None, self.repair)

    def compact(self) -> Compacted:
        """Leave nothing of deleted documents in the file, and give the room back.

        Their texts, vectors and words are then in neither the file nor its log. Expired
        documents and vectors that wait for documents go, too. In the last step SQLite
        writes the file anew, in which other writers wait, some three seconds a gigabyte.

        Returns:
            Bytes before and after.

        Raises:
            InvalidInputError: This is a scoped view.
            StoreLockedError: A reader that does not finish keeps the log from being cut
                off; what was deleted may still be in it.
        """
        self._check_whole("compact")
        return self._backend.compact()

    async def acompact(self) -> Compacted:
        """As `compact`, off the event loop."""
        return await run_in_executor(None, self.compact)

    def _check_whole(self, method: str) -> None:
        if self._scope.where != EVERYTHING:
            raise InvalidInputError(
                f"a scoped view cannot {method}(): the file belongs to more than it sees; "
                f"call {method}() on the whole store"
            )

    # --- records from elsewhere ----------------------------------------------------------

    def _take(self, origin: Origin, pages: Pages, on_conflict: OnConflict) -> IngestReport:
        """Store records as they are, after a look at all of them."""
        self._check_analyzer()
        model = self._embedder.recognised(origin.collection, origin.model)
        stored = self._backend.fingerprint(self.collection_name)
        check_model(self.collection_name, stored, model)
        # Closed at once when something fails: a page not yet asked for holds a connection.
        with closing(pages()) as found:
            self._look_through(found, on_conflict)
        report = IngestReport()
        with closing(pages()) as found:
            for page in found:
                report += self._store_page(self._own(page), on_conflict, model)
        return report

    def _look_through(self, pages: Iterable[list[Record]], on_conflict: OnConflict) -> None:
        """Refuse records that cannot all be stored."""
        dimension = self._backend.stats(self.collection_name).get("dimension")
        seen: set[str] = set()
        for page in pages:
            records = self._own(page)
            for record in records:
                if record.vector is not None:
                    dimension = dimension or len(record.vector)
                    check_dimension(self.collection_name, dimension, len(record.vector))
            if on_conflict == "error":
                again = seen.intersection(r.id for r in records)
                _refuse_stored([*again, *self._present(records)], self.collection_name)
                seen.update(record.id for record in records)
            if self._scope.where != EVERYTHING:
                ids = [record.id for record in records]
                there = self._backend.get(self.collection_name, ids)
                outside = {r.id for r in there} - self._present(records)
                for id in sorted(outside):
                    raise outside_guard(self.collection_name, id)

    def _own(self, page: list[Record]) -> list[Record]:
        """Records within the scope of this store, one for each id."""
        if self._scope.where == EVERYTHING:
            return last_of_each(page)
        stamped = [
            replace(r, metadata=self._scope.stamp(r.metadata), encoded=None) for r in page
        ]
        self._scope.check(stamped)
        return last_of_each(stamped)

    def _present(self, records: list[Record]) -> set[str]:
        return {record.id for record in self._stored([record.id for record in records])}

    def _store_page(
        self, records: list[Record], on_conflict: OnConflict, model: Fingerprint | None
    ) -> IngestReport:
        for attempt in range(1, REINDEX_ATTEMPTS + 1):
            present = self._present(records)
            if on_conflict == "error":
                _refuse_stored(present, self.collection_name)
            chosen = records
            if on_conflict == "skip":
                chosen = [record for record in records if record.id not in present]
            guard = self._scope.where if on_conflict == "replace" else _NOTHING
            try:
                self._backend.upsert(
                    self.collection_name,
                    [self._termed(record) for record in chosen],
                    guard=guard,
                    model=model if any(r.vector is not None for r in chosen) else None,
                    dated=True,
                )
            except InvalidInputError:  # another writer stored one of the ids meanwhile
                if on_conflict != "skip" or attempt == REINDEX_ATTEMPTS:
                    raise
            else:
                break
        if on_conflict == "skip":
            return IngestReport(added=len(chosen), skipped=len(present))
        return IngestReport(added=len(records) - len(present), updated=len(present))

    def _termed(self, record: Record) -> Record:
        return replace(record, terms=self._terms_anew(record))


def _check_conflict(given: str) -> None:
    known = get_args(OnConflict)
    if given not in known:
        raise InvalidInputError(
            f"on_conflict is one of {', '.join(map(repr, known))}, got {given!r}"
        )


def _refuse_stored(ids: Collection[str], collection: str) -> None:
    if ids:
        raise InvalidInputError(
            f"id {min(ids)!r} is stored in collection {collection!r} already; nothing was "
            "written; on_conflict='replace' or 'skip' decides which one stays"
        )
