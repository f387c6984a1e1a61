"""Adding, replacing, changing and deleting through `SQLiteVectorStore`."""

import uuid
from datetime import UTC, datetime

import numpy as np
import pytest
from langchain_core.documents import Document

from fakes import Counting, Table
from langchain_ragstore import (
    DimensionMismatchError,
    HashingEmbeddings,
    InvalidInputError,
    ReadOnlyError,
    SQLiteVectorStore,
    StoreClosedError,
)


@pytest.fixture
def store():
    with SQLiteVectorStore(Counting()) as opened:
        yield opened


def contents(store):
    return [document.page_content for document in store.get()]


def test_generators_are_read_once(store):
    ids = store.add_texts(
        (text for text in ["a", "b"]), ({"n": n} for n in range(2)), ids=(i for i in "xy")
    )
    assert ids == ["x", "y"]
    assert [(d.id, d.metadata) for d in store.get()] == [("x", {"n": 0}), ("y", {"n": 1})]
    assert len(store.add_documents(Document(t) for t in "cd")) == 2
    assert (
        SQLiteVectorStore.from_texts(map(str, range(3)), HashingEmbeddings(8)).count() == 3
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"ids": ["1"]},
        {"ids": ["1", "2", "3"]},
        {"ids": []},
        {"ids": "1"},
        {"metadatas": [{}]},
        {"metadatas": []},
        {"metadatas": [{}, {}, {}]},
        {"ids": [1, 2]},
        {"metadatas": [{"s": {1}}, {}]},
        {"metadatas": ["x", {}]},
        {"batch_size": 0},
        {"batch_size": 1.5},
        {"expires_at": "tomorrow"},
        {"expires_at": float("inf")},
        {"expires_at": True},
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_refused_before_embedding(store, arguments):
    with pytest.raises(ValueError):  # noqa: PT011 - LangChain's callers expect it
        store.add_texts(["a", "b"], **arguments)
    assert store.embeddings.texts == []
    assert len(store) == 0


def test_wrong_types_are_named(store):
    with pytest.raises(InvalidInputError, match=r"write \[text\]"):
        store.add_texts("abc")
    with pytest.raises(InvalidInputError, match="text 1 is a int"):
        store.add_texts(["a", 1])
    with pytest.raises(InvalidInputError, match="document 0 is a str"):
        store.add_documents(["a"])
    with pytest.raises(InvalidInputError, match="2 texts but 1 ids"):
        store.add_texts(["a", "b"], ids=["1"])
    assert len(store) == 0


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([[1.0, 0.0], [float("nan"), 0.0]], "embedding 1 holds NaN.*'b'"),
        ([[1.0, 0.0], [float("inf"), 0.0]], "embedding 1 holds NaN or infinity"),
        ([[1.0, 0.0], [1.0]], "embedding 0 has 2 dimensions but embedding 1 has 1.*'b'"),
        ([[], []], "embedding 0 is empty"),
        ([["x"], ["y"]], "lists of numbers"),
        ([[1.0, 0.0]], "1 vectors for 2 texts"),
    ],
    ids=["nan", "inf", "ragged", "empty", "strings", "few"],
)
def test_bad_vectors_are_named_and_nothing_is_stored(vectors, words):
    class Bad(Counting):
        def embed_documents(self, texts):
            return vectors

    store = SQLiteVectorStore(Bad())
    with pytest.raises(InvalidInputError, match=words):
        store.add_texts(["a", "b"])
    assert len(store) == 0


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64, list])
def test_any_numeric_vector_is_taken(kind):
    rows = [[3, 4], [0, 2]]
    made = rows if kind is list else list(np.array(rows, kind))
    store = SQLiteVectorStore(Table({"a": made[0], "b": made[1], "q": [0.0, 1.0]}))
    store.add_texts(["a", "b"])
    found = store.similarity_search_with_score("q")
    assert [(d.page_content, round(s, 6)) for d, s in found] == [("b", 1.0), ("a", 0.8)]


def test_huge_and_tiny_vectors_keep_their_direction():
    store = SQLiteVectorStore(
        Table({"a": [1e300, 1e300], "b": [1e-300, 0.0], "q": [1.0, 0.0]})
    )
    store.add_texts(["a", "b"])
    found = store.similarity_search_with_score("q")
    assert [(d.page_content, round(s, 4)) for d, s in found] == [("b", 1.0), ("a", 0.7071)]


def test_another_dimension_is_refused():
    table = Table({"a": [1.0, 0.0], "b": [1.0, 0.0, 0.0]})
    store = SQLiteVectorStore(table)
    store.add_texts(["a"])
    with pytest.raises(DimensionMismatchError, match="2 dimensions, got 3"):
        store.add_texts(["b"])
    with pytest.raises(DimensionMismatchError):
        store.similarity_search("b")
    assert contents(store) == ["a"]


def test_the_last_of_equal_ids_wins(store):
    assert store.add_texts(["a", "b"], ids=["1", "1"]) == ["1", "1"]
    assert contents(store) == ["b"]
    assert store.embeddings.texts == ["b"]


def test_a_cell_run_twice_changes_nothing(store):
    documents = [Document("a", metadata={"p": 1}), Document("a", metadata={"p": 2})]
    first = store.add_documents(documents)
    assert store.add_documents(documents) == first
    assert len(store) == 2
    assert store.add_texts(["a"], [{"p": 1}]) == first[:1]
    assert documents[0].id is None


def test_content_ids_do_not_depend_on_key_order_or_process(store):
    (one,) = store.add_texts(["a"], [{"x": 1, "y": 2}])
    (two,) = store.add_texts(["a"], [{"y": 2, "x": 1}])
    assert one == two == "c6a521af1fb2c2ea5bf73e7e214ad7d3"


def test_id_factory():
    store = SQLiteVectorStore(HashingEmbeddings(8), id_factory=lambda: str(uuid.uuid4()))
    ids = store.add_texts(["a", "a", "a"], ids=["own", None, ""])
    assert ids[0] == "own"
    assert len({*ids}) == 3


def test_equal_texts_cost_one_embedding(store):
    store.add_texts(["same"] * 1000, [{"n": n} for n in range(1000)])
    assert store.embeddings.texts == ["same"]
    assert len(store) == 1000


def test_batch_size(store):
    store.add_texts(list("abcde"), batch_size=2, current_time="ignored")
    assert store.embeddings.calls == ["embed_documents"] * 3


def test_own_ids_and_keyword_ids(store):
    documents = [Document("a", id="1"), Document("b")]
    ids = store.add_documents(documents)
    assert ids[0] == "1"
    assert store.add_documents(documents, ids=["x", "y"]) == ["x", "y"]


def test_results_may_be_added_again_without_their_scores(store):
    store.add_documents(
        [Document("a", metadata={"relevance_score": 1, "ragstore": {}, "k": 1})]
    )
    assert store.get()[0].metadata == {"k": 1}


def test_nothing_is_aliased(store):
    document = Document("a", metadata={"list": [1]})
    store.add_documents([document])
    document.metadata["list"].append(2)
    found = store.similarity_search("a")[0]
    assert found.metadata == {"list": [1]}
    found.metadata["list"].append(3)
    assert store.get()[0].metadata == {"list": [1]}


def test_add_embeddings(store):
    ids = store.add_embeddings(["a", "b"], [[1.0, 0.0], [0.0, 2.0]], [{"n": 1}, None])
    assert store.similarity_search_by_vector([0.0, 1.0], 1)[0].id == ids[1]
    assert store.embeddings.calls == []
    with pytest.raises(InvalidInputError, match="2 texts but 1 embeddings"):
        store.add_embeddings(["c", "d"], [[1.0, 0.0]])


def test_update_documents(store):
    store.add_texts(["a", "b"], ids=["1", "2"])
    store.update_document("1", Document("new", metadata={"n": 1}))
    assert store.get("1")[0].metadata == {"n": 1}
    with pytest.raises(InvalidInputError, match="'9'"):
        store.update_documents(["2", "9"], [Document("x"), Document("y")])
    with pytest.raises(InvalidInputError):
        store.update_documents(["1", "2"], [Document("x")])
    assert contents(store) == ["new", "b"]


def test_update_metadata_embeds_nothing(store):
    store.add_texts(["a", "b"], [{"k": 1, "old": 0}, {"k": 2}], ids=["1", "2"])
    store.embeddings.texts.clear()
    assert store.update_metadata("1", patch={"k": None}, remove="old") == 1
    assert store.update_metadata(filter={"k": 2}, patch={"tags": ["x"]}, remove=["zz"]) == 1
    assert store.update_metadata(["1", "2"], filter={"k": 5}, patch={"k": 6}) == 0
    assert [d.metadata for d in store.get()] == [{"k": None}, {"k": 2, "tags": ["x"]}]
    assert store.embeddings.texts == []
    assert store.count({"tags": {"$contains": "x"}}) == 1
    with pytest.raises(InvalidInputError, match="ids or a filter"):
        store.update_metadata(patch={"k": 1})


def test_delete(store):
    store.add_texts(list("abcd"), [{"n": n} for n in range(4)], ids=list("abcd"))
    assert store.delete("ab") is True  # one id, that of no document
    assert store.delete(["a", "x"]) is True
    assert store.delete([]) is True
    assert store.delete(["b", "c"], filter={"n": 2}) is True
    assert contents(store) == ["b", "d"]
    assert store.delete(filter={"n": 1}) is True
    assert store.delete_where({"n": {"$gte": 0}}) == 1
    assert len(store) == 0


@pytest.mark.parametrize("filter", [None, {}, {"$and": []}, {"n": {"$nin": []}}], ids=str)
def test_nothing_is_wiped_by_accident(store, filter):
    store.add_texts(["a"])
    for function in (lambda f: store.delete(filter=f), store.delete_where):
        with pytest.raises(ValueError, match=r"clear\(\) deletes all"):
            function(filter)
    assert len(store) == 1
    assert store.clear() == 1
    assert store.collections() == []


def test_expires_at():
    now = [1_000.0]
    store = SQLiteVectorStore(HashingEmbeddings(8), clock=lambda: now[0])
    store.add_texts(["a"], ids=["1"], expires_at=2_000)
    store.add_texts(["b"], ids=["2"], expires_at=datetime.fromtimestamp(3_000, UTC))
    store.add_texts(["c"], ids=["3"], expires_at=datetime(1970, 1, 1, 1))  # noqa: DTZ001
    assert [t.expires_at.timestamp() for t in store.timestamps("123").values()] == []
    times = store.timestamps(["1", "2", "3"])
    assert [t.expires_at.timestamp() for t in times.values()] == [2_000, 3_000, 3_600]
    assert times["1"].created_at == datetime.fromtimestamp(1_000, UTC)
    now[0] = 2_000.0
    assert [d.id for d in store.similarity_search("a")] == ["2", "3"]
    assert store.get_by_ids(["1", "2"])[0].id == "2"


def test_empty_input(store):
    assert store.add_texts([]) == []
    assert store.add_documents([]) == []
    assert (
        SQLiteVectorStore.from_documents([], HashingEmbeddings(8)).similarity_search("a")
        == []
    )
    assert store.collections() == []


def test_closing(tmp_path):
    path = tmp_path / "rag.db"
    with SQLiteVectorStore(HashingEmbeddings(8), path) as store:
        store.add_texts(["a"])
    store.close()
    for use in (len, lambda s: s.add_texts(["b"]), lambda s: s.similarity_search("a")):
        with pytest.raises(StoreClosedError, match="closed"):
            use(store)
    reader = SQLiteVectorStore(HashingEmbeddings(8), path, read_only=True)
    assert contents(reader) == ["a"]
    for write in (
        reader.clear,
        lambda: reader.add_texts(["b"]),
        lambda: reader.delete("x"),
    ):
        with pytest.raises(ReadOnlyError):
            write()
    reader.close()
