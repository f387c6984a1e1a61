"""Laws of reading many texts at once: the same terms as one by one, to the last bit."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langchain_ragstore.lexical import gathering, occurrences
from langchain_ragstore.lexical.gathering import of_occurrences, of_terms, prepared
from langchain_ragstore.lexical.keys import body_key, pair_keys
from langchain_ragstore.lexical.occurrences import of_texts
from langchain_ragstore.model import Terms, Unanalyzed
from langchain_ragstore.text.analyzer import TextAnalyzer
from langchain_ragstore.text.terms import is_unspaced, unspaced_ranges

mixed = st.text(
    alphabet=st.sampled_from(
        "ab1Zé½x-._'&+#,( \t\x1e\x1f\0\x7f東京都雪タワー한국ไทยкㅏ，。ｱｶﾞ𠀀😀\u0301\u3099\ud800"
    ),
    max_size=40,
)
texts = st.one_of(mixed, st.text(max_size=30), st.text("東京a ", max_size=30))
shelves = st.lists(st.tuples(texts, st.one_of(st.just(""), texts)), min_size=1, max_size=6)


def odd(word):
    """A stemmer that makes what looks like pairs and singles, and words of signs."""
    return {"a": "東京", "b": "雪", "ab": "東a", "x": "~ \0"}.get(word, word)


ANALYZERS = (TextAnalyzer(), TextAnalyzer(stemmer=None), TextAnalyzer(stemmer=odd))


def arrays(postings):
    return [
        getattr(postings, name).tolist()
        for name in ("keys", "counts", "firsts", "steps", "rows", "frequencies")
    ]


@given(shelves, st.sampled_from(ANALYZERS))
@example([("東京都 東京 京", "雪"), ("", ""), ("C++ 京都\x1eab", "東京")], ANALYZERS[0])
@example([("東京 a b", ""), ("x", "ab 雪")], ANALYZERS[2])
def test_many_at_once_are_as_one_by_one(shelf, analyzer):
    unread = [Unanalyzed(body, title, analyzer) for body, title in shelf]
    terms = [analyzer.index_terms(body, title) for body, title in shelf]
    assert [text.terms() for text in unread] == terms
    found = of_texts(unread)
    if found is not None:
        assert arrays(of_occurrences(found)) == arrays(of_terms(terms))
        assert found.body.tolist() == [sum(t.body.values()) for t in terms]
        assert found.title.tolist() == [sum(t.title.values()) for t in terms]
    assert found is not None or analyzer is ANALYZERS[2]
    several = -(-gathering.FEWEST_AT_ONCE // len(shelf))
    (together,), (apart,) = prepared(unread * several), prepared(terms * several)
    assert together.blocks == apart.blocks
    assert together.body.tolist() == apart.body.tolist()
    assert together.title.tolist() == apart.title.tolist()


def test_what_only_terms_can_tell():
    plain = [Unanalyzed("a 東京", "", TextAnalyzer())] * 2
    assert of_texts(plain) is not None
    assert of_texts([plain[0], Terms({"a": 1})]) is None
    assert of_texts([Terms({"a": 1})]) is None
    assert of_texts([plain[0], Unanalyzed("a", "", TextAnalyzer())]) is None
    for analyzer in (
        TextAnalyzer(segmenter=lambda stretch: [stretch]),
        TextAnalyzer(dictionary=["a 東京"]),
        TextAnalyzer(stemmer=odd),
    ):
        assert of_texts([Unanalyzed("a 東京", "", analyzer)]) is None
        assert of_texts([Unanalyzed("", "a 東京", analyzer)]) is None
    # A pair is a term in any case, so it is no entry of its own.
    assert of_texts([Unanalyzed("a", "", TextAnalyzer(dictionary=["東京"]))]) is not None


def test_more_texts_than_their_numbers_have_bits_for():
    analyzer = TextAnalyzer()
    bodies = ["東京", "京東 京", "都"] * 800  # 2 ** 11 rows leave 21 bits of 32
    found = of_texts([Unanalyzed(body, "", analyzer) for body in bodies])
    terms = [analyzer.index_terms(body) for body in bodies]
    assert arrays(of_occurrences(found)) == arrays(of_terms(terms))


def test_digits_put_ordinary_terms_in_order(monkeypatch):
    monkeypatch.setattr(gathering, "gathered", None)
    analyzer = TextAnalyzer()
    bodies = [f"东京都 number {n}, word{n % 7} 한국" for n in range(100)]
    found = of_texts([Unanalyzed(body, "a 東京 title", analyzer) for body in bodies])
    assert len(of_occurrences(found).keys) > 100


def test_few_texts_are_read_one_by_one(monkeypatch):
    seen = []
    monkeypatch.setattr(gathering, "of_texts", lambda texts: seen.append(len(texts)))
    for count in (1, 3, 4, 5):
        list(prepared([Unanalyzed("a 東京", "", TextAnalyzer())] * count))
    assert seen == [4, 5]


def test_long_texts_are_read_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(gathering, "TEXTS_AT_ONCE", 3)
    monkeypatch.setattr(gathering, "CHARACTERS_AT_ONCE", 20)
    monkeypatch.setattr(occurrences, "LONGEST_READ", 15)
    analyzer = TextAnalyzer()
    bodies = ["a b", "東京都", "c", "d" * 14, "e" * 5, "f " * 30, "g"]
    unread = [Unanalyzed(body, "t", analyzer) for body in bodies]
    parts = list(prepared(unread))
    assert [len(part.body) for part in parts] == [3, 2, 1, 1]
    assert of_texts(unread[5:6]) is None
    assert of_texts(unread[3:4]) is not None
    assert [n for part in parts for n in part.body] == [2, 2, 1, 1, 1, 30, 1]
    assert list(prepared([])) == []


def test_the_table_of_scripts_is_the_regex():
    table = occurrences._kinds() == occurrences._UNSPACED
    edges = {code for pair in unspaced_ranges() for e in pair for code in (e - 1, e, e + 1)}
    assert all(table[code] == is_unspaced(chr(code)) for code in edges)
    assert 100_000 < np.count_nonzero(table) < len(table) == 0x110000


@pytest.mark.parametrize("pair", ["東京", "𠀀ㅏ", "ก\u0e38"])
def test_pairs_have_the_numbers_of_their_terms(pair):
    first, second = np.array([[ord(c)] for c in pair], np.uint32)
    assert pair_keys(first, second).tolist() == [body_key(pair)]
    assert pair_keys(first, np.zeros(1, np.uint32)).tolist() == [body_key(pair[0])]
