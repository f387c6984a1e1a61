"""Another model for documents that are stored: all at once, and never half."""

import threading

import pytest
from langchain_core.documents import Document

from fakes import Breaking, Counting, Turned
from langchain_ragstore import InvalidInputError, SQLiteVectorStore
from langchain_ragstore.config import PROBE_TEXT
from langchain_ragstore.errors import (
    ConflictError,
    EmbeddingMismatchError,
    ReadOnlyError,
)

TEA = Document(id="tea", page_content="green tea", metadata={"title": "Drinks", "n": 1})
CUP = Document(id="cup", page_content="a cup")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "kb.db"
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_documents([TEA, CUP])
    return path


@pytest.fixture(params=["sync", "async"])
def reembed(request):
    async def reembedded(store, new, **keywords):
        if request.param == "sync":
            return store.reembed(new, **keywords)
        return await store.areembed(new, **keywords)

    return reembedded


def best(store, query):
    ((document, score),) = store.similarity_search_with_score(query, k=1)
    return document.id, round(score, 6)


async def test_all_but_the_vectors_stays(path, reembed):
    """Report 81: a new model meant to build the collection anew."""
    with SQLiteVectorStore(Counting(), path) as store:
        before = store.timestamps(["tea", "cup"])
        assert await reembed(store, Turned(32)) == 2
        assert store.timestamps(["tea", "cup"]) == before
        assert store.get(order_by="$id") == [CUP, TEA]
        assert (store.stats()["dimension"], store.stats()["model"]) == (
            32,
            "Turned 'turned'",
        )
        assert best(store, "a cup") == ("cup", 1)
        assert [d.id for d in store.text_search("drinks")] == ["tea"]
        assert store.collections() == ["default"]
    with SQLiteVectorStore(Turned(32), path) as store:
        assert best(store, "a cup") == ("cup", 1)
        assert store.stats()["kept_vectors"] == 0


async def test_the_way_out_of_a_mismatch(path, reembed):
    """The store that was opened with the new model can do it, or one with none."""
    for dim, opened in ((64, Turned(64)), (16, None)):
        new = opened or Turned(dim)
        with SQLiteVectorStore(opened, path) as store:
            if opened:
                with pytest.raises(EmbeddingMismatchError, match=r"reembed\(\)"):
                    store.similarity_search("tea")
            await reembed(store, new)
            assert store.embeddings is new
            assert best(store, "a cup") == ("cup", 1)


async def test_stores_that_are_open_with_the_old_model_are_refused(path, reembed):
    """Report 81: readers compared a query of one model with vectors of another."""
    with SQLiteVectorStore(Counting(), path) as old:
        assert best(old, "a cup") == ("cup", 1)
        with SQLiteVectorStore(Counting(), path) as store:
            await reembed(store, Turned())
        with pytest.raises(EmbeddingMismatchError):
            old.similarity_search("a cup")
        with pytest.raises(EmbeddingMismatchError):
            old.add_texts(["a pot"])
        assert len(old) == 2


async def test_a_failed_one_goes_on(path, reembed):
    """Report 81: an exchange of the model that broke off left neither old nor new."""
    with SQLiteVectorStore(Counting(), path) as store:
        store.add_texts([f"text {n}" for n in range(18)])
        with pytest.raises(ConnectionError):
            await reembed(store, Breaking(7), batch_size=2)
        assert best(store, "a cup") == ("cup", 1)  # the old vectors are in use
    new = Counting()  # makes the same vectors as the one that failed
    with SQLiteVectorStore(None, path) as store:
        assert await reembed(store, new, batch_size=2) == 20
        assert len(new.texts) == 1 + 20 - 10


async def test_another_model_takes_nothing_of_a_failed_one(path, reembed):
    with SQLiteVectorStore(Counting(), path) as store:
        with pytest.raises(ConnectionError):
            await reembed(store, Breaking(3), batch_size=1)
        new = Turned()
        await reembed(store, new)
        assert new.texts == [PROBE_TEXT, "Drinks\n\ngreen tea", "a cup"]
        assert best(store, "a cup") == ("cup", 1)


async def test_another_model_takes_nothing_of_one_that_was_all_but_done(
    path, reembed, monkeypatch
):
    """Stopped after the last vector, before they were put in place."""
    with SQLiteVectorStore(Counting(), path) as store:
        adopt, calls = store._backend.adopt, []

        def stopped(*arguments):
            calls.append(arguments)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return adopt(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(store._backend, "adopt", stopped)
            with pytest.raises(KeyboardInterrupt):
                await reembed(store, Counting())
        new = Turned()
        await reembed(store, new)
        assert len(new.texts) == 3
        assert best(store, "a cup") == ("cup", 1)


@pytest.mark.parametrize("keywords", [{}, {"check_model": False}])
async def test_without_a_probe(tmp_path, reembed, keywords):
    path = tmp_path / "kb.db" if keywords else ":memory:"
    with SQLiteVectorStore(Counting(), path, **keywords) as store:
        store.add_documents([TEA, CUP])
        with pytest.raises(ConnectionError):
            await reembed(store, Breaking(2), batch_size=1)
        new = Turned()
        assert await reembed(store, new) == 2
        assert new.texts == ["Drinks\n\ngreen tea", "a cup"]
        assert best(store, "a cup") == ("cup", 1)


async def test_what_others_write_meanwhile_is_embedded_too(path, reembed):
    class Slow(Turned):
        def _documents(self, name, texts):
            if "a cup" in texts:
                thread = threading.Thread(target=meddle)
                thread.start()
                thread.join()
            return super()._documents(name, texts)

    def meddle():
        with SQLiteVectorStore(Counting(), path) as other:
            other.add_documents(
                [Document(id="tea", page_content="black tea"), Document("a pot", id="pot")]
            )

    with SQLiteVectorStore(Counting(), path) as store:
        assert await reembed(store, Slow()) == 3
        for text, id in (("black tea", "tea"), ("a cup", "cup"), ("a pot", "pot")):
            assert best(store, text) == (id, 1)


async def test_an_index_text_that_never_says_the_same_is_given_up(path, reembed):
    texts = map(str, range(1_000_000))
    with SQLiteVectorStore(Counting(), path, index_text=lambda _: next(texts)) as store:
        with pytest.raises(ConflictError, match="another text every time"):
            await reembed(store, Turned())
        assert store.stats()["model"] == "Counting"


async def test_vectors_given_by_hand_and_texts_without_one_get_one(reembed):
    store = SQLiteVectorStore()
    store.add_embeddings(["a cup"], [[1.0, 0.0]], ids=["cup"])
    store.add_texts(["green tea"], ids=["tea"])
    assert await reembed(store, Turned()) == 2
    assert best(store, "a cup") == ("cup", 1)
    assert best(store, "green tea") == ("tea", 1)


async def test_an_empty_collection_takes_the_model(tmp_path, reembed):
    with SQLiteVectorStore(Counting(), tmp_path / "kb.db") as store:
        new = Turned()
        assert await reembed(store, new) == 0
        assert store.embeddings is new


async def test_views_have_the_model_of_their_store(reembed):
    store = SQLiteVectorStore(Counting())
    store.add_texts(["a cup"], [{"user": "ann"}])
    view = store.scoped({"user": "ann"})
    with pytest.raises(InvalidInputError, match="whole store"):
        await reembed(view, Turned())
    new = Turned()
    await reembed(store, new)
    assert view.embeddings is new
    assert len(view.similarity_search("a cup")) == 1


async def test_what_cannot_be(path, reembed):
    with SQLiteVectorStore(Counting(), path) as store:
        for wrong in (None, 5):
            with pytest.raises(InvalidInputError, match="embedding"):
                await reembed(store, wrong)
    new = Counting()
    with (
        SQLiteVectorStore(None, path, read_only=True) as store,
        pytest.raises(ReadOnlyError),
    ):
        await reembed(store, new)
    assert new.texts[1:] in ([], ["Drinks\n\ngreen tea", "a cup"])
