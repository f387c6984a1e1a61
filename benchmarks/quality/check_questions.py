"""Checks the form of the questions, and counts how many of their words their page has.

Usage: `python benchmarks/quality/check_questions.py FOLDER`, where FOLDER holds
`docs.LANG.jsonl` of the LibreOffice help set. Nothing is searched. Prints every fault and
ends with 1 if there is one; else prints the figures of `benchmarks/data/README.md`.

A word is counted as had if the page, title and text, has it anywhere: in English words of
three letters or more that are no function words, without their endings; in Chinese and
Japanese pairs of neighbouring characters that are no hiragana, and Latin words. The page
is the first of a question: the one that it was written from.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from corpus import LANGUAGES, half, pages, queries

PARALLEL = range(201, 601)
"""Questions of these numbers are of the same page and need in each language.

Those before were written in each language from other pages, those after in English alone.
"""

SEED = 2028
"""Of the order in which the pages of the parallel and of the later questions were drawn."""

LENGTHS = {"en": (8, 140), "zh": (3, 50), "ja": (2, 60)}
MOST_RELEVANT = 6
HAN = "\u3400-\u9fff"
KANA = "\u3041-\u30ff"
WRITTEN = {
    "en": f"[^{HAN}{KANA}]+",
    "zh": f"[^{KANA}]*[{HAN}][^{KANA}]*",
    "ja": f".*[{HAN}{KANA}].*",
}
FUNCTION_WORDS = """
about all and any are at been but can could did do does each for from get gets got had
has have her here his how into isn its just like may more must need not now off one
only other ought our out over shall she should some than that the their them then
there these they this those too under until want was what when where which while who
why will with without would you your don doesn didn let two
"""
"""Of English: not counted."""


def number(item: dict[str, Any]) -> int:
    return int(item["id"].partition("-")[2])


def of_item(item: dict[str, Any], language: str, known: set[str]) -> Iterator[str]:
    """The faults of one question."""
    if not re.fullmatch(rf"{language}-\d{{3}}", item["id"]):
        yield "id is not LANG-NNN"
    if set(item) != {"id", "text", "relevant"}:
        yield f"keys are {sorted(item)}"
    text, relevant = item["text"], item["relevant"]
    low, high = LENGTHS[language]
    if not low <= len(text) <= high:
        yield f"{len(text)} characters, not {low} to {high}"
    if text != " ".join(text.split()):
        yield "blanks at an end or doubled"
    if not re.fullmatch(WRITTEN[language], text):
        yield f"not written as {language} is"
    if not 1 <= len(relevant) <= MOST_RELEVANT or len(set(relevant)) < len(relevant):
        yield f"{len(relevant)} pages, or one of them twice"
    for page in set(relevant) - known:
        yield f"no page {page}"


def of_language(
    items: list[dict[str, Any]], language: str, known: set[str]
) -> Iterator[str]:
    """The faults of a language's questions, one by one and together."""
    for item in items:
        for fault in of_item(item, language, known):
            yield f"{item['id']}: {fault}"
    for key in ("id", "text"):
        found = [item[key].casefold() for item in items]
        yield from (f"{key} twice: {one}" for one in set(found) if found.count(one) > 1)
    if [number(item) for item in items] != sorted(number(item) for item in items):
        yield f"{language}: not in the order of numbers"


def drawn(
    asked: dict[str, list[dict[str, Any]]], known: set[str]
) -> tuple[list[str], list[str]]:
    """Faults of pages drawn for all languages or English, and which were passed over."""
    first = {
        language: {
            number(item): item["relevant"][0]
            for item in items
            if number(item) >= PARALLEL.start
        }
        for language, items in asked.items()
    }
    used = list(first["en"].values())
    both = {n: page for n, page in first["en"].items() if n in PARALLEL}
    faults = [
        f"{one}: not the pages of en, or numbers from {PARALLEL.stop} on"
        for one in first
        if one != "en" and first[one] != both
    ]
    taken = {
        page
        for items in asked.values()
        for item in items
        if number(item) < PARALLEL.start
        for page in item["relevant"]
    }
    order = sorted(known - taken)
    random.Random(SEED).shuffle(order)
    if used != [page for page in order if page in set(used)]:
        return [*faults, "pages are not in the order in which they were drawn"], []
    return faults, [p for p in order[: order.index(used[-1])] if p not in set(used)]


def words(text: str, language: str) -> set[str]:
    """What is counted of a text: see the module."""
    found = {word.lower() for word in re.findall(r"[A-Za-z]{3,}", text)}
    if language == "en":
        stems = (
            re.sub(r"(?<=..)(s|es|ed|ing|e|y|ies)$", "", w)
            for w in found - set(FUNCTION_WORDS.split())
        )
        return set(stems)
    runs = re.findall(f"[{HAN}\u30a1-\u30ff]+", text)
    return found | {run[i : i + 2] for run in runs for i in range(len(run) - 1)}


def had(items: list[dict[str, Any]], language: str, texts: dict[str, set[str]]) -> float:
    """Mean share of a question's words that its first page has."""
    asked = [(words(item["text"], language), item["relevant"][0]) for item in items]
    return fmean(len(ws & texts[page]) / len(ws) for ws, page in asked if ws)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    asked = {one: queries(folder, "questions", one) for one in LANGUAGES}
    listed = {one: pages(folder, one) for one in LANGUAGES}
    known = {page["id"] for page in listed["en"]}
    faults, passed_over = drawn(asked, known)
    for one, items in asked.items():
        faults += of_language(items, one, known)
    if faults:
        print(*faults, sep="\n")
        sys.exit(1)
    for one, items in asked.items():
        texts = {p["id"]: words(f"{p['title']} {p['text']}", one) for p in listed[one]}
        early = [item for item in items if number(item) < PARALLEL.start]
        parallel = [item for item in items if number(item) in PARALLEL]
        late = items[len(early) + len(parallel) :]
        shares = [
            f"{had(part, one, texts):.2f}" for part in (early, parallel, late) if part
        ]
        print(
            f"{one}: {len(items)} questions, {len(half(items, 'tuning'))} for tuning and "
            f"{len(half(items, 'reporting'))} for reporting; "
            f"{fmean(len(item['relevant']) for item in items):.2f} pages each; "
            f"of their words the page has {', '.join(shares)}, by set"
        )
    print(f"drawn and passed over, {len(passed_over)}:", *passed_over)


if __name__ == "__main__":
    main()
