"""Speed of the splitters beside LangChain's with the same separators.

Both cut the same text by turns in one process; a ratio above 1 means that ours is
faster, and is the median over the rounds. Tokens are counted by the same encoding.

Usage: python benchmarks/splitting.py CORPUS.jsonl… [--out RESULT.json]

Each line of a corpus is an object whose "text" is a document; the documents of a corpus
are joined by blank lines, and once more by blanks alone, as text without lines.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_ragstore import CJKRecursiveTextSplitter, TokenAwareTextSplitter
from langchain_ragstore.text.tokenizer import load_encoding
from langchain_ragstore.text_splitters import SEPARATORS

SIZE, OVERLAP, ROUNDS, SEED = 1000, 200, 5, 7
TOKENS, SHARED = 512, 51
HARD = 200_000  # code points of a text without a break
LINEAR = (1_000_000, 5_000_000)  # code points; the time should grow fivefold


def seconds(action: Callable[[], Any]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def compare(ours: Callable[[], Any], theirs: Callable[[], Any]) -> dict[str, float]:
    """One unmeasured round, then medians of ours, theirs and their ratio by round."""
    ours()
    theirs()
    rounds = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    return {
        "ours_ms": round(1000 * statistics.median(mine for mine, _ in rounds), 2),
        "theirs_ms": round(1000 * statistics.median(peer for _, peer in rounds), 2),
        "ratio": round(statistics.median(peer / mine for mine, peer in rounds), 2),
    }


def corpus_figures(text: str) -> dict[str, Any]:
    ours = CJKRecursiveTextSplitter(SIZE, OVERLAP)
    theirs = RecursiveCharacterTextSplitter(
        separators=list(SEPARATORS),
        keep_separator="end",
        add_start_index=True,
        chunk_size=SIZE,
        chunk_overlap=OVERLAP,
    )
    return {
        "characters": len(text),
        "megabytes": round(len(text.encode()) / 1e6, 2),
        "chunks": [len(ours.split_text(text)), len(theirs.split_text(text))],
        "create_documents": compare(
            lambda: ours.create_documents([text]), lambda: theirs.create_documents([text])
        ),
        "split_text": compare(
            lambda: ours.split_text(text), lambda: theirs.split_text(text)
        ),
    }


def token_figures(text: str) -> dict[str, Any]:
    encoding = load_encoding()
    ours = TokenAwareTextSplitter(chunk_size=TOKENS, chunk_overlap=SHARED)
    theirs = RecursiveCharacterTextSplitter(
        separators=list(SEPARATORS),
        keep_separator="end",
        chunk_size=TOKENS,
        chunk_overlap=SHARED,
        # What `from_tiktoken_encoder` measures with; it would load the ranks by itself.
        length_function=lambda part: len(encoding.encode(part, disallowed_special=())),
    )
    sizes = [max(map(ours.count_tokens, s.split_text(text))) for s in (ours, theirs)]
    return {
        "largest_chunks": sizes,
        "split_text": compare(
            lambda: ours.split_text(text), lambda: theirs.split_text(text)
        ),
    }


def hard_figures(text: str) -> dict[str, float]:
    """Seconds for texts that hurt, and how time grows with the length of real text."""
    rng = random.Random(SEED)
    hanzi = "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(HARD))
    hex_digits = "".join(rng.choice("0123456789abcdef") for _ in range(HARD))
    small = CJKRecursiveTextSplitter(SIZE, OVERLAP)
    large = CJKRecursiveTextSplitter(20_000, 10_000)
    long = [(text * (length // len(text) + 1))[:length] for length in LINEAR]
    times = [min(seconds(lambda t=t: small.split_text(t)) for _ in range(3)) for t in long]
    figures = {
        "hanzi_without_break_s": seconds(lambda: small.split_text(hanzi)),
        "hex_without_break_s": seconds(lambda: small.split_text(hex_digits)),
        "full_stops_s": seconds(lambda: small.split_text("." * HARD + "a")),
        "flags_s": seconds(lambda: small.split_text("🇯🇵" * (HARD // 2))),
        "one_hanzi_160000_20000_10000_s": seconds(lambda: large.split_text("中" * 160_000)),
        "growth_of_time_for_fivefold_text": times[1] / times[0],
    }
    tokens = TokenAwareTextSplitter(chunk_size=TOKENS, chunk_overlap=SHARED)
    figures |= {
        "hanzi_without_break_in_tokens_s": seconds(lambda: tokens.split_text(hanzi)),
        "hex_without_break_in_tokens_s": seconds(lambda: tokens.split_text(hex_digits)),
    }
    return {name: round(figure, 3) for name, figure in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "langchain_text_splitters": version("langchain-text-splitters"),
        "chunk_size": SIZE,
        "chunk_overlap": OVERLAP,
        "tokens": TOKENS,
        "shared_tokens": SHARED,
        "rounds": ROUNDS,
    }
    for path in arguments.corpus:
        lines = path.read_text(encoding="utf-8").splitlines()
        texts = [json.loads(line)["text"] for line in lines]
        figures[path.name] = corpus_figures("\n\n".join(texts))
        figures[path.name]["tokens"] = token_figures("\n\n".join(texts))
        unbroken = " ".join(" ".join(text.split()) for text in texts)
        figures[f"{path.name} without lines"] = corpus_figures(unbroken)
    figures["hard"] = hard_figures(unbroken)
    result = json.dumps(figures, indent=2, ensure_ascii=False)
    print(result)
    if arguments.out:
        arguments.out.write_text(result + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
