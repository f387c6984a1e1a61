"""The keywords `retrieval_config`, `core_tags` and `reranker` of a search, as stages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from langchain_core.embeddings import Embeddings

from langchain_ragstore.documents import to_ids
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.retrieval.boost import CoreBoost, folded
from langchain_ragstore.retrieval.settings import RetrievalConfig
from langchain_ragstore.vectors.arrays import cosines, unit_matrix, unit_vector

if TYPE_CHECKING:
    from langchain_ragstore.retrieval.question import Stage

STAGE_KEYWORDS: Final = ("retrieval_config", "core_tags", "reranker")
"""Keywords that every search takes, also of other packages' stores."""

_AS_IT_IS: Final = RetrievalConfig()


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a caller wants done to candidates.

    Attributes:
        config: The constants.
        tags: Core tags, folded; empty for none.
        reranker: What is asked for scores, see `rerank_model.Model`; None for nothing.
    """

    config: RetrievalConfig = _AS_IT_IS
    tags: tuple[str, ...] = ()
    reranker: Any = None

    @property
    def anything(self) -> bool:
        """Whether candidates are chosen from."""
        later = self.config.importance_threshold is not None or self.config.needs_vectors
        return bool(self.tags or later) or self.reranker is not None

    def scoring(self, k: int) -> list[Stage]:
        """The stages that come before a threshold: what a score is made of."""
        stages: list[Stage] = []
        if self.config.importance_threshold is not None:
            from langchain_ragstore.retrieval.importance import (  # noqa: PLC0415 - at first use
                Importance,
            )

            wants = 0 if self.reranker is not None else k
            stages.append(Importance(self.config.importance_threshold, wants))
        if self.config.rerank:
            from langchain_ragstore.retrieval.rerank import Rerank  # noqa: PLC0415

            stages.append(Rerank.of(self.config))
        if self.tags:
            stages.append(CoreBoost(self.tags, self.config.core_factor))
        return stages

    def choosing(self, k: int) -> list[Stage]:
        """The stages that come after it: the model, and what is left out."""
        stages: list[Stage] = []
        if self.reranker is not None:
            stages.append(self.by_model(k))
        if self.config.dedup_threshold is not None:
            from langchain_ragstore.retrieval.dedup import Deduplicate  # noqa: PLC0415

            stages.append(Deduplicate(self.config.dedup_threshold))
        return stages

    def telling(self) -> list[Stage]:
        """The stages that add to what is chosen."""
        if not self.config.topics:
            return []
        from langchain_ragstore.retrieval.buckets import Bucket  # noqa: PLC0415

        return [Bucket(self.config.max_topics, self.config.topic_seed)]

    def by_model(self, k: int) -> Any:
        """The stage that asks the reranking model, `RerankByModel`."""
        from langchain_ragstore.retrieval.rerank_model import RerankByModel  # noqa: PLC0415

        return RerankByModel(
            self.reranker,
            max(k, self.config.reranked),
            self.config.rerank_batch,
            self.config.rerank_seconds,
            loop=_running_loop(),
        )


def to_chosen(keywords: Mapping[str, Any]) -> Chosen:
    """What the keywords `retrieval_config`, `core_tags` and `reranker` ask for.

    Raises:
        InvalidInputError: One of them is none.
    """
    return Chosen(
        to_config(keywords.get("retrieval_config")),
        to_tags(keywords.get("core_tags")),
        to_reranker(keywords.get("reranker")),
    )


def to_config(config: Any) -> RetrievalConfig:
    """A `RetrievalConfig`; None is the default one.

    Raises:
        InvalidInputError: It is something else.
    """
    if config is None:
        return _AS_IT_IS
    if not isinstance(config, RetrievalConfig):
        raise InvalidInputError(
            "retrieval_config is a RetrievalConfig, such as RetrievalConfig.phase_r(), got "
            f"{config!r:.80}"
        )
    return config


def to_tags(tags: Iterable[str] | str | None) -> tuple[str, ...]:
    """Core tags, folded; a bare string is one tag.

    Raises:
        InvalidInputError: A tag is not a string.
    """
    if tags is None:
        return ()
    if not isinstance(tags, Iterable):
        raise InvalidInputError(f"core_tags is a list of tags, got {tags!r:.80}")
    return folded(to_ids(tags, "core_tags"))


def to_reranker(reranker: Any) -> Any:
    """What is asked for scores; an embedding model is asked for cosines.

    Raises:
        InvalidInputError: It cannot be asked.
    """
    if reranker is None:
        return None
    if isinstance(reranker, Embeddings):
        return ByCosine(reranker)
    if callable(getattr(reranker, "compress_documents", None)):
        raise InvalidInputError(
            f"reranker={type(reranker).__name__} is a document compressor; it goes into "
            "ContextualCompressionRetriever(base_compressor=..., base_retriever=...)"
        )
    if callable(getattr(reranker, "score", None)) or callable(reranker):
        return reranker
    raise InvalidInputError(
        "reranker is a BaseCrossEncoder, a function of the query and a list of texts that "
        f"returns their scores, or an Embeddings; got {reranker!r:.80}"
    )


@dataclass(frozen=True)
class ByCosine:
    """An embedding model as a reranker: a second look with a better one.

    Attributes:
        embeddings: Is asked for the query and the texts.

    Example:
        ```python
        from langchain_ragstore import HashingEmbeddings
        from langchain_ragstore.stage_request import ByCosine

        tea, paint = ByCosine(HashingEmbeddings())("tea", ["green tea", "paint"])
        assert tea > paint
        ```
    """

    embeddings: Embeddings

    @property
    def __name__(self) -> str:
        return type(self.embeddings).__name__

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """The cosine of each text to the query."""
        found = unit_matrix(self.embeddings.embed_documents(texts), texts)
        scores: list[float] = cosines(
            found, unit_vector(self.embeddings.embed_query(query))
        ).tolist()
        return scores


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that the caller is on, where an async reranker is awaited."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
