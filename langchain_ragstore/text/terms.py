r"""Terms: what a text is found by, for the text index and for hashed embeddings.

Text is normalised (NFKC and case folding), then read as *words* of alphabetic scripts
and as *stretches* of scripts that put no blanks between words (Chinese, Japanese,
Korean, Thai, Lao, Khmer, Burmese). Words become terms, compounds such as
`state-of-the-art` whole and in parts; stretches become overlapping pairs of characters.

Everything is a pure function of its arguments, runs in time linear in the text, and
takes any `str`, lone surrogates and NUL included.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import chain
from typing import Final

from langchain_ragstore.text.folding import normalize

CACHED_WORDS: Final = 1 << 16
"""Words whose terms are remembered: more than those of a large corpus that occur again
and again."""

LONGEST_REMEMBERED: Final = 64
"""Letters of a word that is remembered: what is longer is data, and would fill memory."""

_UNSPACED: Final = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b"  # Han: 々〆〇, numerals, repeats
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # kana
    "\u3105-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3"  # Burmese, Khmer
)
"""Regex class of the scripts that are read in pairs of characters. Korean does put
blanks, but around phrases whose endings vary; pairs find the stem within them."""

_ASTRAL_LETTERS: Final = "\U00010000-\U0001afef\U0001b170-\U0001efff"
"""Beyond the basic plane, everything below the emoji counts as a letter: looking each
character up would cost more than the few symbols among them do harm."""

_JOINERS: Final = "-._'&\u2019"
"""Regex class of what holds a compound together when it stands alone between letters."""

_CLOSERS: Final = r"(?:\+\+|\#)?"
"""What may close a word: C++, F#."""

_ASCII_WORDS: Final = re.compile(f"[a-z0-9]+(?:[{_JOINERS}][a-z0-9]+)*{_CLOSERS}")

_PART_BREAKS: Final = re.compile(f"[{_JOINERS}+#]+")


def stands_in_words(char: str) -> bool:
    """Tell whether a character may be part of a word; any other is as good as a blank."""
    return _continues_word(char) or char in f"{_JOINERS}+#"


def _continues_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc")


ASCII_BLANKS: Final = str.maketrans(
    {char: " " for char in map(chr, range(0x80)) if not stands_in_words(char)}
)
"""What stands in no word, and so can be taken for a blank."""


def runs(normalized: str) -> tuple[list[str], list[str]]:
    """Read normalised text as words and as stretches without blanks.

    Args:
        normalized: The result of `folding.normalize`.

    Returns:
        The words and the stretches, each in the order of the text. A word keeps a single
        `-`, `.`, `_`, `'` or `&` between letters or digits, and a closing `++` or `#`.

    Example:
        >>> runs("重跑gen-itgc后")
        (['gen-itgc'], ['重跑', '后'])
    """
    if normalized.isascii():
        return _ASCII_WORDS.findall(normalized), []
    found = _any_runs().findall(normalized)
    return [word for word, _ in found if word], [run for _, run in found if run]


def runs_in_order(normalized: str) -> list[str]:
    """The words and stretches of normalised text as they follow one another.

    Example:
        >>> runs_in_order("重跑gen-itgc后")
        ['重跑', 'gen-itgc', '后']
    """
    return [word or run for word, run in _any_runs().findall(normalized)]


@cache
def _any_runs() -> re.Pattern[str]:
    r"""Build the pattern of `runs`: one group for words, one for stretches.

    `\w` lacks the combining marks with which Indic and Semitic scripts write vowels, and
    subtracting the unspaced scripts from it by look-ahead is 20 times slower than one
    explicit class. The class is built at first use: it takes 50 ms.
    """
    letters = [
        code
        for code in range(ord("0"), 0x10000)
        if _continues_word(chr(code)) and not is_unspaced(chr(code))
    ]
    letter = f"[{_char_ranges(letters)}{_ASTRAL_LETTERS}]"
    word = f"{letter}+(?:[{_JOINERS}]{letter}+)*{_CLOSERS}"
    return re.compile(f"({word})|([{_UNSPACED}]+)")


def _char_ranges(codes: Iterable[int]) -> str:
    """Write ascending code points as the inside of a regex class."""
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def is_unspaced(term: str) -> bool:
    """Tell whether a term comes from a stretch without blanks, not from a word."""
    return _UNSPACED_CHAR.match(term) is not None


def has_stretches(normalized: str) -> bool:
    """Tell whether a text has any character of the scripts without blanks."""
    return _UNSPACED_CHAR.search(normalized) is not None


def unspaced_ranges() -> list[tuple[int, int]]:
    """The code points of the scripts without blanks, as first and last of each range.

    Example:
        >>> unspaced_ranges()[0] == (ord("々"), ord("〇"))
        True
    """
    found = re.findall(r"(.)(?:-(.))?", _UNSPACED)
    return [(ord(first), ord(last or first)) for first, last in found]


_UNSPACED_CHAR: Final = re.compile(f"[{_UNSPACED}]")


def is_letter(char: str) -> bool:
    """Tell whether a character goes on with a word; those of stretches do not."""
    return _continues_word(char) and not is_unspaced(char)


def is_compound(term: str) -> bool:
    """Tell whether a term is a whole that also has parts: `node.js`, `c++`."""
    return _PART_BREAKS.search(term) is not None


def word_terms(word: str, *, stemming: bool = True) -> list[str]:
    """Return the terms of one word: the whole, and the parts of a compound.

    Letters that an apostrophe cuts off (`user's`, `l'heure`) are no parts.

    Args:
        word: A normalised word, as `runs` gives it.
        stemming: Whether English endings are taken off plain words.

    Returns:
        The whole first, then its parts in order.

    Example:
        >>> word_terms("state-of-the-art", stemming=False)
        ['state-of-the-art', 'state', 'of', 'the', 'art']
        >>> word_terms("c++"), word_terms("chapters")
        (['c++', 'c'], ['chapter'])
    """
    return list(_word_terms(word, stem if stemming else None))


def _word_terms(word: str, stemmer: Callable[[str], str] | None) -> tuple[str, ...]:
    if word.isalnum():
        return (word if stemmer is None else stemmer(word),)
    whole = word.replace("\u2019", "'")
    parts = tuple(part for part in _PART_BREAKS.split(whole) if part)
    if "'" in whole:
        parts = tuple(part for part in parts if len(part) > 1)
    if stemmer is not None:
        parts = tuple(map(stemmer, parts))
    # A word with combining marks is not alphanumeric, yet has no parts.
    return parts if parts == (whole,) else (whole, *parts)


def pieces(normalized: str) -> tuple[list[str], list[str]]:
    """As `runs`, but words may still have about them what blanks do not part from them.

    `TermsOfWords` tells the terms of such a piece as well as those of a word, and mostly
    remembers them; splitting at blanks is much faster than looking for words.

    Example:
        >>> pieces("(see the manual.)"), pieces("重跑gen-itgc后")
        ((['see', 'the', 'manual.'], []), (['gen-itgc'], ['重跑', '后']))
    """
    if normalized.isascii():
        return normalized.translate(ASCII_BLANKS).split(), []
    if has_stretches(normalized):
        return runs(normalized)
    return normalized.split(), []


class TermsOfWords(dict[str, tuple[str, ...]]):
    """The terms of each word or piece, made when first asked for and remembered.

    When it is full it starts anew. Threads may share it, since each entry has only one
    possible value.

    Args:
        stemmer: What makes the terms of plain words and of parts; None for the words.
    """

    def __init__(self, stemmer: Callable[[str], str] | None) -> None:
        super().__init__()
        self._stemmer = stemmer

    def __missing__(self, word: str) -> tuple[str, ...]:
        words = [word] if word.isalnum() else runs(word)[0]
        made = tuple(term for w in words for term in _word_terms(w, self._stemmer))
        if len(word) <= LONGEST_REMEMBERED:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[word] = made
        return made


def stretch_terms(stretch: str, *, singles: bool = False) -> list[str]:
    """Return the overlapping pairs of characters of a stretch without blanks.

    Args:
        stretch: Characters of unspaced scripts, as `runs` gives them.
        singles: Whether to add each single character, after the pairs.

    Returns:
        The pairs in order; a stretch of one character is its own term.

    Example:
        >>> stretch_terms("東京都"), stretch_terms("雪")
        (['東京', '京都'], ['雪'])
    """
    if len(stretch) == 1:
        return [stretch]
    pairs = list(map(operator.add, stretch, stretch[1:]))
    return [*pairs, *stretch] if singles else pairs


def term_counts(text: str, *, stemming: bool = True, singles: bool = False) -> Counter[str]:
    """Count the terms of a text.

    Args:
        text: Any string.
        stemming: Whether English endings are taken off plain words.
        singles: Whether single characters of unspaced scripts are terms beside pairs.

    Returns:
        How often each term occurs; the order of the keys is without meaning.

    Example:
        >>> term_counts("Two cats, one cat: 猫")["cat"]
        2
    """
    words, stretches = pieces(normalize(text))
    terms_of = STEMMED if stemming else UNSTEMMED
    return counted(words, terms_of, map(partial(stretch_terms, singles=singles), stretches))


def counted(
    words: Iterable[str], terms_of: TermsOfWords, stretches: Iterable[Iterable[str]]
) -> Counter[str]:
    """Count the terms of words, and those that stretches were made into.

    Args:
        words: As `runs` or `pieces` gives them.
        terms_of: The terms of a word.
        stretches: The terms of each stretch.
    """
    return Counter(
        chain(
            chain.from_iterable(map(terms_of.__getitem__, words)),
            chain.from_iterable(stretches),
        )
    )


def terms(text: str, *, stemming: bool = True, singles: bool = False) -> list[str]:
    """Return the distinct terms of a text, sorted by code point.

    Args:
        text: Any string.
        stemming: As for `term_counts`.
        singles: As for `term_counts`.

    Returns:
        The keys of `term_counts`, sorted.

    Example:
        >>> terms("Node.js 入门", stemming=False)
        ['js', 'node', 'node.js', '入门']
    """
    return sorted(term_counts(text, stemming=stemming, singles=singles))


def stem(word: str) -> str:
    """Take a plural s, -ed, -ing, and a final e off an English word.

    A light rule of our own: it does not aim at the dictionary form, but at one form
    for the inflections of a word. At least two letters with a vowel remain.

    Args:
        word: A normalised word; anything but ASCII letters comes back as it is.

    Returns:
        The stem, of at least two letters.

    Example:
        >>> [stem(word) for word in ("study", "studies", "studied", "studying")]
        ['studi', 'studi', 'studi', 'studi']
        >>> [stem(word) for word in ("run", "running", "thing", "process")]
        ['run', 'run', 'thing', 'process']
    """
    if _SHORTEST_STEM < len(word) <= _LONGEST_ENGLISH and word.isascii() and word.isalpha():
        return _stem(word)
    return word


def _stem(word: str) -> str:
    word = _without_plural(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and _is_stem(rest) and not word.endswith("eed"):
            word = _without_doubling(rest)
            break
    if word.endswith("e") and _is_stem(word[:-1]):
        word = word[:-1]
    if word.endswith("y") and len(word) > _SHORTEST_STEM and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    return word


STEMMED: Final = TermsOfWords(stem)
"""The terms of words whose English endings are taken off."""

UNSTEMMED: Final = TermsOfWords(None)
"""The terms of words as they are."""

_VOWELS: Final = frozenset("aeiouy")

_SHORTEST_STEM: Final = 2
"""Letters that remain at least, so that "used" meets "use" and "red" stays whole."""

_LONGEST_ENGLISH: Final = 45
"""Letters of the longest word in English dictionaries; what is longer is data, and
would fill the cache."""

_SHORTEST_PLURAL: Final = 4
"""Letters of the shortest word whose s is taken for a plural: "cats", but not "gas"."""


def _is_stem(rest: str) -> bool:
    return len(rest) >= _SHORTEST_STEM and not _VOWELS.isdisjoint(rest)


def _without_plural(word: str) -> str:
    if len(word) < _SHORTEST_PLURAL or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-2]
    return word.removesuffix("s")


def _without_doubling(rest: str) -> str:
    """Undo the doubling before an ending: "stopped", but not "called" or "missed"."""
    doubled = len(rest) > _SHORTEST_STEM and rest[-1] == rest[-2]
    return (
        rest[:-1] if doubled and rest[-1] not in "lsz" and rest[-1] not in _VOWELS else rest
    )
