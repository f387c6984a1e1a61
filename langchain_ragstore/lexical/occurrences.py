"""Where the terms of many texts occur, as numbers; nothing is made for each term.

What `TextAnalyzer.index_terms` tells of one text in dictionaries, this tells of a batch
in arrays: pieces of words are looked up among those seen before, and pairs of characters
are read off the code points. `tests/laws/test_occurrences.py` holds the two together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.lexical.folded import Codes, folded
from langchain_ragstore.lexical.keys import (
    CODE_POINT,
    CODE_POINT_BITS,
    KEY_BYTES,
    PAIR,
    TITLE,
    found_in,
    pair_keys,
)
from langchain_ragstore.lexical.postings import Keys, Rows
from langchain_ragstore.model import PieceKeys, Terms, Unanalyzed
from langchain_ragstore.text.terms import stands_in_words, unspaced_ranges

_BLANK, _IN_WORDS, _UNSPACED = range(3)
"""Kinds of code points."""

_MARKS: Final = 0x3040
"""Code points among which blanks are looked for: punctuation is below. What else stands
in no word is found out when the terms of a piece are made."""

Digits: TypeAlias = tuple[int, ...]
"""Where the digits of 16 bits begin that mostly tell a group's keys apart, lowest first."""

_OF_WORDS: Final[Digits] = (30, 46)
"""Of a hash of 62 bits the highest 32."""

_OF_PAIRS: Final[Digits] = (0, CODE_POINT_BITS)
"""The characters of the basic plane."""

LONGEST_READ: Final = 1 << 20
"""Characters of a text that is read so: arrays take some 50 bytes for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Every occurrence of a term in some texts, whose rows are their places.

    Attributes:
        groups: Keys and rows, one a place where a term occurs, in any order, and the
            digits of the keys; all keys of a group are below those of the next.
        body: How many terms each text's body has; shape `(texts,)`.
        title: How many its title has.
    """

    groups: Sequence[tuple[Keys, Rows, Digits]]
    body: Rows
    title: Rows


def of_texts(texts: Sequence[Terms | Unanalyzed]) -> Occurrences | None:
    """Read texts that consist of words and of stretches without blanks.

    Args:
        texts: At least one.

    Returns:
        The occurrences of their terms; None if only `Terms` can tell them: where these
        are given, where more than one analyzer makes them or one that knows other terms,
        or where a text is very long.
    """
    unread = [text for text in texts if isinstance(text, Unanalyzed)]
    makers = {id(text.by): text.by for text in unread}
    if len(unread) < len(texts) or len(makers) > 1:
        return None
    keys_of = unread[0].by.keys_of
    if keys_of is None or any(text.characters > LONGEST_READ for text in unread):
        return None
    bodies, titles = [text.body for text in unread], [text.title for text in unread]
    found = _occurrences(bodies, titles, keys_of)
    # Only a stemmer of the user's makes a word that looks like a pair of characters.
    looks = any((keys >= np.uint64(PAIR)).any() for keys, *_ in found.groups[:2])
    return None if looks else found


def _occurrences(
    bodies: Sequence[str], titles: Sequence[str], keys_of: PieceKeys
) -> Occurrences:
    body, title = _read(bodies, keys_of), _read(titles, keys_of)
    pairs, pair_rows = body.pairs()
    alone, alone_rows = body.alone()
    last, last_rows = body.only_last()
    title_pairs, title_pair_rows = title.pairs()
    every, every_rows = title.characters()
    count = len(bodies)
    return Occurrences(
        groups=(
            (body.words, body.word_rows, _OF_WORDS),
            (title.words | np.uint64(TITLE), title.word_rows, _OF_WORDS),
            (
                np.concatenate([pairs, alone, last]),
                np.concatenate([pair_rows, alone_rows, last_rows]),
                _OF_PAIRS,
            ),
            (
                np.concatenate([title_pairs, every]) | np.uint64(TITLE),
                np.concatenate([title_pair_rows, every_rows]),
                _OF_PAIRS,
            ),
        ),
        body=_counts(count, body.word_rows, pair_rows, alone_rows),
        title=_counts(count, title.word_rows, title_pair_rows, every_rows),
    )


def _counts(count: int, *rows: Rows) -> Rows:
    return np.bincount(np.concatenate(rows), minlength=count).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Texts as the numbers of their words, and the code points of those with stretches.

    Attributes:
        words: The numbers of the words' terms.
        word_rows: The row of each.
        codes: The texts with stretches one after the other, a blank around each.
        code_rows: The row of each code point.
        unspaced: Which of them are of a script without blanks.
    """

    words: Keys
    word_rows: Rows
    codes: Codes
    code_rows: Rows
    unspaced: NDArray[np.bool_]

    def pairs(self) -> tuple[Keys, Rows]:
        """The overlapping pairs of characters."""
        at = self._begins()
        return pair_keys(self.codes[at], self.codes[at + 1]), self.code_rows[at]

    def characters(self) -> tuple[Keys, Rows]:
        """All single characters."""
        return self._singles(np.flatnonzero(self.unspaced))

    def alone(self) -> tuple[Keys, Rows]:
        """The characters that are a stretch by themselves."""
        return self._singles(self._ends(~self.unspaced[:-2]))

    def only_last(self) -> tuple[Keys, Rows]:
        """The last characters of pairs that no pair of their row begins with.

        As `keys.last_characters`; what is not the last of its stretch begins a pair.
        """
        ends = np.sort(self._placed(self._ends(self.unspaced[:-2])))
        lonely = ends[~found_in(ends, self._placed(self._begins()))].astype(np.uint64)
        codes = lonely & np.uint64(CODE_POINT)
        rows = (lonely >> np.uint64(CODE_POINT_BITS)).astype(np.int64)
        return pair_keys(codes, np.zeros_like(codes)), rows

    def _placed(self, at: NDArray[np.intp]) -> NDArray[np.unsignedinteger]:
        """Row and code point as one number, of 32 bits if that holds them."""
        rows, codes = self.code_rows[at], self.codes[at]
        if int(rows.max(initial=0)) >> 32 - CODE_POINT_BITS == 0:
            return rows.astype(np.uint32) << np.uint32(CODE_POINT_BITS) | codes
        return rows.astype(np.uint64) << np.uint64(CODE_POINT_BITS) | codes

    def _begins(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.unspaced[:-1] & self.unspaced[1:])

    def _ends(self, after: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.flatnonzero(after & self.unspaced[1:-1] & ~self.unspaced[2:]) + 1

    def _singles(self, at: NDArray[np.intp]) -> tuple[Keys, Rows]:
        codes = self.codes[at]
        return pair_keys(codes, np.zeros_like(codes)), self.code_rows[at]


def _read(texts: Sequence[str], keys_of: PieceKeys) -> _Read:
    plain = {row: text.encode() for row, text in enumerate(texts) if text.isascii()}
    others = folded({row: text for row, text in enumerate(texts) if row not in plain})
    kinds = _kinds()[others.codes]
    words = others.only(kinds == _IN_WORDS)
    wide = {row: text.split() for row, text in words.wide()}
    plain |= {row: text for row, text in words.narrow() if row not in wide}
    keys, places = keys_of.of_ascii(list(plain.values()))
    more = [keys_of.of(pieces) for pieces in wide.values()]
    counts = np.array([len(made) // KEY_BYTES for made in more], np.int64)
    return _Read(
        words=np.concatenate([keys, np.frombuffer(b"".join(more), "<u8")]),
        word_rows=np.concatenate([_rows(plain)[places], np.repeat(_rows(wide), counts)]),
        codes=others.codes,
        code_rows=others.rows,
        unspaced=kinds == _UNSPACED,
    )


def _rows(texts: Iterable[int]) -> Rows:
    return np.array(list(texts), np.int64)


@cache
def _kinds() -> NDArray[np.uint8]:
    """What each code point is."""
    table = np.full(sys.maxunicode + 1, _IN_WORDS, np.uint8)
    for code in range(_MARKS):
        if not stands_in_words(chr(code)):
            table[code] = _BLANK
    for first, last in unspaced_ranges():
        table[first : last + 1] = _UNSPACED
    return table
