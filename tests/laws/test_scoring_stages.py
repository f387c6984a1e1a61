"""Stages that score, leave out or sort into topics: what holds for any hits."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.model import Hit, Record, ranked
from langchain_ragstore.retrieval.boost import CoreBoost
from langchain_ragstore.retrieval.buckets import Bucket
from langchain_ragstore.retrieval.dedup import Deduplicate
from langchain_ragstore.retrieval.importance import Importance
from langchain_ragstore.retrieval.question import Question, Rescoring, Shelf
from langchain_ragstore.retrieval.rerank import BONUS, PARTS, Rerank
from langchain_ragstore.retrieval.rerank_model import RerankByModel
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.vectors.arrays import cosines, unit_vector
from strategies import clashing, nasty_prose

shelf = Shelf(MemoryBackend(), "c")
scores = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.floats(-1, 1))
tags = st.one_of(
    clashing, st.lists(st.one_of(st.sampled_from("abAB"), clashing), max_size=3)
)
queries = st.one_of(
    nasty_prose, st.sampled_from(["", "csv column", "foo() trace", "thanks", "茶", "a b"])
)
factors = st.floats(0, 10)
thresholds = st.one_of(st.floats(-1, 1), st.sampled_from([0.88, 1.0]))
vectors = st.lists(st.integers(-3, 3), min_size=3, max_size=3).map(unit_vector)


@st.composite
def hits(draw):
    metadata = st.fixed_dictionaries(
        {},
        optional={
            "tags": tags,
            "is_core": clashing,
            "title": st.one_of(nasty_prose, clashing),
            "content_type": st.sampled_from(["table_schema", "text", None]),
            "importance": clashing,
        },
    )
    made = []
    for at in range(draw(st.integers(0, 7))):
        signals = draw(
            st.sampled_from([{}, {"dense": 0.5}, {"dense": -1.0}, {"dense": 1.0}])
        )
        record = Record(f"h{at}", draw(nasty_prose), draw(metadata), draw(vectors))
        made.append(Hit(record, draw(scores), signals))
    return ranked(made)


def lengths(query, texts):
    return [len(text) for text in texts]


def failing(query, texts):
    raise ConnectionError


rescoring = st.one_of(
    st.builds(
        Rerank,
        *[st.tuples(factors, factors, factors)] * 4,
        factors,
    ),
    st.builds(CoreBoost, st.lists(st.sampled_from("ab"), max_size=2).map(tuple), factors),
    st.builds(
        RerankByModel, st.sampled_from([lengths, failing]), st.just(50), st.integers(1, 3)
    ),
)
others = st.one_of(
    st.builds(Deduplicate, thresholds),
    st.builds(Importance, scores, st.just(0)),
    st.builds(Bucket, st.integers(1, 4), st.integers(0, 3)),
)
stages = st.one_of(rescoring, others)


def asked(query, turned=False):
    return Question(query, np.array([0, 1, 0] if turned else [1, 0, 0], np.float32))


@given(hits(), st.lists(stages, max_size=4), queries)
def test_nothing_is_invented_or_repeated(found, chain, query):
    records = {h.record.id: h.record for h in found}
    for stage in chain:
        before = [h.record.id for h in found]
        found = stage(found, asked(query), shelf)
        names = [h.record.id for h in found]
        assert len(names) == len(set(names))
        assert set(names) <= set(before)
        for h in found:
            assert h.record is records[h.record.id]
            assert math.isfinite(h.score)
            assert all(math.isfinite(value) for value in h.signals.values())
        if isinstance(stage, Rescoring):
            assert set(names) == set(before)
            if not any(h.notes and "reranker_failed" in dict(h.notes) for h in found):
                assert found == ranked(found)
        else:
            assert names == [id for id in before if id in names]


@given(hits(), stages, queries)
def test_stages_are_idempotent(found, stage, query):
    once = stage(found, asked(query), shelf)
    assert stage(once, asked(query), shelf) == once


@given(hits(), others, queries)
def test_scores_stay(found, stage, query):
    before = {h.record.id: h.score for h in found}
    assert all(h.score == before[h.record.id] for h in stage(found, asked(query), shelf))


@given(hits(), queries)
def test_the_parts_of_a_score_add_up(found, query):
    parts = {h.record.id: {"dense": h.score} for h in found}
    chain = (
        Rerank(),
        CoreBoost(("a",), 1.33),
        RerankByModel(lengths),
        CoreBoost(("b",), 2),
    )
    for stage in chain:
        found = stage(found, asked(query), shelf)
        for h in found:
            parts[h.record.id] = dict(stage.parts(parts[h.record.id], h))
            assert math.isclose(sum(parts[h.record.id].values()), h.score, abs_tol=1e-9)


@given(hits(), queries)
def test_the_formula_is_bounded(found, query):
    for h in Rerank()(found, asked(query), shelf):
        assert all(0 <= h.signals[part] <= 1 for part in PARTS)
        assert 0 <= h.score <= 1 + h.signals.get(BONUS, 0.0) + 1e-9


@given(hits(), queries)
def test_the_formula_does_not_read_the_old_score(found, query):
    other = [Hit(h.record, -h.score, h.signals) for h in reversed(found)]
    assert Rerank()(found, asked(query), shelf) == Rerank()(other, asked(query), shelf)


@given(hits())
def test_a_factor_of_1_is_the_identity(found):
    assert CoreBoost(("a", "b"), 1.0)(found, Question(), shelf) == found
    assert CoreBoost((), 5.0)(found, Question(), shelf) == found


@given(hits(), st.floats(1, 10))
def test_a_boost_lifts_what_is_core_and_keeps_the_others_apart(found, factor):
    boosted = CoreBoost(("a",), factor)(found, Question(), shelf)
    before = {h.record.id: h.score for h in found}
    for h in boosted:
        assert h.score in (before[h.record.id], before[h.record.id] * factor)
        assert h.score >= before[h.record.id]
    plain = [h for h in boosted if "core" not in h.signals]
    assert plain == [h for h in found if h in plain]


@given(hits(), thresholds)
def test_no_pair_is_above_the_threshold(found, threshold):
    stage = Deduplicate(threshold)
    kept = stage.distinct(found)
    for at, h in enumerate(kept):
        others = [other.record.vector for other in kept[:at]]
        if others:
            assert (cosines(np.stack(others), h.record.vector) <= threshold).all()
    assert kept[:1] == found[:1]
    names = [h.record.id for h in found]
    for id, (other, cosine) in stage.twins(found).items():
        assert names.index(other) < names.index(id)
        assert other in {h.record.id for h in kept}
        assert cosine > threshold - 1e-6


@given(hits(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_topics_do_not_depend_on_the_order(found, most, random):
    stage = Bucket(most)
    shuffled = list(found)
    random.shuffle(shuffled)

    def labelled(given):
        return {h.record.id: dict(h.notes)["topic"] for h in stage.bucketed(given)}

    def together(given):
        groups = {}
        for h in stage.bucketed(given):
            groups.setdefault(h.signals["topic"], set()).add(h.record.id)
        assert sorted(groups) == [float(n) for n in range(1, len(groups) + 1)]
        return {frozenset(group) for group in groups.values()}

    assert together(found) == together(shuffled)
    assert len(together(found)) <= most
    assert all(labelled(found).values())


@given(hits(), st.integers(1, 8), st.integers(1, 5))
def test_a_model_is_asked_about_the_first(found, most, batch):
    texts = []

    def model(query, part):
        texts.extend(part)
        assert 0 < len(part) <= batch
        return [float(len(text)) for text in part]

    kept = RerankByModel(model, most, batch).reranked(found, "x")
    assert texts == [h.record.content for h in found[:most]]
    assert {h.record.id for h in kept} == {h.record.id for h in found[:most]}
