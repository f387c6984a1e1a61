"""Where the terms of many texts occur, as numbers; nothing is made for each term.

What `TextAnalyzer.index_terms` tells of one text in dictionaries, this tells of a batch
in arrays: pieces of words are looked up among those seen before, and pairs of characters
are read off the code points. `tests/laws/test_occurrences.py` holds the two together.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
from langchain_ragstore.text.terms import (
    has_stretches,
    normalize,
    stands_in_words,
    unspaced_ranges,
)

Codes: TypeAlias = NDArray[np.uint32]

_BETWEEN: Final = "\x1e"
"""What stands between texts while they are one: a blank, so that no word holds it."""

_BLANK, _IN_WORDS, _UNSPACED = range(3)
"""Kinds of code points."""

_MARKS: Final = 0x3040
"""Code points among which blanks are looked for: punctuation is below. What else stands
in no word is found out when the terms of a piece are made."""

LONGEST_READ: Final = 1 << 20
"""Characters of a text that is read so: arrays take some 50 bytes for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Every occurrence of a term in some texts, whose rows are their places.

    Attributes:
        groups: Keys and rows, one a place where a term occurs, in any order; all keys of
            a group are below those of the next.
        body: How many terms each text's body has; shape `(texts,)`.
        title: How many its title has.
    """

    groups: Sequence[tuple[Keys, Rows]]
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
    looks = any((keys >= np.uint64(PAIR)).any() for keys, _ in found.groups[:2])
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
            (body.words, body.word_rows),
            (title.words | np.uint64(TITLE), title.word_rows),
            (
                np.concatenate([pairs, alone, last]),
                np.concatenate([pair_rows, alone_rows, last_rows]),
            ),
            (
                np.concatenate([title_pairs, every]) | np.uint64(TITLE),
                np.concatenate([title_pair_rows, every_rows]),
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
    plain = {row: text for row, text in enumerate(texts) if text.isascii()}
    other = {row: normalize(text) for row, text in enumerate(texts) if row not in plain}
    mixed = {row: folded for row, folded in other.items() if has_stretches(folded)}
    lengths = [1 + len(folded) for folded in mixed.values()]
    codes = _code_points(_BETWEEN.join(["", *mixed.values(), ""]))
    kinds = _kinds()[codes]
    other |= zip(mixed, _words(codes, kinds, lengths), strict=True)
    plain |= {row: rest for row, rest in other.items() if rest.isascii()}
    words, rows = keys_of.of_ascii(list(plain.values()))
    for row in plain.keys() & other.keys():
        del other[row]
    more = [keys_of.of(folded.split()) for folded in other.values()]
    counts = [len(keys) // KEY_BYTES for keys in more]
    return _Read(
        words=np.concatenate([words, np.frombuffer(b"".join(more), "<u8")]),
        word_rows=np.concatenate(
            [
                np.array([*plain], np.int64)[rows],
                np.repeat(np.array([*other], np.int64), counts),
            ]
        ),
        codes=codes,
        code_rows=np.repeat([0, *mixed], [1, *lengths]),
        unspaced=kinds == _UNSPACED,
    )


def _words(codes: Codes, kinds: NDArray[np.uint8], lengths: Sequence[int]) -> list[str]:
    """What remains of each text when all but words is blank."""
    rest = np.where(kinds == _IN_WORDS, codes, np.uint32(ord(" ")))
    rest[np.cumsum([0, *lengths])] = ord(_BETWEEN)
    return rest.tobytes().decode("utf-32-le", "surrogatepass").split(_BETWEEN)[1:-1]


def _code_points(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


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
