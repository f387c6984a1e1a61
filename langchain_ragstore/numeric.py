"""Numbers that people give, checked in one way and with one kind of message."""

from __future__ import annotations

import math
import operator
from numbers import Real

from langchain_ragstore.errors import InvalidInputError


def number(
    name: str,
    value: object,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    finite: bool = True,
) -> float:
    """A number between two bounds, as a float.

    Args:
        name: What the number is, for the error.
        value: What was given; True and False are none.
        least: The lower bound, included.
        most: The upper bound, included.
        finite: Whether infinity is refused, too; what is no number always is.

    Raises:
        InvalidInputError: It is none; names it and the bounds.
    """
    found = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:  # an int that no float holds
            beyond = math.inf if value == abs(value) else -math.inf
            found = math.nan if finite else beyond
    if not least <= found <= most or (finite and math.isinf(found)):
        bounds = ["finite"] * finite
        bounds += [f"at least {least:g}"] * (least > -math.inf)
        bounds += [f"at most {most:g}"] * (most < math.inf)
        wanted = ", ".join(["must be a number", *bounds])
        raise InvalidInputError(f"{name} {wanted}; got {value!r:.80}")
    return found


def whole(name: str, value: object, least: int) -> int:
    """An integer that is at least `least`; True and False are none.

    Raises:
        InvalidInputError: It is none; names it and the bound.
    """
    try:
        found = operator.index(None if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except TypeError:
        found = least - 1
    if found < least:
        raise InvalidInputError(
            f"{name} must be an integer, at least {least}; got {value!r:.80}"
        )
    return found
