"""What both legs read of a document, though its text alone is returned."""

import pytest
from langchain_core.documents import Document

from fakes import Counting
from langchain_ragstore import InvalidInputError, RagPipeline, SQLiteVectorStore
from langchain_ragstore.documents import with_titles
from langchain_ragstore.errors import ConflictError

KEY = Document(id="key", page_content="Press F4.", metadata={"title": "Printing"})
TITLES = {"title": "Office", "heading_path": ["Printing", "Labels"]}


def test_the_default_puts_titles_first():
    assert with_titles(Document("Press F4.", metadata=TITLES)) == (
        "Office\nPrinting\nLabels\n\nPress F4."
    )
    odd = {"title": "Office", "heading_path": ["Office", 3, None]}
    assert with_titles(Document("Press F4.", metadata=odd)) == "Office\n\nPress F4."
    assert with_titles(Document("x", metadata={"title": 5, "heading_path": "no"})) == "x"


def test_both_legs_find_a_title_and_return_the_text():
    model = Counting()
    store = SQLiteVectorStore(model)
    store.add_documents([KEY, Document(id="other", page_content="Close the lid.")])
    assert model.texts == ["Printing\n\nPress F4.", "Close the lid."]
    for search in (store.similarity_search, store.text_search, store.hybrid_search):
        assert search("printing", k=1) == [KEY]


def test_a_title_counts_in_the_text_and_as_a_field():
    store = SQLiteVectorStore(Counting())
    store.add_documents([KEY])
    (word,) = store.explain("printing", search_type="text").hits[0].words
    assert word.body > 0
    assert word.title > 0
    assert not word.shown


def test_a_function_of_ones_own():
    model = Counting()
    store = SQLiteVectorStore(model, index_text=lambda d: f"{d.metadata['summary']}")
    store.add_texts(["Press F4."], [{"summary": "How to print labels"}])
    assert model.texts == ["How to print labels"]
    for search in (store.similarity_search, store.text_search, store.hybrid_search):
        assert [d.page_content for d in search("labels", k=1)] == ["Press F4."]
    assert store.text_search("F4") == []


def test_the_text_alone():
    model = Counting()
    store = SQLiteVectorStore(model, index_text=lambda d: d.page_content)
    store.add_documents([KEY])
    assert model.texts == ["Press F4."]
    assert store.text_search("printing") == [KEY]  # the title is a field of its own


def test_it_must_be_a_function_that_returns_a_string():
    with pytest.raises(InvalidInputError, match="index_text is a function"):
        SQLiteVectorStore(Counting(), index_text="title")
    store = SQLiteVectorStore(Counting(), index_text=lambda d: d.metadata.get("summary"))
    with pytest.raises(InvalidInputError, match=r"return a string, got None.*'x'"):
        store.add_texts(["a", "b"], [{"summary": "s"}, {}], ids=["w", "x"])
    assert len(store) == 0
    assert store.embeddings.calls == []


def test_what_a_function_does_to_its_document_stays_with_it():
    def index_text(document):
        document.metadata["tags"].append("more")
        return document.page_content

    given = {"tags": ["one"]}
    store = SQLiteVectorStore(Counting(), index_text=index_text)
    store.add_texts(["a"], [given], ids=["a"])
    assert given == store.get("a")[0].metadata == {"tags": ["one"]}
    assert store.update_metadata("a", patch={"n": 1}) == 1


def test_a_changed_title_embeds_anew(tmp_path):
    model = Counting()
    with SQLiteVectorStore(model, tmp_path / "kb.db") as store:
        pipeline = RagPipeline(store=store)
        assert pipeline.ingest([KEY]).added == 1
        renamed = Document(
            id="key", page_content=KEY.page_content, metadata={"title": "Fax"}
        )
        assert pipeline.ingest([renamed]).updated == 1
        assert model.texts[1:] == ["Printing\n\nPress F4.", "Fax\n\nPress F4."]
        store.add_documents([KEY])
        assert model.texts[3:] == ["Printing\n\nPress F4."]


def test_a_changed_function_embeds_anew(tmp_path):
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(Counting(), path) as store:
        RagPipeline(store=store).ingest([KEY])
    model = Counting()
    with SQLiteVectorStore(model, path, index_text=lambda d: d.page_content) as store:
        assert RagPipeline(store=store).ingest([KEY]).updated == 1
        assert model.texts[1:] == ["Press F4."]
        assert RagPipeline(store=store).ingest([KEY]).skipped == 1


# --- metadata that are indexed ----------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    with SQLiteVectorStore(Counting(), tmp_path / "kb.db") as store:
        store.add_documents([KEY, Document(id="other", page_content="Close the lid.")])
        store.embeddings.texts.clear()
        yield store


def test_update_metadata_of_a_title_reaches_both_legs(store):
    """Report 50: what searches read of metadata follows a change of them."""
    assert store.update_metadata(["key"], patch={"title": "Faxing"}) == 1
    assert store.embeddings.texts == ["Faxing\n\nPress F4."]
    renamed = [Document(id="key", page_content="Press F4.", metadata={"title": "Faxing"})]
    for search in (store.similarity_search, store.text_search, store.hybrid_search):
        assert search("faxing", k=1) == renamed
    assert store.text_search("printing") == []
    assert store.update_metadata(filter={"title": "Faxing"}, patch={}, remove="title") == 1
    assert store.text_search("faxing") == []
    assert store.embeddings.texts[1:] == ["Press F4."]


def test_update_metadata_of_anything_else_embeds_nothing(store):
    """Report 50: changing a tag cost a new embedding."""
    before = store.timestamps("key")["key"]
    assert store.update_metadata(["key"], patch={"page": 4}) == 1
    assert store.update_metadata(["key"], patch={"title": "Printing"}) == 1
    assert store.embeddings.texts == []
    assert store.get("key")[0].metadata == {"title": "Printing", "page": 4}
    after = store.timestamps("key")["key"]
    assert after.created_at == before.created_at
    assert after.updated_at > before.updated_at


def test_an_index_text_of_ones_own_is_asked_after_every_change():
    model = Counting()
    store = SQLiteVectorStore(model, index_text=lambda d: d.metadata.get("summary", ""))
    store.add_texts(["x", "y"], [{"summary": "tea"}, {"summary": "cup"}], ids=["x", "y"])
    model.texts.clear()
    assert store.update_metadata(["x", "y"], patch={"summary": "tea"}) == 2
    assert model.texts == []  # the text is known
    assert store.update_metadata(["y"], patch={"summary": "pot"}) == 1
    assert model.texts == ["pot"]
    assert [d.id for d in store.text_search("pot")] == ["y"]


def test_given_vectors_survive_a_change_of_title():
    store = SQLiteVectorStore()
    store.add_embeddings(["x"], [[1.0, 0.0]], ids=["x"])
    store.update_metadata("x", patch={"title": "tea"})
    assert store.similarity_search_with_score_by_vector([1.0, 0.0])[0][1] == 1
    assert [d.id for d in store.text_search("tea")] == ["x"]


class Meddling(Counting):
    """While it embeds, somebody else changes the document; so many times."""

    def __init__(self, times):
        super().__init__()
        self.times, self.store = times, None

    def embed_documents(self, texts):
        if self.store and self.times:
            self.times -= 1
            self.store.update_metadata("key", patch={"n": self.times})
        return super().embed_documents(texts)


def test_what_others_change_meanwhile_is_not_undone():
    model = Meddling(2)
    store = model.store = SQLiteVectorStore(model)
    model.store = None
    store.add_documents([KEY])
    model.store = store
    assert store.update_metadata("key", patch={"title": "Fax"}) == 1
    assert store.get("key")[0].metadata == {"title": "Fax", "n": 1}
    assert model.times == 1  # the second try knows the text already


def test_a_document_that_always_changes_is_given_up(monkeypatch):
    store = SQLiteVectorStore(Counting())
    store.add_documents([KEY])
    upsert, tries = store._backend.upsert, []

    def meddled(*arguments, **keywords):
        tries.append(None)
        store._backend.patch(
            "default", ids=["key"], where=store._scope.where, changes={"n": len(tries)}
        )
        return upsert(*arguments, **keywords)

    monkeypatch.setattr(store._backend, "upsert", meddled)
    with pytest.raises(ConflictError, match=r"'key'.*try again"):
        store.update_metadata("key", patch={"title": "Fax"})
    assert len(tries) == 5
    assert store.get("key")[0].metadata == {"title": "Printing", "n": 5}
