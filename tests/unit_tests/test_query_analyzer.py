"""What kind of question a query is, by hand and on the labelled queries."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from langchain_ragstore import QueryAnalyzer, QueryProfile, config
from langchain_ragstore.retrieval import query_code_words as code
from langchain_ragstore.retrieval import query_lexicon, query_talk, query_words
from langchain_ragstore.retrieval import query_table_words as table
from langchain_ragstore.text.folding import normalize

FLAGS = {
    "code": "is_code_related",
    "table": "is_table_related",
    "conversational": "is_conversational",
}
LABELLED = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "benchmarks" / "data" / "query_labels.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
BLIND = 6
"""The set that no rule was tuned to; its first reading missed the bars."""
LISTS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": list(
        query_lexicon._split(getattr(module, name))
    )
    for module in (code, table, query_words)
    for name in vars(module)
    if name.isupper()
}
CUES = ("CONDITIONS", "CAUSES", "COMPARISONS", "NEGATIONS", "CONNECTIVES", "QUESTIONS")

analyze = QueryAnalyzer().analyze


def test_the_weights():
    assert (config.QUERY_SURE, config.QUERY_HINT, config.LOGIC_HALF) == (1.0, 0.5, 2.0)
    assert dict(config.LOGIC_WEIGHTS) == {
        "CONDITIONS": 1.0,
        "CAUSES": 1.0,
        "COMPARISONS": 1.0,
        "NEGATIONS": 0.5,
        "CONNECTIVES": 0.5,
        "QUESTIONS": 1.0,
    }


def test_a_profile_is_a_value():
    profile = analyze("sum of column B in pandas")
    assert profile == QueryProfile(0.0, True, True, pytest.approx(4 / 6), False)
    assert repr(profile).startswith("QueryProfile(logic_depth=0.0, is_code_related=True, ")
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile.logic_depth = 1.0


# --- logic_depth = x / (x + 2) -----------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "weight"),
    [
        ("", 0),
        ("late fees", 0),
        ("who wrote it", 0),  # a single question
        ("who wrote it and when", 1.5),  # a second question, and
        ("why does it not open", 1.5),  # why, not
        ("is a loan cheaper than a lease", 1),  # than
        ("if it rains, is the match cancelled or moved?", 1.5),  # if, or
        ("If It Rains unless it doesn't", 2.5),  # if, unless, doesn't
        ("退款期限", 0),
        ("如果员工离职，公司是否需要支付补偿", 2),  # 如果, 是否
        ("太阳能和风能的区别", 1.5),  # 和, 区别
        ("もし雨なら中止ですか", 2),  # もし, なら
        ("犬と猫の違い", 1),  # 違い
        ("비가 오면 취소되나요 아니면 연기되나요", 2),  # twice 면
        ("태양광과 풍력 비교", 1),  # 비교
        ("화면 밝기", 0),  # a noun that ends in 면
    ],
)
def test_logic_depth_golden(query, weight):
    assert analyze(query).logic_depth == pytest.approx(weight / (weight + 2), abs=1e-12)


# --- keyword_density = content terms / all terms -----------------------------------------


@pytest.mark.parametrize(
    ("query", "content", "terms"),
    [
        ("", 0, 1),
        (" ?! ", 0, 1),
        ("the of", 0, 2),
        ("late fees", 2, 2),
        ("the capital of Mongolia", 2, 4),
        ("how do I reset my password", 2, 6),
        ("表格的合计", 2, 2.5),  # 表格, 的, 合计: five characters
        ("合计是多少", 1, 2.5),  # 合计, 是, 多少
        ("表の合計", 1.5, 2),  # 表, の, 合計
        ("표의 합계", 2, 3),  # 표, 의, 합계
        ("Python 表格", 2, 2),
    ],
)
def test_keyword_density_golden(query, content, terms):
    assert analyze(query).keyword_density == pytest.approx(content / terms, abs=1e-12)


# --- flags -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters"),
    [
        *(("foo()", "c"), ("a.b", "c"), ("UserService", "c"), ("read_table_rows", "ct")),
        *(("NullPointerException", "c"), ("x == y", "c"), ("```\nx\n```", "c")),
        *(("/etc/hosts.allow", "c"), ("src/app/main.ts", "c"), ("C:\\temp", "c")),
        ('  File "a.py", line 3, in f', "c"),
        ("    at com.acme.Foo.bar(Foo.java:42)", "c"),
        *(("select id from users where x", "c"), ("a list of gifts to select from", "")),
        *(
            ("python", ""),
            ("python snake", ""),
            ("python class", "c"),
            ("python 教程", "c"),
        ),
        *(("e.g. this", ""), ("www.example.com", ""), ("he/she", ""), ("iPhone", "")),
        *(
            ("photo(s)", ""),
            ("YouTube", ""),
            ("McDonald", ""),
            ("go home", ""),
            ("return policy", ""),
        ),
        *(("函数", "c"), ("三角函数", ""), ("脚本", "c"), ("剧本", ""), ("代表 大会", "")),
        *(
            ("コード レビュー", "c"),
            ("コードレス掃除機", ""),
            ("関数", "c"),
            ("三角関数", ""),
        ),
        *(("함수", "c"), ("삼각함수", ""), ("함수의 인자", "c"), ("성격 코드", "")),
        *(
            ("table", ""),
            ("table column", "t"),
            ("sort a table", "t"),
            ("table tennis", ""),
        ),
        *(("data.csv", "t"), ("A1:B7", "t"), ("#REF!", "t"), ("column b", "t")),
        *(("sort", ""), ("sort and filter", ""), ("thread count of sheets", "")),
        *(("第三列", "t"), ("表演", ""), ("列车", ""), ("银行", ""), ("统计", "t")),
        *(("3列目", "t"), ("行列のできる店", ""), ("表面", ""), ("テーブルマナー", "")),
        *(
            ("표의 열", "t"),
            ("발표", ""),
            ("행복", ""),
            ("열이 날 때", ""),
            ("엑셀에서", "t"),
        ),
        *(("=SUM(A1:A9)", "ct"), ("ALTER TABLE users", "ct"), ("pandas excel file", "ct")),
        *(("hi", "v"), ("thanks!", "v"), ("and the second one?", "v"), ("can you", "v")),
        *(("how do I bake bread", ""), ("and/or", ""), ("thank you card", "")),
        *(("you are the one lyrics", ""), ("i < n", ""), ("world war i battles", "")),
        *(
            ("那第二个呢", "v"),
            ("网吧", ""),
            ("在吗", "v"),
            ("《你好》", ""),
            ("申请书", ""),
        ),
        *(("ありがとう", "v"), ("教えてください", "v"), ("きつね", ""), ("那覇空港", "")),
        *(
            ("ㅋㅋㅋ", "v"),
            ("아 ㅠㅠ", "v"),
            ("고마워요", "v"),
            ("두 번째는요?", "v"),
            ("필요", ""),
            ("무엇인가요", ""),
        ),
        *(("can you fix my code", "cv"), ("그 함수 좀 고쳐 주세요", "cv")),
        *(("请把这些整理成表格吧", "tv"), ("この列を足してくれる？", "tv")),
        *(("merge csv headers", "t"), ("merge branch", "c")),  # what both share
        *(("WiFi password", ""), ("WiFiManager", "c")),
        *(("점검표 양식", "t"), ("이정표", ""), ("值班表", "t"), ("点検表", "t")),
        *(("회의 테이블 추가", ""), ("tables and chairs total", "")),
        *(("字段加索引", "ct"), ("인덱스 추가", "c"), ("見てもらってもいい？", "v")),
    ],
)
def test_flags(query, letters):
    profile = analyze(query)
    found = {name: getattr(profile, flag) for name, flag in FLAGS.items()}
    assert found == {"code": "c" in letters, "table": "t" in letters} | {
        "conversational": "v" in letters
    }


def held_out(query):
    return hashlib.sha256(query["id"].encode()).digest()[0] % 3 == 0


def accuracy(queries, name):
    right = [
        getattr(analyze(query["text"]), FLAGS[name]) == query[name] for query in queries
    ]
    return sum(right) / len(right)


def test_the_labelled_queries_are_what_they_claim():
    assert len({query["id"] for query in LABELLED}) == len(LABELLED) >= 640
    for lang in ("en", "zh", "ja", "ko"):
        part = [query for query in LABELLED if query["lang"] == lang]
        assert all(sum(query[name] for query in part) >= 40 for name in FLAGS)
        assert sum(not any(query[name] for name in FLAGS) for query in part) >= 40


@pytest.mark.parametrize("name", FLAGS)
def test_what_was_reached_stays(name):
    """The bars on what is held out; what the rules were tuned to; a set that they were not."""
    held = [query for query in LABELLED if held_out(query)]
    tuned = [query for query in LABELLED if query["set"] < BLIND and not held_out(query)]
    assert accuracy([query for query in LABELLED if query["set"] == BLIND], name) >= 0.92
    assert accuracy(held, name) >= 0.95
    assert accuracy(tuned, name) >= 0.99
    for lang in ("en", "zh", "ja", "ko"):
        assert accuracy([q for q in held if q["lang"] == lang], name) >= 0.90
        assert accuracy([q for q in tuned if q["lang"] == lang], name) >= 0.98


# --- the lists ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LISTS)
def test_entries_are_written_as_queries_are_read(name):
    entries = LISTS[name]
    assert [entry for entry in entries if normalize(entry) != entry] == []
    assert len(set(entries)) == len(entries)


def test_an_entry_has_one_meaning():
    for names in (
        [f"query_words.{name}" for name in CUES],
        ["query_code_words.CODE_SURE", "query_code_words.CODE_HINTS"],
        ["query_table_words.TABLE_SURE", "query_table_words.TABLE_HINTS"],
    ):
        entries = [entry for name in names for entry in LISTS[name]]
        assert {entry for entry in entries if entries.count(entry) > 1} == set()


def test_false_friends_hide_something(monkeypatch):
    friends = LISTS["query_table_words.FALSE_FRIENDS"]
    monkeypatch.setattr(table, "FALSE_FRIENDS", "")
    without = query_lexicon.lexicon.__wrapped__()
    monkeypatch.setattr(query_lexicon, "lexicon", lambda: without)
    idle = [
        friend
        for friend in friends
        if not any(sign.code or sign.table for sign in query_lexicon.read(friend).signs)
    ]
    assert idle == []
    assert not set(friends) & {
        entry for name, found in LISTS.items() if "FALSE" not in name for entry in found
    }


def test_entries_of_talk_are_written_as_queries_are_read():
    lists = [getattr(query_talk, name) for name in ("_ALONE", "_FIRST", "_OPENING")]
    lists += [getattr(query_talk, name) for name in ("_CLOSING", "_ANYWHERE")]
    for names in lists:
        entries = query_talk._entries(names)
        assert [entry for entry in entries if normalize(entry) != entry] == []


def test_exceptions_of_talk_except_something():
    manner = query_talk._manner(kana=False)
    idle = [
        *(e for e in manner.not_opening if not f"{e} ".startswith(manner.first)),
        *(e for e in manner.not_closing if not f" {e}".endswith(manner.closing)),
        *(e for e in manner.not_anywhere if not any(p in e for p in manner.anywhere)),
    ]
    assert idle == []
