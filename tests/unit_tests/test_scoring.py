"""Scores that stages make: each weight, precedence, bonus and factor, computed by hand."""

import numpy as np
import pytest

from langchain_ragstore import QueryAnalyzer, QueryProfile, RetrievalConfig, TextAnalyzer
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.boost import CoreBoost, folded, is_core
from langchain_ragstore.retrieval.importance import Importance
from langchain_ragstore.retrieval.rerank import Rerank, about_what

PHASE_R = Rerank.of(RetrievalConfig.phase_r())


def hit(id="a", text="", score=0.5, dense=None, vector=None, **metadata):
    signals = {} if dense is None else {"dense": dense}
    return Hit(Record(id, text, metadata, vector), score, signals)


def ids(hits):
    return [h.record.id for h in hits]


# --- the formula ----------------------------------------------------------------------

# Queries of two, two, two and four terms that the analyzer takes for what they are; the text
# holds half of each, the title all or none.
KINDS = {
    "code": ("TypeError traceback", "A TypeError is raised", "traceback"),
    "table": ("spreadsheet csv", "a spreadsheet of ours", "csv"),
    "conversation": ("thanks again", "many thanks to all", "again"),
    "other": ("green oolong", "green leaves", "oolong"),
}
WEIGHTS = {
    "code": (0.55, 0.35, 0.10),
    "table": (0.50, 0.30, 0.20),
    "conversation": (0.85, 0.10, 0.05),
    "other": (0.70, 0.20, 0.10),
}


@pytest.mark.parametrize("about", KINDS)
def test_each_weight_of_the_seed(about):
    query, text, title = KINDS[about]
    assert about_what(QueryAnalyzer().analyze(query)) == about
    semantic, keyword, named = WEIGHTS[about]
    for given, score in [
        (hit(dense=1.0), semantic),
        (hit(text=text, dense=0.0), keyword * 0.5),
        (hit(text=query, dense=0.0), keyword),
        (hit(title=title, dense=0.0), named * 0.5),
        (hit(title=query, dense=0.0), named),
        (hit(text=text, title=title, dense=0.8), 0.8 * semantic + keyword / 2 + named / 2),
        (hit(text=query, title=query, dense=1.0), 1.0),
    ]:
        (found,) = PHASE_R.scored([given], query)
        assert found.score == pytest.approx(score, abs=1e-12)
        assert dict(found.notes) == {"about": about}
    assert Rerank() == PHASE_R


@pytest.mark.parametrize(
    ("flags", "about"),
    [
        ((True, True, True), "code"),
        ((True, False, True), "code"),
        ((False, True, True), "table"),
        ((False, True, False), "table"),
        ((False, False, True), "conversation"),
        ((False, False, False), "other"),
    ],
)
def test_the_first_that_holds_counts(flags, about):
    code, table, talk = flags
    assert about_what(QueryProfile(0.0, code, table, 0.5, talk)) == about


def test_the_bonus_for_a_described_table():
    schema = {"content_type": "table_schema"}
    (found,) = PHASE_R.scored([hit(dense=0.0, **schema)], "spreadsheet csv")
    assert (found.score, found.signals["schema"]) == (0.25, 0.25)
    # about code first, and about tables all the same
    both = "read_csv() of a spreadsheet csv"
    profile = QueryAnalyzer().analyze(both)
    assert profile.is_code_related
    assert profile.is_table_related
    (found,) = PHASE_R.scored([hit(dense=1.0, **schema)], both)
    assert found.score == pytest.approx(0.55 + 0.25)
    (found,) = PHASE_R.scored([hit(dense=0.0, **schema)], "green oolong")
    assert (found.score, "schema" in found.signals) == (0.0, False)
    for other in ("table", "TABLE_SCHEMA", ["table_schema"], True, None):
        (found,) = PHASE_R.scored([hit(dense=0.0, content_type=other)], "spreadsheet csv")
        assert found.score == 0.0
    mine = Rerank.of(RetrievalConfig(rerank=True, schema_bonus=2.0))
    assert mine.scored([hit(dense=0.0, **schema)], "spreadsheet csv")[0].score == 2.0


def test_meaning_is_clipped():
    found = PHASE_R.scored([hit("a", dense=-0.4), hit("b", dense=1.0001)], "green oolong")
    assert [h.signals["semantic"] for h in found] == [1.0, 0.0]
    assert [h.score for h in found] == [0.7, 0.0]


def test_meaning_from_vectors():
    """A measured cosine is taken as it is; else the vector; without any it is 0."""
    vector = np.array([0.6, 0.8], np.float32)
    query = np.array([1, 0], np.float32)
    given = [hit("a", vector=vector), hit("b"), hit("c", dense=0.25, vector=vector)]
    found = {h.record.id: h.signals["semantic"] for h in PHASE_R.scored(given, "x", query)}
    assert found == pytest.approx({"a": 0.6, "b": 0.0, "c": 0.25})
    assert PHASE_R.scored([hit("a", vector=vector)], "x")[0].signals["semantic"] == 0.0


def test_words_are_those_of_full_text():
    def keyword(query, text, **kwargs):
        (found,) = Rerank(other=(0, 1, 0)).scored(
            [hit(text=text, dense=0)], query, **kwargs
        )
        return found.signals["keyword"]

    assert keyword("late fees, LATE fees", "a late fee") == 1.0  # distinct, stemmed, folded
    assert keyword("退款政策", "申请退款") == pytest.approx(1 / 3)  # 退款 款政 政策
    assert keyword("茶", "绿茶") == 1.0  # a single character within others
    assert keyword("", "anything") == keyword("?!", "?!") == 0.0
    assert keyword("green oolong", "") == 0.0
    assert keyword("how is the tea", "tea") == 0.25  # all words of the query count
    unstemmed = TextAnalyzer(stemmer=None)
    assert keyword("fees", "fee", analyzer=unstemmed) == 0.0


def test_titles_of_other_kinds_mean_nothing():
    for title in (None, 5, ["green oolong"], {"green": "oolong"}):
        (found,) = PHASE_R.scored([hit(dense=0, title=title)], "green oolong")
        assert found.signals["title"] == 0.0


def test_the_old_score_is_gone_and_the_order_is_new():
    given = [hit("a", "paint", 9.0, 0.5), hit("b", "green oolong", -3.0, 0.5)]
    found = PHASE_R.scored(given, "green oolong")
    assert ids(found) == ["b", "a"]
    assert [h.score for h in found] == pytest.approx([0.55, 0.35])
    twins = PHASE_R.scored([hit("b", dense=0.5), hit("a", dense=0.5)], "green oolong")
    assert ids(twins) == ["a", "b"]  # equal ones by id
    assert PHASE_R.scored([], "green oolong") == []


# --- core tags --------------------------------------------------------------------------


def test_the_factor_of_the_seed():
    assert CoreBoost(("tea",)).factor == RetrievalConfig.phase_r().core_factor == 1.33
    given = [hit("a", score=0.5), hit("b", score=0.4, tags=["Tea"])]
    found = CoreBoost(folded(["TEA"])).boosted(given)
    assert [(h.record.id, h.score) for h in found] == [("b", 0.4 * 1.33), ("a", 0.5)]
    assert [h.signals for h in found] == [{"core": 1.33}, {}]


def test_only_if_the_caller_gives_tags():
    core = hit(is_core=True, tags=["tea"])
    assert CoreBoost(()).boosted([core]) == [core]
    (found,) = CoreBoost(("other",)).boosted([core])
    assert found.score == 0.5 * 1.33


def test_once():
    stage = CoreBoost(("tea",))
    once = stage.boosted([hit(tags=["tea"], is_core=True)])
    assert stage.boosted(once) == once
    # a score that is made anew is boosted anew
    again = stage.boosted(PHASE_R.scored(once, "green oolong"))
    assert again[0].score == 0.0
    assert "core" not in again[0].signals


@pytest.mark.parametrize(
    ("metadata", "core"),
    [
        ({"tags": ["STRASSE"]}, True),
        ({"tags": ("x", "straße")}, True),
        ({"tags": []}, False),
        ({"tags": "straße"}, False),
        ({"tags": {"straße": 1}}, False),
        ({"tags": [1, None, ["straße"]]}, False),
        ({"is_core": True}, True),
        ({"is_core": 1}, False),
        ({"is_core": "True"}, False),
        ({"is_core": False}, False),
        ({}, False),
    ],
    ids=str,
)
def test_what_is_core(metadata, core):
    assert is_core(metadata, folded(["Straße"])) is core


def test_scores_that_are_not_positive_stay():
    for score in (0.0, -0.25, -5.0):
        given = [hit(score=score, is_core=True)]
        assert CoreBoost(("tea",)).boosted(given) == given


# --- importance -------------------------------------------------------------------------


def test_importance():
    given = [
        hit("a", importance=1),
        hit("b", importance=-1),
        hit("c"),
        hit("d", importance="9"),
        hit("e", importance=True),
    ]
    least = RetrievalConfig.phase_r().importance_threshold
    assert ids(Importance(least, 0).kept(given)) == ["a", "c", "d", "e"]
    assert ids(Importance(0.5, 0).kept(given)) == ["a"]
    assert ids(Importance(1, 0).kept(given)) == ["a"]
