"""An export that somebody changed is imported or refused whole; never half, never a crash."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fakes import Clock
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.errors import RagStoreError
from records import facts

MODEL = HashingEmbeddings(8)
FIELDS = (
    *("id", "content", "metadata", "vector", "digest", "created_at", "updated_at"),
    *("expires_at", "format", "version", "collection", "model", "analyzer", "records"),
)
tags = st.sampled_from(
    [
        *("$date", "$datetime", "$decimal", "$uuid", "$bytes", "$int", "$float", "$str"),
        *("$tuple", "$dict", "$x", "name", "probe", "a", "id"),
    ]
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["0x" + "f" * 40, "1e400", "NaN", "2024-01-01", "AAAA", "AACAfw==", "9" * 5_000]
    ),
)
anything = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(tags, inner, max_size=2)
    ),
    max_leaves=5,
)


def valid(folder):
    path = folder / "x.jsonl"
    store = SQLiteVectorStore(MODEL, clock=Clock())
    store.add_texts(
        ["green tea", "东京 \ud800", "third"],
        [{"a": (1, 2**70)}, {}, {"b": b"x"}],
        ids=list("abc"),
    )
    store.export_jsonl(path)
    return path.read_bytes().split(b"\n")


def with_field(lines, at, name, value):
    line = json.loads(lines[at])
    if value is None:
        line.pop(name, None)
    else:
        line[name] = value
    return [*lines[:at], json.dumps(line).encode(), *lines[at + 1 :]]


def with_bytes(lines, at, data):
    whole = b"\n".join(lines)
    at %= len(whole) or 1
    return (whole[:at] + data + whole[at + len(data) :]).split(b"\n")


def cut(lines, at):
    whole = b"\n".join(lines)
    return whole[: at % (len(whole) or 1)].split(b"\n")


def repeated(lines, at, times):
    return lines[:at] + [lines[at]] * times + lines[at + 1 :]


DEEP = b'{"a": ' + b"[" * 100_000
places = st.integers(0, 4)
changes = st.one_of(
    st.tuples(st.just(with_field), places, st.sampled_from(FIELDS), anything),
    st.tuples(st.just(with_field), places, st.sampled_from(FIELDS), anything),
    st.tuples(st.just(with_bytes), st.integers(0, 10_000), st.binary(max_size=3)),
    st.tuples(st.just(cut), st.integers(0, 10_000)),
    st.tuples(st.just(repeated), places, st.sampled_from([0, 2, 3])),
    st.tuples(st.just(lambda lines, at: [*lines[:at], DEEP, *lines[at + 1 :]]), places),
)


@given(
    drawn=st.lists(changes, min_size=1, max_size=2),
    on_conflict=st.sampled_from(["replace", "skip", "error"]),
)
def test_a_changed_export_is_imported_or_refused_whole(
    tmp_path_factory, drawn, on_conflict
):
    folder = tmp_path_factory.mktemp("x")
    lines = valid(folder)
    for change, *arguments in drawn:
        try:
            lines = change(lines, *arguments)
        except (
            IndexError,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
        ):
            continue  # the line is no longer one that this change can be made to
    (folder / "x.jsonl").write_bytes(b"\n".join(lines))
    with SQLiteVectorStore(MODEL, clock=Clock()) as store:
        store.add_texts(["mine"], ids=["a"])
        before = [facts(r) for r in store._backend.scan("default", vectors=True)]
        try:
            store.import_jsonl(folder / "x.jsonl", on_conflict=on_conflict)
        except RagStoreError:
            assert before == [
                facts(r) for r in store._backend.scan("default", vectors=True)
            ]
            return
        assert store.verify() == []
        documents = store.get()
        store.timestamps([document.id for document in documents])
        store.search("tea", "hybrid", k=9)
        store.export_jsonl(folder / "again.jsonl")
