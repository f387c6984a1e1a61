"""Terms of example texts, worked out by hand."""

import pytest

from langchain_ragstore.text.folding import normalize
from langchain_ragstore.text.terms import (
    is_compound,
    is_unspaced,
    runs,
    stem,
    stretch_terms,
    term_counts,
    terms,
    word_terms,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("", ""),
        ("PLAIN Ascii", "plain ascii"),
        ("ＡＢＣ１２３", "abc123"),
        ("ﾊﾟｿｺﾝ", "パソコン"),
        ("ﬁne Straße", "fine strasse"),
        ("cafe\u0301", "café"),
        ("\u1112\u1161\u11ab", "한"),
        ("㈱㍿", "(株)株式会社"),
        ("\ud800", "\ud800"),
    ],
)
def test_normalize(text, folded):
    assert normalize(text) == folded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t。、！\0\ud800", []),
        ("The Cat, the DOG", ["cat", "dog", "the"]),
        ("state-of-the-art", ["art", "of", "state", "state-of-the-art", "the"]),
        ("Node.js", ["js", "node", "node.js"]),
        ("C++, C# or C", ["c", "c#", "c++", "or"]),
        ("snake_case", ["case", "snake", "snake_case"]),
        ("AT&T", ["at", "at&t", "t"]),
        ("the user's", ["the", "user", "user's"]),
        ("the user’s", ["the", "user", "user's"]),
        ("l'heure", ["heure", "l'heure"]),
        ("3.14 and v2.0.1", ["0", "1", "14", "3", "3.14", "and", "v2", "v2.0.1"]),
        ("end. Start -- next...", ["end", "next", "start"]),
        ("a@example.com", ["a", "com", "example", "example.com"]),
        ("重跑gen-itgc后", ["gen", "gen-itgc", "itgc", "后", "重跑"]),
        ("2024年3月", ["2024", "3", "年", "月"]),
        ("東京へ行く。", ["へ行", "京へ", "東京", "行く"]),
        ("データ・ベース", ["デー", "ベー", "ース", "ータ"]),
        ("時々", ["時々"]),
        ("한국어 문서", ["국어", "문서", "한국"]),
        ("𠮷野家", ["野家", "𠮷野"]),
        ("हिन्दी में", ["में", "हिन्दी"]),
        ("naïve Ünïcode", ["naïve", "ünïcode"]),
        ("ไทย", ["ทย", "ไท"]),
        ("Привет, мир", ["мир", "привет"]),
    ],
)
def test_terms(text, expected):
    assert terms(text, stemming=False) == expected


def test_counts():
    assert term_counts("Cats, cat; 猫猫猫 cat's") == {
        "cat": 3,
        "cat's": 1,
        "猫猫": 2,
    }


def test_singles_come_beside_the_pairs():
    assert stretch_terms("東京都", singles=True) == ["東京", "京都", "東", "京", "都"]
    assert stretch_terms("雪", singles=True) == ["雪"]
    assert term_counts("東京都 東", singles=True)["東"] == 2
    assert term_counts("東京都 東")["東"] == 1


def test_stemming_is_a_switch_and_on_by_default():
    assert terms("running dogs") == ["dog", "run"]
    assert terms("running dogs", stemming=False) == ["dogs", "running"]
    assert word_terms("well-known.names") == ["well-known.names", "well", "known", "nam"]
    assert word_terms("names", stemming=False) == ["names"]


@pytest.mark.parametrize(
    "family",
    [
        ("cat", "cats"),
        ("box", "boxes"),
        ("city", "cities"),
        ("movie", "movies"),
        ("class", "classes"),
        ("study", "studies", "studied", "studying"),
        ("make", "makes", "making"),
        ("use", "uses", "used", "using"),
        ("stop", "stops", "stopped", "stopping"),
        ("call", "calls", "called", "calling"),
        ("need", "needs", "needed", "needing"),
        ("go", "goes", "going"),
        ("index", "indexes", "indexed", "indexing"),
        ("delete", "deletes", "deleted", "deleting"),
    ],
)
def test_inflections_meet(family):
    assert len({stem(word) for word in family}) == 1


UNCHANGED = "a is gas bus this process thing red feed str v2s straßes 猫s café"


@pytest.mark.parametrize("word", [*UNCHANGED.split(), "x" * 42 + "aing"])
def test_stem_leaves_alone(word):
    assert stem(word) == word


def test_stems_keep_different_words_apart():
    words = ["table", "tabs", "king", "ring", "bread", "rat", "bed", "bee", "news", "no"]
    assert len({stem(word) for word in words}) == len(words)


def test_runs_keep_their_order():
    assert runs("b 東京 a-c 京 c++") == (["b", "a-c", "c++"], ["東京", "京"])
    assert runs("b a") == (["b", "a"], [])


def test_kinds_of_terms():
    assert is_unspaced("東京")
    assert not is_unspaced("tokyo")
    assert is_compound("c++")
    assert not is_compound("हिन्दी")


def test_a_term_is_as_long_as_its_word():
    assert terms("x" * 100_000) == ["x" * 100_000]
