"""Another model for a collection that has vectors."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_ragstore.config import REEMBED_PAGE, REEMBED_ROUNDS
from langchain_ragstore.document_store import DocumentStore
from langchain_ragstore.documents import text_digest, to_indexed
from langchain_ragstore.embedder import Embedder
from langchain_ragstore.errors import ConflictError, InvalidInputError
from langchain_ragstore.filters import EVERYTHING
from langchain_ragstore.model import Record, Vector

logger = logging.getLogger(__name__)

_STAGED: Final = "\0reembed\0"
"""Begins the name of the collection that keeps the new vectors until all are made."""


class Reembedding(DocumentStore):
    """A store whose model can be changed."""

    def reembed(self, new: Embeddings | str, *, batch_size: int | None = None) -> int:
        """Embed all documents of the collection with another model, and use it from now on.

        The new vectors are kept in the file until all are made, and then put in place of
        the old ones in one transaction: searches see the vectors of one model, and other
        stores that are open with the old model are refused after that. Others may read
        and write meanwhile; what they write is embedded, too. If it fails or is killed,
        the same call goes on where it was. Ids, texts, metadata and times stay.

        Args:
            new: An `Embeddings`, or a `"provider:model"` string.
            batch_size: Texts in one call of the model.

        Returns:
            How many documents the collection has.

        Raises:
            InvalidInputError: This is a scoped view, or `new` is no model.

        Example:
            ```python
            from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

            store = SQLiteVectorStore(HashingEmbeddings(64), "old.db")
            store.add_texts(["green tea", "black coffee"])
            assert store.reembed(HashingEmbeddings(256)) == 2
            assert store.stats()["dimension"] == 256
            ```
        """
        staging = self._staging(new)
        self._backend.keep(self._staged, {}, staging.introduce())
        for lacking in self._rounds():
            for ids in lacking:
                texts = self._texts(ids)
                with staging.rescue():
                    self._keep(staging, staging.embed(texts, batch_size))
        return self._adopted(staging)

    async def areembed(
        self, new: Embeddings | str, *, batch_size: int | None = None
    ) -> int:
        """As `reembed`, awaiting the model."""
        staging = await run_in_executor(None, self._staging, new)
        model = await staging.aintroduce()
        await run_in_executor(None, self._backend.keep, self._staged, {}, model)
        rounds = self._rounds()
        while lacking := await run_in_executor(None, next, rounds, None):
            for ids in lacking:
                texts = await run_in_executor(None, self._texts, ids)
                with staging.rescue():
                    vectors = await staging.aembed(texts, batch_size)
                    await run_in_executor(None, self._keep, staging, vectors)
        return await run_in_executor(None, self._adopted, staging)

    @property
    def _staged(self) -> str:
        return _STAGED + self.collection_name

    def _staging(self, new: Embeddings | str) -> Embedder:
        if self._scope.where != EVERYTHING:
            raise InvalidInputError(
                "a scoped view cannot change the model: the vectors belong to the whole "
                "collection; call reembed() on the whole store"
            )
        if new is None:
            raise InvalidInputError("reembed() needs an embedding model, got None")
        staging = self._embedder.beside(new, self._staged)
        if not staging.checks:  # what an earlier try kept may be another model's
            self._backend.delete(self._staged, ids=None, where=EVERYTHING)
        return staging

    def _rounds(self) -> Iterator[list[list[str]]]:
        """Pages of ids whose vectors are lacking, until the new ones are in use.

        There is more than one round only where others write meanwhile.
        """
        for _ in range(REEMBED_ROUNDS):
            ids = self._backend.adopt(self.collection_name, self._staged, self._digest)
            if not ids:
                return
            yield [ids[at : at + REEMBED_PAGE] for at in range(0, len(ids), REEMBED_PAGE)]
        raise ConflictError(
            f"collection {self.collection_name!r} was changed by others again and again "
            "while it was embedded anew, or index_text makes another text every time; the "
            "old vectors are in use and the new ones kept: call reembed() again"
        )

    def _indexed(self, record: Record) -> str:
        return to_indexed(record.id, record.content, record.metadata, self._index_text)

    def _digest(self, record: Record) -> bytes:
        return text_digest(self._indexed(record))

    def _texts(self, ids: Sequence[str]) -> dict[bytes, str]:
        records = self._backend.get(self.collection_name, ids)
        texts = (self._indexed(record) for record in records)
        return {text_digest(text): text for text in texts}

    def _keep(self, staging: Embedder, vectors: Mapping[bytes, Vector]) -> None:
        if vectors:
            self._backend.keep(self._staged, vectors, staging.fingerprint)
            staging.stored(vectors)

    def _adopted(self, staging: Embedder) -> int:
        self._embedder.become(staging)
        if self._keeper is not None:
            self._keeper.hold(self)
        logger.info("%s: embedded with %r", self.collection_name, staging.model)
        return self._backend.count(self.collection_name)
