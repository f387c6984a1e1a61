"""Blocks of a Markdown text: headings, fenced code, tables, and what lies between.

Only what a splitter must know is told apart, by the rules of CommonMark 0.31 and, for
tables, of GitHub's dialect. Blocks tile the text, so that nothing of it is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal, NamedTuple

_find_lines: Final = re.compile(r"[^\r\n]*+(?:\r\n?+|\n)|[^\r\n]++").findall

# Of lines without the white space at their ends.
_match_fence: Final = re.compile(r"[ \t]*+(?P<mark>`{3,}+(?=[^`]*+$)|~{3,}+)").match
_match_heading: Final = re.compile(
    r" {0,3}+(?P<level>#{1,6}+)(?:[ \t]++(?P<title>.*))?+$"
).match
_match_underline: Final = re.compile(r" {0,3}+(?P<mark>=++|-++)$").match
_match_columns: Final = re.compile(
    r"[ \t]*+\|?(?=.*-)(?:[ \t]*+:?-++:?[ \t]*+\|)*+[ \t]*+(?::?-++:?)?+$"
).match
_match_pipe: Final = re.compile(r"\\.|\|").finditer
_match_key: Final = re.compile(r"[\w-]++[ \t]*+:").match
_match_other: Final = re.compile(
    r" {4}|\t| {0,3}+(?:>|[-*+](?:\s|$)|\d{1,9}+[.)](?:\s|$))"
).match
"""Indented code, quotes and lists: what begins so is no heading, whatever underlines it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a text.

    Attributes:
        kind: What it is; `"text"` is everything without a structure of its own.
        start: Where it begins.
        end: Where it ends: behind a line's end, or the text's.
        level: Of a heading, 1 to 6.
        title: Of a heading.
        header_end: Where the header of a table, its first two lines, ends.
    """

    kind: Literal["heading", "fence", "table", "text"]
    start: int
    end: int
    level: int = 0
    title: str = ""
    header_end: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under one heading.

    Attributes:
        path: Titles of the headings that it stands under, the outermost first.
        blocks: Its heading, if it has one, and what follows up to the next one.
    """

    path: tuple[str, ...]
    blocks: tuple[Block, ...]


def sections(text: str) -> list[Section]:
    r"""The sections of a text; headings without a text of their own join their first child.

    Example:
        ```python
        from langchain_ragstore.text.markdown import sections

        text = "# Tea\n\n## Green\n80 °C.\n\n## Black\n100 °C."
        assert [section.path for section in sections(text)] == [
            ("Tea", "Green"),
            ("Tea", "Black"),
        ]
        ```
    """
    found: list[Section] = []
    above: list[Block] = []
    blocks: list[Block] = []

    def close(following: Block | None) -> None:
        nonlocal blocks
        if not blocks or (following and _only_leads_to(text, blocks, following)):
            return
        path = tuple(heading.title for heading in above if heading.title)
        found.append(Section(path, tuple(blocks)))
        blocks = []

    for block in split_blocks(text):
        if block.kind == "heading":
            close(block)
            above = [heading for heading in above if heading.level < block.level]
            above.append(block)
        blocks.append(block)
    close(None)
    return found


def _only_leads_to(text: str, blocks: list[Block], following: Block) -> bool:
    """Whether blocks are headings above `following`, with nothing between them."""
    return all(
        block.level < following.level
        if block.kind == "heading"
        else not text[block.start : block.end].strip()
        for block in blocks
    )


def split_blocks(text: str) -> list[Block]:
    """The blocks of a text, in order; each begins where the one before it ends.

    Fences may be indented by more than CommonMark allows, as they are inside lists.
    """
    lines = _find_lines(text)
    starts = list(accumulate(map(len, lines), initial=0))
    found: list[Block] = []
    at = 0

    def fill(until: int) -> None:
        if until > at:
            found.append(Block("text", starts[at], starts[until]))

    for block in _structures(lines):
        fill(block.first)
        at = block.last
        header_end = starts[block.first + _HEADER] if block.kind == "table" else 0
        found.append(
            Block(
                block.kind,
                starts[block.first],
                starts[block.last],
                block.level,
                block.title,
                header_end,
            )
        )
    fill(len(lines))
    return found


_HEADER: Final = 2
"""Lines of a table's header: the names of its columns, and the line under them."""


class _Lines(NamedTuple):
    """A block as numbers of lines, the last one not included."""

    kind: Literal["heading", "fence", "table"]
    first: int
    last: int
    level: int = 0
    title: str = ""


def _structures(lines: list[str]) -> Iterator[_Lines]:
    """The blocks of a text that are not plain."""
    bare = [line.rstrip() for line in lines]
    at = _front_matter_end(bare)
    paragraph = at  # where the lines before `at` that may be a heading begin
    while at < len(bare):
        block = (
            _fence(bare, at)
            or _heading(bare, at)
            or _underlined(bare, paragraph, at)
            or _table(bare, at)
        )
        if block:
            yield block
            at = paragraph = block.last
            continue
        if not bare[at]:
            paragraph = at + 1
        elif at == paragraph and _match_other(bare[at]):
            paragraph = len(bare)  # none before the next blank line
        at += 1


def _front_matter_end(lines: list[str]) -> int:
    """Where the metadata in front of a text ends, whose last line is no underline."""
    if len(lines) > 1 and lines[0] == "---" and _match_key(lines[1]):
        for at, line in enumerate(lines[1:], 1):
            if line == "---":
                return at + 1
    return 0


def _fence(lines: list[str], first: int) -> _Lines | None:
    opening = _match_fence(lines[first])
    if not opening:
        return None
    mark = opening["mark"]
    for at in range(first + 1, len(lines)):
        line = lines[at].strip()
        if len(line) >= len(mark) and not line.strip(mark[0]):
            return _Lines("fence", first, at + 1)
    return _Lines("fence", first, len(lines))


def _heading(lines: list[str], at: int) -> _Lines | None:
    heading = _match_heading(lines[at])
    if not heading:
        return None
    title = heading["title"] or ""
    bare = title.rstrip("#")
    if not bare or bare[-1] in " \t":
        title = bare
    return _Lines("heading", at, at + 1, len(heading["level"]), title.strip())


def _underlined(lines: list[str], first: int, at: int) -> _Lines | None:
    """A paragraph that the line at `at` makes a heading; `first` is where it begins."""
    underline = _match_underline(lines[at]) if first < at else None
    if not underline:
        return None
    title = " ".join(line.strip() for line in lines[first:at])
    return _Lines("heading", first, at + 1, 1 if underline["mark"][0] == "=" else 2, title)


def _table(lines: list[str], first: int) -> _Lines | None:
    columns = _cells(lines[first])
    last = first + _HEADER
    if columns is None or last > len(lines) or columns != _cells(lines[first + 1]):
        return None
    if not _match_columns(lines[first + 1]):
        return None
    while last < len(lines) and lines[last].strip():
        if _fence(lines, last) or _match_heading(lines[last]):
            break
        last += 1
    return _Lines("table", first, last)


def _cells(line: str) -> int | None:
    """The number of cells in a row of a table; None without a bar between or around."""
    row = line.strip()
    bars = sum(match[0] == "|" for match in _match_pipe(row))
    if not bars:
        return None
    return bars + 1 - row.startswith("|") - (row.endswith("|") and not row.endswith("\\|"))
