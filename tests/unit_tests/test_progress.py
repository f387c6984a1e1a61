"""Who gets a progress bar, and that it is always closed."""

import io
import sys
import threading
import types

import pytest

from fakes import Answering, Counting
from langchain_ragstore import MissingExtraError, RagPipeline, make_document
from langchain_ragstore.progress import bar

TWO = [make_document("a", "Tea."), make_document("b", "Milk.")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def look(monkeypatch):
    """Called in a test, since pytest captures stderr anew when one begins."""

    def begin():
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return begin


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def test_a_terminal_gets_a_bar(look, capsys):
    terminal = look()
    RagPipeline(Counting()).ingest(iter(TWO))
    assert "2/2" in terminal.getvalue()
    assert "sources" in terminal.getvalue()
    assert capsys.readouterr().out == ""


async def test_async_as_well(look):
    terminal = look()
    await RagPipeline(Counting()).aingest(TWO)
    assert "2/2" in terminal.getvalue()


def test_no_terminal_no_bar_unless_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    pipeline = RagPipeline(Counting())
    pipeline.ingest(TWO)
    assert sys.stderr.getvalue() == ""
    pipeline.ingest(TWO, progress=True)
    assert "2/2" in sys.stderr.getvalue()


def test_a_notebook_gets_a_bar(monkeypatch):
    shell = types.SimpleNamespace(kernel=object())
    module = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    RagPipeline(Counting()).ingest(TWO)
    assert "2/2" in sys.stderr.getvalue()
    del shell.kernel  # IPython in a pipe
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    RagPipeline(Counting()).ingest(TWO)
    assert sys.stderr.getvalue() == ""


def test_a_process_without_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert RagPipeline(Counting()).ingest(TWO).added == 2


def test_false_is_never(look):
    terminal = look()
    RagPipeline(Counting()).ingest(TWO, progress=False)
    assert terminal.getvalue() == ""


def test_without_tqdm_there_is_none(look, without_tqdm):
    terminal = look()
    assert RagPipeline(Counting()).ingest(TWO).added == 2
    assert terminal.getvalue() == ""


def test_without_tqdm_asking_for_one_names_the_command(without_tqdm):
    pipeline = RagPipeline(Counting())
    command = r'pip install "langchain-ragstore\[progress\]"'
    with pytest.raises(MissingExtraError, match=command):
        pipeline.ingest(TWO, progress=True)
    assert len(pipeline.store) == 0


def test_the_total_may_be_unknown(look):
    terminal = look()
    with bar(None, None, "files") as step:
        step("a")
        step("b")
    assert "2 files" in terminal.getvalue()


def test_it_is_closed_after_an_error_and_leaves_no_thread(look):
    terminal = look()
    from tqdm import tqdm

    def fail(texts):
        raise ConnectionError

    threads = set(threading.enumerate())
    with pytest.raises(ConnectionError):
        RagPipeline(Answering(fail)).ingest(TWO)
    assert not getattr(tqdm, "_instances", ())
    assert terminal.getvalue().endswith("\n")
    assert set(threading.enumerate()) == threads
