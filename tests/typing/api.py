"""Code as users write it; it is type-checked, never run."""

import datetime as dt

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import IndexingResult, RecordManager, index
from langchain_core.language_models import FakeListChatModel
from langchain_core.stores import ByteStore
from langchain_core.vectorstores import VectorStore

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    CoreTagBoost,
    DynamicReranker,
    Explanation,
    HashingEmbeddings,
    IngestReport,
    MockEmbeddings,
    ModelReranker,
    PathReport,
    Plan,
    RagPipeline,
    RagRetriever,
    RetrievalConfig,
    SemanticDeduplicator,
    SQLiteByteStore,
    SQLiteRecordManager,
    SQLiteVectorStore,
    TextAnalyzer,
    Timestamps,
    TopicBucketer,
    evaluate,
    make_document,
    show_chunks,
)
from langchain_ragstore.evaluation import Comparison, Evaluation, compare
from langchain_ragstore.notebook import ChunkComparison, ChunkView

embedding: Embeddings = HashingEmbeddings(dim=256)
store: VectorStore = SQLiteVectorStore(embedding, "kb.db", collection_name="notes")
ours = SQLiteVectorStore("ollama:bge-m3")
made: SQLiteVectorStore = SQLiteVectorStore.from_texts(["a"], MockEmbeddings(4), [{"k": 1}])

analyzer = TextAnalyzer(
    stemmer=str.lower,
    segmenter=lambda text: text.split(),
    dictionary=["C++"],
    synonyms={"car": ["auto"]},
    name="mine",
)
dynamic = TextAnalyzer(stemmer=None, synonyms=lambda query: {query: ["x"]})
german: SQLiteVectorStore = SQLiteVectorStore.from_texts(
    ["a"], None, text_analyzer=analyzer
)
anew: int = german.reindex_text()

ids: list[str] = ours.add_documents([make_document("a", "text", metadata={"n": 1})])
ours.add_texts((text for text in "ab"), ids=["1", None], expires_at=dt.datetime.now(dt.UTC))
found: list[Document] = ours.similarity_search("q", k=3, filter={"n": {"$gte": 1}})
scored: list[tuple[Document, float]] = ours.similarity_search_with_score(
    "q", 3, lambda d: True
)
times: dict[str, Timestamps] = ours.timestamps(ids)
count: int = ours.count({("a", "b"): None})
view: SQLiteVectorStore = ours.scoped({"user": "ann"})
deleted: bool = view.delete(filter={"n": 1})
changed: int = view.update_metadata("a", patch={"n": 2}, remove=["m"])

retriever: RagRetriever = ours.as_retriever(search_type="mmr", search_kwargs={"k": 3})
why: Explanation = retriever.explain("q", ids=["a"], window=1)
plan: Plan = ours.explain("q", search_type="hybrid", k=2).plan
reason: str = why.absent[0].reason
documents: list[Document] = retriever.invoke("q")
splitter = CJKRecursiveTextSplitter(200, 30)
chunks: list[Document] = splitter.split_documents(documents)

pipeline = RagPipeline(store=ours, splitter=splitter)
report: IngestReport = pipeline.ingest(iter(documents), batch_size=10)
total: int = report.added + report.updated
files: PathReport = pipeline.ingest_path("docs", "**/*.md", delete_missing=True)
names: list[str] = [error.path for error in files.failed]
for batch in pipeline.watch("docs", stable_seconds=2):
    loaded: int = batch.loaded + batch.removed
for part in pipeline.as_chain(FakeListChatModel(responses=["x"])).stream({"input": "q"}):
    answer: str = part.get("answer", "")
records: RecordManager = ours.record_manager()
elsewhere: SQLiteRecordManager = SQLiteRecordManager("notes", "kb.db", store=store)
indexed: IndexingResult = index(documents, elsewhere, store, key_encoder="sha256")
values: ByteStore = SQLiteByteStore("kb.db", "cache", ttl_seconds=60, max_bytes=10**6)
own: SQLiteByteStore = ours.byte_store("parents")
own.mset([("a", b"1")])
value: bytes | None = own.mget(["a"])[0]
for key in own.yield_keys(prefix="a"):
    when: dict[str, Timestamps] = own.timestamps(key)

with SQLiteVectorStore(embedding) as opened:
    opened.clear()

drawn: ChunkView = show_chunks(CJKRecursiveTextSplitter(), "text", max_chars=100)
sizes: tuple[int, ...] = drawn.sizes
compared: ChunkComparison = show_chunks({"a": CJKRecursiveTextSplitter(200)}, "text")

judged: Evaluation = evaluate(retriever, {"q": "a"}, k=10, id_key="source_id")
graded: Evaluation = evaluate(
    ours.similarity_search_with_score, [{"text": "q", "relevant": {"a": 2, "b": 0.5}}]
)
ndcg: float = judged.mean["ndcg@10"]
gain: Comparison = compare(judged, evaluate(pipeline.retrieve, {"q": ["a"]}), metric="mrr")


def lengths(query: str, texts: list[str]) -> list[int]:
    return [len(text) for text in texts]


seeded: RetrievalConfig = RetrievalConfig.phase_r()
staged = RagRetriever(
    vectorstore=ours, retrieval_config=seeded, core_tags=("a",), reranker=lengths
)
asked: list[Document] = staged.invoke("q", core_tags=["b"], retrieval_config=seeded)
boosts = CoreTagBoost(core_tags=("a",), factor=2, top_n=3)
kept: list[Document] = boosts.compress_documents(asked, "q")
distinct = SemanticDeduplicator(0.9, embedding)
distinct2 = SemanticDeduplicator(threshold=0.9, embeddings=embedding, top_n=3)
formula = DynamicReranker(embeddings=embedding, retrieval_config=seeded)
model = ModelReranker(model=lengths, top_n=3)
buckets: dict[str, list[Document]] = TopicBucketer(embeddings=embedding).buckets(kept)
chained: list[Document] = formula.as_runnable().invoke({"query": "q", "documents": kept})
