"""Connections whose n-th statement fails."""

import sqlite3
from contextlib import contextmanager


class Failing:
    """A connection whose n-th statement fails, before it does anything or right after."""

    def __init__(self, connection, counter) -> None:
        self._connection = connection
        self._counter = counter

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, *arguments):
        with self._counter.counting():
            return self._connection.execute(*arguments)

    def executemany(self, *arguments):
        with self._counter.counting():
            return self._connection.executemany(*arguments)


class Counter:
    def __init__(self) -> None:
        self.left = None
        self.error = sqlite3.OperationalError("disk I/O error")
        self.late = False

    @contextmanager
    def counting(self):
        due = False
        if self.left is not None:
            self.left -= 1
            due = self.left == 0
        if due and not self.late:
            raise self.error
        yield
        if due:
            raise self.error
