"""Synonyms: which expressions of a query may be said otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeAlias

from langchain_ragstore.config import MAX_PHRASE, MAX_SYNONYMS
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.text.callables import blamed, excerpt
from langchain_ragstore.text.folding import normalize
from langchain_ragstore.text.phrases import Phrases
from langchain_ragstore.text.terms import (
    TermsOfWords,
    is_unspaced,
    runs_in_order,
)

SynonymMapping: TypeAlias = Mapping[str, Iterable[str]]
SynonymsLike: TypeAlias = SynonymMapping | Callable[[str], SynonymMapping] | None

Fields: TypeAlias = tuple[Counter[str], Counter[str]]
"""Terms of the body and of the title."""


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An expression that has synonyms.

    Attributes:
        exact: Its terms.
        others: Those of each synonym.
    """

    exact: Fields
    others: tuple[Fields, ...]


class Thesaurus:
    """The expressions of a mapping, or of one that a function gives for a query.

    Args:
        synonyms: As `frozen` gives them.
        terms_of: The terms of a word.
        ways: The terms of an expression, as one or more ways to look for it.
    """

    def __init__(
        self,
        synonyms: SynonymMapping | Callable[[str], SynonymMapping],
        terms_of: TermsOfWords,
        ways: Callable[[str], list[Fields]],
    ) -> None:
        self._terms_of, self._ways = terms_of, ways
        self._function: Callable[[str], SynonymMapping] | None = None
        self._known: tuple[Phrases, Mapping[str, Expression]] | None = None
        if isinstance(synonyms, Mapping):
            self._known = self._expressions(synonyms)
        else:
            self._function = synonyms

    def of(self, query: str) -> dict[Expression, int]:
        """The expressions of a query, and how often each is there.

        Raises:
            InvalidInputError: The function failed, or gave what are no synonyms.
        """
        phrases, expressions = self._known or self._asked(query)
        found = Counter(phrases.found(self._spelled(query)))
        return {expressions[phrase]: count for phrase, count in found.items()}

    def _asked(self, query: str) -> tuple[Phrases, Mapping[str, Expression]]:
        assert self._function is not None  # noqa: S101 - there is no mapping
        with blamed("function of synonyms", self._function, query):
            given = self._function(query)
        if not isinstance(given, Mapping):
            raise InvalidInputError(
                "the function of synonyms gives a mapping of expressions to lists, such as "
                f"{{}}, got {excerpt(given)} for {excerpt(query)}"
            )
        return self._expressions(checked(given))

    def _expressions(
        self, synonyms: SynonymMapping
    ) -> tuple[Phrases, Mapping[str, Expression]]:
        merged: dict[str, tuple[str, dict[str, str]]] = {}
        for expression, others in synonyms.items():
            spelled = self._spelled_out(expression)
            _, known = merged.setdefault(spelled, (expression, {}))
            known.update((self._spelled_out(other), other) for other in others)
        made = {
            spelled: self._expression(
                expression, [o for name, o in others.items() if name != spelled]
            )
            for spelled, (expression, others) in merged.items()
        }
        return Phrases(made), made

    def _expression(self, expression: str, others: Iterable[str]) -> Expression:
        exact, *more = self._ways(expression)
        return Expression(exact, (*more, *chain.from_iterable(map(self._ways, others))))

    def _spelled_out(self, expression: str) -> str:
        spelled = self._spelled(expression)
        if not spelled:
            raise InvalidInputError(
                f"{excerpt(expression)} among the synonyms has no letter or digit"
            )
        return spelled

    def _spelled(self, text: str) -> str:
        """Words by their first terms between blanks, and stretches, one after the other.

        A phrase that is spelled so is found where whole words have these terms, and
        within stretches.
        """
        return "\0".join(
            run
            if is_unspaced(run) and len(run) > 1
            else f" {run if is_unspaced(run) else self._terms_of[run][0]} "
            for run in runs_in_order(normalize(text))
        )


def frozen(synonyms: Any) -> SynonymsLike:
    """Synonyms that nobody else can change.

    Raises:
        InvalidInputError: They are neither None, a function nor a mapping to lists.
    """
    if synonyms is None or isinstance(synonyms, Mapping):
        return None if synonyms is None else checked(synonyms)
    if not callable(synonyms):
        raise InvalidInputError(
            "synonyms are a mapping of expressions to lists, a function that gives one for "
            f"a query, or None, got {excerpt(synonyms)}"
        )
    return synonyms  # type: ignore[no-any-return]


def checked(synonyms: Mapping[Any, Any]) -> Mapping[str, tuple[str, ...]]:
    """A mapping of synonyms, copied.

    Raises:
        InvalidInputError: A key or value is not what it should be.
    """
    return MappingProxyType(
        {_phrase(name): _phrases(name, others) for name, others in synonyms.items()}
    )


def _phrases(name: str, others: Any) -> tuple[str, ...]:
    if isinstance(others, str) or not isinstance(others, Iterable):
        raise InvalidInputError(
            f"the synonyms of {excerpt(name)} are a list of strings, got {excerpt(others)}"
        )
    listed = tuple(map(_phrase, others))
    if not 0 < len(listed) <= MAX_SYNONYMS:
        raise InvalidInputError(
            f"an expression has 1 to {MAX_SYNONYMS} synonyms, {excerpt(name)} has "
            f"{len(listed)}"
        )
    return listed


def _phrase(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(
            f"an expression of the synonyms is a non-blank string, got {excerpt(value)}"
        )
    if len(value) > MAX_PHRASE:
        raise InvalidInputError(
            f"an expression of the synonyms has at most {MAX_PHRASE} characters, "
            f"{excerpt(value)} has {len(value)}"
        )
    return value
