"""Documents into a collection; changing and deleting is above."""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from typing_extensions import override

from langchain_ragstore.documents import (
    last_of_each,
    to_records,
    to_seconds,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.ingestion import Done, IngestReport, Source, SourceWriter, advance
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.model import Fingerprint, Record, Vector
from langchain_ragstore.text_index import TextIndexed
from langchain_ragstore.vectors.arrays import unit_matrix

NOTHING_MADE: Final[Mapping[bytes, Vector]] = MappingProxyType({})

ADD_KEYWORDS: Final = ("ids", "batch_size", "expires_at", "current_time")


class DocumentWriter(TextIndexed):
    """What a store over any `Backend` does to add documents."""

    # --- adding ----------------------------------------------------------------

    @override
    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embed and store texts; all of them or, after an error, none.

        Args:
            texts: Any iterable, read once.
            metadatas: One for each text. JSON values, dates, datetimes, Decimals, UUIDs,
                bytes and tuples come back as they were.
            ids: One for each text. A stored document with the id is replaced; of an id
                that comes twice the last one is stored. A missing id is a hash of text and
                metadata, so adding twice changes nothing.
            **kwargs: `batch_size` (texts in one call of the embedder), `expires_at` (a
                datetime, or seconds since the epoch, from which on the documents are
                absent), `current_time` (ignored; some LangChain retrievers pass it).

        Returns:
            An id for each text, in their order.

        Raises:
            InvalidInputError: Lengths differ, or a value cannot be stored.
            DimensionMismatchError: The embedder's vectors do not fit the collection.
        """
        records, unique, wanted = self._to_add(texts, metadatas, ids, kwargs)
        with self._embedder.rescue([r.indexed for r in records]):
            made = self._embedder.embed(wanted, kwargs.get("batch_size"))
            self._write(unique, made)
        return [record.id for record in records]

    @override
    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """As `add_texts`, awaiting the embedder; `texts` are read in a thread."""
        records, unique, wanted = await run_in_executor(
            None, self._to_add, texts, metadatas, ids, kwargs
        )
        with self._embedder.rescue([r.indexed for r in records]):
            made = await self._embedder.aembed(wanted, kwargs.get("batch_size"))
            await run_in_executor(None, self._write, unique, made)
        return [record.id for record in records]

    def _to_add(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None,
        ids: Iterable[str | None] | str | None,
        keywords: Mapping[str, Any],
    ) -> tuple[list[Record], list[Record], dict[bytes, str]]:
        """A record for each text, one for each id, and what is embedded for these."""
        records = self._records(texts, metadatas, ids, keywords)
        self._check_analyzer()
        unique = last_of_each(records)
        return records, unique, by_digest(unique)

    @override
    def add_documents(self, documents: Iterable[Document], **kwargs: Any) -> list[str]:
        """Embed and store documents, under their own ids if they have some.

        Args:
            documents: Any iterable, read once; not changed.
            **kwargs: `ids` (instead of the documents' own) and those of `add_texts`.

        Returns:
            An id for each document, in their order.
        """
        return self.add_texts(*to_parts(documents, kwargs), **kwargs)

    @override
    async def aadd_documents(
        self, documents: Iterable[Document], **kwargs: Any
    ) -> list[str]:
        """As `add_documents`, awaiting the embedder; they are read in a thread."""
        parts = await run_in_executor(None, to_parts, documents, kwargs)
        return await self.aadd_texts(*parts, **kwargs)

    def add_embeddings(
        self,
        texts: Iterable[str],
        embeddings: Iterable[Sequence[float]],
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        ids: Iterable[str | None] | str | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts with vectors that were made elsewhere; otherwise as `add_texts`.

        Args:
            texts: Any iterable.
            embeddings: One vector for each text; scaled to unit length.
            metadatas: One for each text.
            ids: One for each text.
            **kwargs: As `add_texts`.
        """
        records = self._records(texts, metadatas, ids, kwargs)
        vectors = list(embeddings)
        if len(vectors) != len(records):
            raise InvalidInputError(f"{len(records)} texts but {len(vectors)} embeddings")
        if not records:
            return []
        matrix = unit_matrix(vectors, [record.content for record in records])
        given = [
            replace(r, vector=v, digest=None) for r, v in zip(records, matrix, strict=True)
        ]
        self._write(last_of_each(given))
        return [record.id for record in records]

    def replace_source(
        self,
        source_id: str,
        documents: Iterable[Document],
        *,
        batch_size: int | None = None,
    ) -> IngestReport:
        """Make these documents the only ones of a source, in one transaction.

        A stored text is not embedded anew, whatever its id and metadata became.

        Args:
            source_id: Documents belong to it by `metadata["source_id"]`.
            documents: With ids; to be stored under them.
            batch_size: Texts in one call of the embedder.

        Returns:
            What changed.
        """
        source = Source(source_id, list(documents))
        (done,) = self.replace_sources([source], batch_size=batch_size)
        return done.report

    async def areplace_source(
        self,
        source_id: str,
        documents: Iterable[Document],
        *,
        batch_size: int | None = None,
    ) -> IngestReport:
        """As `replace_source`, awaiting the embedder."""
        source = Source(source_id, await run_in_executor(None, list, documents))
        several = self.areplace_sources([source], batch_size=batch_size)
        (done,) = [done async for done in several]
        return done.report

    def replace_sources(
        self, sources: Iterable[Source], *, batch_size: int | None = None
    ) -> Iterator[Done]:
        """`replace_source` of several, whose texts share the calls of the embedder.

        Args:
            sources: Read as they are needed.
            batch_size: Texts in one call of the embedder.

        Yields:
            Each source in order, after its own transaction.
        """
        steps = self._writer().steps(sources, self._embedder.at_once(batch_size))
        with self._embedder.rescue():
            step = advance(steps, None)
            while step:
                vectors = None
                if isinstance(step, Done):
                    yield step
                else:
                    vectors = self._embedder.embed(step, batch_size)
                step = advance(steps, vectors)

    async def areplace_sources(
        self, sources: Iterable[Source], *, batch_size: int | None = None
    ) -> AsyncIterator[Done]:
        """As `replace_sources`, awaiting the embedder; `sources` are read in a thread."""
        steps = self._writer().steps(sources, self._embedder.at_once(batch_size))
        with self._embedder.rescue():
            step = await run_in_executor(None, advance, steps, None)
            while step:
                vectors = None
                if isinstance(step, Done):
                    yield step
                else:
                    vectors = await self._embedder.aembed(step, batch_size)
                step = await run_in_executor(None, advance, steps, vectors)

    def _writer(self) -> SourceWriter:
        def to_stored(documents: Sequence[Document]) -> list[Record]:
            self._check_analyzer()
            keywords: dict[str, Any] = {}
            texts, metadatas = to_parts(documents, keywords)
            return last_of_each(self._records(texts, metadatas, keywords["ids"], {}))

        return SourceWriter(
            self._backend,
            self.collection_name,
            self._scope.where,
            to_stored,
            self._write,
            embeds=self._embedder.model is not None,
        )

    def _records(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None,
        ids: Iterable[str | None] | str | None,
        keywords: Mapping[str, Any],
    ) -> list[Record]:
        unknown = {key: None for key in keywords if key not in ADD_KEYWORDS}
        refuse_unknown("add_texts", unknown, ADD_KEYWORDS)
        records = to_records(
            texts,
            metadatas,
            ids,
            stamp=self._scope.stamp,
            id_factory=self._id_factory,
            expires_at=to_seconds(keywords.get("expires_at")),
            index_text=self._index_text,
        )
        self._scope.check(records)
        return records

    def _write(
        self,
        records: Sequence[Record],
        made: Mapping[bytes, Vector] = NOTHING_MADE,
        remove: Collection[str] = (),
        expected: Sequence[Record] = (),
        model: Fingerprint | None = None,
    ) -> None:
        """Store records and remove ids, in one transaction.

        Args:
            records: With different ids.
            made: What this store's model made, by digest, for records without a vector.
            remove: Ids.
            expected: As in `Backend.upsert`.
            model: What made the vectors that the records have, if that is known.
        """
        if not records and not remove:
            return
        if self._embedder.model is None:
            records = self._with_given(records, made)
        self._backend.upsert(
            self.collection_name,
            [
                r.completed(
                    made.get(r.digest or b"") if r.vector is None else r.vector,
                    self._terms_of(r),
                )
                for r in records
            ],
            remove=remove,
            guard=self._scope.where,
            expected=expected,
            model=model or (self._embedder.fingerprint if made else None),
        )
        self._embedder.stored(made)

    def _with_given(
        self, records: Sequence[Record], made: Mapping[bytes, Vector]
    ) -> list[Record]:
        """With the vectors that were given for the same texts: no model can make them."""
        lacking = [r.id for r in records if r.vector is None and r.digest not in made]
        stored = self._backend.get(
            self.collection_name, lacking, where=self._scope.where, vectors=True
        )
        given = {r.id: r for r in stored if r.vector is not None and r.digest is None}
        return [
            replace(r, vector=given[r.id].vector, digest=None)
            if r.id in given and given[r.id].content == r.content
            else r
            for r in records
        ]


def by_digest(records: Iterable[Record]) -> dict[bytes, str]:
    """What is to be embedded for records that have no vector."""
    return {r.digest: r.indexed or "" for r in records if r.digest and r.vector is None}


def to_parts(
    documents: Iterable[Document], keywords: dict[str, Any]
) -> tuple[list[str], list[Mapping[str, Any]]]:
    """Texts and metadata; the documents' own ids go to `keywords` unless it has some.

    Args:
        documents: Read once; may be a generator.
        keywords: Of an `add_…` method; gets `ids`.

    Raises:
        InvalidInputError: One of them is no document.
    """
    listed = list(documents)
    for at, document in enumerate(listed):
        if not isinstance(document, Document):
            msg = f"document {at} is a {type(document).__name__}; add_texts() takes strings"
            raise InvalidInputError(msg)
    if keywords.get("ids") is None:
        keywords["ids"] = [document.id for document in listed]
    return [d.page_content for d in listed], [d.metadata for d in listed]
