"""What holds for the terms of every text."""

import time
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.embeddings.hashing import HashingEmbeddings
from langchain_ragstore.text.terms import (
    normalize,
    runs,
    stem,
    stretch_terms,
    term_counts,
    terms,
    word_terms,
)

MIXED = "aBé1ﬁ-._'&+#’ \n\0東京タワー。ｶﾞがか゛한국\u1112\u1161\u0301\u0323\ud800😀ไทยहिन्दी"
texts = st.one_of(
    st.text(alphabet=st.sampled_from(MIXED), max_size=60),
    st.text(alphabet=st.characters(), max_size=60),
)
words = st.text(alphabet="abcdegins", min_size=1, max_size=12)


@given(texts, st.booleans(), st.booleans())
def test_any_string_has_terms_and_none_is_empty(text, stemming, singles):
    counts = term_counts(text, stemming=stemming, singles=singles)
    assert all(term and count > 0 for term, count in counts.items())
    assert terms(text, stemming=stemming, singles=singles) == sorted(counts)
    assert not any("\0" in term or " " in term for term in counts)


@given(texts)
def test_normalising_twice_changes_nothing(text):
    assert normalize(normalize(text)) == normalize(text)


@given(st.text(alphabet=st.sampled_from(MIXED), max_size=30), st.integers(900, 1100))
def test_windows_do_not_show(text, padding):
    long = "か" * padding + text + "x" * 1024 + text
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", long).casefold())
    assert normalize(long) == folded


@given(texts, texts)
def test_counts_add_up_across_a_blank(left, right):
    assert term_counts(f"{left}\n{right}") == term_counts(left) + term_counts(right)


@given(texts)
def test_case_and_width_do_not_matter(text):
    composed = unicodedata.normalize("NFKC", text)
    assert term_counts(composed) == term_counts(text)
    assert term_counts(text.casefold()) == term_counts(text)


@given(texts)
def test_runs_cover_every_letter_once(text):
    folded = normalize(text)
    found_words, stretches = runs(folded)
    letters = Counter(char for char in folded if char.isalnum())
    found = Counter(char for char in "".join(found_words + stretches) if char.isalnum())
    assert found == letters


@given(texts)
def test_singles_add_characters_and_take_nothing_away(text):
    plain = term_counts(text)
    more = term_counts(text, singles=True)
    assert plain <= more
    assert all(len(term) == 1 for term in more - plain)


@given(texts)
def test_every_run_yields_a_term(text):
    found_words, stretches = runs(normalize(text))
    for word in found_words:
        assert word_terms(word)
    for stretch in stretches:
        assert len(stretch_terms(stretch)) == max(1, len(stretch) - 1)


@given(words)
def test_inflections_share_one_stem_or_stay_words(word):
    assert 1 <= len(stem(word)) <= len(word)
    assert stem(word)[:1] == word[:1]


@given(texts, st.integers(1, 64))
def test_hashed_vectors_have_length_one_or_zero(text, dim):
    vector = HashingEmbeddings(dim).embed_query(text)
    assert len(vector) == dim
    norm = float(np.linalg.norm(vector))
    assert norm == pytest.approx(1, abs=1e-6) or norm == 0
    if not term_counts(text):
        assert norm == 0


@given(st.lists(st.sampled_from(["cat", "dogs", "東京", "node.js", "猫"]), max_size=12))
def test_the_order_of_words_does_not_change_a_bit(tokens):
    model = HashingEmbeddings(32)
    forward, backward = " ".join(tokens), " ".join(reversed(tokens))
    assert model.embed_query(forward) == model.embed_query(backward)


@pytest.mark.parametrize(
    "unit",
    ["\u0301", "\u0323\u0301", "a-", "--", "a'", "c++", "東", "が\u3099", "\ud800", "aé"],
)
def test_time_is_linear(unit):
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        term_counts(text)
        return time.process_time() - start

    seconds(1000)
    small = min(seconds(20_000) for _ in range(3))
    large = min(seconds(160_000) for _ in range(2))
    # Eight times the text: quadratic work would take 64 times as long.
    assert large < 32 * small + 0.05
