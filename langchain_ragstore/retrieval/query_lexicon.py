"""The words of `query_words` as one table, and what a query holds of them.

A query is read once. Words of alphabets and Korean words are compared one by one and in
groups that a blank parts; stretches of Chinese and Japanese from left to right, the longest
entry first, so that `表演` hides the `表` in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from langchain_ragstore.config import QUERY_HINT, QUERY_SURE
from langchain_ragstore.retrieval import (
    query_code_words as code,
)
from langchain_ragstore.retrieval import (
    query_table_words as table_words,
)
from langchain_ragstore.retrieval import (
    query_words as words,
)
from langchain_ragstore.text.terms import is_unspaced, runs, runs_in_order


@dataclass(frozen=True, slots=True)
class Sign:
    """What an entry says.

    Attributes:
        entry: As it is listed.
        code: How much it speaks for code: `QUERY_SURE`, `QUERY_HINT` or 0.
        table: The same for tables.
        code_name: Whether a hint of code is sure in a query with unspaced script.
        table_name: The same for tables.
        code_action: Whether it supports a hint of code.
        table_action: The same for tables.
        title: Whether it makes a name of what sounds like talk.
        cue: What it is to logic: the name of a list in `query_words`, or "".
        stop: Whether it carries no content.
    """

    entry: str
    code: float = 0.0
    table: float = 0.0
    code_name: bool = False
    table_name: bool = False
    code_action: bool = False
    table_action: bool = False
    title: bool = False
    cue: str = ""
    stop: bool = False


@dataclass(slots=True)
class Reading:
    """What a query holds.

    Attributes:
        signs: The entries found, each once.
        cues: How often each kind of cue of logic occurs.
        content: Terms that carry content.
        terms: All terms.
        unspaced: Whether a part is Chinese, Japanese or Korean.
    """

    signs: set[Sign] = field(default_factory=set)
    cues: Counter[str] = field(default_factory=Counter)
    content: float = 0.0
    terms: float = 0.0
    unspaced: bool = False

    def note(self, sign: Sign, size: float) -> None:
        """Add an entry that takes up so many terms."""
        self.signs.add(sign)
        if sign.cue:
            self.cues[sign.cue] += 1
        self.add(size, content=not sign.stop)

    def add(self, size: float, *, content: bool) -> None:
        """Add so many terms that are in no list, or in one that is of no further use."""
        self.terms += size
        if content:
            self.content += size


def read(normalized: str) -> Reading:
    """Look up everything in a query, in time linear in its length.

    Args:
        normalized: The result of `text.terms.normalize`.

    Example:
        >>> sorted(sign.entry for sign in read("表演 in excel 表格").signs)
        ['in excel', '表格', '表演']
    """
    found = Reading()
    ascii_only = normalized.isascii()
    tokens = runs(normalized)[0] if ascii_only else runs_in_order(normalized)
    group: list[str] = []
    for token in tokens:
        if ascii_only or not is_unspaced(token):
            group.append(token.replace("\u2019", "'"))
            continue
        found.unspaced = True
        if is_hangul(token[0]):
            group.append(_stem(token, found))
            continue
        _read_group(group, found)
        group.clear()
        _read_stretch(token, found)
    _read_group(group, found)
    return found


def is_hangul(character: str) -> bool:
    """Tell whether a character is a Korean syllable."""
    return "\uac00" <= character <= "\ud7a3"


def _stem(word: str, found: Reading) -> str:
    """A Korean word without its particle, which counts as a term without content."""
    entries = lexicon().entries
    if word in entries:
        return word
    for suffix, cue in _ENDINGS:
        if word.endswith(suffix) and len(word) > len(suffix) and word not in _NO_ENDING:
            found.cues[cue] += 1
            break
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) > len(particle):
            stem = word[: -len(particle)]
            if len(stem) > 1 or stem in entries:
                found.add(1, content=False)
                return stem
    return word


def _read_group(group: list[str], found: Reading) -> None:
    """Look up words, the longest group of them first."""
    table = lexicon()
    at = 0
    while at < len(group):
        word = group[at]
        for size in table.word_counts.get(word, ()):
            sign = table.entries.get(" ".join(group[at : at + size]))
            if sign is not None and at + size <= len(group):
                found.note(sign, size)
                at += size
                break
        else:
            _read_unknown(word, found)
            at += 1


def _read_unknown(word: str, found: Reading) -> None:
    """A word in no list: a compound, or a Korean one that holds entries."""
    found.add(1, content=True)
    table = lexicon().entries
    if is_hangul(word[0]):
        for sign, size in _parts(word):
            if sign is not None and size >= _LEAST_WITHIN:
                found.signs.add(sign)
    elif not word.isalnum():
        for part in word.replace("-", " ").replace("_", " ").replace(".", " ").split():
            sign = table.get(part)
            if sign is not None and not sign.stop:
                found.signs.add(sign)


def _read_stretch(stretch: str, found: Reading) -> None:
    for sign, size in _parts(stretch):
        if sign is None:
            found.add(size * _PER_CHARACTER, content=True)
        else:
            found.note(sign, size * _PER_CHARACTER)


def _parts(stretch: str) -> Iterator[tuple[Sign | None, int]]:
    """Cut a stretch into entries and single characters, from left to right.

    An entry does not begin or end within a word of katakana.
    """
    table = lexicon()
    at, end = 0, len(stretch)
    while at < end:
        for size in table.lengths.get(stretch[at], ()):
            sign = table.entries.get(stretch[at : at + size])
            if sign is not None and at + size <= end and _parted(stretch, at, at + size):
                yield sign, size
                at += size
                break
        else:
            yield None, 1
            at += 1


def _parted(stretch: str, start: int, end: int) -> bool:
    return not (
        (start > 0 and _is_katakana(stretch[start]) and _is_katakana(stretch[start - 1]))
        or (
            end < len(stretch)
            and _is_katakana(stretch[end])
            and _is_katakana(stretch[end - 1])
        )
    )


def _is_katakana(character: str) -> bool:
    return "\u30a1" <= character <= "\u30fe"


_PER_CHARACTER: Final = 0.5
"""Terms of a character in Chinese and Japanese, where most words have two."""

_LEAST_WITHIN: Final = 2
"""Syllables of an entry that is found within a Korean word: single ones are in too many."""


_ENDINGS: Final = (
    ("면", "CONDITIONS"),
    ("지만", "CONNECTIVES"),
    ("거나", "CONNECTIVES"),
    ("는지", "CONDITIONS"),
    ("보다", "COMPARISONS"),
)
"""Korean endings that a clause is joined by."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All entries.

    Attributes:
        entries: What each says.
        word_counts: For a first word, of how many words entries are, the most first.
        lengths: For a first character, of how many characters, the most first.
    """

    entries: Mapping[str, Sign]
    word_counts: Mapping[str, tuple[int, ...]]
    lengths: Mapping[str, tuple[int, ...]]


@cache
def lexicon() -> Lexicon:
    """Build the table, once, at first use."""
    entries: dict[str, Sign] = {}
    for names, traits in _LISTS:
        for entry in _split(names):
            known = entries.get(entry, Sign(entry))
            entries[entry] = replace(known, **_joined(known, traits))
    for entry in _split(table_words.FALSE_FRIENDS):
        entries[entry] = Sign(entry)
    for entry, sign in list(entries.items()):
        if entry.isascii() and entry[-1].isalpha() and not sign.stop:
            entries.setdefault(entry + "s", sign)
    word_counts: dict[str, set[int]] = {}
    lengths: dict[str, set[int]] = {}
    for entry in entries:
        parts = entry.split()
        word_counts.setdefault(parts[0], set()).add(len(parts))
        if is_unspaced(entry) and len(parts) == 1:
            lengths.setdefault(entry[0], set()).add(len(entry))
    return Lexicon(entries, _descending(word_counts), _descending(lengths))


def _split(names: str) -> Iterable[str]:
    """The entries of a list, as a query's words are joined."""
    return (entry for item in names.split(",") if (entry := " ".join(item.split())))


_PARTICLES: Final = tuple(_split(words.PARTICLES))

_NO_ENDING: Final = frozenset(
    _split("화면, 라면, 표면, 측면, 방면, 장면, 수면, 정면, 도면, 냉면")
)
"""Nouns that end as clauses do."""


def _joined(known: Sign, traits: Mapping[str, Any]) -> dict[str, Any]:
    """Traits for an entry that is in several lists: of weights, the greatest."""
    return {
        name: max(getattr(known, name), value) if isinstance(value, float) else value
        for name, value in traits.items()
    }


def _descending(sizes: Mapping[str, set[int]]) -> dict[str, tuple[int, ...]]:
    return {first: tuple(sorted(found, reverse=True)) for first, found in sizes.items()}


_LISTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    (code.CODE_SURE, {"code": QUERY_SURE}),
    (code.CODE_HINTS, {"code": QUERY_HINT}),
    (code.CODE_NAMES, {"code": QUERY_HINT, "code_name": True}),
    (code.CODE_ACTIONS, {"code_action": True}),
    (table_words.TABLE_SURE, {"table": QUERY_SURE}),
    (table_words.TABLE_HINTS, {"table": QUERY_HINT}),
    (table_words.TABLE_NAMES, {"table": QUERY_HINT, "table_name": True}),
    (table_words.TABLE_ACTIONS, {"table_action": True}),
    (words.TITLES, {"title": True}),
    (words.COMPARISONS, {"cue": "COMPARISONS"}),
    (words.CAUSES, {"cue": "CAUSES"}),
    (words.QUESTIONS, {"cue": "QUESTIONS", "stop": True}),
    (words.CONNECTIVES, {"cue": "CONNECTIVES", "stop": True}),
    (words.NEGATIONS, {"cue": "NEGATIONS", "stop": True}),
    (words.CONDITIONS, {"cue": "CONDITIONS", "stop": True}),
    (words.STOP_WORDS, {"stop": True}),
)
