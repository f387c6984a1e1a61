"""What `lexical` and `lexical_scores` promise, over all engines."""

import math
import random

import pytest

from langchain_ragstore.filters import EVERYTHING, NOTHING, parse
from langchain_ragstore.model import LexicalScores, Record, Terms
from langchain_ragstore.text.terms import term_counts
from records import AXES, ids


def terms(text, title=""):
    return Terms(term_counts(text), term_counts(title, singles=True))


def text(id, content, title="", *, expires_at=None, vector=None, **metadata):
    return Record(
        id, content, metadata, vector, expires_at=expires_at, terms=terms(content, title)
    )


def found(backend, query, k=10, **options):
    return [
        hit.record.id for hit in backend.lexical("c", terms(query, query), k, **options)
    ]


def test_scores_by_hand(backend):
    # Lengths 2, 4, 6; the mean is 4, so that the norms are 0.9, 1.2 and 1.5.
    backend.upsert(
        "c",
        [
            text("a", "cat dog"),
            text("b", "cat cat bird fish"),
            text("c", "bird fish fox owl elk ant"),
        ],
    )
    cat, dog = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    hits = backend.lexical("c", Terms({"cat": 1}), 5)
    assert ids(hits) == ["b", "a"]
    assert [hit.score for hit in hits] == pytest.approx(
        [cat * 2.2 * 2 / 3.2, cat * 2.2 / 1.9], rel=1e-12
    )
    assert hits[0].signals == {"lexical": hits[0].score}
    assert hits[0].record.terms is None
    query = Terms({"cat": 2, "dog": 1, "never": 1})
    hits = backend.lexical("c", query, 5)
    assert ids(hits) == ["a", "b"]
    assert hits[0].score == pytest.approx((2 * cat + dog) * 2.2 / 1.9)
    scores = backend.lexical_scores("c", query, ["c", "a", "nobody", "a"])
    assert scores.scores == {"a": hits[0].score, "c": 0.0}
    reachable = 2.2 * (2 * cat + dog + math.log(1 + 3.5 / 0.5))
    assert scores.reachable == pytest.approx(reachable)


def test_titles_are_a_field_of_their_own(backend):
    backend.upsert(
        "c", [text("a", "x y", "cat tales"), text("b", "cat y"), text("d", "z z", "dog")]
    )
    (hit,) = backend.lexical("c", Terms({}, {"cat": 1}), 5)
    # Two records have a title, of 2 and 1 terms: 1.2 · (0.5 + 0.5 · 2 / 1.5)
    norm = 1.2 * (0.5 + 0.5 * 2 / 1.5)
    assert hit.record.id == "a"
    assert hit.score == pytest.approx(0.2 * math.log(2) * 2.2 / (1 + norm))
    assert found(backend, "cat") == ["b", "a"]
    both = backend.lexical_scores("c", terms("cat", "cat"), ["a", "b"])
    assert both.reachable == pytest.approx(
        2.2 * (math.log(1 + 2.5 / 1.5) + 0.2 * math.log(2))
    )


def test_a_field_that_no_record_has_does_not_count(backend):
    backend.upsert("c", [text("a", "cat")])
    without = backend.lexical_scores("c", Terms({"cat": 1}), ["a"])
    assert backend.lexical_scores("c", terms("cat", "cat"), ["a"]) == without
    assert backend.lexical_scores("c", Terms({}, {"cat": 1}), ["a"]) == LexicalScores(
        {"a": 0.0}, 0.0
    )


def test_no_score_exceeds_what_is_reachable(backend):
    rng = random.Random(5)
    words = ["cat", "dog", "東京都", "京都", "雪", "tea"]
    backend.upsert(
        "c",
        [
            text(str(n), " ".join(rng.choices(words, k=9)), rng.choice(["", *words]))
            for n in range(40)
        ],
    )
    for query in ("cat", "東", "cat cat dog never", "京都 雪 tea 都"):
        found = backend.lexical_scores("c", terms(query, query), map(str, range(40)))
        assert 0 < max(found.scores.values()) <= found.reachable


def test_ties_go_by_id(backend):
    names = [f"{n:04d}" for n in range(700)]
    backend.upsert("c", [text(n, "same words") for n in reversed(names)])
    assert found(backend, "same", 5) == names[:5]
    where = parse({"$id": {"$gte": "0500"}})
    assert found(backend, "words", 3, where=where) == ["0500", "0501", "0502"]


@pytest.mark.parametrize("k", [0, -1])
def test_no_results_for_no_k(backend, k):
    backend.upsert("c", [text("a", "cat")])
    assert found(backend, "cat", k) == []


def test_nothing_to_search(backend):
    assert backend.lexical("never", terms("x"), 5) == []
    assert backend.lexical_scores("never", terms("x"), ["a"]) == LexicalScores({}, 0.0)
    backend.upsert("c", [Record("a", "cat", {}, AXES[0])])
    assert found(backend, "cat") == []
    assert backend.lexical_scores("c", terms("cat"), ["a"]) == LexicalScores({}, 0.0)
    backend.upsert("c", [text("b", "cat"), text("empty", "")])
    assert backend.lexical("c", Terms({}), 5) == []
    assert found(backend, "dog") == []
    assert backend.lexical_scores("c", terms("cat"), ["a", "empty"]).scores == {
        "empty": 0.0
    }


def test_a_filter_never_starves_k(backend):
    backend.upsert("c", [text(f"n{n}", "cat cat cat", kind="near") for n in range(300)])
    backend.upsert("c", [text(f"far{n}", "cat and more", kind="far") for n in range(3)])
    far = parse({"kind": "far"})
    assert found(backend, "cat", 3, where=far) == ["far0", "far1", "far2"]
    assert found(backend, "cat", 9, where=far) == ["far0", "far1", "far2"]
    assert found(backend, "cat", 3, where=NOTHING) == []
    everywhere = {h.record.id: h.score for h in backend.lexical("c", terms("cat"), 400)}
    for hit in backend.lexical("c", terms("cat"), 3, where=far):
        assert hit.score == everywhere[hit.record.id]


def test_writes_are_followed(backend):
    backend.upsert("c", [text("a", "cat"), text("b", "dog", vector=AXES[0])])
    assert found(backend, "cat dog") == ["a", "b"]
    backend.upsert("c", [text("a", "bird")])
    assert found(backend, "cat") == []
    assert found(backend, "bird") == ["a"]
    backend.patch("c", ids=["a"], where=EVERYTHING, changes={"x": 1})
    (hit,) = backend.lexical("c", terms("bird"), 1, where=parse({"x": 1}))
    assert hit.record.metadata == {"x": 1}
    backend.upsert("c", [Record("a", "bird", {})])
    assert found(backend, "bird") == []
    backend.delete("c", ids=["b"], where=EVERYTHING)
    assert found(backend, "dog") == []
    backend.upsert("c", [text("b", "owl"), text("d", "owl owl")], remove=["a"])
    backend.delete("c", ids=None, where=parse({"$content": "owl owl"}))
    assert found(backend, "owl") == ["b"]
    backend.delete("c", ids=None, where=EVERYTHING)
    assert found(backend, "owl") == []
    backend.upsert("c", [text("b", "owl")])
    assert found(backend, "owl") == ["b"]
    (hit,) = backend.lexical("c", terms("owl"), 1, vectors=True)
    assert hit.record.vector is None


def test_collections_have_their_own_statistics(backend):
    backend.upsert("c", [text("a", "cat dog"), text("b", "dog")])
    alone = backend.lexical_scores("c", terms("cat"), ["a"])
    backend.upsert("other", [text(str(n), "cat cat elephant") for n in range(9)])
    assert backend.lexical_scores("c", terms("cat"), ["a"]) == alone
    assert found(backend, "elephant") == []
    backend.delete("other", ids=None, where=EVERYTHING)
    assert backend.lexical_scores("c", terms("cat"), ["a"]) == alone


def test_expired_records_are_no_hits_and_do_not_count(backend, clock):
    backend.upsert("c", [text("a", "cat"), text("b", "dog")])
    alone = backend.lexical_scores("c", terms("cat dog"), ["a", "b"])
    backend.upsert("c", [text("x", "cat cat", expires_at=1_500.0)])
    assert found(backend, "cat") == ["x", "a"]
    clock.now = 1_500.0
    assert found(backend, "cat") == ["a"]
    assert backend.lexical_scores("c", terms("cat dog"), ["a", "b", "x"]) == alone
    clock.now = 1_499.0
    assert found(backend, "cat") == ["x", "a"]
    clock.now = 1_600.0
    backend.upsert("c", [])
    assert backend.lexical_scores("c", terms("cat dog"), ["a", "b", "x"]) == alone


def test_single_characters_find_texts(backend):
    backend.upsert(
        "c",
        [
            text("first", "東京タワー"),
            text("last", "関東"),
            text("alone", "東 と 西"),
            text("inside", "大東京"),
            text("none", "京都"),
        ],
    )
    assert sorted(found(backend, "東")) == ["alone", "first", "inside", "last"]
    assert set(found(backend, "東京")) == {"first", "inside"}
    assert found(backend, "都") == ["none"]


HOSTILE = [
    *(
        '"',
        "AND OR NOT",
        "NEAR(a b)",
        "a* b^2 -c",
        "col:val",
        "'; DROP TABLE x; --",
        "\x00",
    ),
    *("\ud800 \udfff", "😀👨‍👩‍👧", "", " \n\t ", "((((" * 50, "%_\\", "e\u0301" * 200),
]


@pytest.mark.parametrize("query", HOSTILE, ids=ascii)
def test_any_string_is_a_query(backend, query):
    backend.upsert("c", [text("a", query + " cat", query), text("b", "dog")])
    assert found(backend, query + " cat")[0] == "a"
    assert set(found(backend, query)) <= {"a"}


def test_a_query_of_ten_thousand_terms(backend):
    backend.upsert("c", [text("a", "w1 w77"), text("b", "w9999"), text("d", "other")])
    query = Terms({f"w{n}": 1 for n in range(10_000)})
    assert ids(backend.lexical("c", query, 5)) == ["a", "b"]


def test_a_frequency_counts_up_to_255(backend):
    backend.upsert("c", [Record("a", "", {}, terms=Terms({"cat": 255, "dog": 9_745}))])
    alone = backend.lexical_scores("c", Terms({"cat": 1}), ["a"])
    backend.upsert("c", [Record("a", "", {}, terms=Terms({"cat": 9_745, "dog": 255}))])
    assert backend.lexical_scores("c", Terms({"cat": 1}), ["a"]) == alone


def test_terms_are_not_aliased(backend):
    mine = {"cat": 1}
    backend.upsert("c", [Record("a", "", {}, terms=Terms(mine))])
    mine["dog"] = 1
    assert ids(backend.lexical("c", Terms({"dog": 1}), 1)) == []
    assert ids(backend.lexical("c", Terms({"cat": 1}), 1)) == ["a"]
    for record in [*backend.get("c", ["a"]), *backend.scan("c")]:
        assert record.terms is None


def test_statistics_after_any_history_are_those_of_a_fresh_build(backend):
    rng = random.Random(8)
    words = ["cat", "dog", "bird", "東京", "京都", "都", "雪", "c++"]
    kept = {}
    for step in range(60):
        name = "c" if step % 3 else "other"
        batch = {
            str(rng.randrange(30)): " ".join(rng.choices(words, k=rng.randrange(6)))
            for _ in range(rng.choice([1, 1, 5, 20]))
        }
        backend.upsert(
            name, [text(id, content, content[:3]) for id, content in batch.items()]
        )
        gone = str(rng.randrange(30))
        backend.delete(name, ids=[gone], where=EVERYTHING)
        if name == "c":
            kept = {**kept, **batch}
            kept.pop(gone, None)
    backend.upsert("fresh", [text(id, kept[id], kept[id][:3]) for id in sorted(kept)])
    for query in words:
        wanted = terms(query, query)
        there = backend.lexical_scores("fresh", wanted, list(kept))
        assert backend.lexical_scores("c", wanted, list(kept)) == there
        assert set(there.scores) == set(kept)
