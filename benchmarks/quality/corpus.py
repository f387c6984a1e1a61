"""Pages, queries and questions, and the two halves that they are cut into."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh", "ja")
SETS = ("index", "questions")
"""Terms of the manual's own index, as they are; questions of our own."""

DATA = Path(__file__).parents[1] / "data"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def pages(folder: Path, language: str) -> list[dict[str, Any]]:
    """The pages of a language: `id`, `title`, `text`; the same ids in each."""
    return read_lines(folder / f"docs.{language}.jsonl")


def queries(folder: Path, name: str, language: str) -> list[dict[str, Any]]:
    """The queries of a set: `id`, `text`, `relevant`."""
    if name == "index":
        return read_lines(folder / f"queries.{language}.jsonl")
    return read_lines(DATA / f"questions.{language}.jsonl")


def chunks() -> list[dict[str, Any]]:
    """The chunks of the weather station: `id`, `text`, `metadata`; all languages in one."""
    return read_lines(DATA / "station.docs.jsonl")


def chunk_queries() -> list[dict[str, Any]]:
    """Its queries: `id`, `lang`, `kind`, `text`, `core_tags`, `relevant`, `subtopics`."""
    return read_lines(DATA / "station.queries.jsonl")


def is_for_tuning(id: str) -> bool:
    """Tell by a query's id which half it is in: constants are chosen on this one."""
    return hashlib.sha256(id.encode()).digest()[0] % 2 == 0


def half(items: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The queries of the half `"tuning"` or `"reporting"`."""
    return [item for item in items if is_for_tuning(item["id"]) == (name == "tuning")]


def indexed(page: dict[str, Any]) -> str:
    """What is embedded of a page."""
    return f"{page['title']}\n\n{page['text']}"
