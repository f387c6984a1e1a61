"""Sizes in tokens by LangChain's `from_…` constructors; sockets are blocked in tests."""

import pickle
from types import SimpleNamespace

import pytest

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    InvalidInputError,
    MissingExtraError,
    StructuredTextSplitter,
    TokenAwareTextSplitter,
)
from langchain_ragstore.text import ranks
from langchain_ragstore.text.tokenizer import count_tokens, load_encoding
from langchain_ragstore.text.vocabularies import model_encoding
from langchain_ragstore.text_splitters import structured

SPECIAL = "文档里写着 <|endoftext|> 这个词"
PROSE = "小猫在家，狗在外面跑。One two three. It's 3.14 today! 'a。'a。'a。\n\n" * 20


def from_tiktoken(*arguments, **keywords):
    return CJKRecursiveTextSplitter.from_tiktoken_encoder(*arguments, **keywords)


def test_special_tokens_are_ordinary_text():  # langchain #923
    chunks = from_tiktoken(chunk_size=10, chunk_overlap=0).split_text(SPECIAL)
    assert chunks == ["文档里写着", "<|endoftext|>", "这个词"]
    same = from_tiktoken(chunk_size=10, chunk_overlap=0, disallowed_special=())
    assert same.split_text(SPECIAL) == chunks


@pytest.mark.parametrize("allowed", ["all", {"<|endoftext|>"}, ["<|endoftext|>"]])
def test_allowed_special_tokens_count_one(allowed):
    splitter = from_tiktoken(chunk_size=10, chunk_overlap=0, allowed_special=allowed)
    assert splitter.split_text(SPECIAL) == ["文档里写着 <|endoftext|>", "这个词"]
    encoding = load_encoding()
    for text in (SPECIAL, "<|endoftext|><|endofprompt|>", "none", ""):
        single = encoding.special_tokens_set if allowed == "all" else set(allowed)
        expected = encoding.encode(text, allowed_special=single, disallowed_special=())
        assert splitter._length_function(text) == len(expected)


@pytest.mark.parametrize("disallowed", ["all", ["<|endoftext|>"]])
def test_disallowed_special_tokens_are_refused(disallowed):
    splitter = from_tiktoken(chunk_size=10, disallowed_special=disallowed)
    with pytest.raises(InvalidInputError, match=r"<\|endoftext\|>.*allowed_special"):
        splitter.split_text(SPECIAL)
    assert splitter.split_text("one two") == ["one two"]
    splitter = from_tiktoken(
        chunk_size=10, allowed_special={"<|endoftext|>"}, disallowed_special=disallowed
    )
    assert splitter.split_text("a <|endoftext|>") == ["a <|endoftext|>"]


def test_chunks_are_those_of_the_token_splitter():  # docling #723
    ours = from_tiktoken(chunk_size=12, chunk_overlap=3)
    assert ours.split_text(PROSE) == TokenAwareTextSplitter(
        chunk_size=12, chunk_overlap=3
    ).split_text(PROSE)
    assert (
        max(count_tokens(chunk, load_encoding()) for chunk in ours.split_text(PROSE)) == 12
    )
    assert pickle.loads(pickle.dumps(ours)).split_text(PROSE) == ours.split_text(PROSE)


def test_names_and_models():
    assert from_tiktoken()._encoding is load_encoding("cl100k_base")
    assert from_tiktoken()._chunk_overlap == 200
    assert from_tiktoken("cl100k_base", "gpt-4", chunk_size=9)._encoding is load_encoding()
    assert from_tiktoken(model_name="text-embedding-3-large")._chunk_size == 1000
    assert model_encoding("gpt2") == "r50k_base"
    assert model_encoding("gpt-4o") == "o200k_base"


def test_nothing_is_downloaded(monkeypatch):  # tiktoken #212
    monkeypatch.setattr(ranks, "_PACKAGES", {})
    monkeypatch.setattr(ranks, "_cache_folders", lambda: iter(()))
    with pytest.raises(MissingExtraError, match="allow_download=True"):
        from_tiktoken("p50k_edit")


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"encoding_name": "gpt2"}, "did you mean 'r50k_base'"),
        ({"encoding_name": "cl100k"}, "did you mean 'cl100k_base'"),
        ({"model_name": "gtp-4"}, "no model 'gtp-4'.*encoding_name=.*cl100k_base"),
        ({"model_name": 4}, "no model 4"),
        ({"chunk_size": 3, "chunk_overlap": 0}, "allowed 4 tokens.*got 3"),
        ({"allowed_special": "<|endoftext|>"}, "allowed_special is 'all' or lists"),
        ({"allowed_special": {"<|end|>"}}, r"<\|endoftext\|>.*got {'<\|end\|>'}"),
        ({"disallowed_special": ["x"]}, r"disallowed_special.*\['x'\]"),
        ({"disallowed_special": True}, "disallowed_special.*True"),
    ],
)
def test_what_is_wrong_is_refused(keywords, words):
    with pytest.raises(InvalidInputError, match=words):
        from_tiktoken(**keywords)


def test_structured():
    splitter = StructuredTextSplitter.from_tiktoken_encoder(
        model_name="gpt-4", chunk_size=9, chunk_overlap=0
    )
    assert splitter.split_text("# A\n\none two three\n\n# B\n\nfour") == [
        "# A\n\none two three",
        "# B\n\nfour",
    ]
    assert splitter.measure("<|endoftext|>") == 7
    with pytest.raises(InvalidInputError, match="allowed_special='all'"):
        StructuredTextSplitter.from_tiktoken_encoder(allowed_special="all")
    with pytest.raises(InvalidInputError, match=r"CJKRecursiveTextSplitter\.from_hugg"):
        StructuredTextSplitter.from_huggingface_tokenizer(None)


def test_structured_reads_a_text_once(monkeypatch):
    read = []
    sections = structured.sections
    monkeypatch.setattr(
        structured, "sections", lambda text: read.append(1) or sections(text)
    )
    (chunk,) = StructuredTextSplitter().create_documents(["# A\n\nb"])
    assert chunk.metadata["title"] == "A"
    assert read == [1]


class Transformers:
    """As a fast tokenizer of `transformers`."""

    def tokenize(self, text):
        return text.split()


class Tokenizers:
    """As one of `tokenizers`, which answers with an `Encoding`."""

    def encode(self, text, add_special_tokens=True):
        ends = ["<s>", "</s>"] if add_special_tokens else []
        return [*text.split(), *ends]


@pytest.mark.parametrize("tokenizer", [Transformers(), Tokenizers()])
def test_tokenizers_of_hugging_face(tokenizer):
    splitter = CJKRecursiveTextSplitter.from_huggingface_tokenizer(
        tokenizer, chunk_size=3, chunk_overlap=1
    )
    assert splitter.split_text("a b c d e") == ["a b c", "c d e"]


@pytest.mark.parametrize("tokenizer", [None, "bert-base", SimpleNamespace(tokenize=1)])
def test_what_is_no_tokenizer_is_refused(tokenizer):
    with pytest.raises(InvalidInputError, match=type(tokenizer).__name__):
        CJKRecursiveTextSplitter.from_huggingface_tokenizer(tokenizer)
