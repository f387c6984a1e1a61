"""The splitter that measures in characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, Self, Unpack

from typing_extensions import override

from langchain_ragstore.config import DEFAULT_CHUNK_SIZE, DEFAULT_ENCODING
from langchain_ragstore.documents import to_count
from langchain_ragstore.text.spans import spans
from langchain_ragstore.text_splitters.base import (
    Presentation,
    SpanTextSplitter,
    check_tokens,
    default_overlap,
)
from langchain_ragstore.text_splitters.counting import (
    Special,
    encoding_of,
    huggingface_counter,
    tiktoken_counter,
)

SEPARATORS: Final = ("\n\n", "\n", "。", "？", "！", ".", " ", "")
"""The seed's separators; they stand for `text.boundaries.natural`."""


class CJKRecursiveTextSplitter(SpanTextSplitter):
    """Cut text at its best breaks, in any script, without losing a character.

    Breaks, the best first: blank line, line, sentence with its closing marks, clause,
    comma, blank, border between CJK and other letters, grapheme cluster. Every chunk is
    a slice of the source; `start_index` is exact; no chunk is longer than `chunk_size`,
    overlap included. Words, numbers and addresses are cut only if they alone are too
    long.

    Args:
        chunk_size: The most code points in a chunk.
        chunk_overlap: The most code points that a chunk repeats from the one before;
            None for min(200, chunk_size // 5).
        separators: Strings, the best first, instead of the natural breaks; clusters are
            always the last resort.
        is_separator_regex: Whether `separators` are regular expressions. Each text is
            read by all that are needed, from its beginning to its end.
        keep_separator: Where one of `separators` goes: to the `"end"` of the chunk
            before it, or to the `"start"` (as True) of the one after it.
        length_function: Another measure of a chunk's size than `len`.
        **presentation: `add_start_index`, whether chunks carry `start_index`, and
            `strip_whitespace`, whether white space at their ends is dropped; both are on.

    Raises:
        InvalidInputError: Sizes that contradict each other, or `keep_separator=False`,
            which would lose text.

    Example:
        ```python
        from langchain_ragstore import CJKRecursiveTextSplitter

        splitter = CJKRecursiveTextSplitter(chunk_size=12, chunk_overlap=0)
        assert splitter.split_text("老师说：“快点走。”大家都笑了。") == [
            "老师说：“快点走。”",
            "大家都笑了。",
        ]
        ```
    """

    def __init__(
        self,
        chunk_size: int = DEFAULT_CHUNK_SIZE,
        chunk_overlap: int | None = None,
        *,
        separators: Sequence[str] | None = None,
        keep_separator: bool | Literal["start", "end"] = "end",
        is_separator_regex: bool = False,
        length_function: Callable[[str], int] = len,
        **presentation: Unpack[Presentation],
    ) -> None:
        chunk_size = to_count("chunk_size", chunk_size)
        if chunk_overlap is None:
            chunk_overlap = default_overlap(chunk_size, in_tokens=False)
        if separators is not None and not isinstance(separators, str):
            separators = list(separators)  # a generator is read once
        super().__init__(
            chunk_size,
            chunk_overlap,
            separators=separators,
            keep_separator=keep_separator,
            is_separator_regex=is_separator_regex,
            length_function=length_function,
            **presentation,
        )
        self.separators = list(SEPARATORS if separators is None else separators)

    @classmethod
    @override
    def from_tiktoken_encoder(
        cls,
        encoding_name: str = DEFAULT_ENCODING,
        model_name: str | None = None,
        allowed_special: Special = None,
        disallowed_special: Special = (),
        *,
        allow_download: bool = False,
        **kwargs: Any,
    ) -> Self:
        """A splitter whose sizes are in tokens of an OpenAI encoding.

        Unlike LangChain's it stays off the network, and what looks like a special token
        is ordinary text unless it is named here.

        Args:
            encoding_name: The name of the encoding.
            model_name: A model, whose encoding is used instead.
            allowed_special: Special tokens that count as one token; `"all"` for all.
            disallowed_special: Special tokens whose text raises an error; `"all"` for all
                that are not allowed.
            allow_download: Whether the encoding's data may come from the network.
            **kwargs: As for the class; `chunk_size` and `chunk_overlap` are in tokens.

        Raises:
            InvalidInputError: An unknown name, or fewer than 4 tokens for a chunk, which
                one character can need.
            MissingExtraError: The encoding's data is not on this machine.

        Example:
            ```python
            from langchain_ragstore import CJKRecursiveTextSplitter

            splitter = CJKRecursiveTextSplitter.from_tiktoken_encoder(chunk_size=9)
            assert splitter.split_text("One two three. Four five six. Seven.") == [
                "One two three. Four five six.",
                "six. Seven.",
            ]
            ```
        """
        encoding = encoding_of(encoding_name, model_name, allow_download=allow_download)
        counter = tiktoken_counter(encoding, allowed_special, disallowed_special)
        splitter = cls(length_function=counter, **kwargs)
        check_tokens(splitter._chunk_size)
        if not allowed_special and not disallowed_special:
            splitter._encoding = encoding
        return splitter

    @classmethod
    @override
    def from_huggingface_tokenizer(cls, tokenizer: Any, **kwargs: Any) -> Self:
        """A splitter whose sizes are in tokens of Hugging Face's tokenizers.

        Args:
            tokenizer: One of `transformers` or of `tokenizers`; special tokens that it
                would put around a text are not counted.
            **kwargs: As for the class; `chunk_size` and `chunk_overlap` are in tokens.

        Raises:
            InvalidInputError: It is no tokenizer.
        """
        return cls(length_function=huggingface_counter(tokenizer), **kwargs)

    @override
    def split_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the chunks of a text begin and end, as positions in it."""
        measure = self._measure(text, self._chunk_size, self._chunk_overlap)
        return spans(text, self._classes, measure, strip=self._strip_whitespace)
