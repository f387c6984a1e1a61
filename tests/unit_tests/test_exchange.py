"""A collection as lines of JSON and back: bit for bit, or refused before anything is written."""

import json
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import Clock, Counting, Turned
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.config import RECORD_PAGE
from langchain_ragstore.errors import (
    DimensionMismatchError,
    EmbeddingMismatchError,
    InvalidInputError,
    ReadOnlyError,
)
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.vectorstores import BackendVectorStore
from records import facts, same
from strategies import metadatas, nasty_texts, share

MODEL = HashingEmbeddings(16)
RICH = {
    "bytes": b"\x00\xff",
    "decimal": Decimal("1.10"),
    "when": datetime(2026, 1, 2, 3, tzinfo=UTC),
    "day": date(2026, 1, 2),
    "uuid": uuid.UUID(int=7),
    "tuple": (1, 2.0, None, True),
    "big": 2**70,
    "inf": float("inf"),
    "nested": {"$date": "mine", "中": ["\ud800", "a\x00b"]},
}


def stored(store):
    name = store.collection_name
    return [(*facts(r), r.digest) for r in store._backend.scan(name, vectors=True)]


class OverOracle(BackendVectorStore):
    @classmethod
    def from_texts(cls, *arguments, **keywords):
        raise NotImplementedError


STORES = {
    "file": lambda path, clock: SQLiteVectorStore(MODEL, path, clock=clock),
    "memory": lambda _path, clock: SQLiteVectorStore(MODEL, clock=clock),
    "oracle": lambda _path, clock: OverOracle(MemoryBackend(clock=clock), MODEL),
}


@pytest.fixture(params=STORES)
def opened(request, tmp_path):
    """Opens stores of one kind; each on a file of its own."""
    made = []

    def opened(clock=None):
        path = tmp_path / f"{len(made)}.db"
        made.append(STORES[request.param](path, clock or Clock()))
        return made[-1]

    yield opened
    for store in made:
        store.close()


def filled(store):
    store.add_texts(
        ["alpha beta", "退款 七天", "line\nbreak\u2028end"],
        [RICH, None, {"a": 1}],
        ids=["a", "b", "c"],
    )
    store.add_embeddings(["a foreign vector"], [[1.0] + [0.0] * 15], ids=["foreign"])
    store.add_texts(["bad \ud83d text"], ids=["id \udfff"], expires_at=9_000.0)
    return store


def test_everything_comes_back_bit_for_bit(opened, tmp_path):
    """Report 87: users wanted to export and import a collection with its vectors."""
    clock = Clock()
    old = filled(opened(clock))
    clock.now = 2_000.0
    old.update_metadata("c", patch={"a": 2})
    path = tmp_path / "x.jsonl"
    assert old.export_jsonl(path) == 5
    new = opened(Clock(5_000.0))
    report = new.import_jsonl(path)
    assert (report.added, report.updated, report.skipped) == (5, 0, 0)
    assert stored(new) == stored(old)
    assert same(new.get_by_ids(["a"])[0].metadata, RICH)
    assert [d.id for d in new.search("退款", "text", k=1)] == ["b"]
    assert new.similarity_search_with_score(
        "alpha", k=3
    ) == old.similarity_search_with_score("alpha", k=3)
    again = tmp_path / "again.jsonl"
    new.export_jsonl(again)
    assert again.read_bytes() == path.read_bytes()


def test_the_file_is_utf8_lines_that_people_can_read(opened, tmp_path):
    path = tmp_path / "x.jsonl"
    filled(opened()).export_jsonl(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    assert [json.loads(line).get("id") for line in lines] == [
        None,
        "a",
        "b",
        "c",
        "foreign",
        "id \udfff",
        None,
    ]
    header = json.loads(lines[0])
    assert (header["format"], header["version"], header["collection"]) == (
        "langchain-ragstore",
        1,
        "default",
    )
    assert header["model"]["name"] == "HashingEmbeddings"
    assert header["analyzer"]
    assert "退款 七天" in lines[2]
    assert json.loads(lines[-1]) == {"records": 5}


def test_an_expired_document_is_not_exported(opened, tmp_path):
    """Report 85: what had expired was still in what left the store."""
    clock = Clock()
    store = filled(opened(clock))
    clock.now = 9_000.0
    assert store.export_jsonl(tmp_path / "x.jsonl") == 4


def test_a_text_that_came_with_its_vector_is_not_embedded_again(tmp_path):
    path = tmp_path / "x.jsonl"
    with SQLiteVectorStore(Counting(16), tmp_path / "old.db") as old:
        old.add_texts(["one", "two"])
        old.export_jsonl(path)
    model = Counting(16)
    with SQLiteVectorStore(model, tmp_path / "new.db") as new:
        new.import_jsonl(path)
        new.add_texts(["one", "two"])
        assert len(new) == 2
    assert len(model.texts) == 1  # the probe


@pytest.mark.parametrize(
    ("on_conflict", "texts", "counts"),
    [
        ("replace", ["theirs", "only mine", "only theirs"], (1, 1, 0)),
        ("skip", ["mine", "only mine", "only theirs"], (1, 0, 1)),
        ("error", ["mine", "only mine"], None),
    ],
)
def test_conflicts(opened, tmp_path, on_conflict, texts, counts):
    """Report 34: nobody could choose if a second copy replaces, is skipped or refused."""
    theirs, mine = opened(), opened()
    theirs.add_texts(["theirs", "only theirs"], ids=["x", "theirs"])
    theirs.export_jsonl(tmp_path / "x.jsonl")
    mine.add_texts(["mine", "only mine"], ids=["x", "mine"])
    if counts is None:
        with pytest.raises(InvalidInputError, match="id 'x' is stored"):
            mine.import_jsonl(tmp_path / "x.jsonl", on_conflict="error")
    else:
        report = mine.import_jsonl(tmp_path / "x.jsonl", on_conflict=on_conflict)
        assert (report.added, report.updated, report.skipped) == counts
    assert [d.page_content for d in mine.get()] == texts


def test_the_default_replaces_and_an_unknown_word_is_named(opened, tmp_path):
    store = filled(opened())
    store.export_jsonl(tmp_path / "x.jsonl")
    assert store.import_jsonl(tmp_path / "x.jsonl").updated == 5
    with pytest.raises(InvalidInputError, match="'replace', 'skip', 'error', got 'merge'"):
        store.import_jsonl(tmp_path / "x.jsonl", on_conflict="merge")


def test_more_than_a_page(opened, tmp_path):
    old, new = opened(), opened()
    texts = [f"text {n}" for n in range(2 * RECORD_PAGE + 1)]
    old.add_texts(texts)
    assert old.export_jsonl(tmp_path / "x.jsonl") == len(texts)
    assert new.import_jsonl(tmp_path / "x.jsonl", on_conflict="error").added == len(texts)
    assert stored(new) == stored(old)


def test_another_model_is_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "x.jsonl"
    with SQLiteVectorStore(Counting(16), tmp_path / "old.db") as old:
        old.add_texts(["one"])
        old.export_jsonl(path)
    for place in (tmp_path / "new.db", ":memory:"):
        with SQLiteVectorStore(Turned(16), place) as new:
            with pytest.raises(
                EmbeddingMismatchError,
                match="'default' holds vectors of Counting, but Turned",
            ):
                new.import_jsonl(path)
            assert len(new) == 0
        with SQLiteVectorStore(Counting(8), place) as new:
            with pytest.raises(
                DimensionMismatchError, match="16 dimensions, Counting makes 8"
            ):
                new.import_jsonl(path)
            assert len(new) == 0
    with SQLiteVectorStore(None, tmp_path / "none.db") as new:
        assert new.import_jsonl(path).added == 1
    new = SQLiteVectorStore(Turned(16), tmp_path / "none.db")
    with new, pytest.raises(EmbeddingMismatchError):
        new.similarity_search("one")
    with SQLiteVectorStore(Turned(16), tmp_path / "off.db", check_model=False) as new:
        assert new.import_jsonl(path).added == 1


def test_vectors_of_another_length_are_refused_before_anything_is_written(opened, tmp_path):
    theirs, mine = opened(), opened()
    theirs._backend.close()
    theirs = SQLiteVectorStore(None)
    theirs.add_texts(["no vector"])
    theirs.add_embeddings(["short"], [[1.0, 0.0]])
    theirs.export_jsonl(tmp_path / "x.jsonl")
    mine.add_texts(["mine"])
    with pytest.raises(DimensionMismatchError, match="16 dimensions, got 2"):
        mine.import_jsonl(tmp_path / "x.jsonl")
    assert len(mine) == 1


def edited(path, change):
    lines = path.read_text(encoding="utf-8").split("\n")
    change(lines)
    path.write_text("\n".join(lines), encoding="utf-8")


def set_field(number, **fields):
    def change(lines):
        lines[number] = json.dumps(json.loads(lines[number]) | fields)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda lines: lines.__delitem__(slice(3, None)),
            r"line 3: the file was cut off: 2 records are there;",
        ),
        (lambda lines: lines.__delitem__(3), "cut off: 4 records are there, 5 should be"),
        (lambda lines: lines.__setitem__(2, lines[2][:40]), "line 3: no JSON"),
        (lambda lines: lines.__setitem__(2, "[" * 100_000), "line 3: no JSON"),
        (lambda lines: lines.__setitem__(2, "7"), "line 3: no JSON object: 7"),
        (lambda lines: lines.insert(7, lines[1]), "line 8: there is more"),
        (lambda lines: lines.__delitem__(0), "line 1: this is no export"),
        (set_field(0, version=2), "version 2, this release reads 1; upgrade"),
        (set_field(0, model={"name": "x"}), r"line 1: damaged \('probe' is missing\)"),
        (
            set_field(0, model={"name": "x", "probe": "AACAfw=="}),
            "line 1: damaged .*no vector",
        ),
        (set_field(1, id=""), "line 2: ValueError: an empty id"),
        (set_field(1, id=5), "line 2: TypeError: a text is expected, got 5"),
        (set_field(1, content=None), "line 2: TypeError"),
        (set_field(1, vector="AAAA"), "line 2: ValueError"),
        (set_field(1, vector="AACAfw=="), "line 2: ValueError: the vector's length is inf"),
        (
            set_field(1, vector="AAAAQA=="),
            "line 2: ValueError: the vector's length is 2, not 1",
        ),
        (set_field(1, digest="AAAA"), "a digest of 3 bytes instead of 16"),
        (set_field(1, metadata=[]), "the metadata are no object"),
        (set_field(1, metadata={"a": {"$decimal": "x"}}), "line 2: InvalidOperation"),
        (set_field(1, metadata={"a": {"$eval": "x"}}), r"line 2: '\$eval' is missing"),
        (set_field(1, created_at="now"), "a time is a number, got 'now'"),
        (set_field(1, expires_at=10**400), "line 2: OverflowError"),
    ],
)
def test_what_is_no_export_is_named_with_its_line(tmp_path, change, words):
    path = tmp_path / "x.jsonl"
    filled(SQLiteVectorStore(MODEL, clock=Clock())).export_jsonl(path)
    edited(path, change)
    store = SQLiteVectorStore(MODEL)
    store.add_texts(["mine"])
    with pytest.raises(InvalidInputError, match=words):
        store.import_jsonl(path)
    assert len(store) == 1


@share(60)
@given(data=st.data())
def test_no_byte_of_the_file_can_do_more_than_be_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("x") / "x.jsonl"
    filled(SQLiteVectorStore(MODEL, clock=Clock())).export_jsonl(path)
    raw = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, 2_000)) % len(raw)
    raw[at] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    store = SQLiteVectorStore(MODEL, clock=Clock())
    try:
        store.import_jsonl(path)
    except InvalidInputError:
        assert len(store) == 0
    else:
        assert (
            1 <= len(store) <= 5
        )  # an id may have become that of another, or a time an old one


@pytest.mark.parametrize("at", [0, 1])
def test_a_line_that_is_nested_without_end_is_refused(tmp_path, at):
    path = tmp_path / "x.jsonl"
    filled(SQLiteVectorStore(MODEL, clock=Clock())).export_jsonl(path)
    edited(path, lambda lines: lines.__setitem__(at, '{"a": ' + "[" * 100_000))
    store = SQLiteVectorStore(MODEL)
    with pytest.raises(InvalidInputError, match=f"line {at + 1}"):
        store.import_jsonl(path)


def test_a_missing_file_and_places_that_cannot_be(opened, tmp_path):
    store = filled(opened())
    with pytest.raises(InvalidInputError, match="cannot be read"):
        store.import_jsonl(tmp_path / "absent")
    with pytest.raises(InvalidInputError, match="is a folder"):
        store.export_jsonl(tmp_path)
    with pytest.raises(InvalidInputError, match="does not exist; make it"):
        store.export_jsonl(tmp_path / "absent" / "x")
    for bad in ("", b"x", "a\0b"):
        with pytest.raises(InvalidInputError, match="file name"):
            store.export_jsonl(bad)


def test_what_is_there_is_replaced_only_on_request_and_whole(opened, tmp_path, monkeypatch):
    store, path = filled(opened()), tmp_path / "x.jsonl"
    path.write_text("mine")
    with pytest.raises(InvalidInputError, match=r"exists already.*overwrite=True"):
        store.export_jsonl(path)

    def broken(*_arguments, **_keywords):
        yield [store._backend.get("default", ["a"], vectors=True)[0]]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "_pages", broken)
        with pytest.raises(KeyboardInterrupt):
            store.export_jsonl(path, overwrite=True)
    assert path.read_text() == "mine"
    assert [
        p.name for p in tmp_path.iterdir() if p.suffix not in (".db", ".db-wal", ".db-shm")
    ] == ["x.jsonl"]
    assert store.export_jsonl(path, overwrite=True) == 5


def test_a_view_exports_what_it_sees_and_imports_into_it(opened, tmp_path):
    store, other, path = opened(), opened(), tmp_path / "x.jsonl"
    store.add_texts(["ann's", "bob's"], [{"user": "ann"}, {"user": "bob"}], ids=["a", "b"])
    assert store.scoped({"user": "ann"}).export_jsonl(path) == 1
    other.add_texts(["carl's"], [{"user": "carl"}], ids=["a"])
    with pytest.raises(InvalidInputError, match="outside this scope"):
        other.scoped({"user": "ann"}).import_jsonl(path)
    with pytest.raises(InvalidInputError, match="the scope prescribes 'bob'"):
        other.scoped({"user": "bob"}).import_jsonl(path)
    assert [d.metadata for d in other.get()] == [{"user": "carl"}]
    other.clear()
    assert other.scoped({"team": 1}).import_jsonl(path).added == 1
    assert [d.metadata for d in other.get()] == [{"user": "ann", "team": 1}]


def test_a_read_only_store_exports_and_does_not_import(tmp_path):
    filled(SQLiteVectorStore(MODEL, tmp_path / "a.db")).close()
    with SQLiteVectorStore(MODEL, tmp_path / "a.db", read_only=True) as store:
        assert store.export_jsonl(tmp_path / "x") > 0
        with pytest.raises(ReadOnlyError):
            store.import_jsonl(tmp_path / "x")


def test_an_import_that_was_broken_off_is_finished_by_the_next(
    opened, tmp_path, monkeypatch
):
    old, new = opened(), opened()
    old.add_texts([f"text {n}" for n in range(2 * RECORD_PAGE)])
    old.export_jsonl(tmp_path / "x")
    original, calls = type(new._backend).upsert, []

    def upsert(self, *arguments, **keywords):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        original(self, *arguments, **keywords)

    monkeypatch.setattr(type(new._backend), "upsert", upsert)
    with pytest.raises(KeyboardInterrupt):
        new.import_jsonl(tmp_path / "x")
    assert len(new) == RECORD_PAGE
    report = new.import_jsonl(tmp_path / "x", on_conflict="skip")
    assert (report.added, report.skipped) == (RECORD_PAGE, RECORD_PAGE)
    assert stored(new) == stored(old)


@share(40)
@given(texts=st.lists(st.tuples(nasty_texts, metadatas), min_size=1, max_size=4))
def test_any_text_and_metadata(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("x") / "x.jsonl"
    old, new = SQLiteVectorStore(MODEL), SQLiteVectorStore(MODEL)
    old.add_texts([text for text, _ in texts], [metadata for _, metadata in texts])
    old.export_jsonl(path)
    new.import_jsonl(path)
    assert stored(new) == stored(old)


def test_an_export_is_of_one_moment(tmp_path):
    with SQLiteVectorStore(MODEL, tmp_path / "a.db") as store:
        store.add_texts([f"text {n}" for n in range(RECORD_PAGE + 5)])
        pages = store._pages()
        first = next(pages)
        store.clear()  # no writer waits for the reader
        assert len(first) + sum(map(len, pages)) == RECORD_PAGE + 5
        assert len(store) == 0


def test_skipping_gives_way_to_another_writer(tmp_path, monkeypatch):
    """Who comes between the look and the write keeps what it wrote."""
    path = tmp_path / "x.jsonl"
    with SQLiteVectorStore(MODEL, tmp_path / "old.db") as old:
        old.add_texts(["theirs", "also theirs"], ids=["x", "y"])
        old.export_jsonl(path)
    with SQLiteVectorStore(MODEL, tmp_path / "new.db") as new:
        original, calls = type(new)._present, []

        def present(self, records):
            found = original(self, records)
            calls.append(1)
            if len(calls) == 1:
                new.add_texts(["mine"], ids=["x"])
            return found

        monkeypatch.setattr(type(new), "_present", present)
        report = new.import_jsonl(path, on_conflict="skip")
        assert (report.added, report.skipped) == (1, 1)
        assert [d.page_content for d in new.get(["x", "y"])] == ["mine", "also theirs"]


def test_vectors_keep_every_bit(tmp_path):
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(50, 300))
    old, new = SQLiteVectorStore(None), SQLiteVectorStore(None)
    old.add_embeddings([str(n) for n in range(50)], vectors.tolist())
    old.add_embeddings(["zero"], [[0.0] * 300])
    old.export_jsonl(tmp_path / "x")
    new.import_jsonl(tmp_path / "x")
    assert stored(new) == stored(old)
