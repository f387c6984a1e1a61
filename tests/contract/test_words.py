"""Queries in words, through a store over both engines: what must be found, and by what."""

import pytest

from langchain_ragstore import HashingEmbeddings, TextAnalyzer
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.vectorstores import BackendVectorStore

TEXTS = {
    "node": "The server is written in Node.js and restarts by itself.",
    "cpp": "Templates in C++ are checked late.",
    "net": "Releases of .NET come every November.",
    "art": "A state-of-the-art kitchen.",
    "itgc": "重跑gen-itgc后，结果一致。",
    "engine": "搜索引擎为每个网页建立索引。",
    "kensaku": "全文検索の仕組みを説明します。",
    "geomsaek": "이 문서는 전문 검색을 설명합니다.",
    "abc": "Order abc123 was shipped; hello from the shop.",
    "kana": "カタカナで名前を書いてください。",
    "snow": "昨日は雪でした。",
    "mail": "Write to help@example.com, or near the col: on the left.",
    "nasa": "Photos by @nasa show the moon.",
    "tag": "Posts under #tag are listed.",
    "half": "A discount of 50% for members.",
    "why": "Nobody knew why?",
    "gateway": "See gateway/run.py for this loop.",
    "ubuntu": "It runs on ubuntu 20.04 as well.",
    "swim": "Birds don't swim.",
    "data": "第一条：这些数据很重要。",
    "kikai": "機械翻訳の歴史。",
    "jiwon": "고객지원 센터",
}
FOUND = {
    "node.js": "node",
    "NODE.JS": "node",
    "node": "node",
    "C++": "cpp",
    ".NET": "net",
    "state-of-the-art": "art",
    "state of the art": "art",
    "itgc": "itgc",
    "gen-itgc": "itgc",
    "重跑gen-itgc后": "itgc",
    "引": "engine",
    "擎": "engine",
    "索引": "engine",
    "引擎为": "engine",
    "搜索引擎为": "engine",
    "雪": "snow",
    "検索": "kensaku",
    "검색": "geomsaek",
    "\u1100\u1165\u11b7\u1109\u1162\u11a8": "geomsaek",
    "문": "geomsaek",
    "ＡＢＣ１２３": "abc",
    "ｶﾀｶﾅ": "kana",
    "ｶﾅ": "kana",
    "hello OR": "abc",
    "NEAR(": "mail",
    "col:on": "mail",
    "@example": "mail",
    "@nasa": "nasa",
    "#tag": "tag",
    "50%": "half",
    "why?": "why",
    "gateway/run.py": "gateway",
    "ubuntu 20.04": "ubuntu",
    "20.04": "ubuntu",
    "don't": "swim",
    "条": "data",
    "数据": "data",
    "数据很重要": "data",
    "機械": "kikai",
    "全文検索": "kensaku",
    "전문검색": "geomsaek",
    "지원": "jiwon",
    "고객": "jiwon",
    "我想知道这些数据究竟为什么会这么重要，请用最简单的话解释一下": "data",
    "Could anybody tell me which releases of .NET are due to come next November?": "net",
}
"""Query → the document that comes first."""

HOSTILE = {
    '"': None,
    "*": None,
    "AND": "node",
    "hello OR": "abc",
    "NEAR(": "mail",
    "col:on": "mail",
    " ".join(f"word{n}" for n in range(10_000)) + " hello": "abc",
    "\0": None,
    "hello\0": "abc",
    "\ud800": None,
    "\ud800 hello \udfff": "abc",
    "!?…\u0301—": None,
    "": None,
    " \n\t\u3000": None,
}
"""Query → the document that its words are in; None: no text has a word of it."""


def halves(stretch):
    """A segmenter that is always wrong."""
    return [stretch[:3], stretch[3:]] if len(stretch) > 3 else [stretch]


ANALYZERS = {
    "default": None,
    "segmenter": TextAnalyzer(segmenter=halves),
    "dictionary": TextAnalyzer(
        dictionary=["gen-itgc", "C++", ".NET", "node.js", "搜索引擎", "の仕組"]
    ),
    "synonyms": TextAnalyzer(synonyms={"hello": ["goodbye"], "検索": ["検査"]}),
    "no stemmer": TextAnalyzer(stemmer=None),
}


class Store(BackendVectorStore):
    """A store over any engine."""

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        raise NotImplementedError


ENGINES = {"memory": MemoryBackend, "sqlite": SQLiteBackend}


@pytest.fixture(scope="module", params=ENGINES)
def stores(request):
    made = {}
    for name, analyzer in ANALYZERS.items():
        store = Store(
            ENGINES[request.param](), HashingEmbeddings(256), text_analyzer=analyzer
        )
        store.add_texts(TEXTS.values(), ids=list(TEXTS))
        made[name] = store
    yield made
    for store in made.values():
        store.close()


@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize(("query", "id"), FOUND.items(), ids=ascii)
def test_words_are_found(stores, analyzer, query, id):
    """Reports 72, 73, 74: words of one or two characters, Latin ones amid Chinese, names
    with signs and long questions found nothing, or an error.
    """
    found = stores[analyzer].text_search_with_score(query, k=3)
    assert found[0][0].id == id
    assert 0 < found[0][1] <= 1
    hybrid = stores[analyzer].hybrid_search(query, k=len(TEXTS), with_scores=True)
    (document,) = [document for document in hybrid if document.id == id]
    assert document.metadata["ragstore"]["lexical"] > 0


@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize(
    ("query", "id"), HOSTILE.items(), ids=[ascii(query[:12]) for query in HOSTILE]
)
def test_any_string_is_a_query_and_loses_no_leg(stores, analyzer, query, id):
    """Report 74: signs broke the query language, and words were silently not searched."""
    store = stores[analyzer]
    found = store.text_search(query, k=len(TEXTS))
    assert [document.id for document in found[:1]] == ([id] if id else [])
    for fusion in ("weighted", "rrf"):
        hybrid = store.hybrid_search(query, k=len(TEXTS), fusion=fusion, with_scores=True)
        lexical = {d.id: d.metadata["ragstore"].get("lexical", 0) for d in hybrid}
        by_words = {found_id for found_id, score in lexical.items() if score > 0}
        assert by_words == {document.id for document in found}


def test_every_pair_of_characters_is_found_however_texts_are_cut(stores):
    for analyzer, store in stores.items():
        for id, text in TEXTS.items():
            for stretch in TextAnalyzer(segmenter=lambda s: [s]).terms(text):
                if stretch.isascii():
                    continue
                for size in (1, 2):
                    for at in range(len(stretch) - size + 1):
                        part = stretch[at : at + size]
                        found = store.text_search(part, k=len(TEXTS))
                        assert id in [d.id for d in found], (analyzer, part)
