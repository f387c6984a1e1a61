"""Embedding models for tests."""

from langchain_core.embeddings import Embeddings

from langchain_ragstore import HashingEmbeddings


class Counting(Embeddings):
    """`HashingEmbeddings` that counts what it is asked."""

    def __init__(self, dim: int = 64) -> None:
        self.model = HashingEmbeddings(dim)
        self.texts: list[str] = []
        self.calls: list[str] = []

    def embed_documents(self, texts):
        self.calls.append("embed_documents")
        self.texts += texts
        return self.model.embed_documents(texts)

    def embed_query(self, text):
        self.calls.append("embed_query")
        return self.model.embed_query(text)

    async def aembed_documents(self, texts):
        self.calls.append("aembed_documents")
        self.texts += texts
        return self.model.embed_documents(texts)

    async def aembed_query(self, text):
        self.calls.append("aembed_query")
        return self.model.embed_query(text)


class Table(Embeddings):
    """Vectors from a dictionary."""

    def __init__(self, vectors) -> None:
        self.vectors = vectors

    def embed_documents(self, texts):
        return [self.vectors[text] for text in texts]

    def embed_query(self, text):
        return self.vectors[text]
