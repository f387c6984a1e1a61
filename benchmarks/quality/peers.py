"""Other full-text searches, and LangChain's own hybrid, over the same pages."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from langchain_ragstore.text.terms import term_counts

Search = Callable[[str], list[Document]]
DEPTH = 100


def our_terms(text: str) -> list[str]:
    """The terms that the store would index, as a list with repetitions."""
    return list(term_counts(text).elements())


def bm25_retriever(pages: list[dict[str, Any]], **keywords: Any) -> Any:
    """LangChain's BM25Retriever; by default it splits at white space."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package says that it is being retired
        from langchain_community.retrievers import BM25Retriever
    documents = [
        Document(
            f"{page['title']}\n{page['text']}",
            id=page["id"],
            metadata={"page": page["id"]},
        )
        for page in pages
    ]
    retriever = BM25Retriever.from_documents(documents, **keywords)
    retriever.k = DEPTH
    return retriever


def bm25s(pages: list[dict[str, Any]]) -> Search:
    """bm25s with its own English tokenizer and stop words."""
    import bm25s as library

    texts = [f"{page['title']}\n{page['text']}" for page in pages]
    index = library.BM25()
    index.index(library.tokenize(texts, show_progress=False), show_progress=False)

    def search(query: str) -> list[Document]:
        tokens = library.tokenize(query, show_progress=False)
        rows, scores = index.retrieve(tokens, k=DEPTH, show_progress=False)
        found = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        return [Document("", id=pages[row]["id"]) for row, score in found if score > 0]

    return search


def fts5(
    pages: list[dict[str, Any]], tokenizer: str, read: Callable[[str], list[str]]
) -> Search:
    """FTS5 with an OR of quoted words; `read` cuts texts and queries into words.

    A hit in the title weighs as much as four in the text.
    """
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        f"CREATE VIRTUAL TABLE pages USING fts5(title, body, tokenize='{tokenizer}')"
    )
    connection.executemany(
        "INSERT INTO pages (rowid, title, body) VALUES (?, ?, ?)",
        (
            (row, " ".join(read(page["title"])), " ".join(read(page["text"])))
            for row, page in enumerate(pages)
        ),
    )

    def search(query: str) -> list[Document]:
        words = ['"' + word.replace('"', '""') + '"' for word in read(query)]
        if not words:
            return []
        rows = connection.execute(
            "SELECT rowid FROM pages WHERE pages MATCH ? "
            "ORDER BY bm25(pages, 4, 1), rowid LIMIT ?",
            (" OR ".join(words), DEPTH),
        )
        return [Document("", id=pages[row]["id"]) for (row,) in rows]

    return search


def encoded(text: str) -> list[str]:
    """Our terms as words that FTS5 leaves whole."""
    return [f"x{term.encode('utf-8', 'replace').hex()}" for term in our_terms(text)]


def ensemble(retriever: Any, dense: Search) -> Search:
    """LangChain's EnsembleRetriever: reciprocal ranks, equal weights."""
    from langchain_classic.retrievers import EnsembleRetriever

    joined = EnsembleRetriever(
        retrievers=[retriever, RunnableLambda(dense)], weights=[0.5, 0.5], id_key="page"
    )
    return joined.invoke


def text_peers(pages: list[dict[str, Any]]) -> Iterator[tuple[str, Search]]:
    """Every full-text search beside ours, by name."""
    yield "LangChain BM25Retriever", bm25_retriever(pages).invoke
    ours = bm25_retriever(pages, preprocess_func=our_terms)
    yield "LangChain BM25Retriever, our terms", ours.invoke
    yield "bm25s", bm25s(pages)
    yield "FTS5 unicode61", fts5(pages, "unicode61", str.split)
    yield "FTS5 trigram", fts5(pages, "trigram", str.split)
    yield "FTS5, our terms", fts5(pages, "unicode61", encoded)
