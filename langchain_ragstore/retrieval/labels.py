"""Labels: the words that tell one group of texts from the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from langchain_ragstore.config import TOPIC_WORDS
from langchain_ragstore.retrieval.query_words import PARTICLES, STOP_WORDS
from langchain_ragstore.text.folding import normalize
from langchain_ragstore.text.terms import runs

_LONGEST = 4
"""Characters of a word in a script without blanks; longer ones are found in parts."""

_SHORTEST = 2


def labels(groups: Sequence[Sequence[str]]) -> list[str]:
    """A label for each group of texts: the words that stand in it and not elsewhere.

    A word is worth the part of the group's texts that hold it, times the logarithm of how
    rare it is in the others; of equal ones the one that stands first is taken. In scripts
    without blanks every two to four characters are tried, and of those that lie within
    each other the longest.

    Args:
        groups: Texts that belong together; a text may be empty.

    Returns:
        Labels in the groups' order; `"topic n"` where no word tells anything.

    Example:
        ```python
        from langchain_ragstore.retrieval.labels import labels

        assert labels([["退款政策", "申请退款"], ["绿茶", "绿茶的做法"]]) == [
            "退款",
            "绿茶",
        ]
        ```
    """
    read = [[list(dict.fromkeys(_words(text))) for text in group] for group in groups]
    everywhere = Counter(word for group in read for words in group for word in words)
    texts = sum(map(len, groups))
    found = []
    for at, group in enumerate(read, start=1):
        own = Counter(word for words in group for word in words)
        others = texts - len(group)

        def worth(word: str, own: Counter[str] = own, others: int = others) -> float:
            outside = everywhere[word] - own[word]
            return (
                own[word] * math.log((1 + others) / (1 + outside)) if others else own[word]
            )

        telling = [word for word in own if worth(word) > 0]
        # A word of one text tells of that text: only if there is no better one.
        often = [word for word in telling if own[word] > 1] or telling
        chosen = _apart(sorted(often, key=lambda word: _order(word, worth(word))))
        found.append(", ".join(chosen) or f"topic {at}")
    return found


def _order(word: str, worth: float) -> tuple[float, int]:
    """The most telling first; of pieces of a script without blanks, the longest."""
    return -round(worth, 9), -len(word) if _dense(word) else 0


def _apart(words: Sequence[str]) -> list[str]:
    """The first few words of which none lies within another or overlaps it."""
    chosen: list[str] = []
    for word in words:
        if len(chosen) == TOPIC_WORDS:
            break
        if not any(_touch(word, other) for other in chosen):
            chosen.append(word)
    return chosen


def _touch(one: str, other: str) -> bool:
    if one in other or other in one:
        return True
    if not (_dense(one) and _dense(other)):
        return False
    sizes = range(1, min(len(one), len(other)))
    return any(one[-n:] == other[:n] or other[-n:] == one[:n] for n in sizes)


def _dense(word: str) -> bool:
    """Whether a word is of a script without blanks."""
    return not runs(word)[0]


def _words(text: str) -> Iterator[str]:
    """What may be a word of a label, in the text's order of each kind."""
    words, stretches = runs(normalize(text))
    for word in words:
        if len(word) >= _SHORTEST and word not in _stop_words() and not word.isdigit():
            yield word
    for stretch in stretches:
        for start in range(len(stretch) - 1):
            for size in range(_SHORTEST, _LONGEST + 1):
                part = stretch[start : start + size]
                if len(part) == size and not _idle(part):
                    yield part


def _idle(part: str) -> bool:
    """Whether a piece begins or ends with what carries no content."""
    stop = _stop_words()
    return part in stop or part[0] in stop or part[-1] in stop


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(
        word.strip() for word in f"{STOP_WORDS},{PARTICLES}".replace("\n", " ").split(",")
    )
