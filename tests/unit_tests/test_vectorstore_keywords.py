"""No keyword is silently ignored, and the error says what was likely meant."""

import pytest

from fakes import Counting
from langchain_ragstore import InvalidInputError, RagPipeline, SQLiteVectorStore
from langchain_ragstore.keywords import OTHER_NAMES, refuse_unknown


@pytest.fixture
def store():
    with SQLiteVectorStore(Counting()) as store:
        store.add_texts(["tea"], ids=["1"])
        yield store


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("persist_directory", "path"),
        ("db_file", "path"),
        ("connection", "path"),
        ("pth", "path"),
        ("embedding_function", "embedding"),
        ("embeddings", "embedding"),
        ("collection", "collection_name"),
        ("table", "collection_name"),
        ("index_name", "collection_name"),
        ("namespace", "collection_name"),
        ("readonly", "read_only"),
        ("id_factori", "id_factory"),
    ],
)
@pytest.mark.parametrize("method", ["init", "from_texts", "from_documents"])
def test_constructor(wrong, right, method):
    build = {
        "init": SQLiteVectorStore,
        "from_texts": lambda **kw: SQLiteVectorStore.from_texts(["a"], None, **kw),
        "from_documents": lambda **kw: SQLiteVectorStore.from_documents([], None, **kw),
    }[method]
    message = rf"SQLiteVectorStore\(\) got .*'{wrong}'; did you mean '{right}'\?"
    with pytest.raises(TypeError, match=message):
        build(**{wrong: "x"})


async def test_async_constructor():
    with pytest.raises(TypeError, match="did you mean 'path'"):
        await SQLiteVectorStore.afrom_texts(["a"], None, persist_directory="x")


def test_nothing_like_it():
    with pytest.raises(TypeError, match=r"'zzz'; it takes embedding, path, collection"):
        SQLiteVectorStore(zzz=1)


SEARCHES = {
    "similarity_search": lambda s, **kw: s.similarity_search("q", **kw),
    "with_score": lambda s, **kw: s.similarity_search_with_score("q", **kw),
    "relevance": lambda s, **kw: s.similarity_search_with_relevance_scores("q", **kw),
    "by_vector": lambda s, **kw: s.similarity_search_by_vector([0.1] * 64, **kw),
    "mmr": lambda s, **kw: s.max_marginal_relevance_search("q", **kw),
    "mmr_by_vector": lambda s, **kw: s.max_marginal_relevance_search_by_vector(
        [0.1] * 64, **kw
    ),
    "search": lambda s, **kw: s.search("q", "similarity", **kw),
    "invoke": lambda s, **kw: s.as_retriever().invoke("q", **kw),
    "search_kwargs": lambda s, **kw: s.as_retriever(search_kwargs=kw),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("where", "filter"),
        ("fliter", "filter"),
        ("pre_filter", "filter"),
        ("expr", "filter"),
        ("top_k", "k"),
        ("limit", "k"),
        ("threshold", "score_threshold"),
        ("score_treshold", "score_threshold"),
    ],
)
def test_searches(store, search, wrong, right):
    """Report 52: a filter under another name was ignored, and everything came back."""
    with pytest.raises(TypeError, match=rf"'{wrong}'; did you mean '{right}'\?"):
        SEARCHES[search](store, **{wrong: None})  # even None says something was meant


@pytest.mark.parametrize("key", ["fetch_k", "lambda_mult"])
def test_keywords_of_mmr_are_not_those_of_similarity(store, key):
    """Report 52: keywords that nobody reads were swallowed."""
    with pytest.raises(TypeError, match=rf"similarity_search\(\) got .*'{key}'"):
        store.similarity_search("q", **{key: 1})
    with pytest.raises(TypeError, match=rf"similarity_search\(\) got .*'{key}'"):
        store.as_retriever(search_kwargs={key: 1}).invoke("q")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.add_texts(["a"], id=["1"]), r"add_texts\(\).*'id'; did you .*'ids'"),
        (lambda s: s.add_texts(["a"], batchsize=1), "did you mean 'batch_size'"),
        (lambda s: s.add_documents([], expires=1), "did you mean 'expires_at'"),
        (lambda s: s.add_embeddings([], [], idz=[]), "did you mean 'ids'"),
        (lambda s: s.delete(["1"], where={}), r"delete\(\).*did you mean 'filter'"),
        (lambda s: s.delete(id="1"), "did you mean 'ids'"),
        (lambda s: s.delete(delete_all=True), "it takes ids, filter"),
        (lambda s: s.as_retriever(filter={"a": 1}), r"'filter'; it .*search_kwargs=\{'fil"),
        (lambda s: s.as_retriever(search_kwarg={}), "did you mean 'search_kwargs'"),
        (lambda s: s.as_retriever(top_k=3), "did you mean 'k'"),
        (lambda s: RagPipeline(store=s, vectorstore=s), "'vectorstore'; did .*'store'"),
        (lambda s: RagPipeline(store=s).as_retriever(top_k=1), "did you mean 'k'"),
        (lambda s: RagPipeline(store=s).as_retriever().invoke("q", n=1), "it takes k, fil"),
    ],
)
def test_other_calls(store, call, message):
    with pytest.raises(TypeError, match=message):
        call(store)
    assert [d.id for d in store.get()] == ["1"]


def test_current_time_is_accepted_and_ignored(store):
    """LangChain's TimeWeightedVectorStoreRetriever passes it on."""
    assert store.add_texts(["fee"], ids=["2"], current_time=object()) == ["2"]
    assert store.get("2")[0].metadata == {}


def test_other_names_are_those_of_no_parameter():
    """A name that is right somewhere may stand here only to lead elsewhere."""
    assert not set(OTHER_NAMES) & set(OTHER_NAMES.values())


def test_the_suggestion_is_always_one_that_works():
    with pytest.raises(TypeError, match=r"f\(\) .*'top_k'; it takes filter, size"):
        refuse_unknown("f", {"top_k": 1}, ("filter", "size"))
    refuse_unknown("f", {}, ())


@pytest.mark.parametrize("wrong", ["kb.db", "local", "", 5, object()])
def test_what_is_no_embedding_is_told_so_and_leaves_no_file(tmp_path, wrong):
    path = tmp_path / "kb.db"
    with pytest.raises(InvalidInputError, match=r"embedding.*'provider:model'"):
        SQLiteVectorStore(wrong, path)
    with pytest.raises(InvalidInputError, match=r"embedding.*'provider:model'"):
        RagPipeline(wrong)
    assert not path.exists()
