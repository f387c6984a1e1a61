"""Folding: one form for what readers take for the same."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_WINDOW: Final = 1024
"""Characters normalised at a time; see `normalize`."""

_NEVER_COMBINING: Final = "\\x00-\\x7f\u3001-\u3002\u3041-\u3096\u4e00-\u9fff"
"""Regex class of some characters that never combine with what precedes them."""

_SEGMENT: Final = re.compile(
    f".{{1,{_WINDOW}}}[^{_NEVER_COMBINING}]{{0,{_WINDOW}}}", re.DOTALL
)

_WIDE_MARKS: Final = tuple(
    (mark, unicodedata.normalize("NFKC", mark))
    for mark in "\uff0c\uff1a\uff08\uff09\uff1b\uff01\uff1f\u3000"
)
"""The wide marks that stand in nearly every Chinese text, and what they fold to."""

_BLOCK: Final = 0x100
"""Code points that are looked at together: most of the Unicode blocks end with one."""

_JAMO: Final = range(0x1100, 0x1200)
"""Letters of Hangul that join into syllables, though they are no marks."""

BASIC: Final = 0x10000
"""Code points of the basic plane."""

IN_CONTEXT: Final = np.uint32(0xFFFFFFFF)
"""Stands for what only `normalize` can fold."""


def normalize(text: str) -> str:
    r"""Fold what readers take for the same: width, ligatures, case, composition.

    NFKC, case folding, and NFKC again, since folding can undo composition (Unicode
    Standard, section 3.13, toNFKC_Casefold). Long texts are normalised in windows that
    end where nothing combines across: `unicodedata` sorts combining marks in quadratic
    time, and a long text of marks alone would otherwise hold a processor for minutes.

    Args:
        text: Any string.

    Returns:
        The folded text.

    Example:
        >>> normalize("Ｃａｆe\u0301 Straße")
        'café strasse'
    """
    if text.isascii():
        return text.lower()
    # Without these a text is mostly in normal form already, which is quick to see: with
    # them, folding Chinese takes three times as long.
    for mark, folded in _WIDE_MARKS:
        text = text.replace(mark, folded)
    if len(text) <= _WINDOW:
        return _fold(text)
    return "".join(map(_fold, _SEGMENT.findall(text)))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@cache
def folded_alone() -> NDArray[np.uint32]:
    """What each code point folds to, whatever stands beside it.

    No other code points than marks and the letters of Hangul join with what is before
    them (Unicode Standard, section 3.11), so that `normalize` of a text without these
    folds its characters one by one. Few texts have them after all: those with composed
    letters have none.

    Returns:
        For each code point of the basic plane another one, or `IN_CONTEXT` if it joins, or
        folds to several, or to what joins. One more entry stands for all other planes.
    """
    table = np.full(BASIC + 1, IN_CONTEXT, np.uint32)
    for first in range(0, BASIC, _BLOCK):
        codes = range(first, first + _BLOCK)
        block = "".join(map(chr, codes))
        # As of most: ideographs and syllables fold to themselves, and no mark is a letter.
        if block.isalpha() and first not in _JAMO and _fold(block) == block:
            table[first : first + _BLOCK] = codes
            continue
        for code, char in zip(codes, block, strict=True):
            folded = _fold(char)
            if len(folded) == 1 and not (_joins(char) or _joins(folded)):
                table[code] = ord(folded)
    return table


def _joins(char: str) -> bool:
    return ord(char) in _JAMO or unicodedata.category(char).startswith("M")
