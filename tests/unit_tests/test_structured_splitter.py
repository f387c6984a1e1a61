"""Chunks that keep to the structure of Markdown, by example."""

import time

import pytest
from langchain_core.documents import Document

from langchain_ragstore import InvalidInputError, StructuredTextSplitter
from langchain_ragstore.text.markdown import sections, split_blocks


def kinds(text):
    return [(block.kind, text[block.start : block.end]) for block in split_blocks(text)]


def split(text, size=1000, overlap=0, **keywords):
    return StructuredTextSplitter(size, overlap, **keywords).create_documents([text])


TABLE = "| tea | °C |\n|---|---|\n| green | 80 |\n| black | 100 |\n| white | 75 |\n"


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# A", [(1, "A")]),
        ("### A ###  ", [(3, "A")]),
        ("#", [(1, "")]),
        ("#hashtag", []),
        ("    # code", []),
        ("####### seven", []),
        ("A\n=", [(1, "A")]),
        ("A\n---\n", [(2, "A")]),
        ("one\ntwo\n---", [(2, "one two")]),
        ("- foo\n---\nbar", []),
        ("- foo\nbar\n---", []),
        ("1. foo\n===", []),
        ("> quote\n---", []),
        ("    code\n---", []),
        ("# A\nB\n===\n", [(1, "A"), (1, "B")]),
        ("---\n\n# A\nx\n\n---\n\n# B", [(1, "A"), (1, "B")]),
        ("# A #b", [(1, "A #b")]),
        ("# A\\#", [(1, "A\\#")]),
        ("```\n\f# A\x1c# B\u2028# C\n```\n# D", [(1, "D")]),
        ("\n---\n", []),
        ("---\ntitle: x\n---\n# A", [(1, "A")]),
        ("---\nno end", []),
        ("```\n# A\n```", []),
        ("~~~~\n```\n# A\n~~~\n~~~~\n# B", [(1, "B")]),
        ("```python\n# A", []),
        ("`` `x`\n# A", [(1, "A")]),
        ("```a`b\n# A", [(1, "A")]),
        ("- item\n  ```\n  # A\n  ```\n# B", [(1, "B")]),
        ("# 标题\r\n正文", [(1, "标题")]),
        ("> # quoted", []),
    ],
)
def test_headings(text, headings):
    found = [block for block in split_blocks(text) if block.kind == "heading"]
    assert [(block.level, block.title) for block in found] == headings


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a | b\n--|--\n1 | 2\n", 3),
        ("| a |\n|---|\n| 1 |\n\nafter", 3),
        ("| a |\n|:-:|\nno bar is a row, too\n", 3),
        ("| a |\n|---|\n# heading", 2),
        ("| a |\n|---|\n```\n| x |\n```", 2),
        ("| a | b |\n|---|\n", 0),  # another number of columns
        ("| a \\| b |\n|---|\n", 2),
        ("a\n---\nb", 0),
        ("| a |\n| - x |\n", 0),
        ("| a |", 0),
        ("| x\n|:\n", 0),  # no dash
        ("|\n|\n", 0),
    ],
)
def test_tables(text, rows):
    tables = [part for kind, part in kinds(text) if kind == "table"]
    assert sum(part.count("\n") + (not part.endswith("\n")) for part in tables) == rows


def test_blocks():
    text = "before\n```\ncode\n```\n\n# A\nafter\n"
    assert kinds(text) == [
        ("text", "before\n"),
        ("fence", "```\ncode\n```\n"),
        ("text", "\n"),
        ("heading", "# A\n"),
        ("text", "after\n"),
    ]


def test_paths_of_headings():
    text = "intro\n# A\n\n## B\nb\n### C\nc\n## D\n## E\ne\n# F"
    assert [(section.path, len(section.blocks)) for section in sections(text)] == [
        ((), 1),
        (("A", "B"), 4),  # A has no text of its own
        (("A", "B", "C"), 2),
        (("A", "D"), 1),
        (("A", "E"), 2),
        (("F",), 1),
    ]


def test_sections_and_titles():
    chunks = split("# Tea\n\n## Green\n80 °C.\n\n## Black\n100 °C.")
    assert [chunk.page_content for chunk in chunks] == [
        "# Tea\n\n## Green\n80 °C.",
        "## Black\n100 °C.",
    ]
    assert chunks[1].metadata == {
        "mime_type": "text/markdown",
        "title": "Tea",
        "heading_path": ["Tea", "Black"],
        "start_index": 24,
        "chunk_index": 1,
        "chunk_count": 2,
    }


def test_the_source_knows_its_title_better():
    document = Document("# Tea\nx", id="d", metadata={"title": "Own", "mime_type": "a/b"})
    (chunk,) = StructuredTextSplitter().split_documents([document])
    assert chunk.id == "d:chunk:0000"
    assert (chunk.metadata["title"], chunk.metadata["mime_type"]) == ("Own", "a/b")
    assert "title" not in split("no heading")[0].metadata
    assert "heading_path" not in split("no heading")[0].metadata


def test_a_table_that_fits_stays_whole():
    chunks = split(f"{'word ' * 8}\n\n{TABLE}\nafter", 70)
    assert [chunk.page_content for chunk in chunks] == [
        ("word " * 8).strip(),
        TABLE.strip(),
        "after",
    ]
    assert [chunk.metadata.get("content_type") for chunk in chunks] == [
        None,
        "table_schema",
        None,
    ]


def test_a_long_table_repeats_its_header():
    text = f"intro\n\n{TABLE}"
    header = "| tea | °C |\n|---|---|\n"
    first, *later = split(text, 50)[1:]
    assert first.page_content == f"{header}| green | 80 |"
    assert first.metadata["content_type"] == "table_schema"
    assert "prefix_len" not in first.metadata
    assert [chunk.page_content for chunk in later] == [
        f"{header}| black | 100 |",
        f"{header}| white | 75 |",
    ]
    for chunk in later:
        assert "content_type" not in chunk.metadata
        assert chunk.metadata["prefix_len"] == len(header)
        rows = chunk.page_content[len(header) :]
        start = chunk.metadata["start_index"]
        assert text[start : start + len(rows)] == rows


def test_a_heading_goes_with_its_table():
    chunks = split(f"# Tea\n\n{TABLE}", 64)
    assert chunks[0].page_content.startswith("# Tea\n\n| tea | °C |")
    # Where both take more than half of a chunk, the rows have it.
    assert split(f"# Tea\n\n{TABLE}", 48)[0].page_content == "# Tea"


def test_rows_overlap_behind_the_header():
    chunks = split(TABLE, 58, 16)
    assert [chunk.page_content.splitlines()[2:] for chunk in chunks] == [
        ["| green | 80 |", "| black | 100 |"],
        ["| black | 100 |", "| white | 75 |"],
    ]


def test_a_header_that_leaves_no_room_is_not_repeated():
    chunks = split(TABLE, 30)
    assert "".join(chunk.page_content for chunk in chunks).replace("\n", "") == (
        TABLE.replace("\n", "")
    )
    assert not any("prefix_len" in chunk.metadata for chunk in chunks)


def test_a_fence_that_fits_is_not_torn():  # qmd #955, text-splitter #798
    fence = "```\nx = 1\n\ny = 2\n```"
    assert [chunk.page_content for chunk in split("前文" * 5 + f"\n\n{fence}", 26)] == [
        "前文" * 5,
        fence,
    ]


def test_a_fence_that_is_too_long_is_cut_at_its_lines():
    chunks = split("```\nx = 1\n\ny = 2\n```", 12)
    assert [chunk.page_content for chunk in chunks] == ["```\nx = 1", "y = 2\n```"]


def test_sizes_in_tokens():
    splitter = StructuredTextSplitter(24, 0, encoding="cl100k_base")
    chunks = splitter.create_documents([f"# Tea\n\n{TABLE}"])
    assert len(chunks) > 1
    assert all(splitter.measure(chunk.page_content) <= 24 for chunk in chunks)
    assert StructuredTextSplitter(100, encoding="cl100k_base")._chunk_overlap == 10
    assert StructuredTextSplitter()._chunk_overlap == 200
    assert StructuredTextSplitter(100)._chunk_overlap == 20


def test_split_text_and_documents_agree():
    text = f"intro\n\n{TABLE}"
    splitter = StructuredTextSplitter(50, 0)
    texts = splitter.split_text(text)
    assert texts == [chunk.page_content for chunk in splitter.create_documents([text])]
    assert len(splitter.split_spans(text)) == len(texts)
    assert splitter.split_text("") == splitter.split_text(" \n") == []


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("| a |\n|---|\n     | 1 |\n     | 2 |\n     | 3 |\n", 28),
        ("- item\n\n  | a | b |\n  |---|---|\n" + "  | 1 | 2 |\n" * 9, 40),
    ],
)
def test_indented_rows_count(text, size):
    for strip in (True, False):
        chunks = split(text, size, strip_whitespace=strip)
        assert max(len(chunk.page_content) for chunk in chunks) <= size


@pytest.mark.parametrize(
    "text", ["a|b\n{}x|y", "# a{}x", "- {}", "|{}", "```{}x`", "a\n-{}x"]
)
def test_long_lines_take_linear_time(text):
    started = time.perf_counter()
    for filler in (" ", "#", "- ", "|", "-|", "`", "\\|"):
        split_blocks(text.format(filler * 100_000))
    assert time.perf_counter() - started < 10


def test_what_contradicts_itself_is_refused():
    with pytest.raises(InvalidInputError, match="chunk_overlap=8"):
        StructuredTextSplitter(8, 8)
    with pytest.raises(InvalidInputError, match="cl100k_base"):
        StructuredTextSplitter(8, encoding="cl100k")
    with pytest.raises(InvalidInputError, match="allowed 4 tokens"):
        StructuredTextSplitter(3, 0, encoding="cl100k_base")
    with pytest.raises(TypeError, match="chunk_sise"):
        StructuredTextSplitter(chunk_sise=8)
