"""LangChain's own suites, as they are."""

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from langchain_ragstore import (
    CollectionManager,
    HashingEmbeddings,
    RagRetriever,
    RetrievalConfig,
    SQLiteVectorStore,
)
from langchain_ragstore.collection_retriever import CollectionRetriever


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


class TestOfAManager(VectorStoreIntegrationTests):
    """Beside it lie documents of others, and it is unloaded after every search."""

    @pytest.fixture
    def vectorstore(self, tmp_path):
        path = tmp_path / "rag.db"
        with CollectionManager(path, self.get_embeddings(), ttl_seconds=0) as manager:
            manager.get().add_texts(["foo", "bar"])
            manager.get(user_id="bob").add_texts(["foo", "bar"])
            yield manager.get(user_id="ann")


def filled() -> SQLiteVectorStore:
    store = SQLiteVectorStore(HashingEmbeddings(64))
    store.add_texts([f"tide number {n}" for n in range(5)])
    return store


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return RagRetriever

    @property
    def retriever_constructor_params(self):
        return {"vectorstore": filled()}

    @property
    def retriever_query_example(self):
        return "tide"


class TestMmrRetriever(TestRetriever):
    @property
    def retriever_constructor_params(self):
        return {"vectorstore": filled(), "search_type": "mmr"}


class TestPipelineRetriever(TestRetriever):
    @property
    def retriever_constructor_params(self):
        return {"vectorstore": filled(), "related": True}


class TestWindowedRetriever(TestRetriever):
    @property
    def retriever_constructor_params(self):
        keywords = {"window": 1, "group_by": "source"}
        return {"vectorstore": filled(), "search_kwargs": keywords}


def longest(query: str, texts: list[str]) -> list[int]:
    return [len(text) for text in texts]


class TestStagedRetriever(TestRetriever):
    """With every stage on."""

    @property
    def retriever_constructor_params(self):
        everything = RetrievalConfig(
            rerank=True, importance_threshold=0, dedup_threshold=1, topics=True
        )
        return {
            "vectorstore": filled(),
            "retrieval_config": everything,
            "core_tags": ["core"],
            "reranker": longest,
            "search_kwargs": {"window": 1, "group_by": "source", "with_scores": True},
        }


class TestStagedForeignRetriever(TestRetriever):
    @property
    def retriever_constructor_params(self):
        store = InMemoryVectorStore(HashingEmbeddings(64))
        store.add_texts([f"tide number {n}" for n in range(5)])
        staged = {"core_tags": ["core"], "reranker": longest}
        return {"vectorstore": store, "search_kwargs": {"with_scores": True}, **staged}


class TestForeignRetriever(TestRetriever):
    @property
    def retriever_constructor_params(self):
        store = InMemoryVectorStore(HashingEmbeddings(64))
        store.add_texts([f"tide number {n}" for n in range(5)])
        return {"vectorstore": store}


class TestCollectionRetriever(TestRetriever):
    @property
    def retriever_constructor(self):
        return CollectionRetriever

    @property
    def retriever_constructor_params(self):
        manager = CollectionManager(":memory:", HashingEmbeddings(64))
        for kind in ("default", "important"):
            store = manager.get(kind, user_id="ann")
            store.add_texts([f"tide number {n} of {kind}" for n in range(5)])
        return {"manager": manager, "user_id": "ann"}
