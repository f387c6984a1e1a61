"""Memory goes back to the system, where the C library can be asked for it."""

import ctypes

import pytest

from langchain_ragstore.heap import give_back


class Library:
    def __init__(self, calls):
        self.malloc_trim = calls.append


def test_the_c_library_is_asked(monkeypatch):
    calls = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Library(calls))
    give_back()
    assert calls == [0]


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_where_there_is_none_nothing_happens(monkeypatch, error):
    def load(_name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", load)
    give_back()


def test_where_it_has_no_such_function_nothing_happens(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    give_back()
