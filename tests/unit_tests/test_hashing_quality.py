"""A query that shares about half of its terms with one passage of 200 finds it."""

import json
from pathlib import Path

import numpy as np
import pytest

from langchain_ragstore.embeddings.hashing import HashingEmbeddings
from langchain_ragstore.text.terms import term_counts

SETS = json.loads(
    (Path(__file__).parent / "data" / "half_words.json").read_text(encoding="utf-8")
)
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh", "ja", "ko"])


def shared(query, passage):
    terms = term_counts(query).keys()
    return len(terms & term_counts(passage).keys()) / len(terms)


@LANGUAGES
def test_the_sets_are_what_they_claim(language):
    passages, queries = SETS[language]["passages"], SETS[language]["queries"]
    assert len(set(passages)) == len(passages) == 200
    assert len({query["text"] for query in queries}) >= 12
    for query in queries:
        shares = {passage: shared(query["text"], passage) for passage in passages}
        own = shares.pop(query["answer"])
        assert 0.3 <= own <= 0.7, query["text"]
        assert max(shares.values()) < own, query["text"]


@LANGUAGES
def test_every_query_ranks_its_passage_first(language):
    model = HashingEmbeddings()
    passages = SETS[language]["passages"]
    matrix = np.array(model.embed_documents(passages))
    wrong = {}
    for query in SETS[language]["queries"]:
        best = passages[int(np.argmax(matrix @ model.embed_query(query["text"])))]
        if best != query["answer"]:
            wrong[query["text"]] = best
    assert wrong == {}
