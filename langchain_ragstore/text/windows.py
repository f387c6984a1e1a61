"""How far to look for the last of something, when it is most often near."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_NEAR: Final = 128
"""Code points searched first: most breaks and borders are found here."""

_WIDER: Final = 8
"""Factor by which the search grows when they are not, so that all its steps together
cost little more than the last one."""


def backwards(start: int, end: int) -> Iterator[int]:
    """Where to begin, one after another, a search of `(start, end]` for its last match.

    Example:
        ```python
        from langchain_ragstore.text.windows import backwards

        assert list(backwards(0, 2_000)) == [1_872, 976, 0]
        assert list(backwards(5, 5)) == []
        ```
    """
    begin, width = end, _NEAR
    while begin > start:
        begin = max(start, end - width)
        yield begin
        width *= _WIDER


def forwards(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of `(start, end]`, ever longer, in which to search for its first match.

    Example:
        ```python
        from langchain_ragstore.text.windows import forwards

        assert list(forwards(0, 2_000)) == [(0, 128), (128, 1_152), (1_152, 2_000)]
        ```
    """
    width = _NEAR
    while start < end:
        stop = min(end, start + width)
        yield start, stop
        start, width = stop, width * _WIDER
