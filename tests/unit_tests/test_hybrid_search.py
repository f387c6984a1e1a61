"""Searches by words, and by words and meaning, through LangChain's doors."""

import pytest
from langchain_core.documents import Document

from langchain_ragstore import (
    HashingEmbeddings,
    InvalidInputError,
    RagPipeline,
    SQLiteVectorStore,
)

TEXTS = {
    "guide": "全文检索支持中文。",
    "mixed": "重跑gen-itgc后再试",
    "kana": "カタカナと機械翻訳",
    "code": "abc123 is an error in C++ and node.js",
    "long": "A state-of-the-art retrieval of documents",
    "hangul": "검색 엔진은 빠르다",
    "tea": "Green tea wants water of 80 degrees",
}
HOSTILE = [
    *('"', "*", "AND", "hello OR", "NEAR(", "col:on", "word " * 10_000, "\0", "\ud800"),
    *("。。！", "", "  ", "a'; DROP TABLE x; --", "\u0301", "%_\\"),
]


def ids(found):
    return [getattr(item, "id", None) or item[0].id for item in found]


@pytest.fixture
def store(tmp_path):
    with SQLiteVectorStore(HashingEmbeddings(), tmp_path / "a.db") as opened:
        opened.add_texts(
            TEXTS.values(),
            [
                {"n": at, "title": "饮料" if id == "tea" else id}
                for at, id in enumerate(TEXTS)
            ],
            ids=TEXTS,
        )
        yield opened


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("检索", "guide"),
        ("索", "guide"),
        ("検索 機械", "kana"),
        ("ｶﾀｶﾅ", "kana"),
        ("ＡＢＣ１２３", "code"),
        ("C++", "code"),
        ("node.js", "code"),
        ("errors", "code"),
        ("itgc", "mixed"),
        ("검색", "hangul"),
        ("art", "long"),
        ("document retrieval", "long"),
        ("饮料", "tea"),  # its title
        ("饮", "tea"),
    ],
)
async def test_words_are_found(store, query, first):
    """Report 83: search by words and meaning was only to be had from a service."""
    assert ids(store.text_search(query))[0] == first
    assert ids(store.hybrid_search(query))[0] == first
    assert ids(store.hybrid_search(query, fusion="rrf"))[0] == first
    assert await store.atext_search(query) == store.text_search(query)
    assert await store.ahybrid_search(query) == store.hybrid_search(query)


@pytest.mark.parametrize("query", HOSTILE, ids=ascii)
async def test_any_string_is_a_query(store, query):
    for kind in ("text", "hybrid"):
        found = store.search(query, kind)
        assert await store.asearch(query, kind) == found
    assert all(0 <= score <= 1 for _, score in store.text_search_with_score(query))


async def test_every_door_leads_to_the_same_answer(store):
    query = "green documents 检索"
    for kind in ("similarity", "text", "hybrid", "mmr"):
        found = store.search(query, kind, k=3)
        retriever = store.as_retriever(search_type=kind, k=3)
        assert await store.asearch(query, kind, k=3) == found
        assert retriever.invoke(query) == await retriever.ainvoke(query) == found
        assert (retriever | (lambda documents: documents)).invoke(query) == found


def test_a_document_without_the_words_is_no_hit(store):
    """Report 72: a query in Chinese returned texts in English, without a word of it."""
    assert ids(store.text_search("tea zebra", k=10)) == ["tea"]
    assert store.text_search("zebra") == []
    assert len(store.hybrid_search("tea", k=10)) == len(TEXTS)


def test_scores_do_not_depend_on_how_much_is_fetched(store):
    query = "tea 检索 documents"
    whole = dict(zip(*zip(*_named(store, query, 7, fetch_k=50), strict=True), strict=True))
    for depth in (1, 2, 3):
        for id, score in _named(store, query, 2, fetch_k=depth):
            assert score == pytest.approx(whole[id], rel=1e-6)


def _named(store, query, k, **keywords):
    found = store.hybrid_search_with_score(query, k, **keywords)
    return [(document.id, score) for document, score in found]


def test_one_leg_alone(store):
    dense = {"dense": 1, "text": 0}
    assert (
        ids(store.hybrid_search("tea", k=3, weights=dense))[0]
        == (ids(store.similarity_search("tea", k=3))[0])
    )
    text = {"dense": 0, "text": 1}
    (first,) = store.hybrid_search_with_score("tea", k=1, weights=text)
    (same,) = store.text_search_with_score("tea", k=1)
    assert (first[0].id, first[1]) == (same[0].id, pytest.approx(same[1]))


def test_filters_come_before_ranking():
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        store.add_texts(["tea tea tea"] * 500, ids=[f"near{at}" for at in range(500)])
        far = [f"tea {'word ' * 50}{at}" for at in range(3)]
        store.add_texts(far, [{"rare": True}] * 3, ids=["a", "b", "c"])
        for kind in ("similarity", "text", "hybrid", "mmr"):
            found = store.search("tea", kind, k=3, filter={"rare": True})
            assert sorted(ids(found)) == ["a", "b", "c"], kind


def test_a_view_finds_what_it_sees(store):
    view = store.scoped({"n": {"$lt": 2}})
    assert ids(view.text_search("itgc tea 检索")) == ["mixed", "guide"]
    assert sorted(ids(view.hybrid_search("itgc tea", k=10))) == ["guide", "mixed"]


def test_a_nul_hides_nothing(tmp_path):
    """Report 43: one NUL aborted a run, or cut the text off where it stood."""
    texts = ["green tea", "before\x00after", "black tea"]
    metadatas = [{}, {"key": "a\x00b"}, {}]
    model, path = HashingEmbeddings(), tmp_path / "nul.db"
    with SQLiteVectorStore(model, path) as store:
        store.add_texts(texts, metadatas, ids=["one", "i\x00d", "two"])
    with SQLiteVectorStore(model, path) as store:
        assert [d.page_content for d in store.get()] == texts
        for query in ("before", "after"):
            assert ids(store.text_search(query)) == ["i\x00d"]
            assert ids(store.hybrid_search(query, k=1)) == ["i\x00d"]
        assert ids(store.get(filter={"key": "a\x00b"})) == ["i\x00d"]
        assert sorted(ids(store.text_search("tea"))) == ["one", "two"]


def test_words_follow_every_write(store):
    store.update_document("tea", Document("Coffee wants boiling water"))
    assert store.text_search("tea") == store.text_search("饮料") == []
    assert ids(store.text_search("coffee")) == ["tea"]
    store.delete(["tea"])
    assert store.text_search("coffee") == []
    store.add_texts(["coffee again"], ids=["new"])
    assert ids(store.text_search("coffee")) == ["new"]
    with SQLiteVectorStore(None, store.path) as other:  # words need no model
        assert ids(other.text_search("coffee")) == ["new"]
        other.delete(["new"])
    assert store.text_search("coffee") == []
    store.clear()
    assert store.text_search("检索") == store.hybrid_search("检索") == []


def test_results_say_how_they_were_found(store):
    """Reports 68, 76: results had no scores, or one number that nobody could read."""
    (found,) = store.hybrid_search("检索", k=1, with_scores=True)
    assert (
        found.metadata["relevance_score"]
        == (store.hybrid_search_with_score("检索", k=1)[0][1])
    )
    assert set(found.metadata["ragstore"]) >= {
        "dense",
        "lexical",
        "dense_part",
        "text_part",
    }
    assert "ragstore" not in store.hybrid_search("检索", k=1)[0].metadata
    (alike,) = store.similarity_search("检索", k=1, with_scores=True)
    assert alike.metadata["ragstore"] == {
        "dense": pytest.approx(alike.metadata["relevance_score"])
    }
    store.add_documents([found])  # stored without what the search wrote
    assert "ragstore" not in store.get(found.id)[0].metadata


def test_thresholds(store):
    """Report 68: no floor could be given to scores of fused lists."""
    ((_, score),) = store.text_search_with_score("tea")
    assert len(store.text_search("tea", score_threshold=score)) == 1
    assert store.text_search("tea", score_threshold=score + 1e-9) == []
    least = store.hybrid_search_with_score("tea", k=1)[0][1]
    assert len(store.hybrid_search("tea", k=9, score_threshold=least)) == 1


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"fusion": "sum"}, "weighted, rrf.*'sum'"),
        ({"weights": {"dense": 1}}, "'dense': number, 'text': number"),
        ({"weights": {"dense": -1, "text": 1}}, "weight of 'dense'.*-1"),
        ({"weights": {"dense": 0, "text": 0}}, "above 0"),
        ({"weights": {"dense": float("nan"), "text": 0}}, "nan"),
        ({"rrf_k": -1}, "rrf_k.*-1"),
        ({"fetch_k": "many"}, "fetch_k.*many"),
        ({"score_threshold": "high"}, "score_threshold.*high"),
    ],
)
def test_what_is_no_search_is_refused(store, keywords, words):
    with pytest.raises(InvalidInputError, match=words):
        store.hybrid_search("tea", **keywords)


def test_unknown_keywords_and_kinds(store):
    with pytest.raises(TypeError, match="weigths"):
        store.hybrid_search("tea", weigths={})
    with pytest.raises(TypeError, match="weights"):
        store.text_search("tea", weights={})
    with pytest.raises(InvalidInputError, match=r"hybrid, got 'keyword'"):
        store.search("tea", "keyword")
    with pytest.raises(InvalidInputError, match="query is a string"):
        store.text_search(7)


@pytest.mark.parametrize("k", [0, -1])
def test_none_are_asked_for(store, k):
    assert store.text_search("tea", k) == store.hybrid_search("tea", k) == []
    assert len(store.hybrid_search("tea", 10**9)) == len(TEXTS)


def test_words_without_an_embedding():
    with SQLiteVectorStore() as store:
        store.add_texts(["green tea", "black coffee"], ids=["a", "b"])
        assert ids(store.text_search("tea")) == ["a"]
        with pytest.raises(InvalidInputError, match="no embedding"):
            store.hybrid_search("tea")


def test_a_pipeline_takes_the_kinds(store):
    pipeline = RagPipeline(store=store)
    for kind in ("text", "hybrid"):
        found = pipeline.retrieve("检索", k=1, search_type=kind)
        assert [document.id for document, _ in found] == ["guide"]
