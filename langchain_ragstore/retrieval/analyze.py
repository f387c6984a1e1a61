"""What kind of question a query is, told from its words and shapes alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from langchain_ragstore.config import (
    LOGIC_HALF,
    LOGIC_WEIGHTS,
    QUERY_HINT,
    QUERY_SURE,
)
from langchain_ragstore.retrieval.query_lexicon import Reading, Sign, read
from langchain_ragstore.retrieval.query_shapes import code_shape, shown, table_shape
from langchain_ragstore.retrieval.query_talk import talk
from langchain_ragstore.text.folding import normalize


@dataclass(frozen=True, slots=True)
class QueryProfile:
    """What a query is like.

    Attributes:
        logic_depth: How much reasoning its words ask for, in [0, 1).
        is_code_related: Whether it holds code, or asks about programming.
        is_table_related: Whether it is about tables, sheets, or statistics.
        keyword_density: The part of its terms that carry content, in [0, 1].
        is_conversational: Whether it is a turn of a talk.
    """

    logic_depth: float
    is_code_related: bool
    is_table_related: bool
    keyword_density: float
    is_conversational: bool


@dataclass(frozen=True, slots=True)
class QueryAnalyzer:
    """Tells what kind of question a query is, in English, Chinese, Japanese and Korean.

    It reads words and shapes; no model is asked. All formulas and lists are ours.

    *Subjects.* A sure word or shape (`pandas`, `foo()`, `a.b`, `第3列`) weighs
    `config.QUERY_SURE`, each other hint (`python`, `row`) `QUERY_HINT`, and one action
    (`delete`, `sum`) as much as a hint if there is a hint to support. From `QUERY_SURE` on
    the flag is set. Longer entries hide what they contain: `table tennis` is no table.

    *Talk.* Greetings, thanks, follow-ups, requests to the listener, spoken particles, by
    their place in a clause. A question that stands alone is none.

    *logic_depth* = x / (x + `LOGIC_HALF`), with x the sum of `LOGIC_WEIGHTS` over the cues:
    conditions, causes and comparisons 1 each, negations and connectives 0.5, question words
    1 from the second on. The model-based depth of a query is another figure.

    *keyword_density* = content terms / all terms. A word is a term; a Chinese or Japanese
    character half a one; a Korean particle one of its own, without content. Articles,
    prepositions, pronouns, question words, particles carry none. 0 without terms.

    Example:
        ```python
        from langchain_ragstore import QueryAnalyzer

        profile = QueryAnalyzer().analyze("why is df.merge slower than a join?")
        assert profile.is_code_related and not profile.is_conversational
        assert profile.logic_depth == 0.5  # why, than: 2 / (2 + 2)
        assert round(profile.keyword_density, 3) == 0.429  # df.merge, slower, join of 7
        ```
    """

    def analyze(self, query: str) -> QueryProfile:
        """Describe a query.

        Capitals matter to shapes of code (`HashMap`) and to nothing else; the width of
        letters matters to nothing.

        Args:
            query: Any string.

        Returns:
            The same for the same query, always. Takes time linear in its length.
        """
        text = shown(query)
        normalized = normalize(text)
        found = read(normalized)
        table = _weight(found, "table") + table_shape(normalized)
        code = _weight(found, "code") + code_shape(text, normalized)
        if table >= QUERY_SURE:
            code -= _shared(found)
        code_action = any(sign.code_action and not sign.code for sign in found.signs)
        table_action = any(sign.table_action and not sign.table for sign in found.signs)
        return QueryProfile(
            logic_depth=_logic_depth(found.cues),
            is_code_related=_decided(code, action=code_action),
            is_table_related=_decided(table, action=table_action),
            keyword_density=found.content / found.terms if found.terms else 0.0,
            is_conversational=talk(normalized) and not any(s.title for s in found.signs),
        )


def _weight(found: Reading, subject: str) -> float:
    """The evidence of the words for a subject."""
    return sum(_evidence(sign, subject, unspaced=found.unspaced) for sign in found.signs)


def _shared(found: Reading) -> float:
    """The evidence for code of hints that are as well of tables: `merge`, `header`."""
    return sum(
        sign.code
        for sign in found.signs
        if sign.code < QUERY_SURE and (sign.table or sign.table_action)
    )


def _evidence(sign: Sign, subject: str, *, unspaced: bool) -> float:
    if unspaced and getattr(sign, f"{subject}_name"):
        return QUERY_SURE
    evidence: float = getattr(sign, subject)
    return evidence


def _decided(evidence: float, *, action: bool) -> bool:
    """Whether it is enough, with the support of an action if there is one."""
    return evidence + (QUERY_HINT if evidence and action else 0.0) >= QUERY_SURE


def _logic_depth(cues: Mapping[str, int]) -> float:
    depth = sum(LOGIC_WEIGHTS[kind] * count for kind, count in cues.items())
    depth -= LOGIC_WEIGHTS["QUESTIONS"] if cues.get("QUESTIONS") else 0.0
    return depth / (depth + LOGIC_HALF)
