"""The stages as LangChain compressors: the same functions, on anybody's documents."""

import asyncio
import copy
import threading

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from langchain_ragstore import (
    CoreTagBoost,
    DynamicReranker,
    HashingEmbeddings,
    InvalidInputError,
    ModelReranker,
    RetrievalConfig,
    SemanticDeduplicator,
    SQLiteVectorStore,
    TopicBucketer,
)

TEXTS = {
    "green": ("green tea is green", {"title": "Tea"}),
    "again": ("green tea is green!", {}),
    "black": ("black tea", {"tags": ["House"]}),
    "paint": ("paint dries", {}),
    "table": ("columns of the table: tea, price", {"content_type": "table_schema"}),
}
QUERY = "tea price column"
MODEL = HashingEmbeddings()


def longest(query, texts):
    return [len(text) for text in texts]


async def longest_later(query, texts):
    await asyncio.sleep(0)
    return longest(query, texts)


class Encoder(BaseCrossEncoder):
    def score(self, text_pairs):
        return [len(text) for _, text in text_pairs]


def failing(query, texts):
    raise ConnectionError("down")


COMPRESSORS = [
    DynamicReranker(embeddings=MODEL),
    CoreTagBoost(core_tags=["house"]),
    SemanticDeduplicator(embeddings=MODEL),
    TopicBucketer(embeddings=MODEL),
    ModelReranker(model=longest),
    ModelReranker(model=failing),
]
NAMES = ["dynamic", "core", "dedup", "topics", "model", "failing"]


@pytest.fixture
def store():
    with SQLiteVectorStore(MODEL) as store:
        texts, metadatas = zip(*TEXTS.values(), strict=True)
        store.add_texts(list(texts), list(metadatas), ids=list(TEXTS))
        yield store


@pytest.fixture
def found(store):
    return store.similarity_search(QUERY, 5, with_scores=True)


def ids(documents):
    return [document.id for document in documents]


# --- what all of them do -------------------------------------------------------------


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=NAMES)
async def test_what_all_of_them_do(store, found, compressor):
    assert isinstance(compressor, BaseDocumentCompressor)
    assert compressor.top_n is None
    before = copy.deepcopy(found)
    kept = compressor.compress_documents(found, QUERY)
    assert found == before  # nothing that is given in is changed
    assert await compressor.acompress_documents(found, QUERY) == kept
    known = {d.id: d for d in found}
    for document in kept:
        same = known[document.id]
        assert document.page_content == same.page_content
        own = {
            k: v
            for k, v in document.metadata.items()
            if k not in ("relevance_score", "ragstore")
        }
        assert own == {k: v for k, v in same.metadata.items() if k in own}
    assert compressor.compress_documents([], QUERY) == []
    assert await compressor.acompress_documents([], QUERY) == []
    for n in (0, 1, 2):
        assert (
            compressor.model_copy(update={"top_n": n}).compress_documents(found, QUERY)
            == kept[:n]
        )
    again = compressor.compress_documents(kept, QUERY)
    assert ids(again) == ids(kept)
    if compressor.__class__ is not TopicBucketer:  # fewer documents may have other topics
        assert again == kept


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=NAMES)
async def test_in_langchains_retriever(store, compressor):
    base = store.as_retriever(k=5, search_kwargs={"with_scores": True})
    retriever = ContextualCompressionRetriever(
        base_compressor=compressor, base_retriever=base
    )
    wanted = compressor.compress_documents(base.invoke(QUERY), QUERY)
    assert retriever.invoke(QUERY) == await retriever.ainvoke(QUERY) == wanted
    assert len(retriever.invoke(QUERY, k=1)) == 1


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=NAMES)
async def test_in_a_chain(store, compressor):
    base = store.as_retriever(k=5, search_kwargs={"with_scores": True})
    wanted = compressor.compress_documents(base.invoke(QUERY), QUERY)
    step = compressor.as_runnable()
    assert step.get_name() == type(compressor).__name__
    for documents, query in (
        ("documents", "query"),
        ("context", "question"),
        ("context", "input"),
    ):
        chain = {documents: base, query: RunnablePassthrough()} | step
        assert chain.invoke(QUERY) == await chain.ainvoke(QUERY) == wanted
    assign = RunnablePassthrough.assign(context=step)
    given = {"context": base.invoke(QUERY), "question": QUERY}
    assert assign.invoke(given)["context"] == wanted
    for wrong in (
        "text",
        {"query": QUERY},
        {"documents": wanted},
        {"documents": [], "query": 5},
    ):
        with pytest.raises(InvalidInputError, match=r"takes {'documents'"):
            step.invoke(wrong)


def test_one_after_another(store):
    base = store.as_retriever(k=5)
    chain = DocumentCompressorPipeline(
        transformers=[
            SemanticDeduplicator(embeddings=MODEL),
            DynamicReranker(embeddings=MODEL),
            CoreTagBoost(core_tags=["house"], top_n=2),
        ]
    )
    retriever = ContextualCompressionRetriever(base_compressor=chain, base_retriever=base)
    found = retriever.invoke(QUERY)
    assert ids(found) == ["table", "black"]
    assert found[1].metadata["ragstore"]["core"] == 1.33


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=NAMES)
def test_a_mistyped_field(compressor):
    needed = {"model": longest} if type(compressor) is ModelReranker else {}
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        type(compressor)(**needed, topn=3)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        type(compressor)(**needed, top_n=-1)


# --- each of them ---------------------------------------------------------------------


def test_the_formula_is_that_of_a_search(store, found):
    """Under both faces the same function: equal scores, parts and order."""
    keywords = {"retrieval_config": RetrievalConfig(rerank=True), "with_scores": True}
    wanted = store.similarity_search(QUERY, 5, **keywords)
    assert DynamicReranker().compress_documents(found, QUERY) == wanted
    plain = store.similarity_search(QUERY, 5)
    remade = DynamicReranker(embeddings=MODEL).compress_documents(plain, QUERY)
    # A store embeds the title, too; here it is the text alone.
    untitled = {d.id: d.metadata["relevance_score"] for d in wanted if d.id != "green"}
    made = {d.id: d.metadata["relevance_score"] for d in remade if d.id != "green"}
    assert made == pytest.approx(untitled, abs=1e-6)


def test_cosines_that_lack_are_made_alone(found):
    asked = []

    class Noting(HashingEmbeddings):
        def embed_documents(self, texts):
            asked.append(texts)
            return super().embed_documents(texts)

    del found[0].metadata["ragstore"]
    DynamicReranker(embeddings=Noting()).compress_documents(found, QUERY)
    assert asked == [[found[0].page_content]]
    with pytest.raises(
        InvalidInputError, match=f"'{found[0].id}' carries none; .*with_scores=True"
    ):
        DynamicReranker().compress_documents(found, QUERY)


def test_weights_of_a_formula(found):
    config = RetrievalConfig(table_weights=(0, 1, 0), schema_bonus=0)
    (best, *_) = DynamicReranker(retrieval_config=config).compress_documents(found, QUERY)
    assert (best.id, best.metadata["relevance_score"]) == ("table", 1.0)


def test_core_tags_are_those_of_a_search(store, found):
    wanted = store.similarity_search(QUERY, 5, with_scores=True, core_tags=["HOUSE"])
    boost = CoreTagBoost(core_tags=["HOUSE"])
    assert boost.core_tags == ("house",)
    assert boost.factor == 1.33
    assert boost.compress_documents(found, QUERY) == wanted
    assert CoreTagBoost(core_tags="house") == boost
    assert CoreTagBoost().compress_documents(found, QUERY) == found
    with pytest.raises(InvalidInputError, match=r"'a' has no metadata.'relevance_score'"):
        boost.compress_documents([Document("x", id="a")], QUERY)
    for wrong in ({"core_tags": 5}, {"factor": -1}, {"factor": float("nan")}):
        with pytest.raises(ValidationError):
            CoreTagBoost(**wrong)


def test_near_duplicates_are_those_of_a_search(store, found):
    config = RetrievalConfig(dedup_threshold=0.88)
    wanted = store.similarity_search(QUERY, 5, with_scores=True, retrieval_config=config)
    assert SemanticDeduplicator(0.88, MODEL).compress_documents(found, QUERY) == wanted
    assert SemanticDeduplicator().threshold == 0.88
    assert len(SemanticDeduplicator(1.0, MODEL).compress_documents(found, QUERY)) == 5
    with pytest.raises(InvalidInputError, match=r"has none; .*embeddings="):
        SemanticDeduplicator().compress_documents(found, QUERY)
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        SemanticDeduplicator(threshold=2)
    kept = SemanticDeduplicator(embeddings=MODEL).compress_documents(
        [Document("a")] * 3, ""
    )
    assert kept == [Document("a")]  # nothing is written on them


def test_topics_are_those_of_a_search(store, found):
    config = RetrievalConfig(topics=True)
    wanted = store.similarity_search(QUERY, 5, with_scores=True, retrieval_config=config)
    bucketer = TopicBucketer(embeddings=MODEL)
    assert bucketer.compress_documents(found, QUERY) == wanted
    buckets = bucketer.buckets(found)
    assert sorted(ids(d for bucket in buckets.values() for d in bucket)) == sorted(TEXTS)
    assert all(
        d.metadata["ragstore"]["topic"] == t for t, ds in buckets.items() for d in ds
    )
    assert bucketer.buckets([]) == {}
    assert len(TopicBucketer(embeddings=MODEL, max_topics=1).buckets(found)) == 1
    assert (bucketer.max_topics, bucketer.seed) == (8, 0)


@pytest.mark.parametrize(
    "model", [longest, longest_later, Encoder()], ids=["f", "async", "encoder"]
)
async def test_models(found, model):
    reranker = ModelReranker(model=model, top_n=2)
    for kept in (
        reranker.compress_documents(found, QUERY),
        await reranker.acompress_documents(found, QUERY),
    ):
        assert ids(kept) == ["table", "again"]
        assert kept[0].metadata["relevance_score"] == len(TEXTS["table"][0])
        assert kept[0].metadata["ragstore"]["reranker"] == len(TEXTS["table"][0])


def test_an_embedding_model(found):
    (best,) = ModelReranker(model=MODEL, top_n=1).compress_documents(found, "paint")
    assert best.id == "paint"


def test_a_model_that_fails(found):
    kept = ModelReranker(model=failing, top_n=2).compress_documents(found, QUERY)
    assert ids(kept) == ids(found[:2])
    for document, before in zip(kept, found, strict=False):
        assert document.metadata["relevance_score"] == before.metadata["relevance_score"]
        assert document.metadata["ragstore"]["reranker_failed"] == "ConnectionError: down"
    plain = [Document("x", id="x")]
    (document,) = ModelReranker(model=failing).compress_documents(plain, QUERY)
    assert document.metadata == {"ragstore": {"reranker_failed": "ConnectionError: down"}}
    again = ModelReranker(model=longest).compress_documents(kept, QUERY)
    assert all("reranker_failed" not in d.metadata["ragstore"] for d in again)


def test_limits_of_a_model(found):
    free = threading.Event()

    def slow(query, texts):
        free.wait(20)
        return [0.0] * len(texts)

    config = RetrievalConfig(rerank_seconds=0.01, reranked=3)
    try:
        kept = ModelReranker(model=slow, retrieval_config=config).compress_documents(
            found, QUERY
        )
    finally:
        free.set()
    assert ids(kept) == ids(found[:3])
    assert kept[0].metadata["ragstore"]["reranker_failed"] == "no answer within 0.01 s"
    parts = []

    def noting(query, texts):
        parts.append(len(texts))
        return longest(query, texts)

    config = RetrievalConfig(rerank_batch=2)
    ModelReranker(model=noting, retrieval_config=config).compress_documents(found, QUERY)
    assert parts == [2, 2, 1]


def test_what_is_no_model():
    for wrong in (None, 5, "cohere", CoreTagBoost()):
        with pytest.raises((ValidationError, InvalidInputError)):
            ModelReranker(model=wrong)


# --- documents of others ----------------------------------------------------------------


def test_documents_of_another_store():
    """Without ids and scores; equal ones are two."""
    texts, metadatas = zip(*TEXTS.values(), strict=True)
    store = InMemoryVectorStore(MODEL)
    store.add_texts(list(texts), list(metadatas))
    found = store.similarity_search(QUERY, 5)
    best = DynamicReranker(embeddings=MODEL, top_n=1).compress_documents(found, QUERY)
    assert best[0].page_content == TEXTS["table"][0]
    twins = [Document("same"), Document("same")]
    assert len(DynamicReranker(embeddings=MODEL).compress_documents(twins, "same")) == 2


def test_what_others_wrote_is_kept():
    theirs = {
        "ragstore": {"mine": [1], "flag": True, "joined": ["a"]},
        "relevance_score": 0.5,
    }
    (document,) = CoreTagBoost(core_tags=["x"]).compress_documents(
        [Document("t", metadata=theirs)], ""
    )
    assert document.metadata == theirs
    odd = Document("t", metadata={"ragstore": "text", "relevance_score": True})
    (document,) = ModelReranker(model=longest).compress_documents([odd], "q")
    assert document.metadata == {"ragstore": {"reranker": 1.0}, "relevance_score": 1.0}
