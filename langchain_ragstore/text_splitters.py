"""LangChain text splitters whose chunks are slices of their source."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter
from typing_extensions import override

from langchain_ragstore.config import DEFAULT_CHUNK_OVERLAP, DEFAULT_CHUNK_SIZE
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.text import boundaries
from langchain_ragstore.text.spans import Characters, Measure, spans

SEPARATORS: Final = ("\n\n", "\n", "。", "？", "！", ".", " ", "")
"""The seed's separators; they stand for the natural breaks of `text.boundaries`."""


class CJKRecursiveTextSplitter(TextSplitter):
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
        **unknown: None is read; `TypeError`.

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
        if chunk_overlap is None:
            chunk_overlap = min(DEFAULT_CHUNK_OVERLAP, chunk_size // 5)
        _check_sizes(chunk_size, chunk_overlap)
        if keep_separator not in (True, "start", "end"):
            raise InvalidInputError(
                f"keep_separator={keep_separator!r} would lose the separators; use 'end' "
                "or 'start'"
            )
        super().__init__(
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            length_function=length_function,
            keep_separator=keep_separator,
            add_start_index=add_start_index,
            strip_whitespace=strip_whitespace,
        )
        self.separators = list(SEPARATORS if separators is None else separators)
        self._classes = _classes(separators, keep_separator)

    def split_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the chunks of a text begin and end, as positions in it."""
        found = spans(text, self._classes, self._measure(text))
        if not self._strip_whitespace:
            return found
        return list(_stripped(text, found))

    def _measure(self, text: str) -> Measure:
        if self._length_function is len:
            return Characters(len(text), self._chunk_size, self._chunk_overlap)
        return Counted(text, self._length_function, self._chunk_size, self._chunk_overlap)

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
        found = self.split_spans(text)
        base = {"mime_type": "text/plain", **metadata}
        if source_id:
            base["source_id"] = source_id
        nested = any(isinstance(value, (list, dict, set)) for value in metadata.values())
        chunks = []
        for index, (start, end) in enumerate(found):
            own = copy.deepcopy(base) if nested else base.copy()
            own["chunk_index"] = index
            own["chunk_count"] = len(found)
            if self._add_start_index:
                own["start_index"] = start
            id = f"{source_id}:chunk:{index:04d}" if source_id else None
            chunks.append(Document(id=id, page_content=text[start:end], metadata=own))
        return chunks


@dataclass(frozen=True, slots=True)
class Counted:
    """Sizes by a function of the chunk's text, such as a count of tokens.

    Such functions are not additive, so every end is counted again.
    """

    text: str
    function: Callable[[str], int]
    size: int
    shared: int

    def fits(self, start: int, end: int) -> bool:
        """See `Measure.fits`."""
        return self.function(self.text[start:end]) <= self.size

    def reach(self, start: int) -> int:
        """See `Measure.reach`."""
        length = len(self.text)
        step = max(1, self.size)
        end = min(length, start + step)
        while end < length and self.fits(start, end):
            step *= 2
            end = min(length, start + step)
        low = start + 1
        while low < end:  # the furthest end that fits, if the function grows
            middle = (low + end + 1) // 2
            low, end = (middle, end) if self.fits(start, middle) else (low, middle - 1)
        while low > start + 1 and not self.fits(start, low):
            low -= 1
        return low

    def overlap(self, end: int) -> int:
        """See `Measure.overlap`."""
        low, high = max(0, end - max(1, self.size) * 16), end
        while low < high:
            middle = (low + high) // 2
            fits = self.function(self.text[middle:end]) <= self.shared
            low, high = (low, middle) if fits else (middle + 1, high)
        return low


def _check_sizes(chunk_size: int, chunk_overlap: int) -> None:
    if chunk_size <= 0 or chunk_overlap < 0 or chunk_overlap >= chunk_size:
        raise InvalidInputError(
            "chunk_size must be greater than chunk_overlap, which must not be negative; "
            f"got chunk_size={chunk_size}, chunk_overlap={chunk_overlap}"
        )


def _classes(
    separators: Sequence[str] | None,
    keep_separator: bool | Literal["start", "end"],  # noqa: FBT001 - LangChain's type
) -> tuple[boundaries.Breaks, ...]:
    if separators is None:
        return boundaries.NATURAL
    if isinstance(separators, str) or not all(isinstance(s, str) for s in separators):
        raise InvalidInputError(f"separators is a list of strings, got {separators!r}")
    where = boundaries.after if keep_separator == "end" else boundaries.before
    return where(separators)


def _stripped(text: str, found: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Spans without the white space at their ends; those of white space alone go."""
    last = (-1, -1)
    for start, end in found:
        piece = text[start:end]
        bare = piece.lstrip()
        first = end - len(bare)
        span = (first, first + len(bare.rstrip()))
        # After stripping a span may lie inside the one before: it says nothing new.
        if bare and span[1] > last[1]:
            last = span
            yield span
