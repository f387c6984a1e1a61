"""MockEmbeddings and HashingEmbeddings: known answers and what they promise."""

import asyncio
import json
import os
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest

from langchain_ragstore.embeddings import hashing
from langchain_ragstore.embeddings.hashing import HashingEmbeddings
from langchain_ragstore.embeddings.mock import MockEmbeddings
from langchain_ragstore.errors import InvalidInputError

BOTH = pytest.mark.parametrize("model_class", [MockEmbeddings, HashingEmbeddings])
MIXED = "The state-of-the-art C++ compiler, 東京タワー and 한국어 Ünïcode node.js 2024"


def digest(vector):
    return sha256(np.array(vector, dtype="<f4").tobytes()).hexdigest()


# --- both --------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("dim", [0, -1])
def test_a_dimension_below_one_is_refused(model_class, dim):
    with pytest.raises(InvalidInputError, match=str(dim)) as caught:
        model_class(dim)
    assert isinstance(caught.value, ValueError)


@BOTH
@pytest.mark.parametrize("dim", [2.0, "8", None])
def test_a_dimension_is_an_integer(model_class, dim):
    with pytest.raises(TypeError):
        model_class(dim)


@BOTH
@pytest.mark.parametrize("dim", [1, 8, 512])
def test_dim(model_class, dim):
    model = model_class(dim)
    assert model.dim == dim
    assert len(model.embed_query("text")) == dim
    assert [len(vector) for vector in model.embed_documents(["a", "", "c"])] == [dim] * 3


def test_default_dimension():
    assert HashingEmbeddings().dim == 512


@BOTH
def test_no_texts_give_no_vectors(model_class):
    assert model_class(8).embed_documents([]) == []
    assert asyncio.run(model_class(8).aembed_documents([])) == []


@BOTH
def test_documents_and_queries_agree_and_keep_their_order(model_class):
    model = model_class(16)
    texts = ["one", "two", "", "two"]
    assert model.embed_documents(texts) == [model.embed_query(text) for text in texts]


@BOTH
async def test_async_gives_the_same(model_class):
    model = model_class(16)
    assert await model.aembed_documents(["a", "b"]) == model.embed_documents(["a", "b"])
    assert await model.aembed_query("a") == model.embed_query("a")


@BOTH
def test_vectors_are_lists_of_python_floats(model_class):
    vector = model_class(4).embed_query("text")
    assert type(vector) is list
    assert {type(component) for component in vector} == {float}


@BOTH
def test_value_semantics(model_class):
    assert model_class(8) == model_class(8)
    assert hash(model_class(8)) == hash(model_class(8))
    assert model_class(8) != model_class(9)
    assert model_class(8) != 8
    assert repr(model_class(8)) == f"{model_class.__name__}(dim=8)"


def test_different_classes_differ():
    assert MockEmbeddings(8) != HashingEmbeddings(8)


@BOTH
@pytest.mark.parametrize("text", ["\ud800", "\udfff a", "\0", "a\0b", "\u0301" * 50, "😀"])
def test_no_text_raises(model_class, text):
    assert np.isfinite(model_class(8).embed_query(text)).all()


@BOTH
def test_another_process_gives_the_same_bits(model_class):
    program = (
        "import json, sys;"
        f"from {model_class.__module__} import {model_class.__name__} as model;"
        "print(json.dumps(model(64).embed_query(json.loads(sys.argv[1]))))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(MIXED)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert [json.loads(answer) for answer in answers] == [
        model_class(64).embed_query(MIXED)
    ]


# --- MockEmbeddings ----------------------------------------------------------------


def test_mock_known_answer():
    # "abc": 97 + 98 + 99 + 3 bytes = 297; sin 297, 298, 299, 300 over their norm.
    expected = [0.6346370, 0.2787770, -0.3333892, -0.6390390]
    assert MockEmbeddings(4).embed_query("abc") == pytest.approx(expected, abs=2e-7)


def test_mock_counts_bytes_not_characters():
    # "é" is C3 A9: 195 + 169 + 2 = 366. A lone surrogate is ED A0 80: 237 + 160 + 128 + 3.
    for text, seed in (("é", 366), ("\ud800", 528)):
        sines = np.sin(seed + np.arange(3.0))
        expected = sines / np.linalg.norm(sines)
        assert MockEmbeddings(3).embed_query(text) == pytest.approx(expected, abs=2e-7)


def test_mock_of_the_empty_text():
    # Seed 0: sin 0, sin 1 before scaling.
    assert MockEmbeddings(2).embed_query("") == [0.0, 1.0]
    assert MockEmbeddings(1).embed_query("") == [0.0]


def test_mock_adds_in_float32():
    # 200 000 x: 24 000 000 + 200 000 = 24 200 000 lies beyond 2^24, where odd numbers
    # do not exist in float32: the second component equals the first.
    first, second = MockEmbeddings(2).embed_query("w" + "x" * 199_998 + "y")
    assert first == second


def test_mock_never_changes():
    assert digest(MockEmbeddings(64).embed_query(MIXED)) == (
        "13218a6354285cf5d437d56388921f521564d700bf22cc1f46f9977fb0b1426e"
    )


def test_mock_has_length_one():
    for text in ("abc", "def", "東京", "x" * 1000):
        assert abs(np.linalg.norm(MockEmbeddings(8).embed_query(text)) - 1) < 1e-5


def test_mock_tells_most_texts_apart_but_not_anagrams():
    model = MockEmbeddings(8)
    assert model.embed_query("abc") != model.embed_query("def")
    assert model.embed_query("listen") == model.embed_query("silent")


def test_mock_has_rank_two():
    texts = [f"text number {number} of some length" + "x" * number for number in range(50)]
    vectors = np.array(MockEmbeddings(64).embed_documents(texts))
    singular = np.linalg.svd(vectors, compute_uv=False)
    assert singular[1] > 1
    assert singular[2] < 1e-4


# --- HashingEmbeddings -------------------------------------------------------------

# BLAKE2b with 4 bytes of digest, little-endian: "cat" 3138554730, "dog" 2691776247,
# "the" 2800107122, "猫" 1190431910, "犬" 1582950709, "猫犬" 3732813767. The top bit is the
# sign (set: minus), the other 31 modulo 16 the component: -10, -7, -2, +6, +5, -7.


def one_hot(**components):
    vector = np.zeros(16)
    for name, value in components.items():
        vector[int(name[1:])] = value
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat", one_hot(c10=-1)),
        ("cat dog", one_hot(c10=-1, c7=-1)),
        ("Dog, cat. DOGS!", one_hot(c10=-1, c7=-(1 + np.log(2)))),
        ("the cat", one_hot(c2=-0.3, c10=-1)),
        ("猫", one_hot(c6=1)),
        ("猫犬", one_hot(c7=-1, c6=0.45, c5=0.45)),
    ],
)
def test_hashing_known_answers(text, expected):
    assert HashingEmbeddings(16).embed_query(text) == pytest.approx(expected, abs=2e-5)


def test_hashing_pieces_share_half_the_weight_of_their_word():
    # "zebra" stands framed, <zebra>: five pieces of 3 and four of 4 letters. In a huge
    # space nothing collides: 1 / sqrt(1 + 0.25) for the word, the rest over 9 pieces.
    vector = np.array(HashingEmbeddings(1 << 20).embed_query("zebra"))
    values = np.sort(np.abs(vector[vector != 0]))[::-1]
    expected = [1 / np.sqrt(1.25)] + [0.5 / 3 / np.sqrt(1.25)] * 9
    assert values == pytest.approx(expected, abs=2e-5)


def test_hashing_damps_hiragana():
    # A pair 0.2 and two characters 0.45 * 0.2: the same shape as a pair of Han.
    model = HashingEmbeddings(1 << 20)
    vector = np.array(model.embed_query("です 猫犬"))
    values = np.sort(np.abs(vector[vector != 0]))[::-1]
    expected = np.array([1, 0.45, 0.45, 0.2, 0.09, 0.09])
    assert values == pytest.approx(expected / np.linalg.norm(expected), abs=2e-5)


def test_hashing_never_changes():
    assert digest(HashingEmbeddings(64).embed_query(MIXED)) == (
        "47d8b2043c504c7bec23b783de7613459c394b0afbbb24c9e764779397e7ca04"
    )


@pytest.mark.parametrize("text", ["", "  \n", "。！?", "\ud800", "\0"])
def test_hashing_of_nothing_is_zero(text):
    assert HashingEmbeddings(8).embed_query(text) == [0.0] * 8


def test_hashing_tells_anagrams_apart_and_ignores_order():
    model = HashingEmbeddings()
    assert model.embed_query("listen") != model.embed_query("silent")
    assert model.embed_query("man bites dog") == model.embed_query("dog bites man")


@pytest.mark.parametrize(
    ("near", "far"),
    [
        ("vectors databases", "a cake with cherries"),
        ("向量数据库的检索", "樱桃蛋糕的做法"),
        ("ベクトルの検索", "さくらんぼのケーキ"),
        ("벡터를 검색한다", "체리 케이크를 굽는다"),
    ],
)
def test_hashing_sees_shared_pieces(near, far):
    queries = {
        "v": "vector database",
        "向": "向量检索",
        "ベ": "ベクトル検索",
        "벡": "벡터 검색",
    }
    model = HashingEmbeddings()
    query = np.array(model.embed_query(queries[near[0]]))
    close, distant = np.array(model.embed_documents([near, far])) @ query
    assert close > 0.4
    assert close > distant + 0.3


def test_a_full_cache_starts_anew_and_changes_nothing(monkeypatch):
    monkeypatch.setattr(hashing, "_CACHED_TERMS", 3)
    monkeypatch.setattr(hashing, "_FEATURES_OF", hashing._FeatureCache())
    assert digest(HashingEmbeddings(64).embed_query(MIXED)) == (
        "47d8b2043c504c7bec23b783de7613459c394b0afbbb24c9e764779397e7ca04"
    )
    assert 1 <= len(hashing._FEATURES_OF) <= 3


def test_long_terms_are_not_remembered(monkeypatch):
    cache = hashing._FeatureCache()
    monkeypatch.setattr(hashing, "_FEATURES_OF", cache)
    HashingEmbeddings(8).embed_query("short " + "x" * 65)
    assert list(cache) == ["short"]
