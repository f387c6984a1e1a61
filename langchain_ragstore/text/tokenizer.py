"""Tokens of a text: how many there are, and at which characters they end.

The tokens are tiktoken's, of ordinary text: what looks like a special token is read as
the characters it is written with. Any `str` can be counted, lone surrogates and a million
blanks included.

Tokens are not additive: two stretches together can have more of them than both apart, and
a longer one fewer than its beginning. What is read off a whole text is therefore a guess
for its parts; only `count_tokens` of a part says how many it has.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import DEFAULT_ENCODING, TOKENIZER_PIECE
from langchain_ragstore.text.ranks import read_ranks
from langchain_ragstore.text.vocabularies import vocabulary
from langchain_ragstore.text.windows import backwards

if TYPE_CHECKING:
    from tiktoken import Encoding

_encodings: dict[str, Encoding] = {}
_lock = threading.Lock()

_LEAST_LEADING: Final = -64
"""As signed numbers, bytes that go on with a character are below this (RFC 3629)."""

_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Two surrogates that make one character where texts are UTF-16."""

_BORDER: Final = "[^\\W_](?=[ \\t\\r\\n\u3000。，、；：！？])"
"""A place where tokens before and after do not depend on each other.

A letter or a digit, then white space or a mark. Each alternative of each pattern ends
before such a mark if it takes the letter; those that look ahead look past white space
alone, of which there is none at the end of what is before.
"""

_find_border = re.compile(_BORDER).search
_last_border = re.compile(f".*{_BORDER}", re.DOTALL).match


def load_encoding(
    name: str = DEFAULT_ENCODING, *, allow_download: bool = False
) -> Encoding:
    """The encoding that tiktoken knows by a name, built once, without the network.

    Args:
        name: `cl100k_base`, `o200k_base`, `p50k_base`, `p50k_edit` or `r50k_base`.
        allow_download: Whether the ranks may come from the network if this machine has
            no copy; it takes a minute at most, and the copy is not kept.

    Returns:
        The same object for each call with the same name, in all threads.

    Raises:
        InvalidInputError: There is no such encoding.
        MissingExtraError: No ranks were found; the message says where they were looked
            for and how to install them.

    Example:
        ```python
        from langchain_ragstore.text.tokenizer import count_tokens, load_encoding

        assert count_tokens("猫 <|endoftext|>", load_encoding()) == 9
        ```
    """
    known = vocabulary(name)
    if known.name not in _encodings:
        with _lock:
            if known.name not in _encodings:
                import tiktoken  # noqa: PLC0415 - only where tokens are counted

                _encodings[known.name] = tiktoken.Encoding(
                    known.name,
                    pat_str=known.pattern,
                    mergeable_ranks=_parse(
                        read_ranks(known, allow_download=allow_download)
                    ),
                    special_tokens=dict(known.special),
                )
    return _encodings[known.name]


def _parse(ranks: bytes) -> dict[bytes, int]:
    """Bytes of each token → its rank, from lines of Base64 and a number."""
    pairs = (line.split() for line in ranks.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def count_tokens(text: str, encoding: Encoding) -> int:
    """The number of a text's tokens.

    It is the length of `encoding.encode_ordinary(text)` wherever that answers, unless
    more than 50 000 characters follow each other without a blank or an ideographic mark
    behind a letter: there the text is cut anywhere, which can change the count by a few.
    """
    if len(text) <= TOKENIZER_PIECE:
        return len(encoding.encode_ordinary(text))
    return sum(len(_encode(piece, encoding)) for piece in _pieces(_readable(text)))


def first_border(text: str, start: int, end: int) -> int | None:
    """The first place in `(start, end)` on which no token of either side depends."""
    border = _find_border(text, start, end)
    return border.end() if border else None


def last_border(text: str, start: int, end: int) -> int | None:
    """The last such place in `(start, end)`."""
    for begin in backwards(start, end):
        border = _last_border(text[begin:end])
        if border:
            return begin + border.end()
    return None


def token_ends(text: str, encoding: Encoding) -> NDArray[np.intp]:
    """How many characters are complete at the end of each token.

    Args:
        text: Any text.
        encoding: Its vocabulary.

    Returns:
        One position in `text` for each token that `count_tokens` counts, in ascending
        order, the last of them its length. A token that ends inside a character reports
        the place where that character begins.

    Example:
        ```python
        from langchain_ragstore.text.tokenizer import load_encoding, token_ends

        assert token_ends("a cat", load_encoding()).tolist() == [1, 5]
        assert token_ends("猫", load_encoding()).tolist() == [0, 0, 1]
        ```
    """
    return _ends(text, encoding)[0]


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of one text, to guess the sizes of its stretches.

    Attributes:
        starts: The character in which each token begins.
        ends: The end of the character in which each token ends.
    """

    starts: NDArray[np.intp]
    ends: NDArray[np.intp]

    @classmethod
    def of(cls, text: str, encoding: Encoding) -> Tokens:
        """Read a text once."""
        complete, touched = _ends(text, encoding)
        return cls(np.concatenate(([0], complete[:-1])) if text else complete, touched)

    def between(self, start: int, end: int) -> int:
        """How many tokens have a part in `text[start:end]`."""
        if start >= end:
            return 0
        before = int(self.ends.searchsorted(start, "right"))
        return int(self.starts.searchsorted(end, "left")) - before

    def reach(self, start: int, number: int) -> int:
        """The furthest end that `number` tokens lead to; `start` if to none."""
        beyond = int(self.ends.searchsorted(start, "right")) + number
        if beyond < len(self.starts):
            return max(start, int(self.starts[beyond]))
        return int(self.ends[-1]) if len(self.ends) else 0

    def back(self, end: int, number: int) -> int:
        """The first start that `number` tokens lead back to; `end` if to none."""
        before = int(self.starts.searchsorted(end, "left")) - number - 1
        return min(end, int(self.ends[before])) if before >= 0 else 0


def _ends(text: str, encoding: Encoding) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Characters complete, and characters touched, at the end of each token."""
    readable = _readable(text)
    complete, touched = [], []
    length = 0
    for piece in _pieces(readable):
        whole, inside = _piece_ends(piece, encoding)
        complete.append(whole + length)
        touched.append(whole + inside + length)
        length += len(piece)
    if not complete:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    found = np.concatenate(complete), np.concatenate(touched)
    return found if length == len(text) else _with_pairs(text, found)


def _piece_ends(
    piece: str, encoding: Encoding
) -> tuple[NDArray[np.intp], NDArray[np.intp] | NDArray[np.bool]]:
    """Characters complete at the end of each token; whether it ends inside the next."""
    bytes_before = np.cumsum(_lengths(encoding)[_encode(piece, encoding)])
    if piece.isascii():
        return bytes_before, np.zeros(len(bytes_before), np.bool)
    encoded = np.frombuffer(piece.encode() + b"\0", np.int8)  # 0 stands for the end
    begins = encoded >= _LEAST_LEADING
    whole = np.cumsum(begins, dtype=np.intp)[bytes_before] - 1
    return whole, ~begins[bytes_before]


def _with_pairs(
    text: str, found: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions in a text for those in the one where its pairs are one character."""
    pairs = np.array([match.start() for match in _PAIR.finditer(text)], np.intp)
    places = pairs - np.arange(len(pairs))
    complete, touched = (ends + np.searchsorted(places, ends) for ends in found)
    return complete, touched


def _encode(piece: str, encoding: Encoding) -> NDArray[np.uint32]:
    return encoding.encode_to_numpy(piece, disallowed_special=())


@lru_cache(maxsize=8)
def _lengths(encoding: Encoding) -> NDArray[np.intp]:
    """Bytes of each token; 0 for numbers that are none."""
    lengths = np.zeros(encoding.n_vocab, np.intp)
    for token in range(encoding.n_vocab):
        try:
            lengths[token] = len(encoding.decode_single_token_bytes(token))
        except KeyError:  # vocabularies have gaps before their special tokens
            continue
    return lengths


def _readable(text: str) -> str:
    """A text as tiktoken reads it: surrogates joined where they are pairs, else U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces that tiktoken takes, cut where no token changes, if possible."""
    start = 0
    while len(text) - start > TOKENIZER_PIECE:
        middle, end = start + TOKENIZER_PIECE // 2, start + TOKENIZER_PIECE
        # One more, since the mark behind the letter may begin the next piece.
        end = last_border(text, middle, end + 1) or end
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]
