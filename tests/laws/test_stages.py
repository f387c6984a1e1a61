"""Stages invent nothing and repeat nothing, and keep the order that they state."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    StructuredTextSplitter,
    make_document,
)
from langchain_ragstore.filters import EVERYTHING, identity
from langchain_ragstore.model import Hit, Record, ranked
from langchain_ragstore.retrieval.cut import Threshold, Top
from langchain_ragstore.retrieval.diversify import Diversify
from langchain_ragstore.retrieval.group import Group
from langchain_ragstore.retrieval.neighbours import Neighbours, joined, place, text_of
from langchain_ragstore.retrieval.plan import Plan, run
from langchain_ragstore.retrieval.question import Question, Shelf
from langchain_ragstore.retrieval.sources import Dense
from langchain_ragstore.storage.memory import MemoryBackend
from strategies import clashing, nasty_prose

AXES = np.eye(3, dtype=np.float32)
scores = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0])
ks = st.integers(-1, 7)
shelf = Shelf(MemoryBackend(), "c")


def hit(id, score, metadata, vector):
    return Hit(Record(id, f"text {id}", metadata, vector), score, {"dense": score})


@st.composite
def hits(draw):
    number = draw(st.integers(0, 8))
    made = [
        hit(
            f"h{at}",
            draw(scores),
            draw(
                st.fixed_dictionaries(
                    {}, optional={"key": clashing, "source_id": st.sampled_from("ab")}
                )
            )
            | {"chunk_index": draw(st.integers(0, 5))},
            draw(st.sampled_from([None, *AXES])),
        )
        for at in range(number)
    ]
    return ranked(made)


stages = st.one_of(
    st.builds(Threshold, scores),
    st.builds(Top, ks),
    st.builds(Group, st.just(("key",)), st.integers(1, 3), st.integers(0, 5)),
    st.builds(Diversify, ks, st.sampled_from([0.0, 0.5, 1.0])),
    st.builds(Neighbours, st.integers(1, 2)),
)


@given(hits(), st.lists(stages, max_size=4))
def test_nothing_is_invented_or_repeated(found, chain):
    ids = {h.record.id: h for h in found}
    for stage in chain:
        before = found
        found = stage(found, Question(), shelf)
        names = [h.record.id for h in found]
        assert len(names) == len(set(names)) <= len(before)
        assert set(names) <= {h.record.id for h in before}
        for h in found:
            assert math.isfinite(h.score)
            assert h.score == ids[h.record.id].score
            assert h.record.metadata == ids[h.record.id].record.metadata


@given(hits(), stages)
def test_all_but_diversity_keep_the_order(found, stage):
    order = [h.record.id for h in found]
    places = [order.index(h.record.id) for h in stage(found, Question(), shelf)]
    if not isinstance(stage, Diversify):
        assert places == sorted(places)
    if isinstance(stage, (Top, Diversify)):
        assert len(places) == min(max(0, stage.k), len(found))


@given(hits(), stages)
def test_stages_are_idempotent(found, stage):
    once = stage(found, Question(), shelf)
    again = stage(once, Question(), shelf)
    if isinstance(stage, Neighbours):  # a joined text is no chunk of its own any more
        assert len(again) == len(once)
    elif not isinstance(stage, Diversify):
        assert again == once


@given(hits(), st.integers(1, 3))
def test_groups(found, per_group):
    group = Group(("key",), per_group, wants=3)
    kept = group(found, Question(), shelf)
    with_key = [h for h in found if "key" in h.record.metadata]
    for h in with_key:
        value = identity(h.record.metadata["key"])
        own = [o for o in with_key if identity(o.record.metadata["key"]) == value]
        assert [o for o in kept if o in own] == own[:per_group]
    assert all(h in kept for h in found if "key" not in h.record.metadata)


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), max_size=60),
    st.integers(1, 5),
    st.integers(1, 2),
)
def test_grouping_finds_k_if_there_are_k(rows, k, per_group):
    """However few candidates it begins with, the result is that of a full ranking."""
    backend = MemoryBackend()
    angles = [(key, number / 10) for key, number in rows]
    records = [
        Record(f"{at:02}", "", {"key": key}, np.array([c, (1 - c * c) ** 0.5], np.float32))
        for at, (key, c) in enumerate(angles)
    ]
    if records:
        backend.upsert("c", records)
    here = Shelf(backend, "c")
    question = Question(vector=np.array([1, 0], np.float32))
    group = Group(("key",), per_group, wants=k)
    found = run(Plan((Dense(1),), stages=(group, Top(k))), question, here)
    everything = here.dense(question.vector, 100, EVERYTHING, vectors=False)
    assert found == group.kept(everything)[:k]


# --- neighbours -------------------------------------------------------------------------


def records(chunks):
    return [Record(c.id, c.page_content, c.metadata) for c in chunks]


@given(nasty_prose, st.integers(5, 30), st.integers(0, 4), st.booleans())
def test_joined_chunks_are_the_source(text, size, overlap, strip):
    splitter = CJKRecursiveTextSplitter(size, overlap, strip_whitespace=strip)
    chunks = records(splitter.split_documents([make_document("s", text)]))
    for first in range(len(chunks)):
        for last in range(first, min(len(chunks), first + 4)):
            part = text_of(chunks[first : last + 1])
            start = chunks[first].metadata["start_index"]
            end = chunks[last].metadata["start_index"] + len(chunks[last].content)
            if strip:  # what lay between chunks comes back as line ends
                assert "".join(part.split()) == "".join(text[start:end].split())
            else:
                assert part == text[start:end]


@given(nasty_prose, st.integers(5, 30), st.integers(0, 4))
def test_without_positions_each_chunk_is_whole(text, size, overlap):
    splitter = CJKRecursiveTextSplitter(size, overlap, add_start_index=False)
    chunks = records(splitter.split_documents([make_document("s", text)]))
    if chunks:
        part = text_of(chunks)
        assert all(chunk.content in part for chunk in chunks)
        assert len(part) <= sum(len(chunk.content) + 1 for chunk in chunks)


@given(st.integers(1, 30), st.integers(60, 120))
def test_the_header_of_a_table_stands_once(rows, size):
    header = "| tea | water |\n| --- | --- |\n"
    body = "".join(f"| kind {n} | {n} degrees |\n" for n in range(rows))
    splitter = StructuredTextSplitter(size, 0)
    chunks = records(splitter.split_documents([make_document("s", header + body)]))
    assert text_of(chunks).split("\n") == (header + body).strip().split("\n")
    part = text_of(chunks[-2:])
    assert part.count("| --- |") == 1
    assert part.startswith("| tea | water |")


@given(hits(), st.integers(1, 2))
def test_stretches_do_not_touch(found, window):
    """Every chunk is in one result at most, and hits that touch are one."""
    result = joined(found, {}, window)
    names = [name for h in result for name in h.joined]
    assert len(names) == len(set(names))
    assert all(h.record.id in h.joined for h in result if h.joined)
    places = {place(h.record) for h in result if h.joined}
    by_id = {h.record.id: place(h.record) for h in found}
    spans = [sorted(by_id[name] for name in h.joined) for h in result if h.joined]
    for span in spans:
        numbers = [at.number for at in span]
        assert numbers == list(range(numbers[0], numbers[0] + len(span)))
        after = span[-1]._replace(number=span[-1].number + 1)
        assert after not in places
