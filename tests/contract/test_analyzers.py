"""What made a collection's terms, indexing it anew, and expressions said otherwise."""

import math
import random

import pytest

from langchain_ragstore.errors import AnalyzerMismatchError, InvalidInputError
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.model import Alternatives, Record, Terms
from records import AXES, ids


def text(id, words, analyzer="", *, title="", vector=None, expires_at=None):
    counts = [{w: part.split().count(w) for w in part.split()} for part in (words, title)]
    terms = Terms(*counts, analyzer=analyzer)
    return Record(id, words, {"n": 1}, vector, expires_at=expires_at, terms=terms)


def asked(words, analyzer="", **alternatives):
    return Terms(dict.fromkeys(words.split(), 1), {}, analyzer=analyzer, **alternatives)


# --- alternatives --------------------------------------------------------------------


def test_alternatives_by_hand(backend):
    # All of length 2, the mean: the fraction of a term that is there once is 1 / 2.2.
    backend.upsert(
        "c",
        [
            text("exact", "heart attack"),
            text("other", "cardiac arrest"),
            text("half", "cardiac pump"),
            text("none", "x y"),
        ],
    )
    once = math.log(1 + 3.5 / 1.5)  # held by one of four
    twice = math.log(1 + 2.5 / 2.5)
    group = Alternatives({"heart": 1, "attack": 1}, ({"cardiac": 1, "arrest": 1},))
    query = asked("heart attack", alternatives=(group,))
    hits = backend.lexical("c", query, 5)
    assert ids(hits) == ["exact", "other", "half"]
    assert [hit.score for hit in hits] == pytest.approx(
        [2 * once, 0.8 * 2 * once, 0.8 * 2 * once * twice / (once + twice)], rel=1e-12
    )
    plain = backend.lexical_scores("c", asked("heart attack"), ["exact"])
    assert backend.lexical_scores("c", query, ["exact"]) == plain
    assert plain.reachable == pytest.approx(2.2 * 2 * once)


def test_the_best_alternative_counts_alone(backend):
    backend.upsert("c", [text("a", "one two"), text("b", "two x"), text("d", "y z")])
    group = Alternatives({"never": 1}, ({"one": 1}, {"two": 1}, {"absent": 1}))
    unseen, held = math.log(1 + 3.5 / 0.5), 1 / 2.2
    hits = backend.lexical("c", asked("never", alternatives=(group,)), 5)
    assert ids(hits) == ["a", "b"]
    for hit in hits:
        assert hit.score == pytest.approx(0.8 * 2.2 * unseen * held, rel=1e-12)


def test_alternatives_of_titles_stay_in_titles(backend):
    backend.upsert("c", [text("a", "x y", title="car"), text("b", "car z", title="bus")])
    group = Alternatives({"auto": 1}, ({"car": 1},), title=True)
    query = Terms({}, {"auto": 1}, (group,))
    (hit,) = backend.lexical("c", query, 5)
    assert hit.record.id == "a"
    assert hit.score == pytest.approx(0.8 * 0.2 * math.log(1 + 2.5 / 0.5))
    backend.upsert("no titles", [text("a", "car")])
    assert backend.lexical("no titles", query, 5) == []
    assert backend.lexical_scores("no titles", query, ["a"]).reachable == 0


def test_alternatives_stay_within_what_is_reachable(backend):
    rng = random.Random(3)
    words = ["cat", "dog", "東京", "京都", "雪", "tea", "京"]
    backend.upsert(
        "c",
        [
            text(str(n), " ".join(rng.choices(words, k=6)), title=rng.choice(["", *words]))
            for n in range(40)
        ],
    )
    for _ in range(30):
        body = {word: rng.randint(1, 3) for word in rng.sample(words, 3)}
        parts = [{word: count} for word, count in body.items()]
        others = tuple(dict.fromkeys(rng.sample(words, 2), 1) for _ in range(2))
        groups = tuple(
            Alternatives(part, others, title)
            for part in parts[:2]
            for title in (False, True)
        )
        query = Terms(body, body, groups)
        found = backend.lexical_scores("c", query, map(str, range(40)))
        plain = backend.lexical_scores("c", Terms(body, body), map(str, range(40)))
        assert found.reachable == plain.reachable
        for id, score in found.scores.items():
            assert plain.scores[id] <= score <= found.reachable * (1 + 1e-12)


def test_a_query_with_alternatives_is_not_taken_for_one_without(backend):
    backend.upsert("c", [text("a", "car"), text("b", "auto")])
    group = Alternatives({"car": 1}, ({"auto": 1},))
    assert ids(backend.lexical("c", asked("car"), 5)) == ["a"]
    assert ids(backend.lexical("c", asked("car", alternatives=(group,)), 5)) == ["a", "b"]
    assert ids(backend.lexical("c", asked("car"), 5)) == ["a"]


# --- what made the terms -------------------------------------------------------------


def test_terms_of_another_analyzer_are_refused(backend):
    assert backend.analyzer("c") is None
    backend.upsert("c", [text("a", "cat", "one"), Record("plain", "", {}, AXES[0])])
    assert backend.analyzer("c") == "one"
    message = r"collection 'c' were indexed with \(one\), this store has \(two\).*reindex"
    with pytest.raises(AnalyzerMismatchError, match=message):
        backend.upsert("c", [text("b", "dog", "two")], remove=["plain"])
    with pytest.raises(AnalyzerMismatchError, match=message):
        backend.lexical("c", asked("cat", "two"), 5)
    with pytest.raises(AnalyzerMismatchError, match=message):
        backend.lexical_scores("c", asked("cat", "two"), ["a"])
    assert backend.lexical("c", asked("cat", "two"), 0) == []
    assert issubclass(AnalyzerMismatchError, (InvalidInputError, ValueError))
    assert backend.count("c") == 2
    assert ids(backend.lexical("c", asked("cat dog", "one"), 5)) == ["a"]


def test_terms_of_two_analyzers_at_once_are_refused(backend):
    with pytest.raises(AnalyzerMismatchError, match=r"\(one\).*\(two\)"):
        backend.upsert("c", [text("a", "cat", "one"), text("b", "dog", "two")])
    assert backend.count("c") == 0
    assert backend.analyzer("c") is None


def test_what_is_not_indexed_takes_any_analyzer(backend, clock):
    backend.upsert("c", [Record("plain", "", {}, AXES[0])])
    assert backend.lexical("c", asked("cat", "any"), 5) == []
    backend.upsert("c", [text("a", "cat", "one")])
    backend.upsert("other", [text("a", "cat", "two")])
    backend.upsert("c", [text("b", "cat", "two")], remove=["a"])
    assert backend.analyzer("c") == "two"
    backend.delete("c", ids=["b"], where=EVERYTHING)
    assert backend.analyzer("c") is None
    backend.upsert("c", [text("b", "cat", "three", expires_at=1_500.0)])
    clock.now = 1_600.0
    assert backend.analyzer("c") is None
    assert backend.lexical("c", asked("cat", "four"), 5) == []
    backend.upsert("c", [text("b", "cat", "four")])
    assert ids(backend.lexical("c", asked("cat", "four"), 5)) == ["b"]


# --- indexing anew -------------------------------------------------------------------


def by_letter(record):
    return Terms(dict.fromkeys(record.content, 1), {"t": 1}, analyzer="letters")


def test_all_is_indexed_anew(backend, clock):
    backend.upsert("c", [text("a", "cat", "one", vector=AXES[0]), text("b", "dog", "one")])
    backend.upsert("c", [Record("plain", "cow", {"n": 2}, AXES[1])])
    backend.upsert("other", [text("a", "cat", "one")])
    backend.lexical("c", asked("cat", "one"), 5)
    backend.dense("c", AXES[0], 5)
    before = [(r.id, r.content, r.metadata, r.updated_at) for r in backend.scan("c")]
    clock.now += 5
    assert backend.reindex("c", by_letter) == 3
    assert backend.analyzer("c") == "letters"
    assert ids(backend.lexical("c", asked("o", "letters"), 5)) == ["b", "plain"]
    title = Terms({}, {"t": 1}, analyzer="letters")
    assert ids(backend.lexical("c", title, 5)) == ["a", "b", "plain"]
    with pytest.raises(AnalyzerMismatchError):
        backend.lexical("c", asked("cat", "one"), 5)
    assert ids(backend.lexical("other", asked("cat", "one"), 5)) == ["a"]
    assert ids(backend.dense("c", AXES[0], 5)) == ["a", "plain"]
    after = [(r.id, r.content, r.metadata, r.updated_at) for r in backend.scan("c")]
    assert after == before
    backend.upsert("c", [text("d", "o", "letters")], remove=["b"])
    assert ids(backend.lexical("c", asked("o", "letters"), 5)) == ["d", "plain"]
    fresh = [text("d", "o", "letters")]
    fresh += [
        Record(r.id, "", {}, terms=by_letter(r)) for r in backend.get("c", ["a", "plain"])
    ]
    backend.upsert("fresh", fresh)
    wanted = Terms({"o": 1, "c": 2}, {"t": 1}, analyzer="letters")
    scores = backend.lexical_scores("c", wanted, ["a", "d", "plain"])
    assert scores == backend.lexical_scores("fresh", wanted, ["a", "d", "plain"])


def test_what_has_no_terms_any_more_leaves_the_index(backend):
    backend.upsert("c", [text("a", "cat", "one"), text("b", "dog", "one")])
    dogs = lambda record: by_letter(record) if record.content == "dog" else None  # noqa: E731
    assert backend.reindex("c", dogs) == 1
    assert ids(backend.lexical("c", asked("c d", "letters"), 5)) == ["b"]
    assert backend.reindex("c", lambda _: None) == 0
    assert backend.analyzer("c") is None
    assert backend.count("c") == 2


def test_indexing_nothing_anew(backend):
    assert backend.reindex("never", by_letter) == 0
    assert backend.collections() == []
    backend.upsert("c", [text("a", "cat")])
    backend.delete("c", ids=None, where=EVERYTHING)
    assert backend.reindex("c", by_letter) == 0


def test_expired_records_are_not_indexed_anew(backend, clock):
    backend.upsert("c", [text("a", "cat", expires_at=1_500.0), text("b", "cot")])
    clock.now = 1_500.0
    assert backend.reindex("c", by_letter) == 1
    assert ids(backend.lexical("c", asked("c", "letters"), 5)) == ["b"]


def test_a_failure_leaves_the_old_index(backend):
    backend.upsert("c", [text(str(n), "cat", "one") for n in range(5)])

    def failing(record):
        if record.id == "3":
            raise InvalidInputError("no terms for this")
        return by_letter(record)

    with pytest.raises(InvalidInputError, match="no terms for this"):
        backend.reindex("c", failing)
    mixed = lambda record: Terms({"x": 1}, analyzer=record.id)  # noqa: E731
    with pytest.raises(AnalyzerMismatchError):
        backend.reindex("c", mixed)
    assert backend.analyzer("c") == "one"
    assert len(backend.lexical("c", asked("cat", "one"), 9)) == 5
    where = parse({"$id": "3"})
    assert ids(backend.lexical("c", asked("cat", "one"), 9, where=where)) == ["3"]
