"""Adding: what is accepted, what is refused, and that a refusal stores nothing."""

import enum
import hashlib
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import numpy as np
import pytest
from langchain_core.documents import Document

from fakes import Clock, Counting
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.config import PROBE_TEXT
from langchain_ragstore.documents import content_id
from langchain_ragstore.errors import InvalidInputError


@pytest.fixture
def model():
    return Counting()


@pytest.fixture
def store(model):
    with SQLiteVectorStore(model) as store:
        yield store


def listed(store):
    return [(d.id, d.page_content, d.metadata) for d in store.get()]


def test_generators_are_read_once_and_whole(store):
    """Report 39: a generator stored nothing and reported success."""
    added = store.add_texts(
        (text for text in ("a", "b")), ({"n": n} for n in (1, 2)), ids=(i for i in "xy")
    )
    assert added == ["x", "y"]
    assert listed(store) == [("x", "a", {"n": 1}), ("y", "b", {"n": 2})]


def test_documents_from_a_generator(store):
    """Report 39: as with texts, so with documents."""
    documents = (Document(id=i, page_content=i.upper(), metadata={"i": i}) for i in "ab")
    assert store.add_documents(documents) == ["a", "b"]
    assert listed(store) == [("a", "A", {"i": "a"}), ("b", "B", {"i": "b"})]


def test_embeddings_from_generators(store):
    ids = store.add_embeddings(iter(["a", "b"]), iter([[3, 4], [1, 0]]), ids=iter("xy"))
    assert ids == ["x", "y"]
    ((document, score),) = store.similarity_search_with_score_by_vector([0, 1], k=1)
    assert (document.id, score) == ("x", pytest.approx(0.8))


@pytest.mark.parametrize("ids", [[], ["1"], ["1", "2", "3"]], ids=str)
def test_too_few_or_many_ids(store, model, ids):
    """Report 40: unequal lengths dropped texts silently."""
    with pytest.raises(InvalidInputError, match=rf"2 texts but {len(ids)} ids"):
        store.add_texts(["a", "b"], ids=ids)
    assert (len(store), model.calls) == (0, [])


@pytest.mark.parametrize("metadatas", [[], [{}], [{}, {}, {}]], ids=str)
def test_too_few_or_many_metadatas(store, model, metadatas):
    """Report 40: as with ids, so with metadata."""
    with pytest.raises(InvalidInputError, match=rf"2 texts but {len(metadatas)} metadatas"):
        store.add_texts(["a", "b"], metadatas)
    assert (len(store), model.calls) == (0, [])


def test_nothing_to_add(store, model):
    assert store.add_texts([]) == []
    assert store.add_texts([], [], ids=[]) == []
    assert store.add_documents([]) == []
    assert store.add_embeddings([], []) == []
    assert (len(store), model.calls) == (0, [])


def test_missing_ids_are_filled_in(store):
    """Report 42: a list of ids with some missing was refused."""
    ids = store.add_texts(["a", "b", "c"], ids=["1", None, ""])
    assert ids == ["1", content_id("b", {}), content_id("c", {})]
    assert [d.id for d in store.get()] == ids


def test_keyword_ids_win_over_the_documents_own(store):
    document = Document(id="own", page_content="a")
    assert store.add_documents([document], ids=["given"]) == ["given"]
    assert document.id == "own"


def test_a_bare_string_is_one_id(store):
    assert store.add_texts(["a"], ids="doc") == ["doc"]
    with pytest.raises(InvalidInputError, match="3 texts but 1 ids"):
        store.add_texts(["a", "b", "c"], ids="doc")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("abc",), r"texts is a list of strings, got one string"),
        ((["a", 1],), "text 1 is a int"),
        ((["a", None],), "text 1 is a NoneType"),
        ((["a"], ["no dict"]), "metadata must be a dict, got 'no dict'"),
        ((["a"], [{"s": {1}}]), "'s'.*set"),
        ((["a"], [{"o": object()}]), "'o'.*object"),
        ((["a"], [{1: "x"}]), "key 1 is a int"),
        ((["a"], [{"e": enum.Enum("E", "ONE").ONE}]), "'e'.*E"),
        ((["a"], [{"v": np.zeros(2)}]), "'v'.*ndarray"),
    ],
    ids=["str", "int", "None", "metadata", "set", "object", "key", "enum", "array"],
)
def test_input_that_cannot_be_stored(store, model, arguments, message):
    """Report 36: what cannot be stored is told before anything is embedded."""
    with pytest.raises(InvalidInputError, match=message):
        store.add_texts(*arguments)
    assert (len(store), model.calls) == (0, [])


def test_a_cycle_is_named(store, model):
    loop = {}
    loop["self"] = loop
    with pytest.raises(InvalidInputError, match=r"'loop'.*contains itself"):
        store.add_texts(["a"], [{"loop": loop}])
    assert (len(store), model.calls) == (0, [])


def test_ids_must_be_strings(store, model):
    """Report 42: `1` is refused by name, and is not the id `"1"`."""
    with pytest.raises(InvalidInputError, match=r"ids are strings, got 1 \(int\)"):
        store.add_texts(["a"], ids=[1])
    assert (len(store), model.calls) == (0, [])


ANY_IDS = {
    "path": "doc/1#チャンク",
    "10 KB": "x" * 10_000,
    "digits": "1",
    "blank": " ",
    "nul": "nul \x00 id",
    "surrogate": "bad \ud83d",
    "sha256": hashlib.sha256(b"text").hexdigest(),
    "quotes": "'; --\"",
}


@pytest.mark.parametrize("name", ANY_IDS)
def test_any_string_is_an_id(store, name):
    """Report 42: ids had to be UUIDs or numbers, and hashes of some lengths were refused."""
    id = ANY_IDS[name]
    assert store.add_texts(["tea", "rain"], ids=[id, None])[0] == id
    assert store.similarity_search("tea", k=1)[0].id == id
    assert store.text_search("tea")[0].id == id
    assert [d.id for d in store.get_by_ids([id])] == [id]
    assert store.count({"$id": id}) == store.update_metadata(id, patch={"n": 1}) == 1
    store.delete(id)
    assert [d.page_content for d in store.get()] == ["rain"]


def test_strings_are_no_documents(store):
    with pytest.raises(InvalidInputError, match="document 0 is a str; add_texts"):
        store.add_documents(["a"])


# --- batches and repeats ------------------------------------------------------------


def test_last_of_duplicate_ids_wins_and_both_are_returned(store, model):
    """Report 41: of one id twice in a batch, every store made something else."""
    ids = store.add_texts(["old", "other", "new"], ids=["1", "2", "1"])
    assert ids == ["1", "2", "1"]
    assert listed(store) == [("1", "new", {}), ("2", "other", {})]
    assert model.texts == ["new", "other"]


def test_equal_texts_are_embedded_once(store, model):
    store.add_texts(["a", "b", "a"], ids=["1", "2", "3"])
    assert model.texts == ["a", "b"]
    assert len(store) == 3


def test_batch_size(store, model):
    store.add_texts(["a", "b", "c", "d", "e"], batch_size=2)
    assert model.batches == [["a", "b"], ["c", "d"], ["e"]]


def test_default_batch_is_64(store, model):
    store.add_texts([str(n) for n in range(65)])
    assert [len(batch) for batch in model.batches] == [64, 1]


@pytest.mark.parametrize("size", [0, -1, 1.5, "2"])
def test_batch_size_is_checked(store, size):
    with pytest.raises(InvalidInputError, match="batch_size"):
        store.add_texts(["a"], batch_size=size)


def test_a_cell_that_is_run_twice_changes_nothing(store):
    """Report 33: running a notebook's cell twice doubled every chunk."""
    first = store.add_texts(["a", "b"], [{"n": 1}, None])
    once = listed(store)
    assert store.add_texts(["a", "b"], [{"n": 1}, None]) == first
    assert listed(store) == once
    assert store.add_texts(["a"], [{"n": 2}]) != first[:1]


def test_constructing_twice_from_the_same_documents(tmp_path, model):
    """Report 33: the results were copies of one chunk, after the second run of a cell."""
    documents = [Document(page_content=f"chunk {n}", metadata={"n": n}) for n in range(5)]
    path = tmp_path / "kb.db"
    for _ in range(2):
        with SQLiteVectorStore.from_documents(documents, model, path=path) as store:
            assert len(store) == 5
            found = store.similarity_search("chunk", k=5)
            assert len({d.page_content for d in found}) == 5
    assert model.texts.count("chunk 0") == 1


def test_content_ids_ignore_the_order_of_keys():
    one, other = {"a": 1, "n": {"x": [{"p": 1, "q": 2}], "y": 2}}, {}
    other["n"] = {"y": 2, "x": [{"q": 2, "p": 1}]}
    other["a"] = 1
    assert one == other
    assert content_id("text", one) == content_id("text", other)


def test_content_ids_tell_apart_what_differs():
    ids = {
        content_id(text, metadata)
        for text, metadata in [
            ("a", {}),
            ("b", {}),
            ("a", {"k": None}),
            ("a", {"k": 1}),
            ("a", {"k": True}),
            ("a", {"k": "1"}),
            ("a{}", {}),
            ("", {}),
        ]
    }
    assert len(ids) == 8
    assert all(len(id) == 32 for id in ids)


def test_content_ids_are_the_same_in_every_process():
    code = (
        "from langchain_ragstore.documents import content_id;"
        "print(content_id('退款', {'lang': 'zh', 'n': [1, 2.5, None]}))"
    )
    here = content_id("退款", {"n": [1, 2.5, None], "lang": "zh"})
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == here


def test_content_ids_of_texts_that_utf8_refuses(store):
    texts = ["bad \ud83d", "nul \x00", "", "plain"]
    ids = store.add_texts(texts)
    assert len(set(ids)) == 4
    assert [d.page_content for d in store.get_by_ids(ids)] == texts


def test_one_bad_character_spoils_no_batch(tmp_path, model):
    """Report 44: a lone surrogate in one text, or a file's name, failed all of a batch."""
    texts = [f"text {n}" for n in range(100)]
    sources = [f"{n}.txt" for n in range(100)]
    texts[41], sources[41] = "bad \ud83d", "bad \udcff.txt"
    metadatas = [{"source": source} for source in sources]
    with SQLiteVectorStore(model, tmp_path / "kb.db") as store:
        store.add_texts(texts, metadatas)
    with SQLiteVectorStore(model, tmp_path / "kb.db") as store:
        assert [(d.page_content, d.metadata) for d in store.get()] == [
            *zip(texts, metadatas, strict=True)
        ]
        for kind in ("similarity", "text"):
            (found,) = store.search("bad", kind, k=1, filter={"source": sources[41]})
            assert found.page_content == texts[41]
        assert len(store.similarity_search("text", k=100)) == 100


def test_id_factory():
    made = iter(["one", "two", "three"])
    with SQLiteVectorStore(Counting(), id_factory=lambda: next(made)) as store:
        assert store.add_texts(["a", "a"]) == ["one", "two"]
        assert store.add_documents([Document(page_content="a")]) == ["three"]
        assert len(store) == 3
    with SQLiteVectorStore(Counting(), id_factory=lambda: str(uuid4())) as store:
        assert len({*store.add_texts(["a", "a"])}) == 2


# --- constructors that add ----------------------------------------------------------


def test_from_texts(tmp_path, model):
    """Report 39: the constructors, too, read an iterator once."""
    store = SQLiteVectorStore.from_texts(
        map(str.lower, ("A", "B")),
        model,
        ({"n": n} for n in (1, 2)),
        ids=iter("xy"),
        path=tmp_path / "kb.db",
        collection_name="c",
        batch_size=1,
    )
    with store:
        assert listed(store) == [("x", "a", {"n": 1}), ("y", "b", {"n": 2})]
        assert store.collection_name == "c"
        assert model.batches == [[PROBE_TEXT], ["a"], ["b"]]


def test_from_documents(model):
    """Reports 39, 47: an iterator stored nothing; no documents at all raised."""
    documents = [Document(id="x", page_content="a", metadata={"n": 1})]
    with SQLiteVectorStore.from_documents(documents, model) as store:
        assert store.get() == documents
    with SQLiteVectorStore.from_documents(iter(documents), model) as store:
        assert store.get() == documents
    with SQLiteVectorStore.from_documents([], model) as store:
        assert store.get() == store.similarity_search("a") == []


async def test_afrom(model):
    documents = [Document(id="x", page_content="a", metadata={"n": 1})]
    with await SQLiteVectorStore.afrom_documents(iter(documents), model) as store:
        assert store.get() == documents
    assert model.calls == ["aembed_documents"]
    with await SQLiteVectorStore.afrom_texts(["a"], model, [{"n": 1}], ids="x") as store:
        assert store.get() == documents
    assert model.calls == ["aembed_documents"] * 2


def test_embedding_by_name_is_refused_when_it_names_nothing():
    with pytest.raises(InvalidInputError, match="got int: 5"):
        SQLiteVectorStore(5)


# --- expiry -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "moment",
    [
        2_000,
        2_000.0,
        datetime.fromtimestamp(2_000, UTC),
        datetime.fromtimestamp(2_000, UTC).replace(tzinfo=None),
    ],
    ids=["int", "float", "aware", "naive is UTC"],
)
def test_expired_documents_are_absent_everywhere(moment):
    """Report 85: what had expired was still found by one way or another."""
    clock = Clock(1_999.9)
    with SQLiteVectorStore(HashingEmbeddings(32), clock=clock) as store:
        store.add_texts(["tea"], [{"k": 1}], ids=["1"], expires_at=moment)
        assert store.timestamps("1")["1"].expires_at == datetime.fromtimestamp(2_000, UTC)
        assert len(store) == 1
        clock.now = 2_000.0
        assert (len(store), store.count({"k": 1}), store.get(), store.distinct("k")) == (
            *(0, 0, []),
            {},
        )
        assert store.get_by_ids(["1"]) == store.get("1") == store.similarity_search("tea")
        assert store.get_by_ids(["1"]) == store.max_marginal_relevance_search("tea") == []
        assert store.text_search("tea") == store.hybrid_search("tea") == []
        assert (store.timestamps("1"), store.collections()) == ({}, [])
        store.add_texts(["tea"], ids=["1"])
        assert len(store) == 1


@pytest.mark.parametrize("late", [0, 1, 10**9])
def test_what_expired_before_it_came_is_absent_at_once(late):
    """Report 85: also what expires now, or did long ago."""
    with SQLiteVectorStore(HashingEmbeddings(32), clock=Clock(2e9)) as store:
        store.add_texts(["tea"], ids=["1"], expires_at=2e9 - late)
        assert (len(store), store.get("1"), store.similarity_search("tea")) == (0, [], [])


@pytest.mark.parametrize(
    "moment", ["2030-01-01", True, float("nan"), 10**400, date(2030, 1, 1)]
)
def test_expires_at_is_checked(store, moment):
    with pytest.raises(InvalidInputError, match="expires_at"):
        store.add_texts(["a"], expires_at=moment)
    assert len(store) == 0


# --- metadata -----------------------------------------------------------------------


def test_metadata_come_back_as_they_were(store):
    metadata = {
        "none": None,
        "bool": True,
        "int": 2**70,
        "float": 0.1,
        "list": [1, [2], {}],
        "tuple": (1, "a"),
        "dict": {"a.b": {"$date": "no date"}},
        "date": date(2026, 1, 31),
        "datetime": datetime(2026, 1, 31, 12, tzinfo=UTC) + timedelta(microseconds=1),
        "decimal": Decimal("1.10"),
        "uuid": UUID(int=7),
        "bytes": b"\x00\xff",
        "text": "退款\x00",
    }
    store.add_texts(["a"], [metadata], ids=["1"])
    (document,) = store.get()
    assert document.metadata == metadata
    assert [type(v) for v in document.metadata.values()] == [
        type(v) for v in metadata.values()
    ]


def test_result_keys_are_not_stored(store):
    found = Document(
        page_content="a", metadata={"relevance_score": 0.5, "ragstore": {}, "kept": 1}
    )
    store.add_documents([found])
    assert [d.metadata for d in store.get()] == [{"kept": 1}]
    assert found.metadata == {"relevance_score": 0.5, "ragstore": {}, "kept": 1}
    assert store.add_texts(["a"], [{"kept": 1}]) == [store.get()[0].id]


def test_what_was_given_is_not_aliased(store):
    given = {"list": [1], "dict": {"a": 1}}
    store.add_texts(["a"], [given], ids=["1"])
    given["list"].append(2)
    given["dict"]["a"] = 2
    given["new"] = True
    assert store.get("1")[0].metadata == {"list": [1], "dict": {"a": 1}}


def test_what_is_returned_is_not_aliased(store):
    store.add_texts(["a"], [{"list": [1]}], ids=["1"])
    readings = [
        lambda: store.get("1")[0],
        lambda: store.get()[0],
        lambda: store.get_by_ids(["1"])[0],
        lambda: store.similarity_search("a")[0],
        lambda: store.similarity_search("a", filter={"list": [1]})[0],
        lambda: store.similarity_search("a", filter=lambda d: d.metadata["list"] == [1])[0],
        lambda: store.max_marginal_relevance_search("a")[0],
        lambda: store.as_retriever().invoke("a")[0],
    ]
    for read in readings:
        document = read()
        document.metadata["list"].append(2)
        document.metadata["new"] = True
    assert [read().metadata for read in readings] == [{"list": [1]}] * len(readings)


def test_a_filter_that_changes_what_it_sees_changes_nothing(store):
    store.add_texts(["a"], [{"list": [1]}], ids=["1"])

    def greedy(document):
        document.metadata["list"].append(2)
        return True

    for _ in range(2):
        assert [d.metadata for d in store.similarity_search("a", filter=greedy)] == [
            {"list": [1]}
        ]
    assert store.get()[0].metadata == {"list": [1]}
