"""Retrieval for LangChain apps out of one SQLite file."""

from typing import TYPE_CHECKING, Any

from langchain_ragstore.collections import CollectionManager
from langchain_ragstore.documents import Timestamps, make_document
from langchain_ragstore.embeddings.batched import BatchedEmbeddings
from langchain_ragstore.embeddings.hashing import HashingEmbeddings
from langchain_ragstore.embeddings.local import LocalEmbeddings
from langchain_ragstore.embeddings.mock import MockEmbeddings
from langchain_ragstore.errors import (
    AnalyzerMismatchError,
    CorruptStoreError,
    DimensionMismatchError,
    EmbeddingFailedError,
    EmbeddingMismatchError,
    EmbeddingUnreachableError,
    FilterError,
    InvalidInputError,
    MissingExtraError,
    RagStoreError,
    ReadOnlyError,
    SchemaTooNewError,
    StorageError,
    StoreClosedError,
    StoreLockedError,
    UnsupportedSQLiteError,
)
from langchain_ragstore.evaluation import evaluate
from langchain_ragstore.indexing import SQLiteRecordManager
from langchain_ragstore.ingestion import IngestReport
from langchain_ragstore.notebook import show_chunks
from langchain_ragstore.notebook.explanation import Explanation
from langchain_ragstore.path_report import PathReport
from langchain_ragstore.pipeline import RagPipeline
from langchain_ragstore.retrieval.analyze import QueryAnalyzer, QueryProfile
from langchain_ragstore.retrieval.plan import Plan
from langchain_ragstore.retrieval.settings import RetrievalConfig
from langchain_ragstore.retrievers import RagRetriever
from langchain_ragstore.stores import SQLiteByteStore
from langchain_ragstore.structured_query import StructuredQueryTranslator
from langchain_ragstore.text.analyzer import TextAnalyzer
from langchain_ragstore.text_splitters import (
    CJKRecursiveTextSplitter,
    StructuredTextSplitter,
    TokenAwareTextSplitter,
)
from langchain_ragstore.vectorstores import SQLiteVectorStore

if TYPE_CHECKING:
    from langchain_ragstore.compressors import (
        CoreTagBoost,
        DynamicReranker,
        ModelReranker,
        SemanticDeduplicator,
        TopicBucketer,
    )

__all__ = [
    "AnalyzerMismatchError",
    "BatchedEmbeddings",
    "CJKRecursiveTextSplitter",
    "CollectionManager",
    "CoreTagBoost",
    "CorruptStoreError",
    "DimensionMismatchError",
    "DynamicReranker",
    "EmbeddingFailedError",
    "EmbeddingMismatchError",
    "EmbeddingUnreachableError",
    "Explanation",
    "FilterError",
    "HashingEmbeddings",
    "IngestReport",
    "InvalidInputError",
    "LocalEmbeddings",
    "MissingExtraError",
    "MockEmbeddings",
    "ModelReranker",
    "PathReport",
    "Plan",
    "QueryAnalyzer",
    "QueryProfile",
    "RagPipeline",
    "RagRetriever",
    "RagStoreError",
    "ReadOnlyError",
    "RetrievalConfig",
    "SQLiteByteStore",
    "SQLiteRecordManager",
    "SQLiteVectorStore",
    "SchemaTooNewError",
    "SemanticDeduplicator",
    "StorageError",
    "StoreClosedError",
    "StoreLockedError",
    "StructuredQueryTranslator",
    "StructuredTextSplitter",
    "TextAnalyzer",
    "Timestamps",
    "TokenAwareTextSplitter",
    "TopicBucketer",
    "UnsupportedSQLiteError",
    "evaluate",
    "make_document",
    "show_chunks",
]

_COMPRESSORS = {
    "CoreTagBoost",
    "DynamicReranker",
    "ModelReranker",
    "SemanticDeduplicator",
    "TopicBucketer",
}


def __getattr__(name: str) -> Any:
    """The compressors, at first use: pydantic takes 40 ms to make their classes."""
    if name not in _COMPRESSORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from langchain_ragstore import compressors  # noqa: PLC0415

    return getattr(compressors, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
