"""LangChain's own suites for key-value stores, as they are."""

import pytest
from langchain_tests.integration_tests import BaseStoreAsyncTests, BaseStoreSyncTests

from langchain_ragstore import HashingEmbeddings, SQLiteByteStore, SQLiteVectorStore


class Values:
    @pytest.fixture
    def three_values(self):
        return b"foo", b"\x00\xff", b""


class InMemory(Values):
    @pytest.fixture
    def kv_store(self):
        with SQLiteByteStore() as store:
            yield store


class InFile(Values):
    @pytest.fixture
    def kv_store(self, tmp_path):
        with SQLiteByteStore(tmp_path / "rag.db", "values") as store:
            yield store


class OfAStore(Values):
    @pytest.fixture
    def kv_store(self):
        with SQLiteVectorStore(HashingEmbeddings(8)) as store:
            yield store.byte_store(ttl_seconds=3600, max_bytes=10**6)


class TestInMemory(InMemory, BaseStoreSyncTests):
    pass


class TestInMemoryAsync(InMemory, BaseStoreAsyncTests):
    pass


class TestFile(InFile, BaseStoreSyncTests):
    pass


class TestFileAsync(InFile, BaseStoreAsyncTests):
    pass


class TestOfAStore(OfAStore, BaseStoreSyncTests):
    pass


class TestOfAStoreAsync(OfAStore, BaseStoreAsyncTests):
    pass
