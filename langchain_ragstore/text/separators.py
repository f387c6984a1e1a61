"""Breaks at separators that the caller names, as strings or as regular expressions.

A separator that is a sentence or clause mark is taken with the marks and closing quotes
behind it, as in `boundaries.natural`: what ends a sentence is one run, whichever of its
marks was named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from langchain_ragstore.text import graphemes
from langchain_ragstore.text.boundaries import (
    CLAUSE_MARKS,
    FULL_CLAUSE_MARKS,
    FULL_STOPS,
    LOOK_AROUND,
    STOPS,
    Breaks,
    Listed,
    Scanned,
    closers,
    length_behind,
)


@dataclass(frozen=True, slots=True)
class Separated:
    """One class for each separator: breaks at the ends, or the starts, of its runs.

    The empty string is passed over: grapheme clusters are always the last resort.

    Attributes:
        separators: The best first.
        end: Whether a separator belongs to what stands before it.
    """

    separators: tuple[str, ...]
    end: bool

    def __call__(self, text: str) -> tuple[Breaks, ...]:
        """See `Classes`."""
        side = re.Match.end if self.end else re.Match.start
        runs = _run_ending if self.end else _run_starting
        return tuple(
            Scanned(text, runs(separator).finditer, side, max(LOOK_AROUND, len(separator)))
            for separator in self.separators
            if separator
        )


@dataclass(frozen=True, slots=True)
class Patterned:
    """The same with regular expressions; what has no width is a break where it matches.

    Attributes:
        patterns: The best first, valid ones.
        end: Whether what they match belongs to what stands before it.
    """

    patterns: tuple[str, ...]
    end: bool

    def __call__(self, text: str) -> tuple[Breaks, ...]:
        """See `Classes`."""
        return tuple(
            _Matched(text, pattern, self.end) for pattern in self.patterns if pattern
        )


@dataclass(frozen=True)
class _Matched:
    """The breaks of one expression, found by reading the whole text when first asked.

    No part of the text would do: what an expression matches may depend on all of it.
    """

    text: str
    pattern: str
    end: bool

    @cached_property
    def _listed(self) -> Listed:
        found = (_ends if self.end else _starts)(self.text, re.compile(self.pattern))
        return Listed(list(graphemes.borders(self.text, list(found))))

    def last(self, start: int, end: int) -> int | None:
        """See `Breaks.last`."""
        return self._listed.last(start, end)

    def first(self, start: int, end: int) -> int | None:
        """See `Breaks.first`."""
        return self._listed.first(start, end)


def _ends(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Where the runs of what matches end, ascending."""
    place = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if end <= place:
            continue
        if place and (start > place or start == end):
            yield place
        behind = _tail(text[end - 1]).match(text, end)
        place = behind.end() if behind else end
    if place:
        yield place


def _starts(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Where the runs of what matches begin, ascending."""
    done, last = 0, 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if start == done < end and done:
            done = end
            continue
        if start < len(text) and text[start] in STOPS:
            start -= length_behind(_match_stops, text, done, start)
            if start == done and done and text[done - 1] in STOPS:
                done = end
                continue
        done = end
        if start > last:
            last = start
            yield start


_match_stops = re.compile(f"[{STOPS}]++").match


@lru_cache(maxsize=256)
def _run_ending(separator: str) -> re.Pattern[str]:
    part = re.escape(separator)
    return re.compile(f"(?<!{part})(?:{part})++{_tail(separator[-1]).pattern}")


@lru_cache(maxsize=256)
def _run_starting(separator: str) -> re.Pattern[str]:
    part = re.escape(separator)
    if separator[0] in STOPS:
        return re.compile(f"(?<![{STOPS}])[{STOPS}]*?{part}")
    return re.compile(f"(?<!{part}){part}")


@lru_cache(maxsize=256)
def _tail(last: str) -> re.Pattern[str]:
    """What belongs to a separator behind its last character."""
    if last in STOPS:
        return re.compile(f"[{STOPS}]*+(?:{closers(FULL_STOPS)})?+")
    if last in CLAUSE_MARKS:
        return re.compile(f"(?:{closers(FULL_CLAUSE_MARKS)})?+")
    return re.compile("")
