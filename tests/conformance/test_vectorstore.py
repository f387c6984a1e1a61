"""LangChain's own suites, as they are."""

import pytest
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from langchain_ragstore import HashingEmbeddings, RagPipeline, SQLiteVectorStore
from langchain_ragstore.pipeline import PipelineRetriever
from langchain_ragstore.retrievers import StoreRetriever


class TestInMemory(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self):
        with SQLiteVectorStore(self.get_embeddings()) as store:
            yield store


class TestFile(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        with SQLiteVectorStore(self.get_embeddings(), tmp_path / "rag.db") as store:
            yield store


class TestSecondCollection(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        path = tmp_path / "rag.db"
        SQLiteVectorStore.from_texts(["foo", "bar"], HashingEmbeddings(8), path=path)
        with SQLiteVectorStore(
            self.get_embeddings(), path, collection_name="second"
        ) as store:
            yield store


def filled() -> SQLiteVectorStore:
    store = SQLiteVectorStore(HashingEmbeddings(64))
    store.add_texts([f"tide number {n}" for n in range(5)])
    return store


class TestStoreRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return StoreRetriever

    @property
    def retriever_constructor_params(self):
        return {"vectorstore": filled()}

    @property
    def retriever_query_example(self):
        return "tide"


class TestMmrRetriever(TestStoreRetriever):
    @property
    def retriever_constructor_params(self):
        return {"vectorstore": filled(), "search_type": "mmr"}


class TestPipelineRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return PipelineRetriever

    @property
    def retriever_constructor_params(self):
        return {"pipeline": RagPipeline(store=filled())}

    @property
    def retriever_query_example(self):
        return "tide"
