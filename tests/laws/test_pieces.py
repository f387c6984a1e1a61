"""Laws of words' numbers: what is remembered is what would be made."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.lexical import pieces
from langchain_ragstore.lexical.keys import body_key
from langchain_ragstore.lexical.pieces import KeysOfPieces
from langchain_ragstore.text.terms import STEMMED, term_counts

texts = st.lists(
    st.text(alphabet=st.sampled_from("abcZ1 -.'#\n\0_"), max_size=40), max_size=6
)


def by_text(keys_of, shelf):
    keys, rows = keys_of.of_ascii([text.encode() for text in shelf])
    return [sorted(keys[rows == at].tolist()) for at in range(len(shelf))]


def one_by_one(shelf):
    return [sorted(body_key(term) for term in term_counts(t).elements()) for t in shelf]


@pytest.fixture
def few_slots(monkeypatch):
    monkeypatch.setattr(pieces, "_SLOT_BITS", 3)
    monkeypatch.setattr(pieces, "_CACHE", 4)


@given(st.lists(texts, max_size=4))
def test_numbers_are_those_of_the_terms(shelves):
    keys_of = KeysOfPieces(STEMMED)
    for shelf in [*shelves, *shelves]:  # the second time words are known
        assert by_text(keys_of, shelf) == one_by_one(shelf)


def test_words_that_share_a_slot_and_tables_that_are_full(few_slots):
    keys_of = KeysOfPieces(STEMMED)
    tables = set()
    for n in range(60):
        shelf = [
            f"w{n} w{n // 2} w{n // 3} chapters",
            "",
            f"a-b{n} exactly8 ninechars exactly16letters seventeen-letters w{n}",
        ]
        for _ in range(2):
            assert by_text(keys_of, shelf) == one_by_one(shelf)
        tables.add(id(keys_of._short._table[0]))
        assert np.count_nonzero(keys_of._short._table[0]) <= 8
        assert len(keys_of) <= 4
    assert len(tables) > 1


def test_known_words_are_not_asked_for_again(monkeypatch):
    asked = []
    keys_of = KeysOfPieces(STEMMED)
    text = "Cats, state-of-the-art (cats!) documentation internationalisation"
    before = by_text(keys_of, [text])
    monkeypatch.setattr(
        KeysOfPieces, "__getitem__", lambda s, p: asked.append(p) or dict.__getitem__(s, p)
    )
    assert by_text(keys_of, [text]) == before
    assert asked == [b"state-of-the-art", b"internationalisation"]


def test_threads_share_the_numbers(few_slots):
    keys_of = KeysOfPieces(STEMMED)
    shelves = [[f"x{n % 40} y{n % 17} z{n}" for n in range(k, k + 30)] for k in range(40)]
    wrong = []

    def read():
        wrong.extend(s for s in shelves * 5 if by_text(keys_of, s) != one_by_one(s))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
