"""Each format: what its documents say, and what is said of files that cannot be read."""

import re
import sys
import time
import zipfile
from datetime import date, datetime
from datetime import time as clock

import pytest

import office
from langchain_ragstore.errors import MissingExtraError, UnreadableFileError
from langchain_ragstore.loaders import FileLoader, load_files
from langchain_ragstore.loaders.delimited import find_delimiter
from langchain_ragstore.loaders.tables import type_of
from langchain_ragstore.loaders.text import first_heading

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return write


def contents(name, **options):
    return [document.page_content for document in FileLoader(name, **options).load()]


def metadata(name):
    return [document.metadata for document in FileLoader(name).load()]


def reason(name, **options):
    (loaded,) = load_files(name, **options)
    assert loaded.source == name
    assert loaded.documents == ()
    assert str(loaded.error) == f"{name} cannot be read: {loaded.error.reason}"
    with pytest.raises(UnreadableFileError):
        FileLoader(name, **options).load()
    return loaded.error.reason


# --- text and Markdown ---------------------------------------------------------------


def test_text(write):
    text = "One.\r\nTwo.\n\n  茶\t"
    (document,) = FileLoader(write("notes.v2.txt", text)).load()
    assert document.page_content == text
    assert document.id is None
    assert document.metadata == {
        "source": "notes.v2.txt",
        "mime_type": "text/plain",
        "title": "notes.v2",
    }


def test_a_name_without_a_known_ending_is_text(write):
    assert metadata(write("README", "Tea"))[0]["mime_type"] == "text/plain"
    assert contents(write("a.py", "x = 1\n")) == ["x = 1\n"]


def test_markdown(write):
    text = "Intro.\n\n# Green *tea* #\n\n## More\n"
    (document,) = FileLoader(write("tea.MD", text)).load()
    assert document.page_content == text
    assert document.metadata["mime_type"] == "text/markdown"
    assert document.metadata["title"] == "Green *tea*"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One", "One"),
        ("   ### One ##  ", "One"),
        ("#One\n# Two", "Two"),
        ("#\n# Two", "Two"),
        ("One\n===\n", "One"),
        ("One\n---\n", "One"),
        ("\n---\n# Two", "Two"),
        ("```sh\n# comment\n```\n# Two", "Two"),
        ("~~~~\n# a\n~~~\n# b\n~~~~~\n# Two", "Two"),
        ("```\n# never closed", None),
        ("---\n# a comment in the front matter\ntitle: x\n---\n\n# Two", "Two"),
        ("    # code\n# Two", "Two"),
        ("| a |\n---\n# Two", "Two"),
        ("- item\n---\n# Two", "Two"),
        ("\ufeff# One", "One"),
        ("no heading", None),
        ("", None),
    ],
)
def test_first_heading(text, title):
    assert first_heading(text) == title


# --- HTML ----------------------------------------------------------------------------


def test_html(write):
    page = """<!DOCTYPE html><html><head><title>Tea &amp;
    water</title><style>p { color: red }</style><script>alert(1)</script></head><body>
    <nav><a href="/">Home</a></nav><!-- not this -->
    <h1>Heat<a class="headerlink" href="#heat">¶</a></h1>
    <p>Use <code>heat_to(80)</code> or 2*3, see <a href="#more">below</a> or
    <a href="https://tea.example/">there</a>.<img src="data:abc" alt="A cup"></p>
    <table><caption>Degrees</caption><colgroup><col><col></colgroup>
    <tr><td>tea<td>a|b<tr><td>green<td>80</table>
    <ul><li>one<li>two</ul><pre>x = 1
  y</pre></body></html>"""
    (document,) = FileLoader(write("a.html", page)).load()
    assert document.metadata == {
        "source": "a.html",
        "mime_type": "text/html",
        "title": "Tea & water",
    }
    text = document.page_content
    for line in (
        "# Heat",
        "Degrees",
        "| tea | a\\|b |",
        "| --- | --- |",
        "| green | 80 |",
        "- one",
        "- two",
        "x = 1",
        "  y",
    ):
        assert line in text.split("\n")
    assert "`heat_to(80)` or 2*3, see below or\n" in text
    assert "[there](https://tea.example/).A cup" in text
    for gone in ("color", "alert", "Home", "not this", "¶", "data:", "water"):
        assert gone not in text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<html><head><title>T</title><body><p>in an open head", "in an open head"),
        ("<p>a<p>b<h2>c</h2><p>d", "a\n\nb\n\n## c\n\nd"),
        ("<table><colgroup><tr><td>a</table>b", "| a |\n| --- |\n\nb"),
        ("<table><thead><tr><th>a<tbody><tr><td>1</table>", "| a |\n| --- |\n| 1 |"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>e", "a\n:   b\n\nc\n:   d\n\ne"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("readme.txt", "readme.txt"),
        ('<?xml version="1.0"?><html><p>x</p></html>', "x"),
        ("<p>\x00a\x0bb", "ab"),
        ("<p>&#xD83D;&#0;x", "��x"),
        ("a < b & c", "a < b & c"),
    ],
)
def test_careless_html(write, page, text):
    assert contents(write("a.html", page)) == [text]


def test_long_and_deep_html(write):
    items = "".join(f"<li>item {n}<p>text" for n in range(3000))
    (text,) = contents(write("long.html", f"<ul>{items}</ul>"))
    assert text.count("- item ") == 3000
    assert contents(write("deep.html", "<div>" * 3000 + "deep"))[0] == "deep"


def test_titles_of_html(write):
    assert metadata(write("a.html", "<h1>One <b>two</b></h1>"))[0]["title"] == "One two"
    assert metadata(write("b.html", "<title> </title><p>x"))[0]["title"] == "b"


@pytest.mark.parametrize("page", ["<p></p>", "<script>x</script>", " \n"])
def test_html_without_text(write, page):
    assert reason(write("a.html", page)) == "it has no text"


# --- PDF -----------------------------------------------------------------------------


def test_pdf(write):
    pdf = office.make_pdf(["First page", "", "Third"], "报告 \x00one")
    first, third = FileLoader(write("a.pdf", pdf)).load()
    assert first.page_content == "First page"
    assert first.metadata == {
        "source": "a.pdf",
        "mime_type": "application/pdf",
        "title": "报告 one",
        "page": 1,
    }
    assert third.metadata["page"] == 3


def test_page_labels(write):
    labels = b"/PageLabels << /Nums [0 << /S /r >> 2 << /S /D >>] >>"
    found = metadata(write("a.pdf", office.make_pdf(["a", "b", "c", "d"], labels=labels)))
    assert [m["page_label"] for m in found] == ["i", "ii", "1", "2"]
    assert [m["page"] for m in found] == [1, 2, 3, 4]
    broken = office.make_pdf(["a"], labels=b"/PageLabels 99 0 R")
    assert "page_label" not in metadata(write("b.pdf", broken))[0]


def test_titles_of_pdf(write):
    assert metadata(write("stem.pdf", office.make_pdf(["a"])))[0]["title"] == "stem"
    bad = office.make_pdf(["a"], title="\ud800 half")
    assert metadata(write("bad.pdf", bad))[0]["title"] == "bad"


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_encrypted_pdf(write, algorithm):
    pdf = office.make_pdf(["Secret"])
    locked = write("locked.pdf", office.encrypted(pdf, "pw", algorithm))
    assert reason(locked) == "it is encrypted; save a copy without a password"
    # Only printing or changing is forbidden: every viewer opens it.
    assert contents(write("open.pdf", office.encrypted(pdf, "", algorithm))) == ["Secret"]


def test_pdf_without_text(write):
    assert reason(write("a.pdf", office.make_pdf(["", ""]))).startswith(
        "it has no text; was"
    )
    assert reason(write("b.pdf", office.make_pdf([]))) == "it has no pages"


def test_broken_pdf(write):
    pdf = office.make_pdf(["one", "two"])
    assert reason(write("a.pdf", b"%PDF-1.7\n")).startswith("it is damaged (")
    assert reason(write("b.pdf", pdf[:150])).startswith("it is damaged (")
    moved = re.sub(rb"startxref\n\d+", b"startxref\n7", pdf)
    assert contents(write("c.pdf", moved)) == ["one", "two"]


def test_a_damaged_page_is_named(write, monkeypatch):
    import pypdf

    def fail(self):
        if self.page_number == 1:
            raise RecursionError("too deep")
        return "fine"

    monkeypatch.setattr(pypdf.PageObject, "extract_text", fail)
    name = write("a.pdf", office.make_pdf(["one", "two"]))
    assert reason(name) == "page 2 is damaged (RecursionError: too deep)"
    pages = FileLoader(name).lazy_load()
    assert next(pages).page_content == "fine"


def test_what_extractors_give_is_cleaned(write, monkeypatch):
    import pypdf

    given = "a\x00b\ud835\x0cc\ud83d\ude00 ﬁ"
    monkeypatch.setattr(pypdf.PageObject, "extract_text", lambda self: given)
    assert contents(write("a.pdf", office.make_pdf(["x"]))) == ["ab\ufffd\x0cc😀 ﬁ"]


# --- DOCX ----------------------------------------------------------------------------


def test_docx(write):
    body = (
        office.paragraph("Guide", "Title")
        + office.paragraph("Tea &amp; water", "Heading1")
        + office.paragraph("snake_case, 2*3 and 茶")
        + office.paragraph("Table", "Heading2")
        + office.table(["tea", "°C"], ["green", "80|85"])
    )
    (document,) = FileLoader(
        write("a.docx", office.make_docx(body, "Own &amp; title"))
    ).load()
    assert document.page_content == (
        "# Guide\n\n# Tea & water\n\nsnake_case, 2*3 and 茶\n\n## Table\n\n"
        "| tea | °C |\n| --- | --- |\n| green | 80\\|85 |"
    )
    assert document.metadata == {
        "source": "a.docx",
        "mime_type": WORD,
        "title": "Own & title",
    }


def test_docx_without_its_own_title(write):
    assert (
        metadata(write("b.docx", office.make_docx(office.paragraph("x"))))[0]["title"]
        == "b"
    )


def test_broken_docx(write):
    good = office.make_docx(office.paragraph("text " * 50))
    assert reason(write("a.docx", office.make_docx(""))) == "it has no text"
    assert reason(write("b.docx", good[:400])).startswith("it is damaged (")
    torn = office.with_part(good, "word/document.xml", lambda part: part[:200])
    assert reason(write("c.docx", torn)).startswith("it is damaged (ExpatError: ")
    flipped = bytearray(good)
    flipped[good.index(b"word/document.xml") + 40] ^= 0xFF
    assert reason(write("d.docx", bytes(flipped))).startswith("it is damaged (")


# --- CSV -----------------------------------------------------------------------------


def test_csv(write):
    table = 'name,price,born,ok,code\nAnna,1,2020-01-31,true,007\n"Bo, the\nsecond",2.5,,no,012\n\nCy,,2021-02-01\n'
    schema, *rows = FileLoader(write("people.csv", table)).load()
    assert schema.page_content == (
        "Table people.csv: 3 rows, 5 columns.\n"
        "name (text), for example: Anna; Bo, the second; Cy\n"
        "price (number), for example: 1; 2.5\n"
        "born (date), for example: 2020-01-31; 2021-02-01\n"
        "ok (boolean), for example: true; no\n"
        "code (text), for example: 007; 012"
    )
    base = {"source": "people.csv", "mime_type": "text/csv", "title": "people"}
    assert schema.metadata == base | {"content_type": "table_schema"}
    assert [row.metadata for row in rows] == [base | {"row": n} for n in (2, 3, 5)]
    assert [row.page_content for row in rows] == [
        "name: Anna\nprice: 1\nborn: 2020-01-31\nok: true\ncode: 007",
        "name: Bo, the\nsecond\nprice: 2.5\nok: no\ncode: 012",
        "name: Cy\nborn: 2021-02-01",
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters(write, delimiter, end):
    lines = [["名前", "値"], ["a, b; c", "1,5"], ["d | e", "2,5"], ["f", "3"]]
    rows = [
        delimiter.join(f'"{cell}"' if delimiter in cell else cell for cell in row)
        for row in lines
    ]
    name = write("a.csv", end.join(rows) + end)
    assert contents(name)[1:] == [
        "名前: a, b; c\n値: 1,5",
        "名前: d | e\n値: 2,5",
        "名前: f\n値: 3",
    ]


def test_the_delimiter_excel_is_told(write):
    assert contents(write("a.csv", "sep=;\r\na;b\r\nx,y;z,w\r\n"))[1] == "a: x,y\nb: z,w"


def test_find_delimiter():
    assert find_delimiter("a;b\n1,5;2,5\n") == ";"
    assert find_delimiter("one\ntwo\n") == ","
    assert find_delimiter("one, two\nthree\nfour\n") == ","
    assert find_delimiter("") == ","


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("a,b\n1,2\n", ["a", "b"]),
        ("a,b,,\n1,2\n", ["a", "b"]),
        ("a,b\nc,d\n", ["a", "b"]),
        ("a,b\n", ["a", "b"]),
        ("1,2\n3,4\n", ["column_1", "column_2"]),
        ("a,\n,b\n", ["column_1", "column_2"]),
        ("a,a\n1,2\n", ["column_1", "column_2"]),
        ("a,,c\n1,2,3\n", ["column_1", "column_2", "column_3"]),
        ("a,2020-01-31\nb,2020-02-01\n", ["column_1", "column_2"]),
        ("Prices of 2020\na,b\n1,2\n", ["column_1", "column_2"]),
        ("\n\na,b\n1,2\n", ["a", "b"]),
        ("a,b\n1,2\n1,2,3\n", ["a", "b", "column_3"]),
    ],
)
def test_the_rule_for_headers(write, table, names):
    schema = contents(write("a.csv", table))[0]
    assert re.findall(r"^(\w+) \(", schema, re.MULTILINE) == names


def test_ragged_rows_are_kept(write):
    table = "a,b\n1,2\n3,4,5\n6\n,7\n"
    assert contents(write("a.csv", table))[1:] == [
        "a: 1\nb: 2",
        "a: 3\nb: 4\ncolumn_3: 5",
        "a: 6",
        "b: 7",
    ]


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("0", "integer"),
        ("-12", "integer"),
        ("1,234,567", "integer"),
        ("007", "text"),
        ("0.5", "number"),
        ("1,5", "number"),
        (".5", "number"),
        ("1.5e-3", "number"),
        ("1,234.50", "number"),
        ("2020-01-31", "date"),
        ("2020/1/31", "date"),
        ("31.01.2020", "date"),
        ("2020年1月31日", "date"),
        ("2020-01-31T10:30:00Z", "date"),
        ("2020-01-31 10:30", "date"),
        ("2020-01/31", "text"),
        ("TRUE", "boolean"),
        ("No", "boolean"),
        ("12 kg", "text"),
        ("1.2.3", "text"),
        ("٣", "text"),
        ("茶", "text"),
    ],
)
def test_types(cell, name):
    assert type_of(cell) == name


def test_mixed_types_and_long_examples(write):
    schema = contents(
        write("a.csv", f"a,b,c,d\n1,x,1,{'long ' * 30}\n1.5,2,2020-01-31,\n")
    )[0]
    lines = schema.split("\n")
    assert lines[1] == "a (number), for example: 1; 1.5"
    assert lines[2] == "b (text), for example: x; 2"
    assert lines[3] == "c (text), for example: 1; 2020-01-31"
    assert lines[4].endswith("…")
    assert len(lines[4]) == len("d (text), for example: ") + 60


def test_tsv_and_old_encodings(write):
    name = write("a.tsv", "品名\t价格\n绿茶\t八十元\n".encode("gb18030"))
    assert contents(name)[1] == "品名: 绿茶\n价格: 八十元"
    assert metadata(name)[1]["mime_type"] == "text/tab-separated-values"


@pytest.mark.parametrize("table", ["\n\n", ",,,\n", " \n"])
def test_csv_without_cells(write, table):
    assert reason(write("a.csv", table)) == "it has no text"


def test_a_field_without_end(write):
    found = reason(write("a.csv", 'a,b\n1,"' + "x" * 200_000))
    assert found.startswith(
        "line 2: field larger than field limit (131072); is a quotation"
    )


def test_rows_are_read_as_they_are_asked_for(write):
    rows = FileLoader(write("a.csv", "a,b\n" + "1,2\n" * 100_000)).lazy_load()
    assert "100000 rows" in next(rows).page_content
    assert next(rows).metadata["row"] == 2


# --- XLSX ----------------------------------------------------------------------------


def test_xlsx(write):
    when = datetime.fromisoformat("2026-01-31T10:30")
    sheets = {
        "Q1": [
            ["name", "price", "when", "ok"],
            ["Anna", 1, date(2026, 1, 31), True],
            [],
            ["Bo\x0aC", 0.1 + 0.2, when, False],
        ],
        "empty": [],
        "plain": [[1, clock(9, 5)], [3.0, "茶"]],
    }
    documents = FileLoader(write("b.xlsx", office.make_xlsx(sheets, "Own <title>"))).load()
    base = {"source": "b.xlsx", "mime_type": EXCEL, "title": "Own <title>"}
    schema = base | {"content_type": "table_schema"}
    assert [d.metadata for d in documents] == [
        schema | {"sheet": "Q1"},
        base | {"sheet": "Q1", "row": 2},
        base | {"sheet": "Q1", "row": 4},
        schema | {"sheet": "plain"},
        base | {"sheet": "plain", "row": 1},
        base | {"sheet": "plain", "row": 2},
    ]
    assert [d.page_content for d in documents] == [
        (
            "Table b.xlsx, sheet Q1: 2 rows, 4 columns.\n"
            "name (text), for example: Anna; Bo C\n"
            "price (number), for example: 1; 0.3\n"
            "when (date), for example: 2026-01-31; 2026-01-31T10:30:00\n"
            "ok (boolean), for example: TRUE; FALSE"
        ),
        "name: Anna\nprice: 1\nwhen: 2026-01-31\nok: TRUE",
        "name: Bo\nC\nprice: 0.3\nwhen: 2026-01-31T10:30:00\nok: FALSE",
        (
            "Table b.xlsx, sheet plain: 2 rows, 2 columns.\n"
            "column_1 (integer), for example: 1; 3\n"
            "column_2 (text), for example: 09:05:00; 茶"
        ),
        "column_1: 1\ncolumn_2: 09:05:00",
        "column_1: 3\ncolumn_2: 茶",
    ]


def test_xlsx_without_cells(write):
    assert reason(write("a.xlsx", office.make_xlsx({"a": []}))) == "it has no filled cells"


def test_a_wrong_range_hides_no_cell(write):
    book = office.make_xlsx({"a": [["name", "price"], ["x", "y"]]})
    sheet = "xl/worksheets/sheet1.xml"
    wrong = office.with_part(
        book, sheet, lambda xml: xml.replace(b'ref="A1:B2"', b'ref="A1"')
    )
    assert wrong != book
    assert contents(write("a.xlsx", wrong))[1] == "name: x\nprice: y"


def test_formatted_empty_rows_count_for_nothing(write):
    empty = b"".join(
        b'<row r="%d"><c r="A%d" s="0"/></row>' % (n, n) for n in range(2, 60_000)
    )
    book = office.make_xlsx({"a": [["only"]]})
    book = office.with_part(
        book,
        "xl/worksheets/sheet1.xml",
        lambda xml: xml.replace(
            b"</sheetData>",
            empty + b'<row r="1048576"><c r="A1048576"><v>7</v></c></row></sheetData>',
        ),
    )
    found = FileLoader(write("a.xlsx", book)).load()
    assert [d.metadata.get("row") for d in found] == [None, 1048576]


def test_a_row_that_cannot_be(write):
    far = b'<row r="99999999999"><c r="A99999999999"><v>7</v></c></row></sheetData>'
    book = office.with_part(
        office.make_xlsx({"a": [["x"]]}),
        "xl/worksheets/sheet1.xml",
        lambda xml: xml.replace(b"</sheetData>", far),
    )
    started = time.perf_counter()
    assert reason(write("a.xlsx", book)) == "sheet a has a row after 1048576"
    assert time.perf_counter() - started < 60


def test_warnings_about_styles_are_nobodys_business(write):
    book = office.make_xlsx({"a": [["when"], [date(2026, 1, 31)]]})
    bare = office.with_part(
        book,
        "xl/styles.xml",
        lambda xml: re.sub(rb"<cellStyles.*?</cellStyles>", b"", xml),
    )
    late = office.with_part(
        bare,
        "xl/worksheets/sheet1.xml",
        lambda xml: re.sub(rb"<v>46\d+</v>", b"<v>1e9</v>", xml),
    )
    assert contents(write("a.xlsx", late))[1].startswith("when: ")


# --- names that lie, limits, what is missing -----------------------------------------


def test_the_true_format_counts(write):
    pdf, book = office.make_pdf(["In truth"]), office.make_xlsx({"s": [["a"], ["b"]]})
    assert contents(write("a.txt", pdf)) == ["In truth"]
    assert metadata("a.txt")[0]["mime_type"] == "application/pdf"
    assert contents(write("b.csv", book))[1] == "a: b"
    assert metadata("b.csv")[1]["mime_type"] == EXCEL
    document = office.make_docx(office.paragraph("Word"))
    assert contents(write("c.pdf", document)) == ["Word"]
    assert contents(write("d.xlsx", document)) == ["Word"]
    assert contents(write("e.pdf", b"\n junk before\n" + pdf)) == ["In truth"]
    text = "About %PDF-1.7 as a format."
    assert contents(write("f.txt", text)) == [text]


@pytest.mark.parametrize("suffix", ["pdf", "docx", "xlsx"])
def test_text_under_a_packed_formats_name(write, suffix):
    for content in ("plain text", "<html>", b"\x00\x01\x02", "%PD"):
        assert reason(write(f"a.{suffix}", content)) == (
            f"it is not a {suffix.upper()} file, whatever its name says"
        )


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.txt", "a.doc"])
def test_ole_files(write, name):
    write(name, office.ole(encrypted=True))
    assert reason(name) == "it is encrypted; save a copy without a password"
    write(name, office.ole())
    assert reason(name) == "it is of an old Office format; save it as DOCX or XLSX"


@pytest.mark.parametrize("name", ["a.docx", "a.txt", "a.zip"])
def test_other_archives(write, name):
    write(name, office.zipped({"a.txt": "text"}))
    assert reason(name) == "it is an archive, neither DOCX nor XLSX"


def test_archives_that_unpack_to_too_much(write):
    bomb = office.make_docx(office.paragraph("x" * 3_000_000))
    assert len(bomb) < 20_000
    found = reason(write("a.docx", bomb), max_bytes=1_000_000)
    assert re.fullmatch(r"it unpacks to 300\d{4} bytes, more than max_bytes=1000000", found)
    assert len(contents("a.docx")[0]) == 3_000_000


def test_a_part_that_lies_about_its_size(write):
    good = office.make_docx(office.paragraph("x" * 100_000))
    with zipfile.ZipFile(write("a.docx", good)) as archive:
        size = archive.getinfo("word/document.xml").file_size
    lie = good.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lie != good
    assert reason(write("b.docx", lie)).startswith("it is damaged (")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("a.pdf", "pypdf"),
        ("a.docx", "mammoth"),
        ("a.docx", "bs4"),
        ("a.html", "markdownify"),
        ("a.html", "bs4"),
        ("a.xlsx", "openpyxl"),
    ],
)
def test_missing_libraries(write, monkeypatch, name, module):
    data = {
        "a.pdf": office.make_pdf(["x"]),
        "a.docx": office.make_docx(office.paragraph("x")),
        "a.html": "<p>x",
        "a.xlsx": office.make_xlsx({"a": [["x"]]}),
    }
    write(name, data[name])
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingExtraError, match=r'pip install "langchain-ragstore\[loaders\]"'
    ):
        FileLoader(name).load()
    missing, other = load_files([name, write("b.txt", "fine")])
    assert 'pip install "langchain-ragstore[loaders]"' in missing.error.reason
    assert other.documents[0].page_content == "fine"


def test_text_needs_no_library(write, monkeypatch):
    for name in (
        "pypdf",
        "mammoth",
        "bs4",
        "markdownify",
        "openpyxl",
        "charset_normalizer",
    ):
        monkeypatch.setitem(sys.modules, name, None)
    assert contents(write("a.csv", "a,b\n1,2\n"))[1] == "a: 1\nb: 2"
    assert contents(write("a.md", "# 茶")) == ["# 茶"]
    text = "茶は八十度で飲みます。"
    assert contents(write("a.txt", text.encode("cp932"))) == [text]
