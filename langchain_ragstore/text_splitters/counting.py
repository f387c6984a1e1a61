"""What LangChain's `from_…` constructors are given → functions that count tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.text.tokenizer import count_tokens, load_encoding
from langchain_ragstore.text.vocabularies import model_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding

Special: TypeAlias = Literal["all"] | Collection[str] | None
"""Special tokens: those that are listed, or all that the encoding has."""


def encoding_of(name: str, model: str | None, *, allow_download: bool) -> Encoding:
    """The encoding of a name or, if a model is given, of the model.

    Raises:
        InvalidInputError: There is no such encoding or model.
        MissingExtraError: The encoding's data is not on this machine.
    """
    known = name if model is None else model_encoding(model)
    return load_encoding(known, allow_download=allow_download)


def tiktoken_counter(
    encoding: Encoding, allowed: Special, disallowed: Special
) -> Callable[[str], int]:
    """A function that counts as `encoding.encode` does, of texts of any kind and length.

    Args:
        encoding: The vocabulary.
        allowed: Special tokens that count as one token where their text stands.
        disallowed: Special tokens whose text is refused, unless it is allowed; that of
            all others is ordinary text.

    Raises:
        InvalidInputError: The encoding has no such special token.
    """
    single = _listed(encoding, "allowed_special", allowed)
    refused = _listed(encoding, "disallowed_special", disallowed) - single
    if not single and not refused:
        return partial(count_tokens, encoding=encoding)
    return partial(_count_special, encoding=encoding, single=single, refused=refused)


def _count_special(
    text: str, encoding: Encoding, single: frozenset[str], refused: frozenset[str]
) -> int:
    found = next((token for token in sorted(refused) if token in text), None)
    if found is not None:
        raise InvalidInputError(
            f"the text holds {found!r}, which disallowed_special names; leave it out of "
            "there to count it as ordinary text, or list it in allowed_special to count "
            "it as one token"
        )
    if not single:
        return count_tokens(text, encoding)
    parts = re.split("|".join(map(re.escape, single)), text)
    return sum(count_tokens(part, encoding) for part in parts) + len(parts) - 1


def _listed(encoding: Encoding, name: str, tokens: Any) -> frozenset[str]:
    if tokens is None:
        return frozenset()
    if tokens == "all":
        return frozenset(encoding.special_tokens_set)
    known = encoding.special_tokens_set
    listed = isinstance(tokens, Collection) and not isinstance(tokens, str)
    if not listed or any(token not in known for token in tokens):
        raise InvalidInputError(
            f"{name} is 'all' or lists special tokens of {encoding.name} "
            f"({', '.join(sorted(known))}); got {tokens!r}"
        )
    return frozenset(tokens)


def refused_tokenizer(splitter: type) -> InvalidInputError:
    """The error of a splitter that cannot count with a tokenizer of Hugging Face."""
    return InvalidInputError(
        f"{splitter.__name__} counts tokens of OpenAI's encodings; use "
        "CJKRecursiveTextSplitter.from_huggingface_tokenizer(...)"
    )


def huggingface_counter(tokenizer: Any) -> Callable[[str], int]:
    """A function that counts the tokens of a tokenizer of Hugging Face.

    Args:
        tokenizer: One of `transformers`, slow or fast, or of `tokenizers`.

    Raises:
        InvalidInputError: It has neither `tokenize` nor `encode`, or is a model's name.
    """
    if callable(getattr(tokenizer, "tokenize", None)):
        return partial(_count_tokenized, tokenizer=tokenizer)
    if callable(getattr(tokenizer, "encode", None)) and not isinstance(tokenizer, str):
        return partial(_count_encoded, tokenizer=tokenizer)
    raise InvalidInputError(
        "tokenizer has tokenize(text), as those of transformers have, or encode(text), as "
        f"those of tokenizers have; got {type(tokenizer).__name__}"
    )


def _count_tokenized(text: str, tokenizer: Any) -> int:
    return len(tokenizer.tokenize(text))


def _count_encoded(text: str, tokenizer: Any) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False))
