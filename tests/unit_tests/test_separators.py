"""Separators of the caller's own, by example; numbers in brackets are reports of users."""

import pytest
from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from langchain_ragstore import CJKRecursiveTextSplitter, InvalidInputError
from langchain_ragstore.text import graphemes
from langchain_ragstore.text.boundaries import Scanned

ENDS = [
    # a text, separators and the same as expressions, a size, and the chunks
    (
        "真的吗？！好吧",
        ["？", "！"],
        ["[？！]"],
        5,
        ["真的吗？！", "好吧"],
    ),  # langchain, pysbd
    ("真的吗？！好吧", ["！", "？"], ["！", "？"], 5, ["真的吗？！", "好吧"]),
    ("真的吗？！好吧", ["？"], ["？"], 5, ["真的吗？！", "好吧"]),
    ("真的吗？！好吧", ["？", "！"], ["[？！]"], 4, ["真的", "吗？！", "好吧"]),
    ("好。。。走", ["。"], ["。"], 4, ["好。。。", "走"]),
    ("老师说：“快走。”大家笑了。", ["。"], ["。"], 10, ["老师说：“快走。”", "大家笑了。"]),
    ('He said "go." Then left.', ["."], [r"\."], 14, ['He said "go."', "Then left."]),
    ('["a","b","c"]', [","], [","], 9, ['["a","b",', '"c"]']),
    ("甲（乙，丙，）丁戊", ["，"], ["，"], 7, ["甲（乙，丙，）", "丁戊"]),
    (
        "甲乙。丙丁！戊己",
        ["。", "！"],
        ["(。|！)"],
        4,
        ["甲乙。", "丙丁！", "戊己"],
    ),  # langchain #12832
    ("甲乙。丙丁！戊己", ["。", "！"], ["(。)|！"], 4, ["甲乙。", "丙丁！", "戊己"]),
    (
        "one two   three four",
        [" "],
        [r"\s+"],
        9,
        ["one two", "three", "four"],
    ),  # langchain #39569
    (
        "早。午！晚？夜里。",
        ["。", "！", "？"],
        ["[。！？]"],
        3,
        ["早。", "午！", "晚？", "夜里。"],
    ),
    ("A####B", ["##"], ["##"], 5, ["A####", "B"]),  # dify #22046
]


@pytest.mark.parametrize(("text", "separators", "patterns", "size", "chunks"), ENDS)
def test_separators_belong_to_what_is_before_them(text, separators, patterns, size, chunks):
    assert (
        CJKRecursiveTextSplitter(size, 0, separators=separators).split_text(text) == chunks
    )
    splitter = CJKRecursiveTextSplitter(
        size, 0, separators=patterns, is_separator_regex=True
    )
    assert splitter.split_text(text) == chunks


STARTS = [
    ("真的吗？！好吧", ["？", "！"], ["[？！]"], 4, ["真的吗", "？！好吧"]),
    ("真的吗？！好吧", ["！"], ["！"], 4, ["真的吗", "？！好吧"]),
    ("one##two##six", ["##"], ["##"], 6, ["one", "##two", "##six"]),
    ("A####B", ["##"], ["##"], 5, ["A", "####B"]),
    ("？！好吧真的", ["！"], ["！"], 4, ["？！好吧", "真的"]),
]


@pytest.mark.parametrize(("text", "separators", "patterns", "size", "chunks"), STARTS)
def test_separators_belong_to_what_is_behind_them(text, separators, patterns, size, chunks):
    for listed, regex in ((separators, False), (patterns, True)):
        splitter = CJKRecursiveTextSplitter(
            size, 0, separators=listed, keep_separator="start", is_separator_regex=regex
        )
        assert splitter.split_text(text) == chunks


@pytest.mark.parametrize(
    ("pattern", "text", "chunks"),
    [
        ("(?<=[。！])", "甲乙。丙丁！戊己", ["甲乙。", "丙丁！", "戊己"]),
        ("(?<=[？！])", "甲？！乙丙", ["甲？！", "乙丙"]),
        ("(?=第)", "第一第二第三", ["第一第二", "第三"]),
        ("x*", "abcdefg", ["abcd", "efg"]),
        (r"(?m)^=+\n", "ab\n==\ncd", ["ab\n", "==\n", "cd"]),
        (r"(a)\1", "baacaad", ["baa", "caad"]),
        ("(?i)AND", "xandyz", ["xand", "yz"]),
        ("", "abcdef", ["abcd", "ef"]),
    ],
)
def test_expressions(pattern, text, chunks):
    splitter = CJKRecursiveTextSplitter(
        4, 0, separators=[pattern], is_separator_regex=True, strip_whitespace=False
    )
    assert splitter.split_text(text) == chunks


def test_what_an_expression_matches_depends_on_all_of_the_text():
    text = "a" * 400 + "<!--" + " " * 300 + "-->" + "b" * 400
    splitter = CJKRecursiveTextSplitter(
        800, 0, separators=["<!--.*?-->"], is_separator_regex=True, strip_whitespace=False
    )
    assert splitter.split_spans(text) == [(0, 707), (707, 1107)]


def test_separators_of_programming_languages():
    splitter = CJKRecursiveTextSplitter(
        45,
        0,
        separators=RecursiveCharacterTextSplitter.get_separators_for_language(
            Language.PYTHON
        ),
        is_separator_regex=True,
        keep_separator="start",
    )
    text = "class A:\n    def f(self):\n        return 1\n\ndef g():\n    return 2\n"
    assert splitter.split_text(text) == [
        "class A:\n    def f(self):\n        return 1",
        "def g():\n    return 2",
    ]


def test_clusters_are_not_cut_by_expressions():
    splitter = CJKRecursiveTextSplitter(
        4, 0, separators=["e", "(?=\u0301)"], is_separator_regex=True
    )
    assert splitter.split_text("abe\u0301cd") == ["abe\u0301", "cd"]


def test_what_is_no_expression_is_refused():
    with pytest.raises(InvalidInputError, match=r"'\(' is no regular expression.*'\\\\\('"):
        CJKRecursiveTextSplitter(4, 0, separators=["("], is_separator_regex=True)


def test_no_expressions_without_separators():
    splitter = CJKRecursiveTextSplitter(4, 0, is_separator_regex=True)
    assert splitter.split_text("甲乙。丙丁") == ["甲乙。", "丙丁"]


@pytest.mark.parametrize(
    "unit", ["\u2003\u0301", "。\u0301", "？！", "\u0301", ".", "क"], ids=ascii
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"separators": ["！", "？", "."]},
        {"separators": ["！", "？"], "keep_separator": "start"},
        {"separators": ["[。！？.]", "(?=\u0301)"], "is_separator_regex": True},
        {
            "separators": ["！", "(?=\u0301)"],
            "is_separator_regex": True,
            "keep_separator": "start",
        },
    ],
)
def test_work_is_linear(monkeypatch, unit, options):
    """Counts the characters read: eight times as many of a text that is so much longer."""

    def counted(function):
        def reading(text, start, end):
            work[0] += end - start
            return function(text, start, end)

        return reading

    work = [0]
    monkeypatch.setattr(graphemes, "_borders", counted(graphemes._borders))
    monkeypatch.setattr(Scanned, "_within", counted(Scanned._within))
    read = []
    for chunk in (1_000, 8_000):
        work[0] = 0
        splitter = CJKRecursiveTextSplitter(chunk, chunk // 5, **options)
        splitter.split_text(unit * (4 * chunk // len(unit)))
        read.append(work[0])
    assert read[1] <= 12 * read[0] + 8_000
