"""The vocabularies that texts are counted in, and where OpenAI publishes them.

Patterns, special tokens and checksums are those of tiktoken 0.14
(`tiktoken_ext/openai_public.py`, MIT licence); a test compares them. They are written
down here because tiktoken hands out none of them without loading the ranks as well, from
the network if need be, where it waits for an answer without limit.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from langchain_ragstore.errors import InvalidInputError

_FOLDER: Final = "https://openaipublic.blob.core.windows.net/encodings/"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What makes an encoding, but for its ranks.

    Attributes:
        name: tiktoken's name.
        file: The file of its ranks.
        sha256: The checksum of that file.
        pattern: The regular expression that cuts a text before bytes are merged.
        special: Tokens that stand for no text, and their ids.
    """

    name: str
    file: str
    sha256: str
    pattern: str
    special: Mapping[str, int]

    @property
    def url(self) -> str:
        """Where the ranks are published."""
        return _FOLDER + self.file

    @property
    def cache_name(self) -> str:
        """What tiktoken calls the file in its cache folder."""
        return hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()


_TEXT: Final = "<|endoftext|>"
_PROMPT: Final = "<|endofprompt|>"
_MIDDLE: Final = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")

_R50K: Final = (
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
)
_CL100K: Final = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_O200K: Final = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_P50K_SHA256: Final = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"

_ALL: Final = (
    Vocabulary(
        "cl100k_base",
        "cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        _CL100K,
        {
            _TEXT: 100257,
            **{name: 100258 + at for at, name in enumerate(_MIDDLE)},
            _PROMPT: 100276,
        },
    ),
    Vocabulary(
        "o200k_base",
        "o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        _O200K,
        {_TEXT: 199999, _PROMPT: 200018},
    ),
    Vocabulary("p50k_base", "p50k_base.tiktoken", _P50K_SHA256, _R50K, {_TEXT: 50256}),
    Vocabulary(
        "p50k_edit",
        "p50k_base.tiktoken",
        _P50K_SHA256,
        _R50K,
        {_TEXT: 50256, **{name: 50281 + at for at, name in enumerate(_MIDDLE)}},
    ),
    Vocabulary(
        "r50k_base",
        "r50k_base.tiktoken",
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        _R50K,
        {_TEXT: 50256},
    ),
)

VOCABULARIES: Final = {vocabulary.name: vocabulary for vocabulary in _ALL}
"""The vocabularies by name."""

_TWINS: Final = {"gpt2": "r50k_base", "o200k_harmony": "o200k_base"}
"""tiktoken's other names: ordinary text is cut alike, special tokens or files differ."""


def model_encoding(model: Any) -> str:
    """The name of the encoding that cuts ordinary text as a model of OpenAI does.

    Raises:
        InvalidInputError: tiktoken knows no such model.

    Example:
        ```python
        from langchain_ragstore.text.vocabularies import model_encoding

        assert model_encoding("text-embedding-3-small") == "cl100k_base"
        ```
    """
    from tiktoken.model import encoding_name_for_model  # noqa: PLC0415 - as tiktoken itself

    try:
        name = encoding_name_for_model(model)
    except (KeyError, AttributeError, TypeError):
        raise InvalidInputError(
            f"tiktoken knows no model {model!r}; pass encoding_name=, one of "
            f"{', '.join(VOCABULARIES)}"
        ) from None
    return _TWINS.get(name, name)


def vocabulary(name: Any) -> Vocabulary:
    """The vocabulary of a name.

    Raises:
        InvalidInputError: There is none; the message names the likely right one, or all.
    """
    if isinstance(name, str) and name in VOCABULARIES:
        return VOCABULARIES[name]
    meant = _TWINS.get(name) if isinstance(name, str) else None
    close = difflib.get_close_matches(str(name), VOCABULARIES, n=1, cutoff=0.6)
    meant = meant or (close[0] if close else None)
    hint = f"did you mean {meant!r}?" if meant else f"known: {', '.join(VOCABULARIES)}"
    raise InvalidInputError(f"unknown encoding {name!r}; {hint}")
