"""Finding phrases of a list in a text, the longest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from langchain_ragstore.text.terms import is_letter


class Phrases:
    """Phrases, and where a text holds them.

    A phrase that begins or ends with a letter of a script with blanks between words is
    not found within a longer word.

    Args:
        phrases: Each with at least one character.

    Example:
        >>> list(Phrases(["c++", "搜索", "搜索引擎"]).found("c++11 c++ 搜索引擎"))
        ['c++', 'c++', '搜索引擎']
    """

    def __init__(self, phrases: Collection[str]) -> None:
        self._phrases = frozenset(phrases)
        lengths: dict[str, set[int]] = {}
        for phrase in self._phrases:
            lengths.setdefault(phrase[0], set()).add(len(phrase))
        self._lengths = {
            first: sorted(known, reverse=True) for first, known in lengths.items()
        }
        self._start = re.compile(
            f"[{''.join(map(re.escape, lengths))}]" if lengths else "(?!)"
        )

    def found(self, text: str) -> Iterator[str]:
        """The phrases in a text from left to right, none within or across another."""
        at = 0
        while match := self._start.search(text, at):
            at = match.start()
            phrase = self._at(text, at)
            if phrase:
                yield phrase
            at += len(phrase) or 1

    def _at(self, text: str, at: int) -> str:
        for length in self._lengths[text[at]]:
            phrase = text[at : at + length]
            if phrase in self._phrases and _stands_alone(text, at, at + length):
                return phrase
        return ""


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = start > 0 and is_letter(text[start]) and is_letter(text[start - 1])
    after = end < len(text) and is_letter(text[end]) and is_letter(text[end - 1])
    return not (before or after)
