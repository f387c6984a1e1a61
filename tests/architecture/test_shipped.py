"""What users get: the package, its type marker, its licence; the public names alone."""

import ast
import importlib.util
import inspect
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import langchain_ragstore

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "langchain_ragstore"
SHIPPED = {
    path.relative_to(ROOT).as_posix()
    for path in SOURCE.rglob("*")
    if path.is_file() and path.suffix != ".pyc"
}


def test_the_configuration_ships_the_package_alone():
    """Report 7: neither it nor an extra brings langchain-community."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["langchain_ragstore"]}
    extras = project["project"]["optional-dependencies"].values()
    for needed in (project["project"]["dependencies"], *extras):
        assert not [name for name in needed if name.startswith("langchain-community")]
    assert "langchain_ragstore/py.typed" in SHIPPED
    assert {Path(name).suffix for name in SHIPPED} == {".py", ".typed"}


@pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None,
    reason="the build back end is not installed",
)
def test_a_built_wheel_holds_the_package_alone(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    (artifact,) = WheelBuilder(str(ROOT)).build(
        directory=str(tmp_path), versions=["standard"]
    )
    with zipfile.ZipFile(artifact) as wheel:
        names = set(wheel.namelist())
    information = {name for name in names if ".dist-info/" in name}
    assert names - information == SHIPPED
    assert any(name.endswith("/licenses/LICENSE") for name in information)


def test_the_root_imports_what_it_offers_and_nothing_else():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    # The module that `__getattr__` takes the compressors from, at first use.
    assert imported - {"compressors"} == set(langchain_ragstore.__all__)
    names = langchain_ragstore._COMPRESSORS
    assert names < set(langchain_ragstore.__all__) <= set(dir(langchain_ragstore))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = langchain_ragstore.Nothing


def test_compressors_are_imported_at_first_use():
    code = """
import sys, langchain_ragstore
unwanted = ("compressors", "foreign_stages", "retrieval.rerank", "retrieval.rerank_model",
            "retrieval.buckets", "retrieval.dedup", "retrieval.waiting")
print([name for name in unwanted if f"langchain_ragstore.{name}" in sys.modules])
from langchain_ragstore import *
print(DynamicReranker.__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["[]", "DynamicReranker"]


@pytest.mark.parametrize("name", langchain_ragstore.__all__)
def test_docstrings_are_written_by_hand(name):
    """A class's own text: not that of its parent, not the one `dataclass` makes up."""
    thing = getattr(langchain_ragstore, name)
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert text
    assert not text.startswith(f"{name}(")
