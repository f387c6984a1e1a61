"""What holds for the terms of every text."""

import itertools
import time
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.embeddings.hashing import HashingEmbeddings
from langchain_ragstore.text.analyzer import TextAnalyzer
from langchain_ragstore.text.folding import normalize
from langchain_ragstore.text.terms import (
    TermsOfWords,
    counted,
    pieces,
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


ascii_texts = st.text(alphabet=st.sampled_from("ab1Z-._'&+#,(\t \0\x7f"), max_size=60)


@given(st.one_of(texts, ascii_texts, st.text(alphabet="éß½²x\u0301-.'+# 😀", max_size=40)))
def test_pieces_have_the_terms_of_the_words(text):
    folded = normalize(text)
    words, stretches = runs(folded)
    rough, the_same = pieces(folded)
    assert the_same == stretches
    assert counted(rough, TermsOfWords(stem), ()) == Counter(
        term for word in words for term in word_terms(word)
    )


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


def cutting(places):
    """A segmenter that cuts a stretch at given places."""

    def cut(stretch):
        edges = sorted({0, len(stretch), *(p % (len(stretch) + 1) for p in places)})
        return [stretch[a:b] for a, b in itertools.pairwise(edges)]

    return cut


entries = st.lists(texts.filter(str.strip), max_size=3)


@given(texts, st.lists(st.integers(0, 50), max_size=6), entries)
def test_an_analyzer_only_adds_to_the_terms_of_texts(text, places, dictionary):
    analyzer = TextAnalyzer(segmenter=cutting(places), dictionary=dictionary)
    made = analyzer.index_terms(text, text)
    assert term_counts(text) <= made.body
    assert term_counts(text, singles=True) <= Counter(made.title)
    assert all(count > 0 and term.strip() for term, count in made.body.items())


@given(
    st.text(alphabet=st.sampled_from("東京タワー한국ไทย あ、a"), max_size=30),
    st.lists(st.integers(0, 50), max_size=6),
    st.lists(st.integers(0, 50), max_size=6),
)
def test_a_text_finds_itself_however_it_was_cut(text, places, otherwise):
    """A query that is cut in another way than the text shares a term with it."""
    found = TextAnalyzer(segmenter=cutting(places)).index_terms(text).body
    asked = TextAnalyzer(segmenter=cutting(otherwise)).query_terms(text)
    wanted = {
        term for group in asked.alternatives for other in group.others for term in other
    }
    assert not found or (wanted | asked.body.keys()) & found.keys()
    for stretch in runs(normalize(text))[1]:
        for part in {*stretch, *map("".join, itertools.pairwise(stretch))}:
            query = TextAnalyzer(segmenter=cutting(otherwise)).query_terms(part).body
            assert query == {part: 1}


synonym_maps = st.dictionaries(
    texts.filter(term_counts),
    st.lists(texts.filter(term_counts), min_size=1, max_size=3),
    max_size=3,
)


@given(st.lists(texts, max_size=4), synonym_maps, st.lists(st.integers(0, 50), max_size=6))
def test_expressions_are_part_of_their_query(parts, synonyms, places):
    """So what a query can reach bounds its score, whatever its synonyms."""
    query = " ".join([*parts, *synonyms])
    for segmenter in (None, cutting(places)):
        asked = TextAnalyzer(segmenter=segmenter, synonyms=synonyms).query_terms(query)
        for title, there in ((False, asked.body), (True, asked.title)):
            named = Counter()
            for group in asked.alternatives:
                if group.title is title:
                    named.update(group.exact)
            assert named <= there
        plain = TextAnalyzer(segmenter=segmenter).query_terms(query)
        assert plain.body <= asked.body
