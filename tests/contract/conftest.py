"""The engines that every contract test runs on."""

import pytest

from fakes import Clock
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend


class Reopening:
    """An SQLite file that is closed and opened anew before every call."""

    def __init__(self, path, clock) -> None:
        self._arguments = (path, clock)
        self._backend = SQLiteBackend(path, clock=clock)

    def __getattr__(self, name):
        self._backend.close()
        path, clock = self._arguments
        self._backend = SQLiteBackend(path, clock=clock)
        return getattr(self._backend, name)


ENGINES = {
    "memory": lambda _path, clock: MemoryBackend(clock=clock),
    "sqlite-memory": lambda _path, clock: SQLiteBackend(clock=clock),
    "sqlite-file": lambda path, clock: SQLiteBackend(path, clock=clock),
    "sqlite-reopened": Reopening,
}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=ENGINES)
def backend(request, tmp_path, clock):
    engine = ENGINES[request.param](str(tmp_path / "rag.db"), clock)
    yield engine
    engine.close()
