"""LangChain documents as hits, for stages that are used outside a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.model import Hit, Matrix, Record
from langchain_ragstore.vectors.arrays import unit_matrix


def to_hits(
    documents: Iterable[Document], scores: Iterable[float] | None = None
) -> list[Hit]:
    """Documents as hits, in their order.

    A hit's id is the document's place, so that equal and absent ids are no matter and
    equal scores keep the order. What a search wrote on it (`with_scores=True`) is known.

    Args:
        documents: Any.
        scores: One for each; None for those that the metadata hold, or 0.
    """
    listed = list(documents)
    known = map(relevance_of, listed) if scores is None else scores
    return [
        Hit(
            Record(f"{at:09d}", document.page_content, document.metadata),
            0.0 if score is None else float(score),
            _signals(document),
            notes=_notes(document),
        )
        for at, (document, score) in enumerate(zip(listed, known, strict=True))
    ]


def to_documents(
    hits: Iterable[Hit], documents: Sequence[Document], *, scored: bool
) -> list[Document]:
    """The documents that hits stand for, with what stages have said of them.

    Args:
        hits: Of `to_hits`, in any order.
        documents: What they were made of; they are not changed.
        scored: Whether the hits' scores are written, too.
    """
    return [_marked(documents[int(hit.record.id)], hit, scored=scored) for hit in hits]


def _marked(document: Document, hit: Hit, *, scored: bool) -> Document:
    read = {*_signals(document), *dict(_notes(document))}
    others = {name: it for name, it in _details(document).items() if name not in read}
    details = {**others, **hit.signals, **dict(hit.notes)}
    metadata = dict(document.metadata)
    if scored:
        metadata["relevance_score"] = hit.score
    if details or "ragstore" in metadata:
        metadata["ragstore"] = details
    return document.model_copy(update={"metadata": metadata})


def relevance_of(document: Document) -> float | None:
    """The score that a search or another reranker wrote on a document."""
    score = document.metadata.get("relevance_score")
    return score if isinstance(score, Real) and not isinstance(score, bool) else None  # type: ignore[return-value]


def scores_of(documents: Iterable[Document], reader: str) -> list[float]:
    """The score of each document.

    Raises:
        InvalidInputError: One has none.
    """
    found = []
    for document in documents:
        score = relevance_of(document)
        if score is None:
            raise InvalidInputError(
                f"{reader} needs scores, and document {document.id!r} has no "
                "metadata['relevance_score']; search with with_scores=True"
            )
        found.append(float(score))
    return found


def embedder(embeddings: Embeddings | None) -> Callable[[list[str]], Matrix] | None:
    """What makes unit vectors of texts; None of None."""
    if embeddings is None:
        return None
    return lambda texts: unit_matrix(embeddings.embed_documents(texts), texts)


def _details(document: Document) -> Mapping[str, Any]:
    details = document.metadata.get("ragstore")
    return details if isinstance(details, Mapping) else {}


def _signals(document: Document) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in _details(document).items()
        if isinstance(value, Real) and not isinstance(value, bool)
    }


def _notes(document: Document) -> tuple[tuple[str, str], ...]:
    found = _details(document).items()
    return tuple((name, value) for name, value in found if isinstance(value, str))
