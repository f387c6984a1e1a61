"""Any string has a profile, and width and case change nothing that they should not."""

import dataclasses
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore import QueryAnalyzer
from strategies import nasty_prose, nasty_texts

WIDE = {ord(char): ord(char) + 0xFEE0 for char in string.printable if "!" <= char <= "~"}
words = st.sampled_from(
    [
        *("if", "the", "table", "python", "i", "you", "foo()", "a.b", "select", "from"),
        *("表", "列车", "函数", "吧", "コード", "ね", "표의", "함수를", "주세요", "오면"),
        *(",", "?", "(", "\n", "`", "《", "\x00", "\ud800", "\u0301", "www.", "://", "_"),
    ]
)
queries = st.one_of(
    st.text(),
    nasty_prose,
    nasty_texts,
    st.lists(words, max_size=30).map(" ".join),
    st.lists(words, max_size=30).map("".join),
)
ascii_queries = st.one_of(
    st.text(string.ascii_letters + " .,?_()'"),
    st.lists(words.filter(str.isascii), max_size=20).map(" ".join),
)
analyze = QueryAnalyzer().analyze


@given(queries)
def test_any_string_has_a_profile(query):
    profile = analyze(query)
    assert 0 <= profile.logic_depth < 1
    assert 0 <= profile.keyword_density <= 1
    flags = (profile.is_code_related, profile.is_table_related, profile.is_conversational)
    assert all(type(flag) is bool for flag in flags)
    assert analyze(query) == profile == QueryAnalyzer().analyze(query)


@given(ascii_queries)
def test_width_changes_nothing(query):
    assert analyze(query.translate(WIDE)) == analyze(query)


@given(ascii_queries)
def test_case_changes_nothing_but_shapes_of_code(query):
    upper, lower = (
        dataclasses.replace(analyze(text), is_code_related=False)
        for text in (query.upper(), query.lower())
    )
    assert upper == lower


@given(queries, queries)
def test_more_cues_make_it_no_shallower(query, more):
    assert analyze(f"{query}\n{more}").logic_depth >= 0
    assert analyze(f"{query} \n if").logic_depth >= analyze(query).logic_depth


@pytest.mark.parametrize(
    "unit", ["a.", "a_", "foo(", "[", "表", "가 ", "`", "《", "www.", "각"]
)
def test_long_queries_are_read(unit):
    assert 0 <= analyze(unit * 20_000).logic_depth < 1
