"""Text that a store, a tokenizer and a terminal can take."""

from __future__ import annotations

import os
import re
from typing import Final

_DROPPED: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Drop control characters and replace what is half a character.

    Args:
        text: Anything that a decoder or an extractor gave.

    Returns:
        The text without the controls below U+0020 other than `\t \n \r \f`. The two
        halves of a surrogate pair are joined, a lone one becomes U+FFFD. Everything
        else stays as it is; no normalisation.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _DROPPED.sub("", text)


def one_line(text: str) -> str:
    """A clean text with each run of white space as one blank: for titles and names."""
    return " ".join(clean(text).split())


def source_name(path: str | os.PathLike[str]) -> str:
    r"""A path as it was given, as text that can be stored and printed.

    Bytes of a file name that are no text in the system's encoding show as `\udcXX`;
    U+FFFD would give two such files one name.
    """
    return os.fspath(path).encode("utf-8", "backslashreplace").decode("utf-8")
