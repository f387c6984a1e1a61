"""The text of chunks that follow each other, by hand."""

import pytest

from fakes import Clock
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    HashingEmbeddings,
    SQLiteVectorStore,
    make_document,
)
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.neighbours import Place, around, joined, place, text_of


def chunk(content, start=None, prefix=None):
    keys = {"start_index": start, "prefix_len": prefix}
    return Record("x", content, {k: v for k, v in keys.items() if v is not None})


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([chunk("abcdef", 0), chunk("defghi", 3)], "abcdefghi"),
        ([chunk("abc", 0), chunk("def", 3)], "abcdef"),
        # One character lost by stripping is a line end, more are an empty line.
        ([chunk("one", 0), chunk("two", 4)], "one\ntwo"),
        ([chunk("one", 0), chunk("two", 9)], "one\n\ntwo"),
        # Positions decide: what looks shared is not, what is too short to be is.
        ([chunk("tea tea", 0), chunk("tea tea", 7)], "tea teatea tea"),
        ([chunk("ab", 0), chunk("bc", 1)], "abc"),
        # Positions that contradict the texts, go backwards or are none do not.
        ([chunk("abcdef", 0), chunk("defghi", 1)], "abcdefghi"),
        ([chunk("abcdef", 90), chunk("defghi", 0)], "abcdefghi"),
        ([chunk("abcdef", "0"), chunk("defghi", True)], "abcdefghi"),
        ([chunk("abcdef", -1), chunk("defghi", -1)], "abcdefghi"),
        ([chunk("abcdef"), chunk("defghi")], "abcdefghi"),
        # The longest run counts, and fewer than three characters are chance.
        ([chunk("xanana"), chunk("ananas")], "xananas"),
        ([chunk("the end"), chunk("decide")], "the end\ndecide"),
        ([chunk("the end "), chunk("decide")], "the end decide"),
        ([chunk("the end"), chunk(" decide")], "the end decide"),
        ([chunk("abc"), chunk("abc")], "abc"),
        ([chunk("ab"), chunk("ab")], "ab\nab"),
        ([chunk(""), chunk("ab")], "ab"),
        # A chunk that lies within the one before it.
        ([chunk("abcdef", 0), chunk("cd", 2), chunk("efgh", 4)], "abcdefgh"),
        # Headers of tables stand once, at the beginning if the first has one.
        (
            [chunk("|h|\n|1|", 0), chunk("|h|\n|2|", 8, 4), chunk("|h|\n|3|", 12, 4)],
            "|h|\n|1|\n|2|\n|3|",
        ),
        ([chunk("|h|\n|2|", 8, 4), chunk("|h|\n|3|", 12, 4)], "|h|\n|2|\n|3|"),
        ([chunk("ab", 0), chunk("cd", 2, 99)], "abcd"),
        ([chunk("绿茶。", 0), chunk("茶。红茶", 1)], "绿茶。红茶"),
    ],
    ids=str,
)
def test_text(chunks, text):
    assert text_of(chunks) == text


def record(source, number, id=None):
    made = id or f"{source}{number}"
    return Record(made, f"[{made}]", {"source_id": source, "chunk_index": number})


def test_places():
    assert place(record("s", 3)) == Place("s", 3)
    for metadata in (
        {"source_id": "s"},
        {"chunk_index": 1},
        {"source_id": 5, "chunk_index": 1},
        {"source_id": "s", "chunk_index": "1"},
        {"source_id": "s", "chunk_index": True},
        {"source_id": "s", "chunk_index": -1},
    ):
        assert place(Record("x", "", metadata)) is None


def test_around():
    hits = [Hit(record("s", 1), 1.0), Hit(record("s", 4), 0.5), Hit(Record("x", "", {}), 0)]
    assert around(hits, 2) == [Place("s", n) for n in (0, 2, 3, 5, 6)]


def test_hits_that_touch_become_one():
    hits = [Hit(record("s", n), 1 / (n + 1)) for n in (5, 1, 2)]
    hits.insert(1, Hit(record("t", 2), 0.9))
    known = {Place("s", n): record("s", n) for n in (0, 3, 7)}
    found = joined(hits, known, 1)
    assert [(h.record.id, h.score, h.joined) for h in found] == [
        ("s5", 1 / 6, ("s5",)),  # 4 and 6 are not to be seen
        ("t2", 0.9, ("t2",)),
        ("s1", 0.5, ("s0", "s1", "s2", "s3")),
    ]
    assert found[2].record.content == "[s0]\n[s1]\n[s2]\n[s3]"


def test_two_records_of_one_place():
    first, second = Hit(record("s", 1), 0.9), Hit(record("s", 1, "other"), 0.8)
    found = joined([first, second], {Place("s", 2): record("s", 2)}, 1)
    assert [h.joined for h in found] == [("s1", "s2"), ()]


# --- in a store -------------------------------------------------------------------------

TEXT = "".join(f"Sentence number {n} is about topic {n}. " for n in range(10))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(clock):
    with SQLiteVectorStore(HashingEmbeddings(), clock=clock) as store:
        splitter = CJKRecursiveTextSplitter(45, 10, strip_whitespace=False)
        store.add_documents(splitter.split_documents([make_document("s", TEXT)]))
        assert len(store) == 10
        yield store


def test_a_window_is_a_slice_of_the_source(store):
    for window in range(1, 4):
        (found,) = store.text_search("topic 5", k=1, window=window)
        assert found.page_content in TEXT
        assert len(found.metadata["ragstore"]["joined"]) == 2 * window + 1
        assert (found.id, found.metadata["chunk_index"]) == ("s:chunk:0005", 5)
    (found,) = store.text_search("topic 5", k=1, window=100)
    assert found.page_content == TEXT
    assert "ragstore" not in store.text_search("topic 5", k=1, window=0)[0].metadata


def test_the_score_is_the_best_ones(store):
    ((plain, score),) = store.text_search_with_score("topic 5", k=1)
    ((found, same),) = store.text_search_with_score(
        "topic 5", k=1, window=1, with_scores=True
    )
    assert (found.id, same) == (plain.id, score)
    assert found.metadata["relevance_score"] == score
    assert set(found.metadata["ragstore"]) == {"lexical", "joined"}


def test_what_has_expired_or_is_gone_ends_a_text(store, clock):
    (sixth,) = store.get("s:chunk:0006")
    store.add_documents([sixth], expires_at=clock.now + 10)
    store.delete("s:chunk:0003")

    def found():
        (document,) = store.text_search("topic 5", k=1, window=9)
        return [id[-1] for id in document.metadata["ragstore"]["joined"]]

    assert found() == list("456789")
    clock.now += 11
    assert found() == list("45")


def test_a_scope_hides_neighbours(store):
    store.update_metadata(["s:chunk:0004"], patch={"user": "bob"})
    store.update_metadata(["s:chunk:0005", "s:chunk:0006"], patch={"user": "ann"})
    (found,) = store.scoped({"user": "ann"}).text_search("topic 5", k=1, window=3)
    assert [id[-1] for id in found.metadata["ragstore"]["joined"]] == list("56")
