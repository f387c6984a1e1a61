"""Chunks by example; numbers in brackets are reports of users of other splitters."""

import pickle
import time

import pytest
from langchain_core.documents import Document

from langchain_ragstore import CJKRecursiveTextSplitter, InvalidInputError

FAMILY = "👨‍👩‍👧"

CASES = [
    # a text, its chunk size and overlap, and its chunks
    (
        "老师说：“快点走。”大家都笑了。",
        12,
        0,
        ["老师说：“快点走。”", "大家都笑了。"],
    ),  # piper-plus #346
    ("「行きましょう。」と彼は言った。", 9, 0, ["「行きましょう。」", "と彼は言った。"]),
    ("甲。〔注〕乙。", 5, 0, ["甲。", "〔注〕乙。"]),  # remnic PR #2404
    ("甲。〔注〕乙。", 4, 0, ["甲。", "〔注〕", "乙。"]),
    ("甲。〔注〕乙。", 3, 0, ["甲。", "〔注〕", "乙。"]),
    ("我们使用Kubernetes部署服务", 10, 0, ["我们使用", "Kubernetes", "部署服务"]),
    (
        "春天来了。花开了。我们去爬山。",
        7,
        0,
        ["春天来了。", "花开了。", "我们去爬山。"],
    ),  # langchain #18770
    ("真的吗？！好吧", 5, 0, ["真的吗？！", "好吧"]),
    ("好。。。走", 4, 0, ["好。。。", "走"]),
    (
        "第一句。第二句！第三句？",
        5,
        0,
        ["第一句。", "第二句！", "第三句？"],
    ),  # llama_index #17388
    (
        "v1.2.3 at example.com ok",
        11,
        0,
        ["v1.2.3 at", "example.com", "ok"],
    ),  # langchain #7485
    ("Pi is 3.14159 ok.", 9, 0, ["Pi is", "3.14159", "ok."]),
    ("値は１．５です。次。", 8, 0, ["値は１．５です。", "次。"]),
    ("one two   three four", 9, 0, ["one two", "three", "four"]),  # langchain #39569
    ("def f():\n        return 1", 17, 0, ["def f():", "return 1"]),
    (" \n\n  \n", 3, 0, []),
    ("echo echo", 5, 4, ["echo", "echo"]),  # langchain #21475
    ("啊啊啊啊。啊啊啊。", 5, 4, ["啊啊啊啊。", "啊啊啊。"]),
    ("a\ud800b", 2, 0, ["a\ud800", "b"]),  # tiktoken #82
    (
        "Hi. A small text without a final stop",
        10_000,
        0,
        ["Hi. A small text without a final stop"],
    ),
    (
        "一二三，四五六。七八九，十甲乙。丙。",
        8,
        0,
        ["一二三，四五六。", "七八九，十甲乙。", "丙。"],
    ),  # dify #6422
    (
        "第一段文字内容。\n\n第二段文字内容。",
        12,
        4,
        ["第一段文字内容。", "容。\n\n第二段文字内容。"],
    ),  # langchain #30200
    (
        "one two three four five six seven eight",
        40,
        3,
        ["one two three four five six seven eight"],
    ),
    ("abcdefghij", 5, 2, ["abcde", "defgh", "ghij"]),  # haystack #11767
    (f"{FAMILY}👍🏽", 5, 0, [FAMILY, "👍🏽"]),  # openclaw #127654
    ("🇯🇵🇨🇳🇰🇷", 3, 0, ["🇯🇵", "🇨🇳", "🇰🇷"]),
    ("甲\r\n\r\n乙", 5, 0, ["甲", "乙"]),  # txtai PR #1152
    ("ภาษา\u200bไทย", 5, 0, ["ภาษา\u200b", "ไทย"]),  # dify #31672
    (
        "文档里写着 <|endoftext|> 这个词",
        15,
        0,
        ["文档里写着", "<|endoftext|>", "这个词"],
    ),  # langchain #923
    ("(A) one. [B] two! (C)", 9, 0, ["(A) one.", "[B] two!", "(C)"]),
    ('He said "go." Then left.', 14, 0, ['He said "go."', "Then left."]),
    ("甲乙丙丁戊、己", 5, 0, ["甲乙丙丁", "戊、己"]),
    ("真的吗？！好吧", 4, 0, ["真的", "吗？！", "好吧"]),  # the marks are one unit
    ("好。。。走", 3, 0, ["好", "。。。", "走"]),
    ("！！。。,,", 6, 0, ["！！。。,,"]),  # llama_index PR #15882
    ("今天很好。我们出去玩吧！真的。", 7, 0, ["今天很好。", "我们出去玩吧！", "真的。"]),
    (
        "这句话没有标点所以不能切分",
        6,
        0,
        ["这句话没有标", "点所以不能切", "分"],
    ),  # chunklet
    ("短。\n\n" + "字" * 16, 10, 0, ["短。\n\n字字字字字字", "字" * 10]),  # langchain #6958
    ("甲乙    丙丁    戊己", 5, 2, ["甲乙", "丙丁", "戊己"]),  # semchunk PR #25
    ("长" * 50, 30, 0, ["长" * 30, "长" * 20]),  # gbrain #648
    ("🇯🇵🇨🇳🇰🇷", 5, 0, ["🇯🇵🇨🇳", "🇰🇷"]),
    (f"{FAMILY}{FAMILY}", 9, 0, [FAMILY, FAMILY]),
    ("น้ำที่", 3, 0, ["น้ำ", "ที่"]),
    ("a\nb\nc\nd", 5, 0, ["a\nb\nc", "d"]),  # white space at an end does not count
    (
        "https://example.com/one/two-three?four=five",
        20,
        0,
        ["https://example.com/", "one/two-three?four=", "five"],
    ),  # an address that is too long is cut behind its signs
    ("见https://example.com/a_b这里", 22, 0, ["见https://example.com/", "a_b这里"]),
    ("a" * 12 + "1.234" + "b" * 9, 16, 0, ["a" * 12, "1.234" + "b" * 9]),
    ("one two", 5, 2, ["one", "two"]),  # an overlap would cut a word
    ("早。午！晚？", 3, 0, ["早。", "午！", "晚？"]),
]


@pytest.mark.parametrize(("text", "size", "overlap", "chunks"), CASES)
def test_cases(text, size, overlap, chunks):
    splitter = CJKRecursiveTextSplitter(size, overlap)
    assert splitter.split_text(text) == chunks


def test_conjuncts_that_fit_are_not_cut():
    splitter = CJKRecursiveTextSplitter(3, 0, strip_whitespace=False)
    assert splitter.split_spans("क्षक्ष") == [(0, 3), (3, 6)]


def test_pairs_of_surrogates_are_characters():
    splitter = CJKRecursiveTextSplitter(3, 0)
    assert splitter.split_text("\ud83d\ude00" * 3) == ["\ud83d\ude00"] * 3


def test_no_chunk_lies_inside_the_one_before():
    splitter = CJKRecursiveTextSplitter(5, 2, separators=["\n\n", "。", " "])
    spans = splitter.split_spans("     b猫\nbb。。ab\nb猫 \n")
    assert spans == [(5, 7), (6, 10), (8, 12), (12, 17)]


def test_long_separators_are_found_wherever_a_chunk_ends():
    mark = "<!-- chunk boundary -->"
    for before in range(50, 81):
        splitter = CJKRecursiveTextSplitter(
            80, 0, separators=[mark], keep_separator="start"
        )
        assert splitter.split_text("a" * before + mark + "b" * 50) == [
            "a" * before,
            mark + "b" * 50,
        ]


def test_no_break_spaces_end_no_paragraph_whatever_else_the_text_holds():
    text = "a\n\u00a0\nb"
    for more in ("", "\u2028"):
        splitter = CJKRecursiveTextSplitter(4, 0, strip_whitespace=False)
        assert splitter.split_text(text + more)[0] == "a\n\u00a0\n"


def test_metadata_are_each_chunks_own():
    document = Document("one two", metadata={"t": ([1],), "d": {"k": [1]}})
    first, second = CJKRecursiveTextSplitter(3, 0).split_documents([document])
    first.metadata["t"][0].append(2)
    first.metadata["d"]["k"].append(2)
    assert second.metadata["t"] == document.metadata["t"] == ([1],)
    assert second.metadata["d"] == document.metadata["d"] == {"k": [1]}


@pytest.mark.parametrize("separators", [None, ["。", "x"]])
def test_splitters_can_be_pickled(separators):
    splitter = pickle.loads(
        pickle.dumps(CJKRecursiveTextSplitter(3, 0, separators=separators))
    )
    assert splitter.split_text("甲乙。丙丁。") == ["甲乙。", "丙丁。"]


def test_separators_may_come_from_a_generator():
    splitter = CJKRecursiveTextSplitter(3, 0, separators=(s for s in ["x"]))
    assert splitter.separators == ["x"]
    assert splitter.split_text("abxcd") == ["abx", "cd"]


def test_texts_of_white_space():
    splitter = CJKRecursiveTextSplitter(3, 0, strip_whitespace=False)
    assert splitter.split_text(" \n\n  \n") == [" \n\n", "  \n"]


def test_indentation_belongs_to_its_line():  # langchain #2836
    splitter = CJKRecursiveTextSplitter(20, 0, strip_whitespace=False)
    assert splitter.split_text("def f():\n        return 1\n# end") == [
        "def f():\n",
        "        return 1\n",
        "# end",
    ]


def test_overlaps_hold_white_space_only_if_chunks_keep_it():
    splitter = CJKRecursiveTextSplitter(5, 2, strip_whitespace=False)
    assert splitter.split_text("甲乙    丙丁    戊己") == [
        "甲乙   ",
        "   丙丁",
        "丙丁   ",
        "   戊己",
    ]


def test_documents_with_one_text_have_chunks_of_their_own():  # haystack #6079
    documents = [Document("one two", id="a"), Document("one two", id="b")]
    chunks = CJKRecursiveTextSplitter(3, 0).split_documents(documents)
    assert [chunk.id for chunk in chunks] == [
        f"{source}:chunk:000{at}" for source in "ab" for at in (0, 1)
    ]


def test_offsets_of_twins():
    assert CJKRecursiveTextSplitter(5, 4).split_spans("echo echo") == [(0, 4), (5, 9)]
    assert CJKRecursiveTextSplitter(4, 3).split_spans("echo echo") == [(0, 4), (5, 9)]


def test_crlf_and_clusters_without_stripping():
    splitter = CJKRecursiveTextSplitter(3, 0, strip_whitespace=False)
    assert splitter.split_text("ab\r\ncd\r\n") == ["ab", "\r\n", "cd", "\r\n"]
    assert CJKRecursiveTextSplitter(4, 0, strip_whitespace=False).split_text(
        "　　第一段。"
    ) == [
        "　　",
        "第一段。",
    ]


def test_a_cluster_that_is_too_long_is_cut_at_code_points():
    chunks = CJKRecursiveTextSplitter(2, 0).split_text(FAMILY)
    assert "".join(chunks) == FAMILY
    assert max(map(len, chunks)) <= 2


def test_own_separators():
    splitter = CJKRecursiveTextSplitter(4, 0, separators=["。", "！"])
    assert splitter.split_text("甲乙。丙丁！戊己") == [
        "甲乙。",
        "丙丁！",
        "戊己",
    ]  # langchain #12832
    splitter = CJKRecursiveTextSplitter(6, 0, separators=["##"], keep_separator="start")
    assert splitter.split_text("one##two##six") == ["one", "##two", "##six"]
    splitter = CJKRecursiveTextSplitter(8, 0, separators=["##"], strip_whitespace=False)
    assert splitter.split_text("A####B") == ["A####B"]  # dify #22046
    assert CJKRecursiveTextSplitter(3, 0, separators=[""]).split_text("abcdef") == [
        "abc",
        "def",
    ]
    assert CJKRecursiveTextSplitter(separators=["x"]).separators == ["x"]


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((0,), {}, "chunk_size=0"),
        ((-1, 0), {}, "chunk_size=-1"),
        ((4, 4), {}, "chunk_overlap=4"),  # litellm #38980
        ((4, -1), {}, "chunk_overlap=-1"),
        ((10.5, 0), {}, "chunk_size.*10.5"),
        ((None,), {}, "chunk_size.*None"),
        ((10, "2"), {}, "chunk_overlap.*'2'"),
        ((10, 0), {"keep_separator": False}, "keep_separator=False"),
        ((10, 0), {"separators": "。"}, "list of strings"),
        ((10, 0), {"separators": [1]}, "list of strings"),
    ],
)
def test_what_contradicts_itself_is_refused(arguments, keywords, words):
    with pytest.raises(InvalidInputError, match=words):
        CJKRecursiveTextSplitter(*arguments, **keywords)


def test_defaults():
    splitter = CJKRecursiveTextSplitter()
    assert (splitter._chunk_size, splitter._chunk_overlap) == (1000, 200)
    assert CJKRecursiveTextSplitter(100)._chunk_overlap == 20
    assert CJKRecursiveTextSplitter(200, 30)._chunk_overlap == 30


def test_documents():
    splitter = CJKRecursiveTextSplitter(6, 0, add_start_index=False)
    documents = [
        Document("one two", id="d", metadata={"list": [1], "mime_type": "x"}),
        Document("three"),
    ]
    chunks = splitter.split_documents(iter(documents))
    assert [(c.id, c.page_content) for c in chunks] == [
        ("d:chunk:0000", "one"),
        ("d:chunk:0001", "two"),
        (None, "three"),
    ]
    assert chunks[1].metadata == {
        "list": [1],
        "mime_type": "x",
        "source_id": "d",
        "chunk_index": 1,
        "chunk_count": 2,
    }
    assert chunks[2].metadata == {
        "mime_type": "text/plain",
        "chunk_index": 0,
        "chunk_count": 1,
    }
    chunks[0].metadata["list"].append(2)
    assert chunks[1].metadata["list"] == documents[0].metadata["list"] == [1]
    assert splitter.transform_documents(documents)[2] == chunks[2]


async def test_async_transform():
    splitter = CJKRecursiveTextSplitter(6, 0)
    documents = [Document("one two", id="d")]
    assert await splitter.atransform_documents(documents) == splitter.split_documents(
        documents
    )


def test_create_documents_checks_lengths():
    with pytest.raises(InvalidInputError, match="2 texts but 1 metadatas"):
        CJKRecursiveTextSplitter().create_documents(["a", "b"], [{}])


def test_past_9999_the_number_grows():
    chunks = CJKRecursiveTextSplitter(1, 0).split_documents(
        [Document("甲" * 10_001, id="d")]
    )
    assert chunks[-1].id == "d:chunk:10000"


def test_a_measure_in_words():
    splitter = CJKRecursiveTextSplitter(
        3, 1, length_function=lambda text: len(text.split())
    )
    assert splitter.split_text("a b c d e") == ["a b c", "c d e"]


@pytest.mark.parametrize(
    "unit", ["中", "a", "好。", " ", "🇯🇵", "ﾞ", "e\u0301", "ก็", "\u200d"], ids=ascii
)
@pytest.mark.parametrize(("size", "overlap"), [(1000, 200), (20_000, 10_000)])
def test_time_is_linear(unit, size, overlap):
    """Not a benchmark: what is quadratic takes minutes here."""
    text = unit * (160_000 // len(unit))
    started = time.perf_counter()
    CJKRecursiveTextSplitter(size, overlap, strip_whitespace=False).split_text(text)
    assert time.perf_counter() - started < 10
