"""Terms as 64-bit numbers, in an order in which what begins with a character is a range.

A pair of characters of an unspaced script is written out, code point by code point, and
a single one as a pair with nothing; everything else is hashed. So no dictionary of terms
is kept, pairs never collide, and a single character finds the pairs that begin with it.
Two words whose hashes collide count as one term: among a million distinct words that
happens with a probability of 10^-7 (birthday bound n²/2^63), and costs one wrong hit.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.text.terms import is_unspaced

CODE_POINT_BITS: Final = 21
"""Bits of a code point: the last is 0x10FFFF."""

KEY_BYTES: Final = 8
"""Bytes of a number."""

PAIR: Final = 1 << 63
"""Flag of pairs and single characters."""

TITLE: Final = 1 << 62
"""Flag of a title's terms."""

_HASH_MASK: Final = (1 << 62) - 1
CODE_POINT: Final = (1 << CODE_POINT_BITS) - 1
"""Mask of a code point."""

_SLOTS: Final = 8
"""Slots of each value in `found_in`, at least: few others are in one by accident."""

_MOST_SLOT_BITS: Final = 20
"""A megabyte of slots, which stays in a cache."""

_SPREAD: Final = np.uint32(0x9E3779B1)
"""2^32 over the golden ratio; see `pieces`."""

_CACHE: Final = 1 << 16
"""Keys remembered: more than the terms of a large corpus that occur again and again."""


@lru_cache(maxsize=_CACHE)
def body_key(term: str) -> int:
    """The number of a term of the body, in [0, 2^64).

    Args:
        term: As `text.terms` gives it.

    Returns:
        The number, the same in every process.
    """
    if is_pair(term):
        return PAIR | ord(term[0]) << CODE_POINT_BITS | ord(term[1])
    if is_single(term):
        return PAIR | ord(term) << CODE_POINT_BITS
    data = term.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8).digest()
    return int.from_bytes(digest, "big") & _HASH_MASK


def title_key(term: str) -> int:
    """The number of a term of the title, which is none of the body's."""
    return body_key(term) | TITLE


def is_pair(term: str) -> bool:
    """Tell whether a term is two characters of a script that is read in pairs."""
    return len(term) == 2 and term[1] != "\0" and is_unspaced(term)  # noqa: PLR2004


def is_single(term: str) -> bool:
    """Tell whether a term is one character of a script that is read in pairs."""
    return len(term) == 1 and is_unspaced(term)


def key_range(term: str) -> tuple[int, int]:
    """The numbers, from the first up to but without the last, that a body's term finds.

    Args:
        term: A single character also finds the pairs that begin with it.

    Returns:
        The first number and the one after the last.
    """
    first = body_key(term)
    return first, first + (1 << CODE_POINT_BITS if is_single(term) else 1)


def pair_keys(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """The numbers of pairs of characters in a body; a second one of 0 is none.

    Args:
        first: Code points of unspaced scripts, shape `(count,)`.
        second: Others, of the same shape.

    Example:
        >>> pair_keys(np.array([0x6771]), np.array([0x4EAC])) == body_key("東京")
        array([ True])
    """
    wide = first.astype(np.uint64) << np.uint64(CODE_POINT_BITS)
    return np.uint64(PAIR) | wide | second.astype(np.uint64)


def last_characters(
    keys: NDArray[np.uint64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Single characters that no pair of their row begins with, though one ends.

    With a posting for these, the range of a character finds every row that holds it:
    one inside a stretch begins a pair, and only the last of a stretch does not.

    Args:
        keys: Numbers of terms of bodies, shape `(count,)`.
        rows: The row of each, below 2^42.

    Returns:
        The numbers of the single characters, and the places of the pairs they end.
    """
    places = np.flatnonzero(keys >= np.uint64(PAIR))
    places = places[(keys[places] & np.uint64(CODE_POINT)) > 0]
    bits = np.uint64(CODE_POINT_BITS)
    row = rows[places].astype(np.uint64) << bits
    first = (keys[places] >> bits) & np.uint64(CODE_POINT)
    second = keys[places] & np.uint64(CODE_POINT)
    lonely = ~found_in(row | second, row | first)
    return np.uint64(PAIR) | (second[lonely] << bits), places[lonely]


def found_in(
    values: NDArray[np.unsignedinteger], others: NDArray[np.unsignedinteger]
) -> NDArray[np.bool_]:
    """Which values are among others; `numpy.isin` takes ten times as long."""
    # Only those in a slot of a value can be one: mostly few, and only they are sorted.
    bits = min((_SLOTS * len(values)).bit_length() + 1, _MOST_SLOT_BITS)
    slots = np.zeros(1 << bits, np.bool_)
    slots[_slots(values, bits)] = True
    known = np.sort(others[slots[_slots(others, bits)]])
    if not len(known):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    found: NDArray[np.bool_] = known[at] == values
    return found


def _slots(values: NDArray[np.unsignedinteger], bits: int) -> NDArray[np.uint32]:
    low = values.astype(np.uint32, copy=False)
    return low * _SPREAD >> np.uint32(32 - bits)
