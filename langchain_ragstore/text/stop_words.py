"""English words that are in every question and tell nothing of what it is about."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from langchain_ragstore.text.folding import normalize

ENGLISH: Final = frozenset(
    """
    a an the this that these those some any
    i me my mine myself we us our you your he him his she her it its they them their
    one someone something anything everything
    who whom whose what which when where why how whether
    am is are was were be been being do does did doing done have has had having
    can could shall should will would may might must
    and or but nor so if then than as because while
    of at by for with without about into onto from to in on off out up down over under
    between through during before after
    not no there here too very just also only own same such both each all more most other
    please
    """.split()  # noqa: SIM905 - a list of words is for reading
)
"""Its closed classes (articles, pronouns, auxiliaries, conjunctions, prepositions, question
words), and "please". Such lists did not pay for Chinese and Japanese; decision 26."""

_NAME = re.compile(r"\b[A-Z]{2,}\b")


def filler(query: str, words: Collection[str], stop_words: Collection[str]) -> list[str]:
    """Which words of a query are none that it is about.

    A word in capitals is a name (IT, US, WHO), unless all of the query is in capitals.

    Args:
        query: As it was written.
        words: Its words, folded.
        stop_words: Folded.
    """
    names: set[str] = set()
    if not query.isupper():
        names = {normalize(name) for name in _NAME.findall(query)}
    return [word for word in words if word in stop_words and word not in names]
