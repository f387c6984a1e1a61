"""What every search of a store promises, whatever the engine and whichever the door."""

import numpy as np
import pytest

from fakes import Table
from langchain_ragstore import HashingEmbeddings, RagPipeline, RagRetriever
from langchain_ragstore.model import Record
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.text.analyzer import TextAnalyzer
from langchain_ragstore.vectors.arrays import unit_matrix
from langchain_ragstore.vectorstores import BackendVectorStore
from records import AXES

KINDS = ("similarity", "similarity_score_threshold", "mmr", "text", "hybrid")
EXTRAS = {
    "plain": {},
    "window": {"window": 1},
    "group_by": {"group_by": "source_id"},
    "both": {"window": 2, "group_by": ("source_id",), "per_group": 2},
    "scores": {"with_scores": True},
    "threshold": {"score_threshold": 0.0},
}
ENGINES = {"memory": MemoryBackend, "sqlite": SQLiteBackend}
MANY = 10_000
QUERY = "green tea"


def kind_keywords(kind, extra):
    if kind == "similarity_score_threshold":  # LangChain's retriever demands a float
        return {"score_threshold": 0.0} | extra
    return extra


def facts(documents):
    return [(d.id, d.page_content, d.metadata) for d in documents]


class Store(BackendVectorStore):
    """A store over any engine; LangChain demands a `from_texts`."""

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        raise NotImplementedError


# --- three of ten thousand ------------------------------------------------------------


@pytest.fixture(scope="module", params=ENGINES)
def large(request):
    """10 000 records close to the query; three of them match, the farthest away."""
    backend, analyzer = ENGINES[request.param](), TextAnalyzer()
    close = np.random.default_rng(1).normal(scale=0.01, size=(MANY, 4)) + AXES[0]
    vectors = unit_matrix([*close[3:], [-1, 0, 0, 0], [-1, 0.1, 0, 0], [-1, 0, 0.1, 0]])
    records = []
    for at, vector in enumerate(vectors):
        rare = at >= MANY - 3
        text = f"tea {'word ' * 20}" if rare else "green tea"
        metadata = {"rare": rare, "source_id": f"s{at}", "chunk_index": 0}
        terms = analyzer.index_terms(text, "")
        records.append(Record(f"{at:05}", text, metadata, vector, terms=terms))
    backend.upsert("c", records)
    store = Store(backend, Table({QUERY: [1, 0, 0, 0]}), collection_name="c")
    yield store
    store.close()


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("kind", KINDS)
def test_three_matches_of_ten_thousand(large, kind, extra):
    """Report 53: filtering what was found left few or none, though many match."""
    keywords = kind_keywords(kind, EXTRAS[extra])
    found = large.search(QUERY, kind, k=3, filter={"rare": True}, **keywords)
    assert sorted(d.id for d in found) == ["09997", "09998", "09999"]


@pytest.mark.parametrize("large", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_three_groups_of_ten_thousand(large, kind):
    """All close records are one group, so k results need the deepest candidates."""
    keywords = kind_keywords(kind, {"group_by": "rare", "per_group": 3})
    found = large.search(QUERY, kind, k=6, **keywords)
    assert len(found) == 6
    assert sorted(d.id for d in found)[3:] == ["09997", "09998", "09999"]


# --- the same answer through every door ---------------------------------------------


@pytest.fixture(params=ENGINES)
def store(request):
    texts = [
        *("Green tea wants hot water. ", "hot water. Black tea wants it boiling. "),
        *("boiling. The cup is warmed.", "A tea house is quiet.", "quiet. Green paint."),
        *("绿茶要用八十度的水。", "水。红茶用开水。", "Nothing of the kind."),
    ]
    vectors = np.random.default_rng(2).normal(size=(len(texts) + 1, 8)).tolist()
    model = Table(dict(zip([*texts, "green tea 绿茶"], vectors, strict=True)))
    with Store(ENGINES[request.param](), model) as store:
        metadatas = [
            {"source_id": source, "chunk_index": int(number), "lang": lang}
            for source, number, lang in (
                *("a0e", "a1e", "a2e", "b0e", "b1e", "c0z", "c1z", "d0e"),
            )
        ]
        ids = [f"{m['source_id']}:chunk:{m['chunk_index']:04d}" for m in metadatas]
        store.add_texts(texts, metadatas, ids=ids)
        yield store


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("kind", KINDS)
async def test_every_door_leads_to_the_same_answer(store, kind, extra):
    """Reports 61, 76: retrievers lost the filter, and had no way to give scores."""
    query, where = "green tea 绿茶", {"lang": {"$in": ["e", "z"]}}
    keywords = kind_keywords(kind, EXTRAS[extra])
    found = store.search(query, kind, k=3, filter=where, **keywords)
    expected = facts(found)
    assert expected
    bound = store.as_retriever(
        search_type=kind, k=3, search_kwargs={"filter": where, **keywords}
    )
    given = RagRetriever(
        vectorstore=store,
        search_type=kind,
        search_kwargs=kind_keywords(kind, {}),
    )
    doors = [
        await store.asearch(query, kind, k=3, filter=where, **keywords),
        bound.invoke(query),
        await bound.ainvoke(query),
        (bound | (lambda documents: documents)).invoke(query),
        given.invoke(query, k=3, filter=where, **keywords),
        await given.ainvoke(query, k=3, filter=where, **keywords),
        bound.batch([query])[0],
    ]
    for answer in doors:
        assert facts(answer) == expected
    scored = store.search_with_score(query, kind, k=3, filter=where, **keywords)
    assert (
        await store.asearch_with_score(query, kind, k=3, filter=where, **keywords) == scored
    )
    explanations = [
        store.explain(query, search_type=kind, k=3, filter=where, **keywords),
        await store.aexplain(query, search_type=kind, k=3, filter=where, **keywords),
        bound.explain(query),
        await bound.aexplain(query),
    ]
    for why in explanations:
        shown = [(hit.id, hit.text, hit.score) for hit in why.hits]
        assert shown == [(d.id, d.page_content, score) for d, score in scored]


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("kind", ["similarity", "text", "hybrid", "mmr"])
async def test_a_pipeline_gives_the_same_answer(store, kind, extra):
    """Except for what has no likeness to the query, which it leaves out."""
    query, keywords = "green tea 绿茶", EXTRAS[extra]
    pipeline = RagPipeline(store=store)
    found = store.search_with_score(
        query, kind, k=5, **{"score_threshold": 1.1e-10} | keywords
    )
    expected = [pair for pair in found if pair[1] > 1e-10]
    assert expected
    asked = {"search_type": kind, "k": 5, **keywords}
    assert pipeline.retrieve(query, **asked) == expected
    assert await pipeline.aretrieve(query, **asked) == expected
    retriever = pipeline.as_retriever(**asked)
    assert retriever.invoke(query) == [document for document, _ in expected]
    assert await retriever.ainvoke(query) == [document for document, _ in expected]
    for why in (pipeline.explain(query, **asked), retriever.explain(query)):
        assert [(hit.id, hit.score) for hit in why.hits] == [
            (document.id, score) for document, score in expected
        ]
    assert str(await pipeline.aexplain(query, **asked)).count("\n") > 5


def test_engines_agree(store):
    """On ids, texts, scores and signals, with the memory engine as the oracle."""
    oracle = Store(MemoryBackend(), store.embeddings)
    oracle.add_documents(store.get())
    for kind in KINDS:
        for extra in EXTRAS.values():
            keywords = kind_keywords(kind, extra)
            query = "green tea 绿茶"
            found = store.search_with_score(query, kind, k=4, **keywords)
            same = oracle.search_with_score(query, kind, k=4, **keywords)
            assert [d.page_content for d, _ in found] == [d.page_content for d, _ in same]
            # Not to the last bit: the mean of float32 vectors has an order of summation.
            assert [s for _, s in found] == pytest.approx([s for _, s in same], rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_filter_that_nothing_matches(store, kind):
    """Report 55: with a filter that nothing matches, everything came back."""
    keywords = kind_keywords(kind, {"filter": {"lang": "none"}})
    assert store.search("green tea 绿茶", kind, **keywords) == []


# --- nothing, and what is gone ----------------------------------------------------------


@pytest.fixture(params=ENGINES)
def empty(request):
    with Store(ENGINES[request.param](), HashingEmbeddings(64)) as store:
        yield store


async def test_an_empty_store_answers_everything(empty):
    """Report 47: reading an empty store raised an IndexError, and spoiled the first add."""
    for kind in KINDS:
        keywords = kind_keywords(kind, {})
        assert empty.search(QUERY, kind, **keywords) == []
        assert await empty.asearch(QUERY, kind, **keywords) == []
        assert (
            empty.as_retriever(search_type=kind, search_kwargs=keywords).invoke("a") == []
        )
    assert empty.get() == empty.get_by_ids(["a"]) == empty.add_texts([]) == []
    assert empty.count() == empty.delete_where({"n": 1}) == empty.clear() == 0
    assert empty.delete(["a"]) is empty.delete([]) is True
    assert empty.distinct("n") == empty.timestamps("a") == {}
    empty.add_texts([QUERY])
    for kind in KINDS:
        assert len(empty.search(QUERY, kind, **kind_keywords(kind, {}))) == 1


def test_what_is_deleted_is_in_neither_index(empty):
    """Report 46: a deleted document's vector or words led to another document, or none."""
    texts = {"a": "alpha", "b": "beta", "c": "gamma", "d": "delta"}
    for id in "abc":
        empty.add_texts([texts[id]], ids=[id])
    empty.delete(["b"])
    empty.add_texts([texts["d"]], ids=["d"])
    for id in "acd":
        for kind in ("similarity", "text", "hybrid"):
            found = empty.search(texts[id], kind, k=1)
            assert [(d.id, d.page_content) for d in found] == [(id, texts[id])]
    assert empty.text_search("beta") == []
    assert len(empty) == len(empty.similarity_search("beta", k=9)) == 3
    assert len(empty.text_search(" ".join(texts.values()), k=9)) == 3
    if "vectors" in (facts := empty.stats()):
        assert facts["vectors"] == facts["records"] == 3


# --- windows and groups over engines --------------------------------------------------


def test_a_window_joins_what_may_be_seen(store):
    query = "green tea 绿茶"
    texts = {d.id: d.page_content for d in store.get()}
    only = {"$id": "a:chunk:0001"}
    (alone,) = store.search(query, "text", k=1, filter=only, window=1)
    assert alone.page_content == texts["a:chunk:0001"]  # the filter hides the others
    (found,) = store.search(query, "text", k=1, filter={"source_id": "a"}, window=1)
    text = "Green tea wants hot water. Black tea wants it boiling. "
    assert (found.id, found.page_content) == ("a:chunk:0000", text)
    assert found.metadata["ragstore"] == {"joined": ["a:chunk:0000", "a:chunk:0001"]}
    assert found.metadata["chunk_index"] == 0
    view = store.scoped({"chunk_index": {"$lt": 1}})
    for document in view.search(query, "hybrid", k=9, window=2):
        assert document.metadata["ragstore"]["joined"] == [document.id]


def test_a_group_takes_its_best(store):
    for kind in KINDS:
        keywords = kind_keywords(kind, {})
        ranked = store.search("green tea 绿茶", kind, k=8, **keywords)
        found = store.search("green tea 绿茶", kind, k=8, group_by="source_id", **keywords)
        best = {}
        for document in ranked:
            best.setdefault(document.metadata["source_id"], document.id)
        if kind != "mmr":
            assert [d.id for d in found] == list(best.values())
        assert len({d.metadata["source_id"] for d in found}) == len(found) == len(best)
