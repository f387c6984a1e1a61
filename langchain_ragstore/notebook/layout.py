"""Chunks laid over their text, before anything is drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_ragstore.notebook.locate import Span

_RUN = re.compile(r"\s+|\S+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the text all of which is in the same chunks.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        chunks: Indices of the chunks that it is in, ascending.
        opening: Indices of the chunks that begin with it.
    """

    start: int
    end: int
    chunks: tuple[int, ...]
    opening: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The chunks of a text; `ChunkView` documents the attributes."""

    text: str
    spans: tuple[Span | None, ...]
    sizes: tuple[int, ...]
    overlaps: tuple[int, ...]
    contents: tuple[str, ...]
    caption: str
    unit: str
    limit: int | None
    overlap: int | None
    max_chars: int

    @property
    def shown(self) -> int:
        """How many characters of the text are drawn."""
        return min(len(self.text), self.max_chars)

    def drawn(self, index: int) -> bool:
        """Whether the beginning of a chunk is in the part that is drawn."""
        span = self.spans[index]
        return span is not None and (
            span[0] < self.shown or span[0] == self.shown == len(self.text)
        )

    def prefix(self, index: int) -> str:
        """What a chunk repeats from elsewhere, in front of its own stretch of the text."""
        span = self.spans[index]
        content = self.contents[index]
        return content[: len(content) - (span[1] - span[0])] if span else ""

    def shared(self, index: int) -> int:
        """As the function `shared`, of these chunks."""
        return shared(self.spans, index)

    def size(self, index: int) -> str:
        """A chunk's size, in words."""
        of = "" if self.limit is None else f" of {self.limit:,}"
        return f"{self.sizes[index]:,}{of} {self.unit}"

    def facts(self) -> list[str]:
        """What the header says."""
        number = len(self.sizes)
        lines = [f"{number:,} chunk{'' if number == 1 else 's'}"]
        if number:
            ranked = sorted(self.sizes)
            median = (ranked[(number - 1) // 2] + ranked[number // 2]) / 2
            lines.append(
                f"smallest {ranked[0]:,}, median {f'{median:,.1f}'.removesuffix('.0')}, "
                f"largest {ranked[-1]:,} {self.unit}"
            )
        if self.limit is not None:
            lines.append(f"limit {self.limit:,}")
            over = sum(size > self.limit for size in self.sizes)
            if over:
                lines.append(f"{over:,} over the limit")
        if self.overlap is not None:
            lines.append(
                f"overlap up to {self.overlap:,}" if self.overlap else "no overlap"
            )
        missing = self.spans.count(None)
        if missing:
            lines.append(f"{missing:,} not found in the text")
        if self.shown < len(self.text):
            lines.append(f"the first {self.shown:,} of {len(self.text):,} characters")
        return lines

    def segments(self) -> Iterator[Segment]:
        """The drawn text, cut wherever a chunk begins or ends."""
        opening: dict[int, list[int]] = {}
        closing: dict[int, list[int]] = {}
        for index, span in enumerate(self.spans):
            if span is not None and self.drawn(index):
                opening.setdefault(span[0], []).append(index)
                if span[0] < span[1]:
                    closing.setdefault(min(span[1], self.shown), []).append(index)
        borders = sorted({0, self.shown, *opening, *closing})
        within: set[int] = set()
        for start, end in zip(borders, [*borders[1:], self.shown], strict=True):
            starting = opening.get(start, [])
            within.difference_update(closing.get(start, []))
            within.update(i for i in starting if self._has_text(i))
            if start < end or starting:
                yield Segment(start, end, tuple(sorted(within)), tuple(starting))

    def _has_text(self, index: int) -> bool:
        span = self.spans[index]
        return span is not None and span[0] < span[1]

    @property
    def outside(self) -> str:
        """What is to be said of text in no chunk; one that was not found may hold it."""
        return "in no chunk that was found" if None in self.spans else "in no chunk"

    def left_out(self, segment: Segment) -> Iterator[tuple[str, bool]]:
        """The runs of a segment that is in no chunk, and whether each is white space."""
        for run in _RUN.findall(self.text[segment.start : segment.end]):
            yield run, run.isspace()


def shared(spans: Sequence[Span | None], index: int) -> int:
    """How many characters at a chunk's beginning also end the chunk before it."""
    span, before = spans[index], spans[index - 1] if index else None
    if span is None or before is None or not before[0] <= span[0] < before[1]:
        return 0
    return min(span[1], before[1]) - span[0]
