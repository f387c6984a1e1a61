"""Vectors of real paragraphs, for `search_speed.py --vectors`.

Usage: python benchmarks/real_vectors.py FOLDER OUT.npy

FOLDER holds `docs.LANG.jsonl` of the LibreOffice help set. Its paragraphs of 40 characters
or more, each once, in English, Chinese and Japanese, are embedded by `LocalEmbeddings`
(extra `local`): float32, 512 dimensions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from langchain_ragstore import LocalEmbeddings

LANGUAGES, SHORTEST, BATCH = ("en", "zh", "ja"), 40, 256


def paragraphs(folder: Path) -> list[str]:
    """Each once, in the order of the pages."""
    found: dict[str, None] = {}
    for language in LANGUAGES:
        lines = (folder / f"docs.{language}.jsonl").read_text("utf-8").splitlines()
        for line in lines:
            parts = map(str.strip, json.loads(line)["text"].split("\n"))
            found |= dict.fromkeys(part for part in parts if len(part) >= SHORTEST)
    return list(found)


def main() -> None:
    texts, model = paragraphs(Path(sys.argv[1])), LocalEmbeddings()
    rows = [
        np.array(model.embed_documents(texts[start : start + BATCH]), np.float32)
        for start in range(0, len(texts), BATCH)
    ]
    np.save(sys.argv[2], np.concatenate(rows))
    print(len(texts), "paragraphs")


if __name__ == "__main__":
    main()
