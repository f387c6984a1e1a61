"""The splitter that measures in tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from typing_extensions import override

from langchain_ragstore.config import (
    DEFAULT_ENCODING,
    DEFAULT_MAX_TOKENS,
    DEFAULT_OVERLAP_RATIO,
    DEFAULT_SAFETY_RATIO,
    LEAST_TOKENS,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.text.spans import spans
from langchain_ragstore.text.tokenizer import count_tokens, load_encoding
from langchain_ragstore.text_splitters.base import (
    Options,
    SpanTextSplitter,
    check_tokens,
    default_overlap,
)
from langchain_ragstore.text_splitters.counting import refused_tokenizer

if TYPE_CHECKING:
    from tiktoken import Encoding


class TokenAwareTextSplitter(SpanTextSplitter):
    """Cut text at its best breaks so that no chunk has more tokens than a model takes.

    It cuts as `CJKRecursiveTextSplitter` does, by the same laws, but measures in tokens of
    an OpenAI encoding. Every chunk is a slice of the source and counted exactly: the sum
    of its parts' tokens would not do. What looks like a special token is ordinary text.
    The encoding's data is looked for on this machine alone, unless `allow_download`.

    Args:
        max_tokens: What the model takes at once; None for 8 000. A chunk has at most
            `int(max_tokens * safety_ratio)` tokens: other models count otherwise.
        safety_ratio: The part of `max_tokens` that is used, in (0, 1]; None for 0.85.
        overlap_ratio: The part of a chunk that the next one may repeat, in [0, 1); None
            for 0.1.
        chunk_size: The most tokens in a chunk, instead of `max_tokens` and the ratios.
        chunk_overlap: With `chunk_size`: the most tokens that a chunk repeats from the
            one before; None for a tenth.
        encoding: The name of the encoding.
        allow_download: Whether its data may come from the network.
        **options: `separators`, `keep_separator`, `is_separator_regex`, `add_start_index`,
            `strip_whitespace` of `CJKRecursiveTextSplitter`; `start_index` is in characters
            here, too.

    Raises:
        InvalidInputError: Sizes that contradict each other, sizes given in both styles,
            or fewer than 4 tokens for a chunk, which one character can need.
        MissingExtraError: The encoding's data is not on this machine.

    Example:
        ```python
        from langchain_ragstore import TokenAwareTextSplitter

        splitter = TokenAwareTextSplitter(chunk_size=8, chunk_overlap=0)
        assert splitter.split_text("One two three. Four five six. Seven.") == [
            "One two three. Four five six.",
            "Seven.",
        ]
        assert splitter.count_tokens("One two three. Four five six.") == 8
        ```
    """

    _encoding: Encoding

    def __init__(
        self,
        max_tokens: int | None = None,
        *,
        safety_ratio: float | None = None,
        overlap_ratio: float | None = None,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        encoding: str = DEFAULT_ENCODING,
        allow_download: bool = False,
        **options: Unpack[Options],
    ) -> None:
        if chunk_size is None and chunk_overlap is None:
            chunk_size, chunk_overlap = _from_ratios(
                max_tokens, safety_ratio, overlap_ratio
            )
        else:
            given = {
                "max_tokens": max_tokens,
                "safety_ratio": safety_ratio,
                "overlap_ratio": overlap_ratio,
            }
            both = [f"{name}={value}" for name, value in given.items() if value is not None]
            if both or chunk_size is None:
                raise InvalidInputError(
                    "sizes are given either by max_tokens, safety_ratio and overlap_ratio "
                    "or by chunk_size and chunk_overlap; got "
                    f"{', '.join([*both, f'{chunk_size=}', f'{chunk_overlap=}'])}"
                )
            if chunk_overlap is None:
                chunk_overlap = default_overlap(chunk_size, in_tokens=True)
        check_tokens(chunk_size)
        super().__init__(
            chunk_size,
            chunk_overlap,
            length_function=self.count_tokens,
            **options,
        )
        self._encoding = load_encoding(encoding, allow_download=allow_download)

    @classmethod
    @override
    def from_tiktoken_encoder(cls, *args: Any, **kwargs: Any) -> Self:
        """Refused: this splitter counts tokens by itself.

        Raises:
            InvalidInputError: Always; it names what to write.
        """
        raise InvalidInputError(
            f"{cls.__name__} counts tokens by itself: {cls.__name__}(chunk_size=..., "
            "encoding='cl100k_base')"
        )

    @classmethod
    @override
    def from_huggingface_tokenizer(cls, tokenizer: Any, **kwargs: Any) -> Self:
        """Refused: this splitter counts tokens of OpenAI's encodings alone.

        Raises:
            InvalidInputError: Always; it names what to use.
        """
        raise refused_tokenizer(cls)

    def count_tokens(self, text: str) -> int:
        """The number of a text's tokens, whatever it holds."""
        return count_tokens(text, self._encoding)

    @override
    def split_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the chunks of a text begin and end, as positions in it."""
        measure = self._measure(text, self._chunk_size, self._chunk_overlap)
        return spans(text, self._classes, measure, strip=self._strip_whitespace)


def _from_ratios(
    max_tokens: int | None, safety_ratio: float | None, overlap_ratio: float | None
) -> tuple[int, int]:
    tokens = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    safety = DEFAULT_SAFETY_RATIO if safety_ratio is None else safety_ratio
    overlap = DEFAULT_OVERLAP_RATIO if overlap_ratio is None else overlap_ratio
    if not 0 < safety <= 1 or not 0 <= overlap < 1:
        raise InvalidInputError(
            "safety_ratio must be in (0, 1] and overlap_ratio in [0, 1); got "
            f"safety_ratio={safety}, overlap_ratio={overlap}"
        )
    limit = int(tokens * safety)
    if limit < LEAST_TOKENS:
        raise InvalidInputError(
            f"max_tokens={tokens} with safety_ratio={safety} leaves {limit} tokens for a "
            f"chunk; it must be allowed {LEAST_TOKENS}, since one character can need them"
        )
    return limit, int(limit * overlap)
