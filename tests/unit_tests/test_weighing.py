"""What words count for a query, and that no fetch depth changes it."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import Table
from langchain_ragstore import SQLiteVectorStore
from langchain_ragstore.config import DEFAULT_FUSION_WEIGHTS
from langchain_ragstore.model import Record, Terms
from langchain_ragstore.retrieval.hybrid import Weighted, WeightedByQuery
from langchain_ragstore.retrieval.question import Question
from langchain_ragstore.retrieval.weighing import text_share
from langchain_ragstore.text.analyzer import DEFAULT_ANALYZER
from langchain_ragstore.text.scripts import UNSPACED, fit, script_of, scripts

ZH = "如何打印标签"
MIXED = "打印 print 标签"  # four characters and a word


def records(*texts, **metadata):
    return [Record(str(n), text, metadata) for n, text in enumerate(texts)]


def share(query, dense, text=()):
    return text_share(DEFAULT_ANALYZER.query_terms(query), dense, list(text))


def test_scripts():
    assert dict(scripts("Excel 2024, Москва: C++ 表格")) == {
        "LATIN": 2,
        "CYRILLIC": 1,
        UNSPACED: 2,
    }
    assert script_of("東京") == script_of("한국") == UNSPACED
    assert (script_of("42"), script_of("x1")) == (None, "LATIN")


@pytest.mark.parametrize(
    ("wanted", "texts", "expected"),
    [
        ({"LATIN": 1}, ["plain words"], 1),
        ({"LATIN": 1}, [ZH], 0),
        # a fifth of the text against four fifths
        ({"LATIN": 1}, [MIXED], 0.25),
        ({"LATIN": 1, UNSPACED: 1}, [MIXED], (0.25 + 1) / 2),
        # (.2 + 1) against (.8 + 0)
        ({"LATIN": 1}, [MIXED, "plain words"], 1),
        ({UNSPACED: 1}, [MIXED, "plain words"], 0.8 / 1.2),
        ({"LATIN": 1}, ["42", "..."], 1),
        ({"LATIN": 1}, [], 1),
        ({}, [ZH], 1),
    ],
)
def test_how_much_fits(wanted, texts, expected):
    assert fit(wanted, texts) == pytest.approx(expected)


@given(st.text(max_size=80))
def test_plain_text_is_read_without_looking_for_words(text):
    plain = text.encode("ascii", "ignore").decode()
    assert fit({"LATIN": 1}, [plain]) == 1
    assert fit({UNSPACED: 1}, [plain]) == (1 if not scripts(plain) else 0)


def of_all(wanted, texts):
    """What `fit` is when every text is read."""
    there = Counter()
    for text in texts:
        found = scripts(text)
        there.update({script: n / found.total() for script, n in found.items()})
    if not wanted or not there:
        return 1
    parts = [n * there[script] / max(there.values()) for script, n in wanted.items()]
    return sum(parts) / sum(wanted.values())


@given(
    st.dictionaries(
        st.sampled_from(["LATIN", UNSPACED, "CYRILLIC"]), st.integers(1, 3), max_size=2
    ),
    st.lists(st.sampled_from([ZH, MIXED, "plain words", "Москва 打印", "42"]), max_size=8),
)
def test_texts_left_unread_change_nothing(wanted, texts):
    assert fit(wanted, texts) == pytest.approx(of_all(wanted, texts))


def test_words_of_another_script_count_if_a_text_holds_them_nearly_all():
    dense = records(ZH)
    assert share("print labels", dense) == 0
    assert share("print labels", dense, records("打印 labels")) == 0  # half is held
    assert share("print labels", dense, records("print labels 打印")) == 1
    four = "alpha beta gamma delta epsilon zeta eta theta"
    held = records("打印 alpha beta gamma delta epsilon zeta eta")  # 7 of 8
    assert share(four, dense, held) == pytest.approx((7 / 8 - 0.75) / 0.25)
    titled = records("打印", title="Print Labels")
    assert share("print labels", dense, titled) == 1


def test_within_a_script_nothing_changes():
    assert share("print labels", records("Printing", "labels")) == 1
    assert share(ZH, records("標籤の印刷")) == 1
    assert share("42", records(ZH)) == 1
    assert share("print", []) == 1


@given(
    st.text(max_size=20),
    st.lists(st.text(max_size=30), max_size=12),
    st.lists(st.text(max_size=30), max_size=2),
)
def test_a_share_is_a_share_and_reads_so_many_hits_alone(query, dense, text):
    found = share(query, records(*dense), records(*text))
    assert 0 <= found <= 1
    assert share(query, records(*dense[:10]), records(*text[:1])) == found


class Known:
    """Candidates of which the first are known."""

    def __init__(self, question, dense, text):
        self.question, self._first = question, {"dense": dense, "text": text}

    def first(self, **counts):
        return {leg: self._first[leg][:count] for leg, count in counts.items()}


def test_the_default_fusion_asks_the_query():
    asked = Question("q", None, DEFAULT_ANALYZER.query_terms("print"))
    neutral = Question("42", None, Terms({"42": 1}))
    full = Weighted(DEFAULT_FUSION_WEIGHTS["dense"], DEFAULT_FUSION_WEIGHTS["text"])
    chinese = Known(asked, records(ZH), [])
    assert WeightedByQuery().resolved(chinese) == Weighted(0.3, 0.0)
    assert WeightedByQuery().resolved(Known(asked, [], [])) == full
    assert Weighted(1.0, 2.0).resolved(chinese) == Weighted(1.0, 2.0)
    assert WeightedByQuery().resolved(Known(neutral, records(ZH), [])) == full


QUERY = "print labels"


@pytest.fixture
def store():
    """An English query whose meaning is in Chinese, and half whose words are elsewhere."""
    vectors = {QUERY: [1.0, 0.0, 0.0], "print by name": [0.0, 0.5, 0.5]}
    texts = [f"打印标签{n}" for n in range(12)]
    vectors |= {text: [1.0, 0.1 * (n + 1), 0.0] for n, text in enumerate(texts)}
    store = SQLiteVectorStore(Table(vectors))
    store.add_texts([*texts, "print by name"])
    return store


def test_a_question_in_another_script_is_answered_by_meaning(store):
    found = store.hybrid_search_with_score(QUERY, k=13)
    assert found[0][0].page_content == "打印标签0"
    assert {d.page_content: score for d, score in found}["print by name"] == 0
    given = {"dense": 0.1, "text": 0.9}  # obeyed exactly
    (best,) = store.hybrid_search(QUERY, k=1, weights=given)
    assert best.page_content == "print by name"


def test_no_depth_changes_a_score(store):
    scores = [
        {d.page_content: s for d, s in store.hybrid_search_with_score(QUERY, k, **more)}
        for k, more in [(13, {}), (3, {"fetch_k": 1}), (1, {"fetch_k": 1}), (5, {})]
    ]
    for fewer in scores[1:]:
        for text, score in fewer.items():
            assert score == pytest.approx(scores[0][text])
