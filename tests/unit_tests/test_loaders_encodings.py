"""Text files in every encoding that people still have."""

import codecs
import logging

import pytest

from langchain_ragstore.errors import (
    InvalidInputError,
    MissingExtraError,
    UnreadableFileError,
)
from langchain_ragstore.loaders import FileLoader, load_files
from sentences import OTHERS, SENTENCES

CASES = [(name, text) for name, texts in SENTENCES.items() for text in texts]
CASES += [("euc_jp", text) for text in SENTENCES["cp932"]]


def load(tmp_path, data, name="a.txt", **options):
    path = tmp_path / name
    path.write_bytes(data)
    (document,) = FileLoader(path, **options).load()
    return document.page_content


def reason(tmp_path, data, name="a.txt", **options):
    path = tmp_path / name
    path.write_bytes(data)
    (loaded,) = load_files(path, **options)
    assert loaded.documents == ()
    assert loaded.error.path == str(path)
    return loaded.error.reason


@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_short_texts(tmp_path, encoding, text):
    assert load(tmp_path, text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", SENTENCES)
@pytest.mark.parametrize("times", [1, 3000])
def test_texts_that_begin_in_ascii(tmp_path, encoding, times):
    text = "plain line\r\n" * times + "\r\n".join(SENTENCES[encoding] * 5)
    assert load(tmp_path, text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", OTHERS)
def test_charset_normalizer_knows_the_rest(tmp_path, encoding):
    assert load(tmp_path, OTHERS[encoding].encode(encoding)) == OTHERS[encoding]


@pytest.mark.parametrize("text", ["Tea 茶", "한국어", "grün\r\n€", "𝕏 😀"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        ("\ufeff".encode("gb18030"), "gb18030"),
        (b"", "utf-8"),
    ],
)
def test_marks(tmp_path, mark, encoding, text):
    assert load(tmp_path, mark + text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "iso2022_jp"])
def test_encodings_that_look_like_ascii(tmp_path, encoding):
    text = "First line\nsecond line: 日本語\n"
    assert load(tmp_path, text.encode(encoding)) == text


WIDE = [
    text
    for name in ("gb18030", "cp932", "cp949", "big5hkscs")
    for text in [*SENTENCES[name], "".join(SENTENCES[name])]
    if len(text) - len(text.encode("ascii", "ignore")) >= 5
]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [*WIDE, *(f"{text}\r\n" * 2000 for text in WIDE[-2:])])
def test_east_asian_utf_16_without_a_mark(tmp_path, encoding, text):
    assert load(tmp_path, text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_zeros_of_other_characters_than_ascii(tmp_path, encoding):
    text = "One is 一 in Chinese, in Japanese, too; two is 二."
    assert load(tmp_path, text.encode(encoding)) == text


@pytest.mark.parametrize(
    "text", ["`O}Y", "Bush hid the facts", "this app can break", "中文测试"]
)
def test_what_is_utf_8_is_not_taken_for_utf_16(tmp_path, text):
    assert load(tmp_path, text.encode()) == text  # the first is 你好 as well


def test_a_broken_text_behind_a_mark(tmp_path):
    found = reason(tmp_path, codecs.BOM_UTF16_LE + b"\x00\xd8a\x00")
    assert found == "its text is not utf-16-le at byte 2; pass the right encoding="


def test_the_callers_encoding_wins(tmp_path):
    assert load(tmp_path, "茶".encode(), encoding="latin-1") == "è\x8c¶"
    assert load(tmp_path, b"\xef\xbb\xbf\xe8\x8c\xb6", encoding="utf-8") == "茶"
    found = reason(tmp_path, "größer".encode("cp1252"), encoding="utf-8")
    assert found == "its text is not utf-8 at byte 2; pass the right encoding="


@pytest.mark.parametrize("encoding", ["utf-9", "hex", "", 8])
def test_encodings_that_there_are_not(encoding):
    with pytest.raises(InvalidInputError, match="there is no encoding"):
        FileLoader("a.txt", encoding=encoding)
    with pytest.raises(InvalidInputError, match="there is no encoding"):
        load_files(["a.txt"], encoding=encoding)


def test_what_was_detected_is_logged(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="langchain_ragstore")
    load(tmp_path, SENTENCES["gb18030"][3].encode("gb18030"))
    assert "a.txt: decoded as gb18030" in caplog.text


def test_one_bad_byte_does_not_turn_the_rest_to_nonsense(tmp_path, caplog):
    text = "Grüße aus Köln. 茶の温度は八十度。" * 5
    assert load(tmp_path, text.encode() + b"\xff end") == f"{text}\ufffd end"
    assert "1 damaged characters replaced" in caplog.text


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 8,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00",
        b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x00\x01\x02\x03",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00\x00\x00",
    ],
)
def test_binary_data(tmp_path, data):
    assert reason(tmp_path, data) == "it holds binary data, not text"


def test_bytes_of_no_encoding(tmp_path):
    assert reason(tmp_path, b"\x81\x8d\x8f\x90\x9d" * 9) == (
        "its encoding is not recognised; pass encoding="
    )


def test_stray_controls_are_dropped(tmp_path):
    assert load(tmp_path, b"one\x00 two\x07 three\tfour\r\nfive\x0csix\n") == (
        "one two three\tfour\r\nfive\x0csix\n"
    )
    assert (
        load(tmp_path, "ﬁ Ａ é\u200b\u00a0\x7f\x85".encode())
        == "ﬁ Ａ é\u200b\u00a0\x7f\x85"
    )


def test_the_library_is_needed_for_the_rest_only(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "charset_normalizer", None)
    assert load(tmp_path, "größer".encode("cp1252")) == "größer"
    (tmp_path / "ru.txt").write_bytes(OTHERS["cp1251"].encode("cp1251"))
    command = r'pip install "langchain-ragstore\[loaders\]"'
    with pytest.raises(MissingExtraError, match=command):
        FileLoader(tmp_path / "ru.txt").load()
    (loaded,) = load_files([tmp_path / "ru.txt"])
    assert isinstance(loaded.error, UnreadableFileError)
    assert isinstance(loaded.error.__cause__, MissingExtraError)


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="{}">',
        "<META http-equiv='Content-Type' content='text/html; charset={}'>",
        '<?xml version="1.0" encoding="{}"?>',
    ],
)
@pytest.mark.parametrize(
    ("said", "encoding"),
    [
        ("gb2312", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("euc-kr", "cp949"),
        ("iso-8859-1", "cp1252"),
        ("koi8-r", "koi8_r"),
        ("no-such", "utf-8"),
        ("utf-8", "gb18030"),  # a lie
    ],
)
def test_what_a_page_says(tmp_path, head, said, encoding):
    text = (SENTENCES | {"koi8_r": [OTHERS["koi8_r"]], "utf-8": ["茶"]})[encoding][-1]
    page = f"{head.format(said)}<p>{text}</p>"
    assert load(tmp_path, page.encode(encoding), "a.html") == text


def test_a_declared_encoding_settles_what_is_ambiguous(tmp_path):
    page = '<meta charset="euc-kr"><p>목록</p>'
    assert load(tmp_path, page.encode("cp949"), "a.html") == "목록"
