"""Chunks in tokens by example; numbers in brackets are reports of other splitters' users."""

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from langchain_ragstore import InvalidInputError, TokenAwareTextSplitter
from langchain_ragstore.text.tokenizer import load_encoding

CASES = [
    # a text, the tokens of a chunk and of an overlap, and the chunks
    (
        "One two three. Four five six. Seven.",
        8,
        0,
        ["One two three. Four five six.", "Seven."],
    ),
    ("我有一只猫🐱。", 4, 0, ["我有一只", "猫", "🐱。"]),  # langchain PR #18997
    (
        "文档里写着 <|endoftext|> 这个词",
        10,
        0,
        ["文档里写着", "<|endoftext|>", "这个词"],
    ),  # langchain #923
    ("a\ud800b", 4, 0, ["a\ud800b"]),  # tiktoken #82
    ("\ud83d\udc31", 4, 0, ["\ud83d\udc31"]),
    ("小猫在家。狗在外面跑。", 9, 3, ["小猫在家。", "狗在外面跑。"]),
    ("one two three four five six", 4, 2, ["one two three four", "three four five six"]),
    ("", 4, 0, []),
    (" \n\t", 4, 0, []),
    ("fits", 4, 0, ["fits"]),
]


@pytest.mark.parametrize(("text", "size", "overlap", "chunks"), CASES)
def test_cases(text, size, overlap, chunks):
    splitter = TokenAwareTextSplitter(chunk_size=size, chunk_overlap=overlap)
    assert splitter.split_text(text) == chunks


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_chunks_are_counted_and_not_added_up(size):  # docling #723
    splitter = TokenAwareTextSplitter(chunk_size=size, chunk_overlap=0)
    chunks = splitter.split_text("'a。" * 50)
    assert "".join(chunks) == "'a。" * 50
    assert max(map(splitter.count_tokens, chunks)) <= size


def test_offsets_are_exact_where_others_lose_them():  # langchain #17642
    text = "The cat sat on the mat. The cat sat on the mat. The cat sat on the mat."
    splitter = TokenAwareTextSplitter(chunk_size=10, chunk_overlap=5)
    chunks = splitter.create_documents([text])
    starts = [chunk.metadata["start_index"] for chunk in chunks]
    assert starts == sorted(set(starts))
    for start, chunk in zip(starts, chunks, strict=True):
        assert text[start : start + len(chunk.page_content)] == chunk.page_content


def test_sizes():
    splitter = TokenAwareTextSplitter()
    assert (splitter._chunk_size, splitter._chunk_overlap) == (6800, 680)
    splitter = TokenAwareTextSplitter(1000, safety_ratio=0.5, overlap_ratio=0.25)
    assert (splitter._chunk_size, splitter._chunk_overlap) == (500, 125)
    splitter = TokenAwareTextSplitter(chunk_size=100)
    assert (splitter._chunk_size, splitter._chunk_overlap) == (100, 10)
    splitter = TokenAwareTextSplitter(chunk_size=100, chunk_overlap=0)
    assert (splitter._chunk_size, splitter._chunk_overlap) == (100, 0)
    assert TokenAwareTextSplitter(4, safety_ratio=1)._chunk_size == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"max_tokens": 3}, "max_tokens=3 with safety_ratio=0.85 leaves 2"),
        ({"max_tokens": -1}, "leaves 0"),
        ({"chunk_size": 3}, "allowed 4 tokens.*got 3"),  # llama_index PR #21900
        ({"chunk_size": 0}, "chunk_size=0"),
        ({"chunk_size": 8, "chunk_overlap": 8}, "chunk_overlap=8"),
        ({"chunk_size": 8, "max_tokens": 8000}, "max_tokens=8000, chunk_size=8"),
        ({"chunk_size": 8, "safety_ratio": 0.85}, "safety_ratio=0.85"),
        ({"chunk_overlap": 8}, "chunk_size=None, chunk_overlap=8"),
        ({"safety_ratio": 0}, "safety_ratio=0"),
        ({"safety_ratio": 1.5}, "safety_ratio=1.5"),
        ({"overlap_ratio": 1}, "overlap_ratio=1"),
        ({"encoding": "cl100k"}, "cl100k_base"),
    ],
)
def test_what_contradicts_itself_is_refused(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        TokenAwareTextSplitter(**arguments)


def test_unknown_keywords_are_refused():
    with pytest.raises(TypeError, match="chunk_sise"):
        TokenAwareTextSplitter(chunk_sise=8)


def test_what_counts_otherwise_is_refused():
    with pytest.raises(InvalidInputError, match=r"encoding='cl100k_base'"):
        TokenAwareTextSplitter.from_tiktoken_encoder("gpt2")
    with pytest.raises(InvalidInputError, match=r"CJKRecursiveTextSplitter\.from_hugg"):
        TokenAwareTextSplitter.from_huggingface_tokenizer(None)
    with pytest.raises(TypeError, match="length_function"):
        TokenAwareTextSplitter(length_function=len)


def test_documents():
    splitter = TokenAwareTextSplitter(chunk_size=4, chunk_overlap=0)
    assert isinstance(splitter, TextSplitter)
    chunks = splitter.split_documents([Document("one two three four five", id="d")])
    assert [(chunk.id, chunk.page_content) for chunk in chunks] == [
        ("d:chunk:0000", "one two three four"),
        ("d:chunk:0001", "five"),
    ]
    assert chunks[1].metadata == {
        "mime_type": "text/plain",
        "source_id": "d",
        "chunk_index": 1,
        "chunk_count": 2,
        "start_index": 19,
    }


@pytest.mark.parametrize(
    "unit", ["中", "a", "好。", " ", "\u3000", "🇯🇵", "'a。"], ids=ascii
)
def test_long_runs(unit):  # tiktoken #195, text-splitter #184
    text = unit * (60_000 // len(unit)) + "x"
    splitter = TokenAwareTextSplitter(
        chunk_size=512, chunk_overlap=256, strip_whitespace=False
    )
    chunks = splitter.split_text(text)
    encoding = load_encoding()
    assert all(len(encoding.encode_ordinary(chunk)) <= 512 for chunk in chunks)
