"""The numbers of the terms of words, remembered for the words that were seen before."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.lexical.keys import KEY_BYTES, body_key
from langchain_ragstore.lexical.postings import Keys, Rows
from langchain_ragstore.text.terms import ASCII_BLANKS, LONGEST_REMEMBERED

_CACHE: Final = 1 << 16
"""Pieces remembered: more than those of a large corpus that occur again and again."""

_SHORT: Final = 2 * KEY_BYTES
"""Bytes of a short word: as many as two numbers hold."""

_NUMBER_BITS: Final = 8 * KEY_BYTES
_SLOT_BITS: Final = 16
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: multiplied by it, similar numbers differ in the high bits
(Knuth, The Art of Computer Programming, volume 3, section 6.4)."""

_FOLDED: Final = bytes(range(0x80)).decode().translate(
    ASCII_BLANKS
).lower().encode() + bytes(range(0x80, 0x100))
"""Folds ASCII and blanks what stands in no word, in one pass."""

_MASKS: Final = np.array([(1 << 8 * size) - 1 for size in range(KEY_BYTES + 1)], np.uint64)


class KeysOfPieces(dict[str | bytes, bytes]):
    """The numbers of each piece's terms, 8 bytes each; made once and remembered.

    When it is full it starts anew. Threads may share it, since each entry has only one
    possible value.

    Args:
        terms_of: The terms of a piece, as `text.terms.TermsOfWords` gives them.
    """

    def __init__(self, terms_of: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._terms_of = terms_of
        self._short = _ShortWords()

    def __missing__(self, piece: str | bytes) -> bytes:
        word = piece.decode() if isinstance(piece, bytes) else piece
        made = np.array([body_key(term) for term in self._terms_of[word]], "<u8").tobytes()
        if len(word) <= LONGEST_REMEMBERED:
            if len(self) >= _CACHE:
                self.clear()
            self[piece] = made
        return made

    def of(self, pieces: Iterable[str | bytes]) -> bytes:
        """The numbers of some pieces' terms, one after the other."""
        return b"".join(map(self.__getitem__, pieces))

    def of_ascii(self, texts: Sequence[bytes]) -> tuple[Keys, Rows]:
        """The numbers of the terms of ASCII texts, and the place of the text of each.

        Most words are short and known, and those are looked up all at once.
        """
        # A blank before each text, and room for a whole number from the last byte on.
        parts = [b"", *texts, b" " * _SHORT]
        data = b" ".join(parts).translate(_FOLDED)
        inside = np.frombuffer(data, np.uint8) != ord(" ")
        edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        starts, ends = edges[::2], edges[1::2]
        begins = np.cumsum([1 + len(part) for part in parts[:-1]])
        rows = np.repeat(np.arange(len(texts)), np.diff(np.searchsorted(starts, begins)))
        words = _numbers(data, starts, ends - starts)
        known, keys = self._short.found(*words)
        rest = np.flatnonzero(~known)
        pairs = zip(starts[rest].tolist(), ends[rest].tolist(), strict=True)
        made = [self[data[start:end]] for start, end in pairs]
        self._short.learn(words[0][rest], words[1][rest], made)
        counts = [len(numbers) // KEY_BYTES for numbers in made]
        return (
            np.concatenate([keys[known], np.frombuffer(b"".join(made), "<u8")]),
            np.concatenate([rows[known], np.repeat(rows[rest], counts)]),
        )


def _numbers(data: bytes, starts: Rows, lengths: Rows) -> tuple[Keys, Keys]:
    """The first eight bytes of each word, and the next; 0 for a word that has more."""
    every = np.ndarray(len(data) - KEY_BYTES + 1, "<u8", data, strides=(1,))
    first = every[starts] & _MASKS[np.minimum(lengths, KEY_BYTES)]
    rest = np.clip(lengths - KEY_BYTES, 0, KEY_BYTES)
    second = every[starts + KEY_BYTES] & _MASKS[rest]
    first[lengths > _SHORT] = 0
    return first, second


class _ShortWords:
    """The numbers of words that are their only term, by their bytes as two numbers.

    A word has one slot, which the first that comes keeps, until half of them are taken
    and all are given out anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._renew()

    def _renew(self) -> None:
        size = 1 << _SLOT_BITS
        self._table = tuple(np.zeros(size, np.uint64) for _ in range(3))
        self._taken = 0

    def found(self, first: Keys, second: Keys) -> tuple[NDArray[np.bool_], Keys]:
        """Which words are known, and the numbers; 0 is no word."""
        firsts, seconds, keys = self._table
        slots = _slots(first, second)
        known = (first > 0) & (firsts[slots] == first)
        known &= seconds[slots] == second
        return known, keys[slots]

    def learn(self, first: Keys, second: Keys, made: Sequence[bytes]) -> None:
        """Keep the numbers of words whose slots are free."""
        slots = _slots(first, second)
        new = np.flatnonzero((first > 0) & (self._table[0][slots] == 0)).tolist()
        if not new:
            return
        with self._lock:
            if self._taken > 1 << _SLOT_BITS - 1:
                self._renew()
            firsts, seconds, keys = self._table
            for at in new:
                slot = slots[at]
                if len(made[at]) == KEY_BYTES and not firsts[slot]:
                    # The first part last: who finds it finds the rest.
                    keys[slot] = int.from_bytes(made[at], "little")
                    seconds[slot] = second[at]
                    firsts[slot] = first[at]
                    self._taken += 1


def _slots(first: Keys, second: Keys) -> Keys:
    mixed = (first ^ (second * _SPREAD)) * _SPREAD
    return mixed >> np.uint64(_NUMBER_BITS - _SLOT_BITS)
