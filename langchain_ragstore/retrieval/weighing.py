"""How much words count beside vectors, decided by each query.

A question in one language over pages in another finds, by its words, the pages that hold
some untranslated sentence, and those are seldom the answer; by its vector it finds what it
means. So words weigh less where the vectors' finds are written in another script than the
query, unless a page holds the query almost whole, as the name of a function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from langchain_ragstore.config import (
    FUSION_HITS_READ,
    FUSION_LEAST_HELD,
    FUSION_TEXT_READ,
)
from langchain_ragstore.model import Record, Terms
from langchain_ragstore.text.scripts import fit, script_of
from langchain_ragstore.text.terms import term_counts


def text_share(query: Terms, dense: Sequence[Record], text: Sequence[Record]) -> float:
    """What part of their weight words have for a query.

    f + (1 − f)·h, where f is how much of the query is in the script of the first dense
    hits (`scripts.fit`), and h how much of it the first text hit holds, from 0 at
    `FUSION_LEAST_HELD` to 1 for all.

    Args:
        query: What is looked for in full text.
        dense: The best by vector, best first; the first `FUSION_HITS_READ` are read.
        text: The best by words, best first; one is read, if it is needed.

    Returns:
        In [0, 1]; the same however many hits there are beyond those that are read.

    Example:
        ```python
        from langchain_ragstore.model import Record, Terms
        from langchain_ragstore.retrieval.weighing import text_share

        page = Record("a", "函数 SUMIF 把满足条件的数加起来", {})
        for words, share in {"数加": 1, "sumif": 1, "how add": 0.083}.items():
            query = Terms(dict.fromkeys(words.split(), 1))
            assert round(text_share(query, [page], [page]), 3) == share
        ```
    """
    wanted: Counter[str] = Counter()
    for term, count in query.body.items():
        script = script_of(term)
        if script is not None:
            wanted[script] += count
    read = [record.content[:FUSION_TEXT_READ] for record in dense[:FUSION_HITS_READ]]
    share = min(1.0, fit(wanted, read))
    if share < 1 and text:
        held = _held(query.body, text[0])
        share += (1 - share) * max(0.0, held - FUSION_LEAST_HELD) / (1 - FUSION_LEAST_HELD)
    return min(1.0, share)


def _held(query: Mapping[str, int], record: Record) -> float:
    """The part of a query's words that are in a record, its title included."""
    title = record.metadata.get("title")
    there = term_counts(f"{title if isinstance(title, str) else ''}\n{record.content}")
    total = sum(query.values())
    return sum(n for term, n in query.items() if term in there) / total if total else 0.0
