"""A caller's functions of words, called one at a time and believed nothing."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import ModuleType
from typing import Any, Final

from langchain_ragstore.config import EXCERPT, LONGEST_STEMMED, MAX_EXPANSION
from langchain_ragstore.errors import InvalidInputError

_ROOM: Final = 16
"""Characters and words that a result may have beyond `MAX_EXPANSION` times the text."""


def excerpt(value: object) -> str:
    """The beginning of a value as an error shows it."""
    if isinstance(value, str) and len(value) > EXCERPT:
        return f"{value[:EXCERPT]!r}…"
    shown = repr(value)
    return shown if len(shown) <= 2 * EXCERPT else f"{shown[: 2 * EXCERPT]}…"


def qualified_name(function: Callable[..., Any]) -> str:
    """Module and name of a callable; of a method, those of its object's class.

    Example:
        >>> qualified_name(str.upper), qualified_name("x".upper)
        ('builtins.str.upper', 'builtins.str.upper')
    """
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", None)
    if name is not None and owner is not None and not isinstance(owner, ModuleType):
        kind = owner if isinstance(owner, type) else type(owner)
        return f"{kind.__module__}.{kind.__qualname__}.{name}"
    named = function if hasattr(function, "__qualname__") else type(function)
    owner = getattr(function, "__objclass__", None)
    module = getattr(named, "__module__", None) or getattr(owner, "__module__", None)
    return f"{module or 'builtins'}.{named.__qualname__}"


class Stemmer:
    """A caller's stemmer: only words without digits, only usable answers.

    Calls come one at a time: most stemmers keep the word they are at work on.

    Args:
        function: The stem of a folded word.
    """

    def __init__(self, function: Callable[[str], str]) -> None:
        self._function = function
        self._lock = threading.Lock()

    def __call__(self, word: str) -> str:
        """The stem of a word, or the word itself if it has digits or is data.

        Raises:
            InvalidInputError: The function failed, or gave what is no stem.
        """
        if len(word) > LONGEST_STEMMED or any(map(str.isdigit, word)):
            return word
        with self._lock, blamed("stemmer", self._function, word):
            stem: object = self._function(word)
        if not isinstance(stem, str) or not stem.strip():
            raise _useless("stemmer", self._function, word, stem, "a non-empty string")
        if len(stem) > _limit(word):
            raise _useless("stemmer", self._function, word, stem, "a stem, not a text")
        return stem


class Segmenter:
    """A caller's segmenter: only usable answers.

    Calls come one at a time, as for `Stemmer`.

    Args:
        function: The words of a folded stretch of a script without blanks.
    """

    def __init__(self, function: Callable[[str], Iterable[str]]) -> None:
        self._function = function
        self._lock = threading.Lock()

    def __call__(self, stretch: str) -> list[str]:
        """The words of a stretch.

        Raises:
            InvalidInputError: The function failed, or gave what are no words of it.
        """
        limit = _limit(stretch)
        with self._lock, blamed("segmenter", self._function, stretch):
            given = self._function(stretch)
            words: list[object] = (
                [given] if isinstance(given, str) else list(islice(given, limit + 1))
            )
        if isinstance(given, str):
            raise _useless("segmenter", self._function, stretch, given, "a list of strings")
        checked: list[str] = []
        for word in words:
            if not isinstance(word, str) or not word.strip():
                raise _useless(
                    "segmenter", self._function, stretch, word, "non-empty strings"
                )
            checked.append(word)
        if len(words) > limit or sum(map(len, checked)) > limit:
            raise _useless("segmenter", self._function, stretch, words, "its words once")
        return checked


def _limit(text: str) -> int:
    return MAX_EXPANSION * len(text) + _ROOM


@contextmanager
def blamed(role: str, function: Callable[..., Any], text: str) -> Iterator[None]:
    """Say which function failed on what.

    Raises:
        InvalidInputError: The block raised an `Exception`.
    """
    try:
        yield
    except Exception as error:
        raise InvalidInputError(
            f"the {role} {qualified_name(function)} failed on {excerpt(text)}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _useless(
    role: str, function: Callable[..., Any], text: str, given: object, wanted: str
) -> InvalidInputError:
    return InvalidInputError(
        f"the {role} {qualified_name(function)} gave {excerpt(given)} for "
        f"{excerpt(text)}; it must give {wanted}"
    )
