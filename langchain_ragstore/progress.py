"""A progress bar where someone is looking, and nothing anywhere else."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from langchain_ragstore.errors import MissingExtraError

Step: TypeAlias = Callable[[str], None]
"""Tells that one more is done, and what to show beside the bar."""


@contextmanager
def bar(wanted: bool | None, total: int | None, unit: str) -> Iterator[Step]:  # noqa: FBT001 - as callers got it
    """Show on stderr how far a piece of work has come.

    Args:
        wanted: None for a bar where stderr is a terminal or this is a notebook, if tqdm
            is installed.
        total: How many steps there will be; None if nobody knows.
        unit: What a step is, in the plural.

    Yields:
        What to call after each step. The bar is closed whatever happens.

    Raises:
        MissingExtraError: A bar is asked for, and tqdm is not installed.
    """
    made = _bar_class() if wanted or (wanted is None and _is_watched()) else None
    if made is None:
        if wanted:
            raise MissingExtraError("tqdm", "progress")
        yield lambda _note: None
        return
    with made(total=total, unit=f" {unit}") as shown:

        def step(note: str) -> None:
            shown.set_postfix_str(note, refresh=False)
            shown.update()

        yield step


def _bar_class() -> Any:
    try:
        with warnings.catch_warnings():  # a notebook without ipywidgets gets a text bar
            warnings.simplefilter("ignore")
            tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None
    # Without an interval tqdm starts no thread, which would outlive the bar.
    return type("Bar", (tqdm,), {"monitor_interval": 0})


def _is_watched() -> bool:
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return getattr(running, "kernel", None) is not None
