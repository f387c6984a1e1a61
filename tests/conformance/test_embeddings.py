"""LangChain's own suites for embedding models, without overrides."""

from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from langchain_ragstore.embeddings.batched import BatchedEmbeddings
from langchain_ragstore.embeddings.hashing import HashingEmbeddings
from langchain_ragstore.embeddings.local import LocalEmbeddings
from langchain_ragstore.embeddings.mock import MockEmbeddings


class TestMockUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MockEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"dim": 8}


class TestMockIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MockEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"dim": 8}


class TestHashingUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return HashingEmbeddings


class TestHashingIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return HashingEmbeddings


class TestLocalUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return LocalEmbeddings


class TestLocalIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return LocalEmbeddings


class TestBatchedUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return BatchedEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"inner": HashingEmbeddings(8)}


class TestBatchedIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return BatchedEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"inner": HashingEmbeddings(8)}
