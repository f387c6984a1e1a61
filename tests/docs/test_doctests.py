"""The docstrings' examples that are written as an interactive session."""

import doctest
import importlib
import pkgutil

import pytest

import langchain_ragstore

FINDER = doctest.DocTestFinder(exclude_empty=True)
SESSIONS = {
    test.name: test
    for info in pkgutil.walk_packages(
        langchain_ragstore.__path__, f"{langchain_ragstore.__name__}."
    )
    for test in FINDER.find(importlib.import_module(info.name))
    if test.examples
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name):
    report = []
    outcome = doctest.DocTestRunner().run(SESSIONS[name], out=report.append)
    assert outcome.failed == 0, "".join(report)
    assert outcome.attempted == len(SESSIONS[name].examples)
