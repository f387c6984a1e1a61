"""What a splitter makes of a text: its chunks, where they lie, how it measures them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter, TokenTextSplitter

Span = tuple[int, int]

SEARCHED: Final = 100_000
"""Characters after the previous chunk in which a lost one is looked for: enough for any
text that a person looks at, and 5 MB of chunks that are nowhere stay quick."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How a splitter measures.

    Attributes:
        length: The size of a text.
        unit: What `length` counts, in the plural.
        limit: The largest size that was asked for, if it is known.
        overlap: The largest overlap that was asked for, if it is known.
    """

    length: Callable[[str], int]
    unit: str
    limit: int | None
    overlap: int | None


def measure(splitter: TextSplitter) -> Measure:
    """How a splitter measures; LangChain keeps it in private attributes alone."""
    limit = getattr(splitter, "_chunk_size", None)
    overlap = getattr(splitter, "_chunk_overlap", None)
    count = getattr(splitter, "count_tokens", None)
    if callable(count):
        # SentenceTransformersTokenTextSplitter has a limit of its own, and takes its text
        # by keyword only.
        limit = getattr(splitter, "tokens_per_chunk", limit)
        return Measure(lambda text: int(count(text=text)), "tokens", limit, overlap)
    if isinstance(splitter, TokenTextSplitter):
        # It cuts by tokens, but the length function that it inherits is `len`.
        return Measure(_tiktoken_length(splitter), "tokens", limit, overlap)
    length = getattr(splitter, "_length_function", len)
    if length is len:
        return Measure(len, "characters", limit, overlap)
    # from_tiktoken_encoder and from_huggingface_tokenizer leave no other trace.
    name = getattr(length, "__name__", "")
    unit = "tokens" if "token" in name or "tiktoken" in name else "units"
    return Measure(length, unit, limit, overlap)


def _tiktoken_length(splitter: TokenTextSplitter) -> Callable[[str], int]:
    encoding: Any = vars(splitter)["_tokenizer"]
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def chunks(
    splitter: TextSplitter, text: str, measure: Measure
) -> tuple[list[str], list[Span | None]]:
    """A splitter's chunks and where each lies in the text; None for one that is not there.

    Args:
        splitter: What cuts.
        text: What is cut.
        measure: How the splitter measures.

    Returns:
        Contents, and spans; where a chunk begins with a repeated prefix (`prefix_len` in
        its metadata), its span is that of the rest.
    """
    asking = copy.copy(splitter)  # the caller's own splitter stays as it is
    vars(asking)["_add_start_index"] = True
    documents = asking.create_documents([text])
    return [document.page_content for document in documents], _spans(
        documents, text, measure
    )


def _spans(documents: Iterable[Document], text: str, measure: Measure) -> list[Span | None]:
    found: list[Span | None] = []
    before = (-1, 0)  # so that the first chunk may begin at 0
    for document in documents:
        skipped = document.metadata.get("prefix_len", 0)
        content = document.page_content[skipped:]
        given = document.metadata.get("start_index")
        at = given if isinstance(given, int) and given >= 0 else -1
        if at < 0 or not text.startswith(content, at):
            at = -1
        start = _start(content, at, text, before, measure)
        if start is None:
            found.append(None)
        else:
            before = (start, start + len(content))
            found.append(before)
    return found


def _start(
    content: str, given: int, text: str, before: Span, measure: Measure
) -> int | None:
    """Where a chunk begins, given where it is said to (or -1), and the chunk before it.

    LangChain takes an overlap in tokens for one in characters when it looks for a chunk,
    and may then miss it, find its text at a later place, or start anew from the beginning.
    So a place that skips text or turns back gives way to one that goes on where the chunk
    before it ends.
    """
    first, last = before
    if given > first and not text[last:given].strip():
        return given
    places = (
        _going_on(content, text, before, measure),
        given,
        text.find(content, last, last + SEARCHED),
        text.find(content, max(first, 0), last + SEARCHED),
    )
    return next((place for place in places if place >= 0), None)


def _going_on(content: str, text: str, before: Span, measure: Measure) -> int:
    """The first place that overlaps the chunk before it by no more than is allowed."""
    first, last = before
    start, end = max(first + 1, last - len(content) + 1), last + len(content)
    while (start := text.find(content, start, end)) >= 0:
        if measure.overlap is None or measure.length(text[start:last]) <= measure.overlap:
            break
        start += 1
    return start
