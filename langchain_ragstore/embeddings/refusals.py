"""What an error of an embedding service says: smaller, later, or not at all.

Nothing is known here about any one service: HTTP statuses, the header `Retry-After`, and
sentences that have the word for what is limited next to a number. The sentences that the
patterns were made for stand in `tests/unit_tests/test_refusals.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any, Final

_DEPTH: Final = 5
"""Errors of a chain of causes that are read: clients wrap those of HTTP libraries."""

_READ: Final = 4_000
"""Characters that are read of a message: some repeat what they refuse."""

_INPUT: Final = frozenset({400, 413, 422})
_LATER: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_TOO_LARGE: Final = 413

_TEXTS: Final = r"(?:texts|inputs?|items|instances?|instance\(s\)|requests|documents|array)"
_SIZE: Final = r"batch[ _-]?size"
_MOST: Final = (
    r"(?:larger than|greater than|more than|exceed\w*|at most|up to|max(?:imum)?\b|limit\b)"
)

_ITEMS: Final = (
    rf"{_SIZE}.{{0,60}}?{_MOST}\D{{0,40}}(\d+)",
    rf"{_TEXTS}.{{0,40}}?\bmax(?:imum)?\b\D{{0,40}}(\d+)",
    rf"\bmax(?:imum)?\b (?:number of )?{_TEXTS}(?: count)?\D{{0,20}}(\d+)",
    rf"\b{_TEXTS}\b[^.]{{0,40}}at most (\d+)",
    rf"at most (\d+) (?:\w+ )?{_TEXTS}",
    rf"(\d+) {_TEXTS} (?:is|are) allowed",
    r"input length is larger than the largest allowed size (\d+)",
)
"""Sentences that say how many texts a call may have."""

_TOKENS: Final = (
    r"\bmax(?:imum)?\b (?:allowed )?(?:number of )?tokens[^.]{0,40}? (?:is|of) (\d+)",
    r"\bmax(?:imum)?\b (\d+) tokens (?:per|in|for)",
    r"tokens in (?:the )?batch\D{0,20}\bmax(?:imum)?\b\D{0,10}(\d+)",
    r"token count is \d+ but the model supports up to (\d+)",
    r"exceeds the maximum number of tokens allowed \((\d+)\)",
)
"""Sentences that say how many tokens a call may have."""

_FOUND: Final = (
    r"requested (\d+) tokens",
    r"batch has (\d+) tokens",
    r"\bgot (\d+)",
    r"token count (?:is )?\(?(\d+)",
)
"""What they say that the call had."""

_UNNUMBERED: Final = (
    rf"too many (?:{_TEXTS}|tokens)",
    r"(?:split|smaller|reduce)\b[^.]{0,30}\bbatch",
    rf"{_SIZE}[^.]{{0,40}}(?:too large|too big|invalid|exceed)",
    r"array too long|payload size exceeds|length limit exceeded|request entity too large",
)
"""Sentences that say no more than that it was too much."""

_ONE_TEXT: Final = re.compile(
    r"context[ _]length|physical batch size|each (?:text|input|string)\b|"
    r"must have less than \d+ tokens|expected maxLength",
    re.IGNORECASE,
)
"""Sentences about a single text, whatever else is in the call."""

_NOT_LATER: Final = re.compile(
    r"context[ _]length|physical batch size|insufficient_quota", re.IGNORECASE
)
"""What no waiting mends, although the status says so: a text that is too long, in servers
that call it their own fault, and an account without money."""

_EACH_LIST: Final = re.compile(r"each input list", re.IGNORECASE)

_UNREACHABLE: Final = re.compile(
    r"(?:Connection|Connect|Transport|Timeout|TimedOut)(?:Error)?$"
)
"""Ends of the names of classes whose errors come from the network, in httpx, requests,
aiohttp and the services' own clients."""


class Answer(Enum):
    """What can be done about an error."""

    SMALLER = "send less at once"
    LATER = "send the same later"
    BAD_TEXT = "something is wrong with one of the texts"
    UNREACHABLE = "nobody answers"
    FINAL = "nothing"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an error says.

    Attributes:
        answer: What can be done about it.
        items: How many texts a call may have, if it says so.
        tokens: How many tokens a call may have, if it says so.
        found: How many tokens the call had, if it says so.
        wait: Seconds after which it is worth trying again, if it says so.
        status: Of HTTP, if there is one.
    """

    answer: Answer
    items: int | None = None
    tokens: int | None = None
    found: int | None = None
    wait: float | None = None
    status: int | None = None


def read(error: BaseException, now: float) -> Refusal:
    """What an error of an embedding model says.

    Args:
        error: As it was raised; the errors that caused it are read, too.
        now: Seconds since the epoch, for a `Retry-After` that is a date.

    Example:
        >>> error = ValueError("batch size 64 > maximum allowed batch size 32")
        >>> refusal = read(error, now=0)
        >>> refusal.answer.name, refusal.items
        ('SMALLER', 32)
    """
    chain = list(_chain(error))
    status = next((s for s in map(_status, chain) if s is not None), None)
    if status in _LATER and not _says(_NOT_LATER, chain):
        return Refusal(Answer.LATER, wait=_wait(chain, now), status=status)
    if status is None or status in _INPUT or status in _LATER:
        found = _refused_size(chain, status)
        if found is not None:
            return found
    if status is None and any(map(_is_unreachable, chain)):
        return Refusal(Answer.UNREACHABLE)
    return Refusal(Answer.BAD_TEXT if status in _INPUT else Answer.FINAL, status=status)


def _refused_size(chain: list[BaseException], status: int | None) -> Refusal | None:
    for message in map(_message, chain):
        about_one = _ONE_TEXT.search(message) and not _EACH_LIST.search(message)
        if about_one:
            answer = Answer.BAD_TEXT if status is not None else Answer.FINAL
            return Refusal(answer, status=status)
        items, tokens = _first(_ITEMS, message), _first(_TOKENS, message)
        if tokens:
            found = _first(_FOUND, message)
            return Refusal(Answer.SMALLER, tokens=tokens, found=found, status=status)
        if items:
            return Refusal(Answer.SMALLER, items=items, status=status)
        if any(re.search(p, message, re.IGNORECASE) for p in _UNNUMBERED):
            return Refusal(Answer.SMALLER, status=status)
    return Refusal(Answer.SMALLER, status=status) if status == _TOO_LARGE else None


def _says(pattern: re.Pattern[str], chain: list[BaseException]) -> bool:
    return any(pattern.search(_message(error)) for error in chain)


def _first(patterns: tuple[str, ...], message: str) -> int | None:
    found = (re.search(p, message, re.IGNORECASE | re.DOTALL) for p in patterns)
    return next((int(match[1]) for match in found if match), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_DEPTH):
        if error is None:
            return
        yield error
        error = error.__cause__ or (
            None if error.__suppress_context__ else error.__context__
        )


def _status(error: BaseException) -> int | None:
    response = _response(error)
    for holder in (error, response, getattr(error, "raw_response", None)):
        for name in ("status_code", "http_status", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 400 <= value < 600:  # noqa: PLR2004 - of HTTP
                return int(value)
    if isinstance(response, Mapping):
        value = _mapping(response.get("ResponseMetadata")).get("HTTPStatusCode")
        return value if isinstance(value, int) else None
    return None


def _message(error: BaseException) -> str:
    """What an error says, and the body of the answer that it is about."""
    parts = [str(error)]
    try:
        parts += [str(getattr(error, "body", "") or "")]
        parts += [str(getattr(_response(error), "text", "") or "")]
    except Exception:  # noqa: BLE001 - a body that was not read, in any HTTP library
        parts += [""]
    return " ".join(part[:_READ] for part in parts)


def _wait(chain: list[BaseException], now: float) -> float | None:
    for error in chain:
        seconds = _seconds(getattr(error, "retry_after", None), now)
        for holder in (error, _response(error)):
            headers = _lowered(getattr(holder, "headers", None))
            if seconds is None and "retry-after-ms" in headers:
                milliseconds = _seconds(headers["retry-after-ms"], now)
                seconds = None if milliseconds is None else milliseconds / 1000
            if seconds is None:
                seconds = _seconds(headers.get("retry-after"), now)
        if seconds is not None:
            return seconds
    return None


def _seconds(value: Any, now: float) -> float | None:
    """A number of seconds, or a date of HTTP."""
    if value is None or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        try:
            seconds = parsedate_to_datetime(str(value)).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def _lowered(headers: Any) -> dict[str, Any]:
    try:
        return {str(name).lower(): value for name, value in dict(headers or {}).items()}
    except (TypeError, ValueError):
        return {}


def _response(error: BaseException) -> Any:
    return getattr(error, "response", None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_unreachable(error: BaseException) -> bool:
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    return any(_UNREACHABLE.search(kind.__name__) for kind in type(error).__mro__)
