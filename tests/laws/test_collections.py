"""Names are injective; merging invents nothing, repeats nothing, ranks, and needs no more."""

import unicodedata

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from langchain_ragstore import CollectionManager, InvalidInputError
from langchain_ragstore.collection_names import Naming
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.importance import Importance
from langchain_ragstore.retrieval.merge import Finds, merged

# Ids that are made of what names are made of, and any text at all.
parts = st.sampled_from(
    ["user", "_", "default", "important", "code", "1", "0", "ann", "a", "é"]
)
spoken = st.lists(parts, min_size=1, max_size=7).map("".join)
users = st.one_of(spoken, st.text(max_size=8), st.none())
kinds = st.sampled_from(["default", "important", "code", "user", "1", "a"])
NAMING = Naming(("default", "important", "code", "user", "1", "a"))


def named(kind, user):
    try:
        return NAMING.name(kind, user)
    except InvalidInputError:
        return None


@given(kinds, users, kinds, users)
def test_names_are_injective(kind, user, other_kind, other_user):
    first, second = named(kind, user), named(other_kind, other_user)
    assume(first is not None and second is not None)
    assert (first == second) == ((kind, user) == (other_kind, other_user))


@given(kinds, users)
def test_a_name_tells_whose_it_is(kind, user):
    name = named(kind, user)
    assume(name is not None)
    assert NAMING.split(name) == (kind, user)


@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_names_are_injective_whatever_the_kinds(words, data):
    try:
        naming = Naming(tuple(words))
    except InvalidInputError:
        return
    kind, other = (data.draw(st.sampled_from(words)) for _ in "ab")
    user, other_user = (data.draw(st.one_of(st.none(), spoken)) for _ in "ab")
    same = naming.name(kind, user) == naming.name(other, other_user)
    assert same == ((kind, user) == (other, other_user))


@given(st.text(min_size=1, max_size=8))
def test_what_one_person_may_write_in_two_ways_is_at_most_one_id(text):
    """An id is refused or is the only one of its spellings that is not."""
    if named("default", text) is not None:
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            other = unicodedata.normalize(form, text)
            assert other == text or named("default", other) is None


scores = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0])
weights = st.sampled_from([0.0, 0.5, 0.8, 1.0, 1.2])


@st.composite
def lists(draw):
    found = []
    for name in "xyz"[: draw(st.integers(1, 3))]:
        names = draw(st.lists(st.sampled_from("abcdef"), unique=True))
        hits = [
            Hit(Record(id, draw(st.sampled_from("st")), {"in": name}), draw(scores))
            for id in names
        ]
        ordered = sorted(hits, key=lambda h: (-h.score, h.record.id))
        found.append(Finds(name, draw(weights), ordered))
    return found


def same(hit):
    return hit.record.id, hit.record.content


@given(lists())
def test_merging_invents_and_repeats_nothing(found):
    given_hits = {(f.collection, same(h)): (h, f.weight) for f in found for h in f.hits}
    result = merged(found)
    assert {same(p.hit) for p in result} == {key for _, key in given_hits}
    assert len({same(p.hit) for p in result}) == len(result)
    best = {}
    for (_, key), (hit, weight) in given_hits.items():
        weighted = hit.score * weight if hit.score > 0 else hit.score
        best[key] = max(weighted, best.get(key, -2.0))
    for placed in result:
        hit, _ = given_hits[placed.collection, same(placed.hit)]
        assert placed.hit.record is hit.record
        assert placed.hit.score == best[same(hit)]
    order = [(-p.hit.score, p.hit.record.id) for p in result]
    assert order == sorted(order)
    assert [
        placed.hit for placed in merged([Finds("x", 1.0, [p.hit for p in result])])
    ] == [p.hit for p in result]


@given(lists(), st.integers(1, 6))
def test_the_first_of_each_are_enough_for_the_first_of_all(found, k):
    assume(all(f.weight for f in found))
    cut = [Finds(f.collection, f.weight, f.hits[:k]) for f in found]
    scores_of = [[p.hit.score for p in merged(part)[:k]] for part in (found, cut)]
    assert scores_of[0] == scores_of[1]


@given(lists(), st.sampled_from([-1.0, 0.0, 0.5]))
def test_importance_keeps_order_and_is_idempotent(found, least):
    hits = [
        Hit(Record(h.record.id, "", {"importance": h.score}), h.score)
        for h in found[0].hits
    ]
    stage = Importance(least, wants=3)
    kept = stage.kept(hits)
    assert kept == [h for h in hits if h.score >= least] == stage.kept(kept)


class Drawn(Embeddings):
    """The vector of a text is written in it."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        angle = int(text) / 8 if text.isdigit() else 0.0
        return [float(np.cos(angle)), float(np.sin(angle))]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["default", "important", "code"]),
            st.integers(0, 25),
            st.sampled_from([None, -1, 0, 1, "high"]),
        ),
        max_size=14,
    ),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5, -2.0]),
)
def test_retrieving_is_merging_everything(documents, k, least):
    """Neither the depth nor what is passed over makes a difference to the first `k`."""
    names = ("default", "important", "code")
    with CollectionManager(":memory:", Drawn(), check_model=False) as manager:
        for kind, number, importance in documents:
            metadata = {} if importance is None else {"importance": importance}
            manager.get(kind).add_texts([str(number)], [metadata], ids=[f"{number}"])
        found = manager.retrieve(
            "0", k, kinds=names, search_type="similarity", importance_threshold=least
        )
        assert len({(d.id, d.page_content) for d, _ in found}) == len(found)
        expected = {}
        for kind in names:
            weight = 1.2 if kind == "important" else 0.8
            for document, score in manager.get(kind).similarity_search_with_score("0", 99):
                value = document.metadata.get("importance", 0)
                if (value if value != "high" else 0) >= least:
                    weighted = score * weight if score > 0 else score
                    expected[document.id] = max(weighted, expected.get(document.id, -2.0))
        best = sorted(expected.values(), reverse=True)[:k]
        assert [score for _, score in found] == best
        assert all(expected[document.id] == score for document, score in found)
