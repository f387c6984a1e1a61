"""From spans of a text to LangChain documents; what all splitters share."""

from __future__ import annotations

import copy
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, Unpack

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter
from typing_extensions import override

from langchain_ragstore.config import (
    DEFAULT_CHUNK_OVERLAP,
    DEFAULT_OVERLAP_RATIO,
    LEAST_TOKENS,
)
from langchain_ragstore.documents import chunk_id, to_count
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.text.boundaries import Classes, natural
from langchain_ragstore.text.measures import Characters, Counted, Measure
from langchain_ragstore.text.separators import Patterned, Separated
from langchain_ragstore.text.token_measure import TokenMeasure
from langchain_ragstore.text.tokenizer import Tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

_PLAIN: Final = (str, int, float, bytes, type(None))
"""Values that chunks may share, since nobody can change them."""


def check_tokens(size: int) -> None:
    """Refuse a chunk size in tokens that one character can exceed.

    Raises:
        InvalidInputError: It is below 4.
    """
    if 0 < size < LEAST_TOKENS:
        raise InvalidInputError(
            f"a chunk must be allowed {LEAST_TOKENS} tokens, since one character can "
            f"need as many; got {size}"
        )


def default_overlap(chunk_size: int, *, in_tokens: bool) -> int:
    """The overlap of a splitter that is given none."""
    if in_tokens:
        return int(chunk_size * DEFAULT_OVERLAP_RATIO)
    return min(DEFAULT_CHUNK_OVERLAP, chunk_size // 5)


class Presentation(TypedDict, total=False):
    """What is shown of chunks; see `CJKRecursiveTextSplitter`."""

    add_start_index: bool
    strip_whitespace: bool


class Options(Presentation, total=False):
    """What all splitters take; see `CJKRecursiveTextSplitter`."""

    separators: Sequence[str] | None
    keep_separator: bool | Literal["start", "end"]
    is_separator_regex: bool


class Chunk(NamedTuple):
    """A chunk as positions in its source.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        prefix: Text of the source that is repeated in front of it.
        metadata: What it says of itself.
    """

    start: int
    end: int
    prefix: str = ""
    metadata: Mapping[str, Any] | None = None


class SpanTextSplitter(TextSplitter):
    """A splitter that knows where in its source each chunk begins and ends.

    LangChain's base class searches for the chunks of `split_text` to find out, and finds
    the wrong place where a text repeats itself; so every method is built on the spans.
    """

    _encoding: Encoding | None = None
    """What sizes are counted in, if in tokens of an encoding."""

    def __init__(
        self,
        chunk_size: int,
        chunk_overlap: int,
        *,
        separators: Sequence[str] | None = None,
        keep_separator: bool | Literal["start", "end"] = "end",
        is_separator_regex: bool = False,
        length_function: Callable[[str], int] = len,
        **presentation: Unpack[Presentation],
    ) -> None:
        chunk_size = to_count("chunk_size", chunk_size)
        chunk_overlap = to_count("chunk_overlap", chunk_overlap)
        if chunk_size <= 0 or chunk_overlap < 0 or chunk_overlap >= chunk_size:
            raise InvalidInputError(
                "chunk_size must be greater than chunk_overlap, which must not be "
                f"negative; got chunk_size={chunk_size}, chunk_overlap={chunk_overlap}"
            )
        if keep_separator not in (True, "start", "end"):
            raise InvalidInputError(
                f"keep_separator={keep_separator!r} would lose the separators; use 'end' "
                "or 'start'"
            )
        presentation.setdefault("add_start_index", True)
        super().__init__(
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            length_function=length_function,
            keep_separator=keep_separator,
            **presentation,
        )
        self._classes = _classes(
            separators, end=keep_separator == "end", patterns=is_separator_regex
        )

    @abstractmethod
    def split_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the chunks of a text begin and end, as positions in it."""

    def _cut(self, text: str) -> tuple[Mapping[str, Any], list[Chunk]]:
        """Metadata of all chunks of a text, unless the source has its own; its chunks."""
        chunks = [Chunk(start, end) for start, end in self.split_spans(text)]
        return {"mime_type": "text/plain"}, chunks

    def _measure(self, text: str, size: int, overlap: int) -> Measure:
        """Sizes of a text's stretches, in what this splitter counts."""
        if self._encoding is not None:
            tokens = Tokens.of(text, self._encoding)
            return TokenMeasure(text, self._encoding, tokens, size, overlap)
        if self._length_function is len:
            return Characters(len(text), size, overlap)
        return Counted(text, self._length_function, size, overlap)

    @override
    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        return [text[start:end] for start, end in self.split_spans(text)]

    @override
    def create_documents(
        self, texts: list[str], metadatas: list[dict[str, Any]] | None = None
    ) -> list[Document]:
        """Chunks of texts as documents.

        Args:
            texts: What to cut.
            metadatas: One for each text; copied to each of its chunks.

        Returns:
            Documents without ids, with `start_index` (if asked for), `chunk_index`,
            `chunk_count` and, if the metadata has none, `mime_type`.
        """
        given = [{} for _ in texts] if metadatas is None else list(metadatas)
        if len(given) != len(texts):
            raise InvalidInputError(f"{len(texts)} texts but {len(given)} metadatas")
        return [
            chunk
            for text, metadata in zip(texts, given, strict=True)
            for chunk in self._chunks(text, metadata, None)
        ]

    @override
    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Chunks of documents, with the metadata of their document.

        A document's id becomes `source_id`, and its chunks are called
        `{source_id}:chunk:{index:04d}`; chunks of a document without an id have none.
        """
        return [
            chunk
            for document in documents
            for chunk in self._chunks(document.page_content, document.metadata, document.id)
        ]

    @override
    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """As `split_documents`."""
        return self.split_documents(documents)

    def _chunks(
        self, text: str, metadata: Mapping[str, Any], source_id: str | None
    ) -> list[Document]:
        defaults, found = self._cut(text)
        base = {**defaults, **metadata}
        if source_id:
            base["source_id"] = source_id
        nested = not all(isinstance(value, _PLAIN) for value in metadata.values())
        chunks = []
        for index, chunk in enumerate(found):
            own = copy.deepcopy(base) if nested else base.copy()
            own["chunk_index"] = index
            own["chunk_count"] = len(found)
            if self._add_start_index:
                own["start_index"] = chunk.start
            if chunk.metadata:
                own.update(copy.deepcopy(chunk.metadata))
            content = text[chunk.start : chunk.end]
            if chunk.prefix:
                own["prefix_len"] = len(chunk.prefix)
                content = chunk.prefix + content
            id = chunk_id(source_id, index) if source_id else None
            chunks.append(Document(id=id, page_content=content, metadata=own))
        return chunks


def _classes(separators: Sequence[str] | None, *, end: bool, patterns: bool) -> Classes:
    if separators is None:
        return natural
    listed = (separators,) if isinstance(separators, str) else tuple(separators)
    if isinstance(separators, str) or not all(isinstance(part, str) for part in listed):
        raise InvalidInputError(f"separators is a list of strings, got {separators!r}")
    if not patterns:
        return Separated(listed, end)
    for part in listed:
        try:
            re.compile(part)
        except re.error as error:
            raise InvalidInputError(
                f"the separator {part!r} is no regular expression: {error}; leave out "
                f"is_separator_regex for plain strings, or write {re.escape(part)!r}"
            ) from error
    return Patterned(listed, end)
