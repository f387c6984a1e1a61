"""LangChain's own suite for vector stores, on a view of a part of a collection."""

import pytest
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from langchain_ragstore import SQLiteVectorStore


class TestScopedView(VectorStoreIntegrationTests):
    """Beside it lie documents that it must not see."""

    @pytest.fixture
    def vectorstore(self):
        with SQLiteVectorStore(self.get_embeddings()) as store:
            store.add_texts(["foo", "bar"], [{"hidden": True}] * 2)
            yield store.scoped({"hidden": {"$exists": False}})
