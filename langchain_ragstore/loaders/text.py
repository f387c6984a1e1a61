"""Plain text and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from langchain_core.documents import Document

from langchain_ragstore.loaders.encodings import decode
from langchain_ragstore.loaders.raw import RawFile

_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_text(file: RawFile) -> Iterator[Document]:
    """The whole text as one document."""
    yield from _whole(file, decode(file), None)


def read_markdown(file: RawFile) -> Iterator[Document]:
    """As `read_text`, with the first heading as the title."""
    text = decode(file)
    yield from _whole(file, text, first_heading(text))


def _whole(file: RawFile, text: str, title: str | None) -> Iterator[Document]:
    document = file.document(text, title)
    if not document.page_content.strip():
        raise file.unreadable("it has no text")
    yield document


def first_heading(markdown: str) -> str | None:
    """The first heading outside of code and of the front matter."""
    fence = ""
    above = ""
    lines = markdown.removeprefix("\ufeff").splitlines()
    for line in lines[_front_matter(lines) :]:
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and line.strip() == mark[1]
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        elif (heading := _HEADING.match(line)) and heading[1]:
            return heading[1]
        elif above and _UNDERLINE.match(line):
            return above.strip()
        above = "" if mark or line.startswith(("    ", "\t", ">", "|", "- ")) else line
        above = above if above.strip() else ""
    return None


def _front_matter(lines: list[str]) -> int:
    """How many lines a leading block between `---` and `---` takes."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    ends = (at for at, line in enumerate(lines) if at and line.rstrip() in ("---", "..."))
    return next(ends, -1) + 1
