"""The splitter that keeps to the structure of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Self, Unpack

from typing_extensions import override

from langchain_ragstore.config import (
    DEFAULT_CHUNK_SIZE,
    DEFAULT_ENCODING,
    LEAST_TOKENS,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.text.boundaries import Breaks, Listed
from langchain_ragstore.text.markdown import Block, Section, sections
from langchain_ragstore.text.spans import spans
from langchain_ragstore.text.tokenizer import count_tokens, load_encoding
from langchain_ragstore.text.vocabularies import model_encoding
from langchain_ragstore.text_splitters.base import (
    Chunk,
    Options,
    SpanTextSplitter,
    check_tokens,
    default_overlap,
)
from langchain_ragstore.text_splitters.counting import Special, refused_tokenizer

_MOST_OF_LEAD: Final = 0.5
"""Part of a chunk that a table's header may take to be repeated, so that rows have room."""


class StructuredTextSplitter(SpanTextSplitter):
    r"""Cut Markdown along its headings, tables, fenced code and paragraphs.

    A chunk never mixes two sections, and knows the titles above it. Code and tables that
    fit into a chunk stay whole; the chunks of a longer table repeat its header. Inside,
    text is cut as `CJKRecursiveTextSplitter` cuts it, by characters or by tokens.

    Chunks carry, beside what other splitters give them, `heading_path` (the titles above,
    the outermost first), `title` (the source's own, else its first level-1 heading),
    `content_type="table_schema"` where a table's header stands, and `prefix_len` where
    one is repeated: `page_content[prefix_len:]` is the slice of the source at
    `start_index`.

    Args:
        chunk_size: The most in a chunk, a repeated header included.
        chunk_overlap: The most that a chunk repeats from the one before it in its
            section; None for a fifth of `chunk_size`, at most 200 (in tokens: a tenth).
        encoding: The name of an encoding, to measure in its tokens; None for characters.
        allow_download: Whether the encoding's data may come from the network.
        **options: `separators`, `keep_separator`, `is_separator_regex`, `add_start_index`,
            `strip_whitespace` of `CJKRecursiveTextSplitter`.

    Raises:
        InvalidInputError: Sizes that contradict each other.
        MissingExtraError: The encoding's data is not on this machine.

    Example:
        ```python
        from langchain_ragstore import StructuredTextSplitter

        text = "# Tea\n\n| tea | °C |\n|---|---|\n| green | 80 |\n| black | 100 |\n"
        splitter = StructuredTextSplitter(chunk_size=48, chunk_overlap=0)
        title, first, second = splitter.create_documents([text])
        assert first.metadata["content_type"] == "table_schema"
        assert second.page_content == "| tea | °C |\n|---|---|\n| black | 100 |"
        assert second.metadata["heading_path"] == ["Tea"]
        assert second.page_content[second.metadata["prefix_len"] :] == "| black | 100 |"
        ```
    """

    def __init__(
        self,
        chunk_size: int = DEFAULT_CHUNK_SIZE,
        chunk_overlap: int | None = None,
        *,
        encoding: str | None = None,
        allow_download: bool = False,
        **options: Unpack[Options],
    ) -> None:
        if encoding is not None:
            check_tokens(chunk_size)
        if chunk_overlap is None:
            chunk_overlap = default_overlap(chunk_size, in_tokens=encoding is not None)
        super().__init__(
            chunk_size,
            chunk_overlap,
            length_function=len if encoding is None else self.measure,
            **options,
        )
        self._encoding = (
            None
            if encoding is None
            else load_encoding(encoding, allow_download=allow_download)
        )

    @classmethod
    @override
    def from_tiktoken_encoder(
        cls,
        encoding_name: str = DEFAULT_ENCODING,
        model_name: str | None = None,
        allowed_special: Special = None,
        disallowed_special: Special = (),
        **kwargs: Any,
    ) -> Self:
        """As `cls(encoding=encoding_name, **kwargs)`, or with a model's encoding.

        Raises:
            InvalidInputError: Special tokens are named: here they are ordinary text.
        """
        if allowed_special or disallowed_special:
            raise InvalidInputError(
                f"{cls.__name__} counts special tokens as ordinary text; leave out "
                f"{allowed_special=} and {disallowed_special=}"
            )
        name = encoding_name if model_name is None else model_encoding(model_name)
        return cls(encoding=name, **kwargs)

    @classmethod
    @override
    def from_huggingface_tokenizer(cls, tokenizer: Any, **kwargs: Any) -> Self:
        """Refused: this splitter counts characters or tokens of OpenAI's encodings.

        Raises:
            InvalidInputError: Always; it names what to use.
        """
        raise refused_tokenizer(cls)

    def measure(self, text: str) -> int:
        """The size of a text, in characters or tokens."""
        return len(text) if self._encoding is None else count_tokens(text, self._encoding)

    @override
    def split_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the chunks of a text begin and end in it, repeated headers aside."""
        _, chunks = self._cut(text)
        return [(chunk.start, chunk.end) for chunk in chunks]

    @override
    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        _, chunks = self._cut(text)
        return [chunk.prefix + text[chunk.start : chunk.end] for chunk in chunks]

    @override
    def _cut(self, text: str) -> tuple[Mapping[str, Any], list[Chunk]]:
        parsed = sections(text)
        titles = (
            block.title
            for section in parsed
            for block in section.blocks
            if block.kind == "heading" and block.level == 1 and block.title
        )
        title = next(titles, None)
        defaults = {"mime_type": "text/markdown"} | ({"title": title} if title else {})
        return defaults, [
            chunk for section in parsed for chunk in self._section(text, section)
        ]

    def _section(self, text: str, section: Section) -> Iterator[Chunk]:
        headers = [block.header_end for block in section.blocks if block.kind == "table"]
        for start, end, prefix in self._pieces(text, section):
            metadata: dict[str, Any] = {}
            if section.path:
                metadata["heading_path"] = list(section.path)
            if any(start < header <= end for header in headers):
                metadata["content_type"] = "table_schema"
            yield Chunk(start, end, prefix, metadata)

    def _pieces(self, text: str, section: Section) -> Iterator[tuple[int, int, str]]:
        """Chunks of a section: of each table that is too long, and of what is between."""
        waiting: list[Block] = []
        for block in section.blocks:
            if block.kind != "table" or not self._is_repeated(text, block):
                waiting.append(block)
                continue
            begin = self._table_start(text, waiting, block)
            if begin == block.start:
                yield from self._plain(text, waiting)
            yield from self._table(text, begin, block)
            waiting = []
        yield from self._plain(text, waiting)

    def _is_repeated(self, text: str, table: Block) -> bool:
        """Whether a table is too long, and its header short enough to be repeated."""
        whole = text[table.start : table.end]
        size = self.measure(whole.rstrip() if self._strip_whitespace else whole)
        return size > self._chunk_size and self._leaves_room(text, table.start, table)

    def _leaves_room(self, text: str, begin: int, table: Block) -> bool:
        lead = self.measure(text[begin : table.header_end])
        return lead <= self._chunk_size * _MOST_OF_LEAD

    def _table_start(self, text: str, waiting: list[Block], table: Block) -> int:
        """Where the first chunk of a table begins; a heading alone is a poor one."""
        only_headings = waiting and all(
            block.kind == "heading" or not text[block.start : block.end].strip()
            for block in waiting
        )
        if only_headings and self._leaves_room(text, waiting[0].start, table):
            return waiting[0].start
        return table.start

    def _plain(self, text: str, blocks: list[Block]) -> Iterator[tuple[int, int, str]]:
        if blocks:
            begin, end = blocks[0].start, blocks[-1].end
            borders = Listed([block.end - begin for block in blocks])
            for first, last in self._spans(text[begin:end], borders, self._chunk_size):
                yield begin + first, begin + last, ""

    def _table(self, text: str, begin: int, table: Block) -> Iterator[tuple[int, int, str]]:
        """Chunks of a table; the first one is the source's own from `begin` on."""
        least = 1 if self._encoding is None else LEAST_TOKENS
        room = self._chunk_size - self.measure(text[begin : table.header_end])
        while room >= least:
            chunks = list(self._rows(text, begin, table, room))
            excess = max(
                self.measure(prefix + text[start:end]) - self._chunk_size
                for start, end, prefix in chunks
            )
            if excess <= 0:
                yield from chunks
                return
            # An indent before the first row, or tokens, which do not add up.
            room -= excess
        yield from self._plain(text, [replace(table, start=begin)])

    def _rows(
        self, text: str, begin: int, table: Block, room: int
    ) -> Iterator[tuple[int, int, str]]:
        rows = text[table.header_end : table.end]
        prefix = ""
        for first, last in self._spans(rows, Listed([]), room):
            start = table.header_end + first if prefix else begin
            yield start, table.header_end + last, prefix
            prefix = text[table.start : table.header_end]

    def _spans(self, text: str, borders: Breaks, size: int) -> list[tuple[int, int]]:
        def classes(text: str) -> tuple[Breaks, ...]:
            return borders, *self._classes(text)

        measure = self._measure(text, size, min(self._chunk_overlap, size - 1))
        return spans(text, classes, measure, strip=self._strip_whitespace)
