"""The text index of a collection: what made it, and making it anew."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.runnables import run_in_executor

from langchain_ragstore.document_reader import DocumentReader
from langchain_ragstore.documents import to_indexed, to_terms
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.model import Record, Unanalyzed
from langchain_ragstore.storage.base import check_analyzer


class TextIndexed(DocumentReader):
    """A store's texts as its analyzer sees them."""

    def _terms_of(self, record: Record) -> Unanalyzed:
        return to_terms(record, self._analyzer)

    def _check_analyzer(self) -> None:
        """Refuse what could not be indexed before a model is called for it.

        The transaction of the write looks again.
        """
        stored = self._backend.analyzer(self.collection_name)
        if stored is not None:
            check_analyzer(self.collection_name, stored, self._analyzer.description)

    def reindex_text(self) -> int:
        """Make the text index anew with this store's `text_analyzer`.

        Needed after `AnalyzerMismatchError`, and after what a function of the analyzer
        gives has changed. Others may read and write meanwhile: the terms are made beside
        the file and put in place in one transaction, before which searches see the old
        index. Vectors and documents stay as they are.

        Returns:
            How many documents the index holds.

        Raises:
            InvalidInputError: A scoped view, which may not index what it cannot see; or
                the stemmer or segmenter failed.
        """
        if self._scope.where != EVERYTHING:
            raise InvalidInputError(
                "a scoped view cannot index the collection anew: the index belongs to the "
                "whole of it; call reindex_text() on the whole store"
            )

        def terms_of(stored: Record) -> Unanalyzed:
            text = to_indexed(stored.id, stored.content, stored.metadata, self._index_text)
            return self._terms_of(replace(stored, indexed=text))

        return self._backend.reindex(self.collection_name, terms_of)

    async def areindex_text(self) -> int:
        """As `reindex_text`, off the event loop."""
        return await run_in_executor(None, self.reindex_text)
