"""Nothing here needs a network, or picks a model that would."""

import json
import subprocess
import sys

import pytest
from langchain_core.documents import Document

from langchain_ragstore import InvalidInputError, RagPipeline, SQLiteVectorStore

PROGRAM = """
import json, sys
asked = []
NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")

def refuse(event, arguments):
    if event in NETWORK:
        asked.append(event)
        raise OSError("there is no network")

sys.addaudithook(refuse)
from langchain_ragstore import (
    CJKRecursiveTextSplitter, DynamicReranker, HashingEmbeddings, RagPipeline,
    SQLiteVectorStore, StructuredTextSplitter, TokenAwareTextSplitter, make_document,
)
model = HashingEmbeddings()
store = SQLiteVectorStore(model, sys.argv[1])
text = "# Tea\\n\\nGreen tea wants hot water. " * 20
by_characters, by_tokens = CJKRecursiveTextSplitter(80), TokenAwareTextSplitter(40)
for splitter in (by_characters, by_tokens, StructuredTextSplitter(80)):
    RagPipeline(store=store, splitter=splitter).ingest([make_document("tea", text)])
kinds = ("similarity", "text", "hybrid", "mmr")
found = [len(store.search("green tea", kind, k=2)) for kind in kinds]
store.search("green tea", "hybrid", reranker=model)
store.explain("green tea", search_type="hybrid")
reranker = DynamicReranker(embeddings=model)
reranker.compress_documents(store.similarity_search("tea"), "tea")
store.update_metadata(filter={"source_id": "tea"}, patch={"n": 1})
store.compact()
store.close()
print(json.dumps([asked, found]))
"""


def test_without_a_network_all_works(tmp_path):
    """Report 5: counting tokens, or a first search, wanted the internet."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "kb.db"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [[], [2, 2, 2, 2]]


NEEDS_A_MODEL = {
    "similarity_search": lambda s: s.similarity_search("tea"),
    "scores": lambda s: s.similarity_search_with_score("tea"),
    "relevance": lambda s: s.similarity_search_with_relevance_scores("tea"),
    "mmr": lambda s: s.max_marginal_relevance_search("tea"),
    "hybrid": lambda s: s.hybrid_search("tea"),
    "search": lambda s: s.search("tea", "similarity"),
    "retriever": lambda s: s.as_retriever().invoke("tea"),
    "pipeline": lambda s: RagPipeline(store=s).retrieve("tea", search_type="similarity"),
}
NEEDS_NONE = {
    "add_texts": lambda s: s.add_texts(["cup"]),
    "add_documents": lambda s: s.add_documents([Document("cup")]),
    "update_document": lambda s: s.update_document("a", Document("green tea")),
    "update_metadata": lambda s: s.update_metadata("a", patch={"title": "Tea"}),
    "text_search": lambda s: s.text_search("tea"),
    "pipeline": lambda s: RagPipeline(store=s).retrieve("tea"),
    "ingest": lambda s: RagPipeline(store=s).ingest([Document("cup", id="c")]),
    "get": lambda s: s.get(filter={"$content": {"$contains": "tea"}}),
    "count": lambda s: s.count(),
    "delete": lambda s: s.delete(["a"]),
    "by_vector": lambda s: s.similarity_search_by_vector([1.0, 0.0]) or ["nothing"],
}


@pytest.fixture
def store(tmp_path):
    with SQLiteVectorStore(None, tmp_path / "kb.db") as store:
        store.add_texts(["tea"], ids=["a"])
        yield store


@pytest.mark.parametrize("use", NEEDS_A_MODEL)
def test_what_needs_a_model_says_so(store, use):
    """Report 6: a model that nobody had asked for was downloaded, in a search."""
    with pytest.raises(InvalidInputError, match="no embedding"):
        NEEDS_A_MODEL[use](store)


@pytest.mark.parametrize("use", NEEDS_NONE)
def test_what_needs_no_model_works_without(store, use):
    """Report 6: replacing a text reached for the network."""
    assert NEEDS_NONE[use](store) is not False
    assert store.stats()["vectors"] == 0
