"""The byte store: batches, walking through keys, its place beside a vector store."""

import asyncio
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document

from fakes import Clock, Counting
from langchain_ragstore import SQLiteByteStore, SQLiteVectorStore
from langchain_ragstore.config import SQLITE_KEY_PAGE
from langchain_ragstore.errors import InvalidInputError, ReadOnlyError, StoreClosedError


@pytest.fixture
def store(tmp_path):
    with SQLiteByteStore(tmp_path / "rag.db") as store:
        yield store


# --- batches -------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["text", None, bytearray(b"x"), memoryview(b"x"), 1])
def test_values_are_bytes(store, value):
    kind = type(value).__name__
    with pytest.raises(
        InvalidInputError, match=f"value of 'b' is a {kind}; values are bytes"
    ):
        store.mset([("a", b"1"), ("b", value)])
    assert store.mget(["a", "b"]) == [None, None]


@pytest.mark.parametrize(
    "use",
    [
        lambda s, key: s.mset([("a", b"1"), (key, b"2")]),
        lambda s, key: s.mget([key]),
        lambda s, key: s.mdelete([key]),
        lambda s, key: s.timestamps([key]),
    ],
)
def test_keys_are_strings(store, use):
    with pytest.raises(InvalidInputError, match=r"keys are strings, got 1 \(int\)"):
        use(store, 1)
    assert list(store.yield_keys()) == []


def test_order_and_duplicates(store):
    store.mset(iter([("a", b"1"), ("b", b"2"), ("a", b"3")]))
    assert store.mget(["b", "a", "x", "b"]) == [b"2", b"3", None, b"2"]
    assert store.mget("b") == [b"2"]  # a bare string is one key
    store.mset([])
    store.mdelete([])
    assert store.mget([]) == []


def test_compare_and_set(store):
    assert not store.compare_and_set("a", b"1", b"2")
    assert store.compare_and_set("a", None, b"1")
    assert not store.compare_and_set("a", None, b"2")
    assert not store.compare_and_set("a", b"0", b"2")
    assert store.mget(["a"]) == [b"1"]
    assert store.compare_and_set("a", b"1", b"2")
    assert store.mget(["a", "b"]) == [b"2", None]
    with pytest.raises(InvalidInputError, match="values are bytes"):
        store.compare_and_set("a", b"2", "3")
    with pytest.raises(InvalidInputError, match="keys are strings"):
        store.compare_and_set(1, None, b"3")


def test_one_of_many_that_compare_and_set_wins(store):
    def count(_):
        for _ in range(25):
            while True:
                (old,) = store.mget(["n"])
                if store.compare_and_set("n", old, str(int(old or b"0") + 1).encode()):
                    break

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    assert store.mget(["n"]) == [b"100"]


def test_what_expired_counts_as_absent_to_compare_and_set():
    clock = Clock()
    with SQLiteByteStore(ttl_seconds=5, clock=clock) as store:
        store.mset([("a", b"1")])
        clock.now += 5
        assert not store.compare_and_set("a", b"1", b"2")
        assert store.compare_and_set("a", None, b"2")


def test_many_keys(store):
    pairs = [(f"k{n:05}", str(n).encode()) for n in range(2_000)]
    store.mset(pairs)
    keys, values = zip(*pairs, strict=True)
    assert store.mget(keys) == list(values)
    assert tuple(store.yield_keys()) == keys
    store.mdelete(keys[1:])
    assert list(store.yield_keys()) == [keys[0]]


def test_what_is_written_stays(tmp_path):
    value = bytes(range(256)) * 5_000
    for key in ("海", "\ud800", "a\x00b", ""):
        with SQLiteByteStore(tmp_path / "rag.db", "n\udfff") as store:
            store.mset([(key, value)])
        with SQLiteByteStore(tmp_path / "rag.db", "n\udfff") as store:
            assert store.mget([key]) == [value]
            assert next(store.yield_keys(prefix=key)) == key
        with SQLiteByteStore(tmp_path / "rag.db") as store:
            assert store.mget([key]) == [None]


# --- walking through the keys --------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("%", ["%a"]),
        ("_", ["_a"]),
        ("*", ["*a"]),
        ("a", ["a", "a%b", "ab"]),
        ("a%", ["a%b"]),
        ("😀", ["😀", "😀b"]),
        ("\ud83d", ["\ud83d", "\ud83dx"]),
        ("zz", []),
        ("\U0010ffff", ["\U0010ffff"]),
        ("", None),
        (None, None),
    ],
    ids=ascii,
)
async def test_a_prefix_is_taken_to_the_letter(store, prefix, found):
    keys = [*"%_*", "a", "a%b", "ab", "😀", "😀b", "\ud83d", "\ud83dx", "\U0010ffff"]
    keys[:3] = ["%a", "_a", "*a"]
    store.mset([(key, b"") for key in reversed(keys)])
    expected = sorted(keys) if found is None else found
    assert list(store.yield_keys(prefix=prefix)) == expected
    assert [key async for key in store.ayield_keys(prefix=prefix)] == expected


def test_a_prefix_is_a_string(store):
    with pytest.raises(InvalidInputError, match="prefix is a string, got b'a'"):
        list(store.yield_keys(prefix=b"a"))


@pytest.mark.parametrize("count", [SQLITE_KEY_PAGE + n for n in (-1, 0, 1)])
async def test_pages_meet(store, count):
    store.mset([("a", b""), *((f"k{n:05}", b"") for n in range(count)), ("z", b"")])
    assert len(list(store.yield_keys(prefix="k"))) == count
    assert len([key async for key in store.ayield_keys(prefix="k")]) == count
    assert len(list(store.yield_keys())) == count + 2


@pytest.mark.parametrize("name", ["rag.db", ":memory:"])
def test_the_store_can_be_used_between_two_keys(tmp_path, name):
    store = SQLiteByteStore(name if name == ":memory:" else tmp_path / name)
    store.mset([(f"k{n:05}", b"") for n in range(2 * SQLITE_KEY_PAGE)])
    walk = store.yield_keys()
    assert isinstance(walk, types.GeneratorType)
    seen = 0
    for key in walk:
        store.mdelete([key])
        store.mset([("a", b"behind")])
        seen += 1
    assert seen == 2 * SQLITE_KEY_PAGE
    assert list(store.yield_keys()) == ["a"]
    store.close()


# --- beside a vector store -----------------------------------------------------------


@pytest.mark.parametrize("name", ["rag.db", ":memory:"])
def test_in_the_file_of_a_store(tmp_path, name):
    path = name if name == ":memory:" else tmp_path / name
    with SQLiteVectorStore(Counting(), path) as store:
        with store.byte_store("parents") as parents:
            parents.mset([("p", b"1")])
        with pytest.raises(StoreClosedError, match="its store makes another"):
            parents.mget(["p"])
        parents = store.byte_store("parents", ttl_seconds=5, max_bytes=9)
        assert parents.mget(["p"]) == [b"1"]
        assert (parents.namespace, parents.ttl_seconds, parents.max_bytes) == (
            "parents",
            5,
            9,
        )
        assert store.byte_store().mget(["p"]) == [None]
        store.add_texts(["tea"])
        with pytest.raises(InvalidInputError, match="a scoped view has no byte store"):
            store.scoped({"user": "ann"}).byte_store("parents")
    for use in (lambda: parents.mget(["p"]), lambda: parents.mset([("p", b"")])):
        with pytest.raises(StoreClosedError, match="closed; open it anew"):
            use()
    with pytest.raises(StoreClosedError, match="closed; open it anew"):
        store.byte_store("parents")


def test_after_close(tmp_path):
    store = SQLiteByteStore(tmp_path / "rag.db")
    store.mset([("a", b"1"), ("b", b"2")])
    walk = store.yield_keys()
    assert next(walk) == "a"
    store.close()
    store.close()
    for use in (store.mget, store.mdelete, store.timestamps):
        with pytest.raises(StoreClosedError):
            use(["a"])
    assert [p.name for p in tmp_path.iterdir()] == ["rag.db"]


def test_of_a_read_only_store(tmp_path):
    with SQLiteByteStore(tmp_path / "rag.db") as store:
        store.mset([("a", b"1")])
    with SQLiteVectorStore(path=tmp_path / "rag.db", read_only=True) as vectors:
        store = vectors.byte_store()
        assert store.mget(["a"]) == [b"1"]
        with pytest.raises(ReadOnlyError):
            store.mset([("a", b"2")])


async def test_tasks_at_once(store):
    await asyncio.gather(*(store.amset([(f"k{n}", b"x")]) for n in range(20)))
    assert len(await store.amget([f"k{n}" for n in range(20)])) == 20
    await store.amdelete([f"k{n}" for n in range(19)])
    assert [key async for key in store.ayield_keys()] == ["k19"]


# --- what LangChain builds on it -----------------------------------------------------


def test_cached_embeddings(store):
    from langchain_classic.embeddings import CacheBackedEmbeddings

    model = Counting()
    for _ in range(2):
        cached = CacheBackedEmbeddings.from_bytes_store(
            model, store, namespace="m", key_encoder="sha256"
        )
        vectors = cached.embed_documents(["tea", "tide"])
        assert vectors == model.model.embed_documents(["tea", "tide"])
    assert model.texts == ["tea", "tide"]


def test_parent_documents_in_one_file(tmp_path):
    from langchain_classic.retrievers import ParentDocumentRetriever
    from langchain_classic.storage import create_kv_docstore

    from langchain_ragstore import CJKRecursiveTextSplitter

    def opened():
        return SQLiteVectorStore(Counting(), tmp_path / "rag.db")

    def retriever(store):
        return ParentDocumentRetriever(
            vectorstore=store,
            docstore=create_kv_docstore(store.byte_store("parents")),
            child_splitter=CJKRecursiveTextSplitter(20, 0),
        )

    text = "Green tea is hot.\nThe tide is high."
    with opened() as store:
        retriever(store).add_documents([Document(page_content=text)])
    with opened() as store:
        (found,) = retriever(store).invoke("green tea")
        assert found.page_content == text
