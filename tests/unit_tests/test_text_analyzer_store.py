"""A store and its text analyzer: what is kept, what is refused, how it is mended."""

import asyncio
import sqlite3

import pytest

from fakes import Counting
from langchain_ragstore import (
    AnalyzerMismatchError,
    HashingEmbeddings,
    InvalidInputError,
    RagPipeline,
    ReadOnlyError,
    SQLiteVectorStore,
    TextAnalyzer,
    make_document,
)
from langchain_ragstore.storage.sqlite import reindexing
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.text.analyzer import DEFAULT_ANALYZER

PLAIN = TextAnalyzer(stemmer=None)


def opened(path, analyzer=None, **options):
    return SQLiteVectorStore(Counting(), path, text_analyzer=analyzer, **options)


def found(store, query, **options):
    return sorted(document.id for document in store.text_search(query, 10, **options))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rag.db"
    with opened(path) as store:
        store.add_texts(["running dogs", "a dog"], [{"n": 1}, {"n": 2}], ids=["a", "b"])
    return path


def test_the_analyzer_of_a_store():
    store = SQLiteVectorStore()
    assert store.text_analyzer is DEFAULT_ANALYZER
    assert store.text_analyzer == TextAnalyzer()
    store = SQLiteVectorStore.from_texts(["dogs"], None, text_analyzer=PLAIN)
    assert store.text_analyzer is PLAIN
    assert store.scoped({"a": 1}).text_analyzer is PLAIN
    assert store.text_search("dog") == []
    assert len(store.text_search("dogs")) == 1


@pytest.mark.parametrize("wrong", ["english", str.upper, {"stemmer": None}])
def test_an_analyzer_is_one(wrong):
    with pytest.raises(InvalidInputError, match="text_analyzer is a TextAnalyzer or None"):
        SQLiteVectorStore(text_analyzer=wrong)


def test_another_analyzer_is_refused_before_anything_is_embedded(path):
    with opened(path, PLAIN) as store:
        message = (
            r"\(terms 1, stemmer english\), this store has \(terms 1, stemmer None\); "
            r"open it with the text_analyzer .* store.reindex_text\(\)"
        )
        model = store.embeddings
        document = make_document("c", "cats")
        for write in (
            lambda: store.add_texts(["cats"]),
            lambda: store.add_documents([document]),
            lambda: asyncio.run(store.aadd_texts(["cats"])),
            lambda: store.add_embeddings(["cats"], [[1.0] * 64]),
            lambda: store.update_document("a", document),
            lambda: store.replace_source("s", [document]),
            lambda: store.update_metadata(["a"], patch={"title": "cats"}),
        ):
            with pytest.raises(AnalyzerMismatchError, match=message):
                write()
        assert not model.texts
        with pytest.raises(AnalyzerMismatchError, match=message):
            store.text_search("dog")
        with pytest.raises(AnalyzerMismatchError, match=message):
            store.hybrid_search("dog")
        assert [document.id for document in store.similarity_search("a dog", 1)] == ["b"]
        assert store.count() == 2
        assert store.delete(["a"])


def test_indexing_anew_takes_the_analyzer_over(path):
    with opened(path, PLAIN) as store, opened(path) as old:
        assert found(old, "run") == ["a"]
        assert store.reindex_text() == 2
        assert not store.embeddings.calls
        assert found(store, "dog") == ["b"]
        assert found(store, "dogs") == ["a"]
        with pytest.raises(AnalyzerMismatchError):
            old.text_search("dogs")
        store.add_texts(["more dogs"], ids=["c"])
    with opened(path, PLAIN) as store:
        assert found(store, "dogs") == ["a", "c"]
    with opened(path) as old:
        assert asyncio.run(old.areindex_text()) == 3
        assert found(old, "dog") == ["a", "b", "c"]


def test_stats_tell_what_made_the_index(path):
    with opened(path, PLAIN) as store:
        assert store.stats()["text_analyzer"] == "terms 1, stemmer english"
        store.clear()
        assert store.stats()["text_analyzer"] is None


def test_titles_are_indexed_anew(tmp_path):
    with opened(tmp_path / "rag.db") as store:
        store.add_texts(["x"], [{"title": "Dogs", "heading_path": ["Cats"]}], ids=["a"])
        assert store.reindex_text() == 1
        assert found(store, "dog") == found(store, "cat") == ["a"]


def test_an_empty_collection_takes_any_analyzer(path):
    with opened(path, PLAIN) as store:
        store.clear()
        store.add_texts(["cats"], ids=["c"])
        assert found(store, "cats") == ["c"]
    with opened(path) as store, pytest.raises(AnalyzerMismatchError):
        store.text_search("cat")
    with opened(path, collection_name="second") as store:
        store.add_texts(["cats"], ids=["c"])
        assert found(store, "cat") == ["c"]


def test_synonyms_need_no_new_index(path):
    with opened(path, TextAnalyzer(synonyms={"hound": ["dog"]})) as store:
        assert found(store, "hounds") == ["a", "b"]
        scores = [score for _, score in store.text_search_with_score("hound")]
        assert len(scores) == 2
        assert all(0 < score < 0.8 for score in scores)
        assert store.hybrid_search("hound", with_scores=True)[0].metadata["ragstore"][
            "lexical"
        ]


def test_a_view_cannot_index_anew(path):
    with opened(path) as store:
        view = store.scoped({"n": 1})
        with pytest.raises(InvalidInputError, match="scoped view cannot index"):
            view.reindex_text()
        assert found(view, "dog") == ["a"]


def test_a_reader_cannot_index_anew(path):
    with opened(path, PLAIN, read_only=True) as store:
        with pytest.raises(AnalyzerMismatchError):
            store.text_search("dog")
        with pytest.raises(ReadOnlyError, match="read_only=True"):
            store.reindex_text()


def failing(word):
    if word == "poison":
        raise RuntimeError("no stem")
    return word


def test_a_failing_function_leaves_no_part_of_a_write(tmp_path):
    analyzer = TextAnalyzer(stemmer=failing)
    with opened(tmp_path / "rag.db", analyzer) as store:
        store.add_texts(["fine"], ids=["a"])
        message = "failing failed on 'poison': RuntimeError: no stem"
        texts = ["good", "fine poison", "better"]
        with pytest.raises(InvalidInputError, match=message):
            store.add_texts(texts, ids=["x", "y", "z"])
        documents = [make_document(str(n), text) for n, text in enumerate(texts)]
        with pytest.raises(InvalidInputError, match=message):
            store.replace_source("s", documents)
        with pytest.raises(InvalidInputError, match=message):
            store.text_search("poison")
        assert store.count() == 1
        assert found(store, "fine good better") == ["a"]


def test_a_failing_function_leaves_the_old_index(path):
    with opened(path) as store:
        store.add_texts(["poison"], ids=["c"])
    message = "failed on 'poison'"
    with (
        opened(path, TextAnalyzer(stemmer=failing)) as store,
        pytest.raises(InvalidInputError, match=message),
    ):
        store.reindex_text()
    with opened(path) as store:
        assert found(store, "poison dog") == ["a", "b", "c"]


def test_the_pipeline_uses_the_stores_analyzer(tmp_path):
    store = opened(tmp_path / "rag.db", TextAnalyzer(dictionary=["heart attack"]))
    pipeline = RagPipeline(store=store)
    pipeline.ingest(
        [make_document("a", "heart attack"), make_document("b", "attack heart")]
    )
    results = pipeline.retrieve("heart attack", 2, search_type="text")
    assert [document.id for document, _ in results] == ["a", "b"]
    assert results[0][1] > results[1][1]
    store.close()


def test_what_is_written_meanwhile_is_indexed(tmp_path, monkeypatch):
    monkeypatch.setattr(reindexing, "_PAGE", 2)
    path = tmp_path / "rag.db"
    store = opened(path)
    store.add_texts([f"dogs {n}" for n in range(7)], ids=list("abcdefg"))
    other = opened(path)
    written = []

    def stem(word):
        if not written:
            written.append(1)
            other.add_texts(["changed cats", "new cats"], ids=["a", "h"])
            other.delete(["b"])
            other.update_metadata(["c"], patch={"title": "owls"})
        return word

    with opened(path, TextAnalyzer(stemmer=stem)) as anew:
        assert anew.reindex_text() == 7
        assert found(anew, "dogs") == list("cdefg")
        assert found(anew, "cats") == ["a", "h"]
        assert found(anew, "owls") == ["c"]
        assert found(anew, "cat") == []
    for each in (store, other):
        with pytest.raises(AnalyzerMismatchError):
            each.text_search("dogs")
        assert len(each.similarity_search("dogs", 10)) == 7
        each.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_reader_in_the_middle_sees_the_old_index(tmp_path):
    path = tmp_path / "rag.db"
    with opened(path) as store, opened(path) as reader:
        store.add_texts(["dogs", "cats"], ids=["a", "b"])
        seen = []

        def watched(record):
            seen.append(found(reader, "dog"))
            return PLAIN.index_terms(record.content)

        store._backend.reindex("default", watched)
        assert seen == [["a"], ["a"]]


def test_many_pages_become_few_segments(tmp_path, monkeypatch):
    monkeypatch.setattr(reindexing, "_PAGE", 10)
    backend_path = tmp_path / "rag.db"
    with SQLiteVectorStore(HashingEmbeddings(8), backend_path) as store:
        store.add_texts(
            [f"word{n} all" for n in range(200)], ids=[f"{n:03d}" for n in range(200)]
        )
        assert store.reindex_text() == 200
        assert len(found(store, "all")) == 10
        assert found(store, "word17") == ["017"]
    backend = SQLiteBackend(backend_path)
    with backend.database.read() as connection:
        (segments,) = connection.execute("SELECT count(*) FROM ragstore_segment").fetchone()
    assert segments <= 8
    backend.close()


def test_an_index_text_of_ones_own_is_indexed_anew(tmp_path):
    def shouted(document):
        return f"loud {document.page_content}"

    path = tmp_path / "rag.db"
    with opened(path, index_text=shouted) as store:
        store.add_texts(["dogs"], ids=["a"])
        assert found(store, "loud") == ["a"]
    with opened(path, PLAIN, index_text=shouted) as store:
        assert store.reindex_text() == 1
        assert found(store, "loud") == found(store, "dogs") == ["a"]
        assert found(store, "dog") == []
        assert store.get_by_ids(["a"])[0].page_content == "dogs"
