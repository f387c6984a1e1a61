"""Stages over what other packages' stores find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_ragstore import foreign
from langchain_ragstore.config import DEFAULT_K
from langchain_ragstore.documents import to_count
from langchain_ragstore.documents_as_hits import to_documents, to_hits
from langchain_ragstore.errors import StorageError
from langchain_ragstore.keywords import refuse_unknown
from langchain_ragstore.retrieval.boost import CoreBoost
from langchain_ragstore.retrieval.importance import Importance
from langchain_ragstore.retrieval.rerank_model import NOTE, RerankByModel
from langchain_ragstore.stage_request import STAGE_KEYWORDS, Chosen, to_chosen


@dataclass(frozen=True, slots=True)
class Staged:
    """What is done to the documents that another package's store finds.

    Attributes:
        chosen: What the caller wants.
        model: The stage that asks the reranking model; None for none.
        k: How many documents are wanted.
        marked: Whether results carry their scores in the metadata.
    """

    chosen: Chosen
    model: RerankByModel | None
    k: int
    marked: bool

    def result(
        self, found: Sequence[tuple[Document, float]], query: str
    ) -> list[tuple[Document, float]]:
        """The documents after the stages, with their scores."""
        documents = [document for document, _ in found]
        hits = to_hits(documents, [score for _, score in found])
        config = self.chosen.config
        if config.importance_threshold is not None:
            hits = Importance(config.importance_threshold, 0).kept(hits)
        hits = CoreBoost(self.chosen.tags, config.core_factor).boosted(hits)
        if self.model is not None:
            hits = self.model.reranked(hits, query)
        if self.chosen.anything:
            hits = hits[: max(0, self.k)]
        marked = to_documents(hits, documents, scored=self.marked)
        return [
            (
                told
                if self.marked or NOTE in dict(hit.notes)
                else documents[int(hit.record.id)],
                hit.score,
            )
            for told, hit in zip(marked, hits, strict=True)
        ]


def staged(store: VectorStore, keywords: dict[str, Any]) -> Staged:
    """The stages of a search; their keywords are taken out, and `k` is how many to fetch.

    Raises:
        InvalidInputError: A value that is none.
        TypeError: A `fetch_k`, and no stage that chooses.
        StorageError: A stage needs vectors, which LangChain's stores do not give.
    """
    chosen = to_chosen({key: keywords.pop(key, None) for key in STAGE_KEYWORDS})
    marked = keywords.pop("with_scores", False)
    if chosen.config.needs_vectors:
        raise StorageError(
            f"{type(store).__name__} gives no vectors of what it finds, which "
            f"{' and '.join(chosen.config.needs_vectors)} of retrieval_config= compare; "
            "DynamicReranker, SemanticDeduplicator and TopicBucketer with embeddings= make "
            "them anew, in a ContextualCompressionRetriever"
        )
    if not chosen.anything and "fetch_k" in keywords:
        refuse_unknown("invoke", {"fetch_k": None}, foreign.UNSTAGED_KEYWORDS)
    k = to_count("k", keywords.get("k", DEFAULT_K))
    if chosen.anything:
        wanted = to_count("fetch_k", keywords.pop("fetch_k", chosen.config.candidates))
        keywords["k"] = max(k, wanted) if k > 0 else k
    model = None if chosen.reranker is None else chosen.by_model(k)
    return Staged(chosen, model, k, bool(marked))
