"""What `search_speed.py` compares: each store through its LangChain class, same verbs.

`add` is the class's `add_documents`; a table gives out the vectors instead of a model.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

K, BATCH, GROUPS, RARE = 10, 5_000, 10, 100
WORDS = ["alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "iota", "mu", "nu"]
CHANGED = "changed "

Filter = dict[str, Any]


def text(n: int) -> str:
    return " ".join(WORDS[(n // 10**digit) % 10] for digit in range(6)) + f" {n}"


def metadata(n: int) -> dict[str, Any]:
    return {"n": n, "group": n % GROUPS, "rare": n * 7_919 % RARE, "page": n * 31 % 1_000}


def documents(numbers: Any, *, changed: bool = False) -> list[Document]:
    before = CHANGED if changed else ""
    return [
        Document(id=str(n), page_content=before + text(n), metadata=metadata(n))
        for n in numbers
    ]


class Table(Embeddings):
    """Gives out the row that a text ends with; of changed texts, the new one."""

    def __init__(self, folder: Path) -> None:
        self._rows = np.load(folder / "rows.npy", mmap_mode="r")
        self._new = np.load(folder / "new.npy", mmap_mode="r")
        self._other: dict[int, int] = {}

    def change(self, numbers: list[int]) -> None:
        self._other = {n: at for at, n in enumerate(numbers)}

    def _row(self, text: str) -> Any:
        n = int(text.rsplit(" ", 1)[-1]) if text[-1].isdigit() else 0
        return self._new[self._other[n]] if text.startswith(CHANGED) else self._rows[n]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._row(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return list(self._row(text).tolist())


class Engine(ABC):
    """A store in a folder.

    Attributes:
        persistent: Whether it is still there in another process.
        filtered: Whether it has filters.
        changes: Whether it is measured after deletions and replacements, too.
        queries: How many it is asked; fewer where one takes long.
        fills: Whether it is filled in each round, or once.
    """

    persistent = filtered = changes = True
    queries, fills = 100, True
    store: VectorStore

    def __init__(self, folder: Path) -> None:
        self.model = Table(folder.parent)
        self.open(folder)

    @abstractmethod
    def open(self, folder: Path) -> None:
        """Make `store`, on a folder that may hold one."""

    def add(self, given: list[Document]) -> None:
        self.store.add_documents(given, ids=[str(document.id) for document in given])

    def delete(self, ids: list[str]) -> None:
        self.store.delete(ids)

    def search(self, query: list[float], filter: Filter | None = None) -> list[int]:
        given = {} if filter is None else {"filter": self.filter(filter)}
        found = self.store.similarity_search_by_vector(query, K, **given)  # type: ignore[attr-defined]
        return [document.metadata["n"] for document in found]

    def filter(self, filter: Filter) -> Any:
        return filter

    def close(self) -> None:  # noqa: B027 - most have nothing to write
        """Write what is not written yet."""


class Ours(Engine):
    """This package's store; the table cannot embed a probe."""

    def open(self, folder: Path) -> None:
        from langchain_ragstore import SQLiteVectorStore

        self.store = SQLiteVectorStore(self.model, folder / "kb.db", check_model=False)

    def close(self) -> None:
        self.store.close()  # type: ignore[attr-defined]


class Chroma(Engine):
    """langchain-chroma with its defaults but for the cosine."""

    fills = False

    def open(self, folder: Path) -> None:
        from langchain_chroma import Chroma as Store

        space = {"hnsw": {"space": "cosine"}}
        self.store = Store(
            embedding_function=self.model,
            persist_directory=str(folder),
            collection_configuration=space,  # type: ignore[arg-type]
        )

    def filter(self, filter: Filter) -> Any:
        ((key, value),) = filter.items()
        if isinstance(value, dict):
            return {"$and": [{key: {op: operand}} for op, operand in value.items()]}
        return filter


class Faiss(Engine):
    """langchain-community's class with a flat index, saved and loaded."""

    changes, queries = False, 50

    def open(self, folder: Path) -> None:
        import faiss
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.vectorstores import FAISS

        self._folder = str(folder)
        if (folder / "index.faiss").exists():
            self.store = FAISS.load_local(
                self._folder, self.model, allow_dangerous_deserialization=True
            )
            return
        index = faiss.IndexFlatIP(len(self.model.embed_query("0")))
        self.store = FAISS(self.model, index, InMemoryDocstore(), {})

    def close(self) -> None:
        self.store.save_local(self._folder)  # type: ignore[attr-defined]


class SQLiteVec(Engine):
    """langchain-community's class over sqlite-vec; it has no filters, ids or deletion."""

    filtered = changes = False
    queries = 50

    def open(self, folder: Path) -> None:
        import pysqlite3

        sys.modules["sqlite3"] = pysqlite3  # one that can load extensions
        from langchain_community.vectorstores import SQLiteVec as Store

        path = str(folder / "vec.db")
        connection = Store.create_connection(db_file=path)
        self.store = Store(
            table="t", connection=connection, db_file=path, embedding=self.model
        )


class Lance(Engine):
    """langchain-community's class over lancedb, without an index, which is its default."""

    changes, queries = False, 50

    def open(self, folder: Path) -> None:
        import lancedb
        from langchain_community.vectorstores import LanceDB

        self.store = LanceDB(
            lancedb.connect(str(folder / "lance")), self.model, mode="append"
        )

    def search(self, query: list[float], filter: Filter | None = None) -> list[int]:
        given = {} if filter is None else {"filter": self.filter(filter), "prefilter": True}
        # Unit vectors: its default, the Euclidean distance, ranks as the cosine does.
        found = self.store.similarity_search_by_vector(query, K, **given)  # type: ignore[attr-defined]
        return [document.metadata["n"] for document in found]

    def filter(self, filter: Filter) -> Any:
        ((key, value),) = filter.items()
        if isinstance(value, dict):
            low, high = value["$gte"], value["$lt"]
            return f"metadata.{key} >= {low} AND metadata.{key} < {high}"
        return f"metadata.{key} = {value}"


class Qdrant(Engine):
    """langchain-qdrant with its local mode."""

    changes, fills, queries = False, False, 20

    def open(self, folder: Path) -> None:
        from langchain_qdrant import QdrantVectorStore
        from qdrant_client import QdrantClient, models

        self._client = QdrantClient(path=str(folder / "qdrant"))
        if not self._client.collection_exists("t"):
            size = len(self.model.embed_query("0"))
            kind = models.VectorParams(size=size, distance=models.Distance.COSINE)
            self._client.create_collection("t", vectors_config=kind)
        self.store = QdrantVectorStore(self._client, "t", self.model)

    def add(self, given: list[Document]) -> None:  # its ids are integers
        self.store.add_documents(given, ids=[int(str(document.id)) for document in given])

    def filter(self, filter: Filter) -> Any:
        from qdrant_client import models

        ((key, value),) = filter.items()
        if isinstance(value, dict):
            asked = {"range": models.Range(gte=value["$gte"], lt=value["$lt"])}
        else:
            asked = {"match": models.MatchValue(value=value)}  # type: ignore[dict-item]
        condition = models.FieldCondition(key=f"metadata.{key}", **asked)  # type: ignore[arg-type]
        return models.Filter(must=[condition])

    def close(self) -> None:
        self._client.close()


class InMemory(Engine):
    """langchain-core's store, dumped to a file of JSON and loaded."""

    changes, fills, queries = False, False, 5

    def open(self, folder: Path) -> None:
        self._file = str(folder / "store.json")
        self._store = InMemoryVectorStore(self.model)
        if Path(self._file).exists():
            self._store = InMemoryVectorStore.load(self._file, self.model)
        self.store = self._store
        self._filled = bool(self._store.store)

    def filter(self, filter: Filter) -> Any:
        ((key, value),) = filter.items()
        if isinstance(value, dict):
            return lambda found: value["$gte"] <= found.metadata[key] < value["$lt"]
        return lambda found: found.metadata[key] == value

    def close(self) -> None:
        if not self._filled:
            self._store.dump(self._file)


ENGINES: dict[str, type[Engine]] = {
    "ours": Ours,
    "chroma": Chroma,
    "faiss": Faiss,
    "sqlite_vec": SQLiteVec,
    "lance": Lance,
    "qdrant": Qdrant,
    "in_memory": InMemory,
}
