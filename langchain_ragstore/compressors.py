"""The stages as LangChain compressors, for any documents, whoever found them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable, RunnableLambda, run_in_executor
from pydantic import ConfigDict, Field, PrivateAttr, model_validator
from typing_extensions import override

from langchain_ragstore.config import DEDUP_THRESHOLD, MAX_TOPICS
from langchain_ragstore.documents_as_hits import (
    embedder,
    scores_of,
    to_documents,
    to_hits,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Hit
from langchain_ragstore.retrieval.boost import CoreBoost
from langchain_ragstore.retrieval.buckets import Bucket
from langchain_ragstore.retrieval.dedup import Deduplicate
from langchain_ragstore.retrieval.rerank import Rerank
from langchain_ragstore.retrieval.rerank_model import NOTE, RerankByModel
from langchain_ragstore.retrieval.settings import RetrievalConfig
from langchain_ragstore.stage_request import to_reranker, to_tags
from langchain_ragstore.vectors.arrays import cosines, unit_vector

_QUERY_KEYS = ("query", "question", "input")
_DOCUMENT_KEYS = ("documents", "context")


class StageCompressor(BaseDocumentCompressor):
    """What the compressors here have in common.

    Ids, texts and the documents that are given in stay as they are; scores are written
    into the metadata of copies, as `relevance_score`, and what they are made of as
    `ragstore`. They go into `ContextualCompressionRetriever` and, as `as_runnable()`,
    into LCEL.

    Attributes:
        top_n: How many documents are left at most; None for all.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    top_n: int | None = Field(default=None, ge=0)

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents after the stage.

        Args:
            documents: Best first.
            query: What they were found for.
            callbacks: Not read: a stage is no run.
        """
        listed = list(documents)
        return self._documents(self._staged(listed, query) if listed else [], listed)

    @override
    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """As `compress_documents`, off the event loop."""
        return await run_in_executor(None, self.compress_documents, documents, query)

    def as_runnable(self) -> Runnable[Mapping[str, Any], list[Document]]:
        """The stage in a chain, sync and async.

        Returns:
            A runnable. It takes a dictionary with `query` (or `question`, `input`) and
            `documents` (or `context`), and gives documents.

        Example:
            ```python
            from langchain_core.runnables import RunnablePassthrough

            from langchain_ragstore import (
                CoreTagBoost,
                HashingEmbeddings,
                SQLiteVectorStore,
            )

            store = SQLiteVectorStore(HashingEmbeddings())
            store.add_texts(["green tea", "tea"], [{}, {"tags": ["house"]}])
            retriever = store.as_retriever(search_kwargs={"with_scores": True})
            boost = CoreTagBoost(core_tags=["house"], top_n=1)
            chain = {
                "documents": retriever,
                "query": RunnablePassthrough(),
            } | boost.as_runnable()
            assert [d.page_content for d in chain.invoke("tea")] == ["tea"]
            ```
        """
        return RunnableLambda(
            lambda given: self.compress_documents(*_given(given)),
            afunc=lambda given: self.acompress_documents(*_given(given)),
            name=type(self).__name__,
        )

    @abstractmethod
    def _staged(self, documents: list[Document], query: str) -> list[Hit]:
        """The documents after the stage, as hits."""

    def _scored(self) -> bool:
        return True

    def _documents(self, hits: Sequence[Hit], documents: list[Document]) -> list[Document]:
        return to_documents(hits[: self.top_n], documents, scored=self._scored())


class DynamicReranker(StageCompressor):
    """Reranks by meaning, words and title, weighed by what kind of question it is.

    semantic·w₁ + keyword·w₂ + title·w₃, with weights for queries about code (.55, .35,
    .10), about tables (.50, .30, .20), conversational ones (.85, .10, .05) and others
    (.70, .20, .10), the first that fits; and .25 for the description of a table's columns
    if the query is about tables. See `retrieval.rerank`; in a search of this package's
    stores, `RetrievalConfig(rerank=True)` does the same with stored vectors.

    Attributes:
        embeddings: Makes the cosines of documents that carry none; results of this
            package's stores do, `with_scores=True`.
        retrieval_config: Weights and bonus.
        top_n: How many documents are left at most; None for all.

    Example:
        ```python
        from langchain_core.documents import Document

        from langchain_ragstore import DynamicReranker, HashingEmbeddings

        reranker = DynamicReranker(embeddings=HashingEmbeddings(), top_n=1)
        found = [Document("paint dries", id="a"), Document("green tea", id="b")]
        (best,) = reranker.compress_documents(found, "green tea")
        assert best.id == "b"
        assert abs(best.metadata["relevance_score"] - (0.7 + 0.2)) < 1e-6
        ```
    """

    embeddings: Embeddings | None = None
    retrieval_config: RetrievalConfig = RetrievalConfig()

    @override
    def _staged(self, documents: list[Document], query: str) -> list[Hit]:
        hits = to_hits(documents)
        lacking = [at for at, hit in enumerate(hits) if "dense" not in hit.signals]
        if lacking:
            if self.embeddings is None:
                raise InvalidInputError(
                    f"DynamicReranker needs cosines, and document "
                    f"{documents[lacking[0]].id!r} carries none; search this package's "
                    "stores with with_scores=True, or give embeddings="
                )
            embed = embedder(self.embeddings)
            assert embed is not None  # noqa: S101 - there are embeddings
            texts = [documents[at].page_content for at in lacking]
            vector = unit_vector(self.embeddings.embed_query(query))
            for at, cosine in zip(
                lacking, cosines(embed(texts), vector).tolist(), strict=True
            ):
                hit = hits[at]
                signals = {**hit.signals, "dense": cosine}
                hits[at] = Hit(hit.record, hit.score, signals, notes=hit.notes)
        return Rerank.of(self.retrieval_config).scored(hits, query)


class CoreTagBoost(StageCompressor):
    """Multiplies the scores of documents with a core tag, once, and ranks anew.

    A document has one if its `tags` share one of `core_tags`, whatever the case, or its
    `is_core` is True. Without `core_tags` nothing is boosted, and a score below 0 stays as
    it is. In a search, `core_tags=` does the same.

    Attributes:
        core_tags: What the caller holds for the core.
        factor: At least 0.
        top_n: How many documents are left at most; None for all.

    Example:
        ```python
        from langchain_core.documents import Document

        from langchain_ragstore import CoreTagBoost

        plain = Document("a", metadata={"relevance_score": 0.5})
        core = Document("b", metadata={"relevance_score": 0.4, "tags": ["Tea"]})
        first, _ = CoreTagBoost(core_tags=["tea"]).compress_documents([plain, core], "")
        assert first.metadata["relevance_score"] == 0.4 * 1.33
        ```
    """

    core_tags: tuple[str, ...] = ()
    factor: float = Field(default=RetrievalConfig().core_factor, ge=0, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_tags(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "core_tags": to_tags(values.get("core_tags"))}

    @override
    def _staged(self, documents: list[Document], query: str) -> list[Hit]:
        hits = to_hits(documents, scores_of(documents, "CoreTagBoost"))
        return CoreBoost(self.core_tags, self.factor).boosted(hits)


class SemanticDeduplicator(StageCompressor):
    """Leaves out documents that say what a better one says.

    Documents are compared by the cosines of their vectors, which `embeddings` makes: what
    a retriever gives carries none. In a search of this package's stores,
    `RetrievalConfig(dedup_threshold=0.88)` compares the stored ones, and goes on among the
    candidates for others.

    Attributes:
        threshold: The cosine that is not to be exceeded. How near two texts are that say
            the same differs between models: of the E5 kind, 0.88 removes good results.
        embeddings: Makes the vectors.
        top_n: How many documents are left at most; None for all.

    Example:
        ```python
        from langchain_core.documents import Document

        from langchain_ragstore import HashingEmbeddings, SemanticDeduplicator

        found = [Document("green tea"), Document("Green tea!"), Document("paint")]
        distinct = SemanticDeduplicator(embeddings=HashingEmbeddings())
        kept = distinct.compress_documents(found, "tea")
        assert [d.page_content for d in kept] == ["green tea", "paint"]
        ```
    """

    threshold: float = Field(default=DEDUP_THRESHOLD, ge=-1, le=1)
    embeddings: Embeddings | None = None

    def __init__(
        self,
        threshold: float = DEDUP_THRESHOLD,
        embeddings: Embeddings | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"threshold": threshold, "embeddings": embeddings, **kwargs})

    @override
    def _staged(self, documents: list[Document], query: str) -> list[Hit]:
        return Deduplicate(self.threshold, embedder(self.embeddings)).distinct(
            to_hits(documents)
        )

    @override
    def _scored(self) -> bool:
        return False


class TopicBucketer(StageCompressor):
    """Tells each document its topic, as `metadata["ragstore"]["topic"]`; the order stays.

    The data decide how many topics there are. The same documents get the same topics, in
    any order. See `retrieval.buckets`; in a search, `RetrievalConfig(topics=True)`.

    Attributes:
        embeddings: Makes the vectors.
        max_topics: How many topics there are at most.
        seed: Of the random numbers.
        top_n: How many documents are left at most; None for all.

    Example:
        ```python
        from langchain_core.documents import Document

        from langchain_ragstore import HashingEmbeddings, TopicBucketer

        texts = ["green tea leaves", "black tea leaves", "steel pipe", "iron pipe"]
        bucketer = TopicBucketer(embeddings=HashingEmbeddings())
        buckets = bucketer.buckets([Document(text) for text in texts])
        assert {label: len(found) for label, found in buckets.items()} == {
            "tea, leaves": 2,
            "pipe": 2,
        }
        ```
    """

    embeddings: Embeddings | None = None
    max_topics: int = Field(default=MAX_TOPICS, ge=1)
    seed: int = Field(default=0, ge=0)

    def buckets(self, documents: Sequence[Document]) -> dict[str, list[Document]]:
        """The documents by the labels of their topics, the topic of the first one first."""
        found: dict[str, list[Document]] = {}
        for document in self.compress_documents(documents, ""):
            found.setdefault(document.metadata["ragstore"]["topic"], []).append(document)
        return found

    @override
    def _staged(self, documents: list[Document], query: str) -> list[Hit]:
        stage = Bucket(self.max_topics, self.seed, embedder(self.embeddings))
        return stage.bucketed(to_hits(documents))

    @override
    def _scored(self) -> bool:
        return False


class ModelReranker(StageCompressor):
    """Ranks documents by the scores of a model, in batches and within a time limit.

    If the model fails or takes too long, the documents come back in their order, each with
    the reason in `metadata["ragstore"]["reranker_failed"]`, and a warning is logged. In a
    search, `reranker=` does the same.

    Attributes:
        model: A `BaseCrossEncoder`; a function, also an async one, of the query and a list
            of texts that returns their scores; or an `Embeddings`, for its cosines.
        retrieval_config: How many documents it is asked about (`reranked`; the others are
            left out), in what batches and for how long.
        top_n: How many documents are left at most; None for all that it was asked about.

    Example:
        ```python
        from langchain_core.documents import Document

        from langchain_ragstore import ModelReranker


        def longest(query, texts):
            return [len(text) for text in texts]


        found = [Document("tea", id="a"), Document("green tea", id="b")]
        (best,) = ModelReranker(model=longest, top_n=1).compress_documents(found, "tea")
        assert (best.id, best.metadata["relevance_score"]) == ("b", 9.0)
        ```
    """

    model: Any
    retrieval_config: RetrievalConfig = RetrievalConfig()
    _stage: RerankByModel = PrivateAttr()

    @override
    def model_post_init(self, context: Any, /) -> None:
        if self.model is None:
            raise InvalidInputError("ModelReranker needs a model, got None")
        self._stage = RerankByModel(
            to_reranker(self.model),
            self.retrieval_config.reranked,
            self.retrieval_config.rerank_batch,
            self.retrieval_config.rerank_seconds,
        )

    @override
    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """As `compress_documents`; an async model is awaited."""
        listed = list(documents)
        return self._documents(await self._stage.areranked(to_hits(listed), query), listed)

    @override
    def _staged(self, documents: list[Document], query: str) -> list[Hit]:
        return self._stage.reranked(to_hits(documents), query)

    @override
    def _documents(self, hits: Sequence[Hit], documents: list[Document]) -> list[Document]:
        first = hits[: self.top_n]
        failed = any(NOTE in dict(hit.notes) for hit in first)
        return to_documents(first, documents, scored=not failed)


def _given(given: Mapping[str, Any]) -> tuple[list[Document], str]:
    """Documents and query out of what a chain hands on.

    Raises:
        InvalidInputError: One of them is not there.
    """
    known: Mapping[str, Any] = dict(given) if hasattr(given, "keys") else {}
    documents = next((known[key] for key in _DOCUMENT_KEYS if key in known), None)
    query = next((known[key] for key in _QUERY_KEYS if key in known), None)
    if documents is None or not isinstance(query, str):
        raise InvalidInputError(
            "a stage in a chain takes {'documents': [...], 'query': '...'}, got "
            f"{given!r:.80}"
        )
    return list(documents), query
