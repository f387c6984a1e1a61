"""The splitter that measures in characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from typing_extensions import override

from langchain_ragstore.config import DEFAULT_CHUNK_OVERLAP, DEFAULT_CHUNK_SIZE
from langchain_ragstore.documents import to_count
from langchain_ragstore.text.measures import Characters, Counted, Measure
from langchain_ragstore.text.spans import spans
from langchain_ragstore.text_splitters.base import SpanTextSplitter

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
        keep_separator: Where one of `separators` goes: to the `"end"` of the chunk
            before it, or to the `"start"` (as True) of the one after it.
        add_start_index: Whether chunks carry `start_index`.
        strip_whitespace: Whether white space at the ends of chunks is dropped.
        length_function: Another measure of a chunk's size than `len`.

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
        add_start_index: bool = True,
        strip_whitespace: bool = True,
        length_function: Callable[[str], int] = len,
    ) -> None:
        chunk_size = to_count("chunk_size", chunk_size)
        if chunk_overlap is None:
            chunk_overlap = min(DEFAULT_CHUNK_OVERLAP, chunk_size // 5)
        if separators is not None and not isinstance(separators, str):
            separators = list(separators)  # a generator is read once
        super().__init__(
            chunk_size,
            chunk_overlap,
            separators=separators,
            keep_separator=keep_separator,
            add_start_index=add_start_index,
            strip_whitespace=strip_whitespace,
            length_function=length_function,
        )
        self.separators = list(SEPARATORS if separators is None else separators)

    @override
    def split_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the chunks of a text begin and end, as positions in it."""
        return spans(text, self._classes, self._measure(text), strip=self._strip_whitespace)

    def _measure(self, text: str) -> Measure:
        if self._length_function is len:
            return Characters(len(text), self._chunk_size, self._chunk_overlap)
        return Counted(text, self._length_function, self._chunk_size, self._chunk_overlap)
