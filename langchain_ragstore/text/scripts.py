"""What a text is written in: which alphabets, or scripts without blanks between words."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from langchain_ragstore.text.folding import normalize
from langchain_ragstore.text.terms import is_unspaced, runs

UNSPACED: Final = "UNSPACED"
"""Chinese, Japanese, Korean, Thai and their like: they share characters and are searched
alike, so they count as one script here."""

_LATIN: Final = "LATIN"

_CHARACTERS: Final = 1 << 16


def scripts(text: str) -> Counter[str]:
    """Count words by their alphabets, and characters of the scripts without blanks.

    Args:
        text: Any string.

    Returns:
        How often each occurs: `"LATIN"`, `"CYRILLIC"`, …, or `UNSPACED`; numbers and
        signs are in no script.

    Example:
        >>> dict(scripts("Excel 2024 表格, Москва"))
        {'LATIN': 1, 'CYRILLIC': 1, 'UNSPACED': 2}
    """
    words, stretches = runs(normalize(text))
    found = Counter(filter(None, map(script_of, words)))
    characters = sum(map(len, stretches))
    return found + Counter({UNSPACED: characters})


def script_of(term: str) -> str | None:
    """The script of the first letter of a normalised word or pair; None without one."""
    return next(filter(None, map(_script, term)), None)


def fit(wanted: Mapping[str, int], texts: Sequence[str]) -> float:
    """How much of what is wanted is in a script that texts are written in.

    Args:
        wanted: How often each script occurs in it.
        texts: Each counts the same, however long it is.

    Returns:
        The mean over `wanted` of the share that its script has in the texts, against the
        share of the most frequent one there: 1 if all is in that one. 1, too, where
        nothing is in a script, on either side.

    Example:
        >>> fit({"LATIN": 1}, ["表格 and 页面"])
        0.25
        >>> fit({"LATIN": 1}, ["表格 and 页面", "tables and pages"])
        1.0
    """
    there: defaultdict[str, float] = defaultdict(float)
    total = sum(wanted.values())
    only = next(iter(wanted)) if len(wanted) == 1 else ""
    for left, text in zip(reversed(range(len(texts))), texts, strict=True):
        for script, share in _shares(text).items():
            there[script] += share
        if only in there:
            others = (share for script, share in there.items() if script != only)
            # A text gives all scripts together 1 at most: those left cannot change it.
            if there[only] >= max(others, default=0.0) + left:
                return 1.0
    if not total or not there:
        return 1.0
    most = max(there.values())
    return sum(n * (there[script] / most) for script, n in wanted.items()) / total


def _shares(text: str) -> dict[str, float]:
    """The part of a text that is in each script."""
    if text.isascii():  # no need to look for words
        return {_LATIN: 1.0} if text.lower() != text.upper() else {}
    found = scripts(text)
    return {script: count / found.total() for script, count in found.items()}


@lru_cache(maxsize=_CHARACTERS)
def _script(character: str) -> str | None:
    if not character.isalpha():
        return None
    if is_unspaced(character):
        return UNSPACED
    return unicodedata.name(character, "").partition(" ")[0] or None
