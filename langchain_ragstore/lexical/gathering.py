"""Posting lists from the terms of texts, and from other posting lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import BM25_MAX_FREQUENCY
from langchain_ragstore.lexical.keys import body_key, last_characters, title_key
from langchain_ragstore.lexical.occurrences import (
    LONGEST_READ,
    Digits,
    Occurrences,
    of_texts,
)
from langchain_ragstore.lexical.postings import (
    NO_POSTINGS,
    Keys,
    Postings,
    Rows,
    encoded,
    of_rows,
)
from langchain_ragstore.model import Terms, Unanalyzed

TEXTS_AT_ONCE: Final = 2_000
"""Texts whose postings are sorted at once: bounds the memory that a large batch takes."""

FEWEST_AT_ONCE: Final = 4
"""Texts from which on arrays cost less than dictionaries."""

CHARACTERS_AT_ONCE: Final = 4 * LONGEST_READ
"""Characters of texts that are read at once: thousands of chunks, or few long texts."""

_NUMBER_BITS: Final = 64

_DIGIT: Final = 1 << 16
"""Values of a digit: numpy sorts numbers of 16 bits by counting, ten times as fast."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Posting lists of some texts, ready to be written.

    Attributes:
        blocks: First term and bytes of each block.
        body: How many terms each text's body has.
        title: How many its title has.
    """

    blocks: Sequence[tuple[int, bytes]]
    body: Rows
    title: Rows


def prepared(texts: Sequence[Terms | Unanalyzed]) -> Iterator[Prepared]:
    """The posting lists of texts, some at a time.

    Yields:
        Those of the next `TEXTS_AT_ONCE` texts, or of fewer, if they are long.
    """
    part: list[Terms | Unanalyzed] = []
    room = CHARACTERS_AT_ONCE
    for text in texts:
        part.append(text)
        room -= text.characters if isinstance(text, Unanalyzed) else 0
        if len(part) == TEXTS_AT_ONCE or room < 0:
            yield _prepared(part)
            part, room = [], CHARACTERS_AT_ONCE
    if part:
        yield _prepared(part)


def _prepared(texts: Sequence[Terms | Unanalyzed]) -> Prepared:
    found = of_texts(texts) if len(texts) >= FEWEST_AT_ONCE else None
    if found is not None:
        return Prepared(list(encoded(of_occurrences(found))), found.body, found.title)
    counted = [text.terms() if isinstance(text, Unanalyzed) else text for text in texts]
    body = np.array([sum(text.body.values()) for text in counted], np.int64)
    title = np.array([sum(text.title.values()) for text in counted], np.int64)
    return Prepared(list(encoded(of_terms(counted))), body, title)


def of_terms(texts: Sequence[Terms]) -> Postings:
    """The posting lists of some texts; their rows are their places.

    Besides its terms, a row is listed under each single character that only ends pairs;
    see `keys.last_characters`.
    """
    keys: list[int] = []
    frequencies: list[int] = []
    body = [len(text.body) for text in texts]
    title = [len(text.title) for text in texts]
    for text in texts:
        keys.extend(map(body_key, text.body))
        frequencies.extend(text.body.values())
    for text in texts:
        keys.extend(map(title_key, text.title))
        frequencies.extend(text.title.values())
    numbers = np.array(keys, np.uint64)
    places = np.arange(len(texts))
    rows = np.concatenate([np.repeat(places, body), np.repeat(places, title)])
    often = np.minimum(np.array(frequencies, np.int64), BM25_MAX_FREQUENCY)
    bodies = sum(body)
    singles, ends = last_characters(numbers[:bodies], rows[:bodies])
    return gathered(
        np.concatenate([numbers, singles]),
        np.concatenate([rows, rows[ends]]),
        np.concatenate([often, often[ends]]),
    )


def of_occurrences(found: Occurrences) -> Postings:
    """The posting lists of occurrences; as `of_terms`."""
    return _beside([grouped(keys, rows, digits) for keys, rows, digits in found.groups])


def grouped(keys: Keys, rows: Rows, digits: Digits) -> Postings:
    """As `gathered` of postings that are once each; mostly in half its time.

    Args:
        keys: The number of each posting's term.
        rows: Its row.
        digits: Where the digits begin that are likely to put the keys in order.
    """
    order = np.argsort(rows.astype(np.uint16), kind="stable")
    for shift in digits:
        digit = (keys >> np.uint64(shift)).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    ordered, placed = keys[order], rows[order]
    if rows.max(initial=0) >= _DIGIT or (ordered[1:] < ordered[:-1]).any():
        return gathered(keys, rows, np.ones(len(keys), np.int64))
    starts = np.flatnonzero(_changes(ordered) | _changes(placed))
    often = np.diff(starts, append=len(ordered))
    ordered = ordered[starts]
    first = np.flatnonzero(_changes(ordered))
    return of_rows(
        ordered[first],
        np.diff(first, append=len(ordered)),
        placed[starts],
        np.minimum(often, BM25_MAX_FREQUENCY).astype(np.uint8),
    )


def _beside(parts: Sequence[Postings]) -> Postings:
    """The lists of several, one after the other; their terms are not put in order."""
    if len(parts) == 1:
        return parts[0]
    return Postings(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.firsts for part in parts]),
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.frequencies for part in parts]),
    )


def gathered(keys: Keys, rows: Rows, frequencies: NDArray[np.integer]) -> Postings:
    """Sort postings that come in any order; equal ones of a row are added up.

    Args:
        keys: The number of each posting's term.
        rows: Its row.
        frequencies: How often the term occurs there, at least 1.
    """
    # Term and row as one number, since numpy sorts numbers ten times as fast as pairs.
    bits = np.uint64(int(rows.max(initial=0)).bit_length())
    least = keys.min(initial=np.iinfo(np.uint64).max)
    ranks, distinct = _ranked(keys - least, _NUMBER_BITS - int(bits))
    both = ranks << bits | rows.astype(np.uint64)
    order = np.argsort(both)
    both = both[order]
    starts = np.flatnonzero(_changes(both))
    often = np.add.reduceat(frequencies[order], starts, dtype=np.int64)
    both = both[starts]
    first = np.flatnonzero(_changes(both >> bits))
    return of_rows(
        (distinct if distinct is not None else both[first] >> bits) + least,
        np.diff(first, append=len(both)),
        (both & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64),
        np.minimum(often, BM25_MAX_FREQUENCY).astype(np.uint8),
    )


def _ranked(keys: Keys, bits: int) -> tuple[Keys, Keys | None]:
    """Numbers of that many bits that are in the order of the keys.

    Returns:
        A number for each key, and each key once, ascending, if the numbers are others.
    """
    excess = int(keys.max(initial=0)).bit_length() - bits
    if excess <= 0:
        return keys, None
    ordered = np.sort(keys)
    distinct = ordered[_changes(ordered)]
    # The highest bits mostly tell keys apart: those of words are hashes.
    if _changes(distinct >> np.uint64(excess)).all():
        return keys >> np.uint64(excess), distinct
    return np.searchsorted(distinct, keys).astype(np.uint64), distinct


def _changes(values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which values differ from the one before; the first one does."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def merged(parts: Sequence[Postings]) -> Postings:
    """The lists of several `Postings` as one; rows of a part are below those of the next.

    So a term's rows are those of its lists, one list after the other.
    """
    lists = _beside([NO_POSTINGS, *parts])
    order = np.argsort(lists.keys, kind="stable")
    keys, starts = lists.keys[order], lists.starts
    new = _changes(keys)
    counts, firsts = lists.counts[order], lists.firsts[order]
    # The first row of a list that goes on with another one is a step from its last.
    lasts = lists.firsts + np.add.reduceat(lists.steps, starts, dtype=np.int64)
    on = np.flatnonzero(~new)
    lists.steps[starts[order[on]]] = firsts[on] - lasts[order[on - 1]]
    at = np.repeat(starts[order] - (np.cumsum(counts) - counts), counts)
    at += np.arange(len(at))
    return Postings(
        keys[new],
        np.add.reduceat(counts, np.flatnonzero(new), dtype=np.int64),
        firsts[new],
        lists.steps[at],
        lists.frequencies[at],
    )


def renumbered(postings: Postings, new: Rows) -> Postings:
    """Give rows other numbers in the same order, and drop those that get none.

    Args:
        postings: Any lists.
        new: The number of each old row, -1 for none; shape `(old rows,)`.
    """
    if len(new) and new[0] >= 0 and new[-1] - new[0] == len(new) - 1:  # one after the other
        return replace(postings, firsts=postings.firsts + new[0])
    rows = new[postings.rows]
    kept = rows >= 0
    counts = np.add.reduceat(kept, postings.starts, dtype=np.int64)
    left = counts > 0
    return of_rows(
        postings.keys[left], counts[left], rows[kept], postings.frequencies[kept]
    )
