"""What leaves a loader can be stored, whatever went in."""

import codecs
import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.errors import UnreadableFileError
from langchain_ragstore.loaders import load_files
from langchain_ragstore.loaders.encodings import decode
from langchain_ragstore.loaders.files import _matches
from langchain_ragstore.loaders.formats import SUFFIXES
from langchain_ragstore.loaders.hygiene import clean, one_line, source_name
from langchain_ragstore.loaders.raw import RawFile
from langchain_ragstore.loaders.tables import table_documents
from sentences import SENTENCES

ANYTHING = st.text(st.characters(exclude_categories=()))
PROSE = st.text(st.characters(exclude_categories=("Cs", "Cc")))
CONTROLS = {chr(code) for code in range(32)} - set("\t\n\r\f")


def raw(data, encoding=None):
    return RawFile("a.csv", data, "text/csv", encoding, 10**9)


@given(ANYTHING)
def test_cleaning(text):
    cleaned = clean(text)
    cleaned.encode()
    assert not CONTROLS & set(cleaned)
    assert clean(cleaned) == cleaned
    assert one_line(text).split(" ") == (cleaned.split() or [""])


@given(ANYTHING)
def test_cleaning_changes_nothing_else(text):
    halves = [c for c in text if "\ud800" <= c <= "\udfff"]
    if not halves and not CONTROLS & set(text):
        assert clean(text) is text
    kept = "".join(c for c in text if c not in CONTROLS and c not in halves)
    if not any("\udc00" <= c <= "\udfff" for c in halves):  # no pair to join
        assert clean(text).replace("\ufffd", "") == kept.replace("\ufffd", "")
        assert clean(text).count("\ufffd") == text.count("\ufffd") + len(halves)


def test_pairs_are_joined():
    assert clean("\ud83d\ude00 \ude00\ud83d x") == "😀 \ufffd\ufffd x"


@given(st.binary(max_size=20).filter(lambda name: b"\0" not in name))
def test_names_of_files_can_be_stored(name):
    path = name.decode("utf-8", "surrogateescape")
    source_name(path).encode()
    if not any("\ud800" <= c <= "\udfff" for c in path):
        assert source_name(path) == path


@given(PROSE.filter(lambda text: not text.startswith("\ufeff")))
def test_marked_and_utf8_texts_come_back(text):
    for mark, encoding in [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ]:
        assert decode(raw(mark + text.encode(encoding))) == text
    assert decode(raw(text.encode())) == text
    assert decode(raw(text.encode("utf-16-be"), encoding="utf-16-be")) == text


@given(st.data(), st.sampled_from(sorted(SENTENCES)))
def test_sentences_in_any_order_are_recognised(data, encoding):
    long = [text for text in SENTENCES[encoding] if len(text) > 12]
    text = "\n".join(data.draw(st.lists(st.sampled_from(long), min_size=1)))
    assert decode(raw(text.encode(encoding))) == text


@given(st.binary(max_size=400), st.sampled_from([*SUFFIXES, ""]))
def test_any_bytes_are_documents_or_a_reason(tmp_path, data, suffix):
    path = tmp_path / f"any{suffix}"
    for start in (b"", b"%PDF-1.7\n", b"PK\x03\x04"):
        path.write_bytes(start + data)
        (loaded,) = load_files(path)
        assert bool(loaded.documents) is (loaded.error is None)
        assert loaded.error is None or isinstance(loaded.error, UnreadableFileError)
        str(loaded.error).encode()
        for document in loaded.documents:
            document.page_content.encode()
            assert not CONTROLS & set(document.page_content)
            assert document.metadata["source"] == str(path)


CELL = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")))


@given(st.lists(st.lists(CELL, max_size=5), max_size=8))
def test_tables_lose_no_cell(rows):
    """Also through a CSV file: the cells come back in their rows."""
    numbered = list(enumerate(rows, start=1))
    documents = list(table_documents(raw(b"-"), lambda: iter(numbered)))
    filled = {n: [c for c in cells if c] for n, cells in numbered if any(cells)}
    assert bool(documents) is bool(filled)
    if not filled:
        return
    schema, *rest = documents
    assert schema.metadata["content_type"] == "table_schema"
    assert [d.metadata["row"] for d in rest] in (list(filled), list(filled)[1:])
    for document in rest:
        cells = filled[document.metadata["row"]]
        lines = document.page_content.split("\n")
        assert len(lines) == len(cells)
        assert all(line.endswith(f": {c}") for line, c in zip(lines, cells, strict=True))
    for number, cells in filled.items():
        if number not in [d.metadata["row"] for d in rest]:
            assert all(f"\n{name} (" in schema.page_content for name in cells)


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=2, max_size=6))
def test_csv_files_say_what_their_cells_say(tmp_path, rows):
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([["name", "note"], *rows])
    path = tmp_path / "a.csv"
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    (loaded,) = load_files(path)
    found = [d.page_content for d in loaded.documents[1:]]
    assert found == [
        "\n".join(f"{key}: {c}" for key, c in zip(("name", "note"), row, strict=True) if c)
        for row in rows
        if any(row)
    ]


NAMES = st.lists(st.sampled_from(["a", "b", ".h", "a.md"]), min_size=1, max_size=4)
WILD = st.lists(st.sampled_from(["**", "*", "a", "?", "*.md"]), min_size=1, max_size=4)


@given(WILD, NAMES)
def test_patterns_mean_what_a_regular_expression_means(pattern, names):
    import re

    part = {"*": "[^/]+", "a": "a", "?": "[^/]", "*.md": r"[^/]*\.md", "**": None}
    expression = "".join(
        "(?:[^/]+/)*" if part[wild] is None else f"{part[wild]}/" for wild in pattern
    )
    expected = re.fullmatch(expression, "".join(f"{name}/" for name in names)) is not None
    assert _matches(tuple(pattern), tuple(names), dots=True) is expected
