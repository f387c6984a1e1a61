"""What a text analyzer makes of texts and queries, worked out by hand."""

import copy
import functools
import pickle
import threading

import pytest

from langchain_ragstore import InvalidInputError, TextAnalyzer
from langchain_ragstore.model import Alternatives, Terms
from langchain_ragstore.text.callables import qualified_name
from langchain_ragstore.text.phrases import Phrases
from langchain_ragstore.text.stop_words import ENGLISH
from langchain_ragstore.text.terms import term_counts

WORDS = ("笔记本", "电脑", "数据库", "设置")


def cut(stretch):
    """The longest of a few words at each place, as a segmenter with a dictionary does."""
    words = []
    while stretch:
        word = next((w for w in WORDS if stretch.startswith(w)), stretch[0])
        words.append(word)
        stretch = stretch[len(word) :]
    return words


def shout(word):
    return word.upper()


def first_letter(word):
    return word[0]


# --- the default ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "Cats' node.js, 東京都 京!", "\ud800\0 c++", "ＡＢＣ"]
)
def test_the_default_is_plain_terms(text):
    made = TextAnalyzer().index_terms(text, text)
    assert made.body == term_counts(text)
    assert made.title == term_counts(text, singles=True)
    asked = TextAnalyzer().query_terms(text)
    assert (asked.body, asked.title) == (made.body, made.title)
    assert asked.alternatives == ()


def test_defaults():
    analyzer = TextAnalyzer()
    assert (analyzer.stemmer, analyzer.segmenter) == ("english", None)
    assert (analyzer.dictionary, analyzer.synonyms, analyzer.name) == ((), None, None)
    assert analyzer.description == "terms 1, stemmer english"
    assert analyzer.index_terms("x").analyzer == analyzer.query_terms("x").analyzer
    assert analyzer.query_terms("x").analyzer == analyzer.description


# --- stemming ------------------------------------------------------------------------


def test_stemming_can_be_off_or_anybody_elses():
    assert TextAnalyzer().terms("running dogs") == ["dog", "run"]
    assert TextAnalyzer(stemmer=None).terms("running dogs") == ["dogs", "running"]
    assert TextAnalyzer(stemmer=shout).terms("Dogs, 東京") == ["DOGS", "東京"]


def test_a_stemmer_sees_plain_words_and_parts_without_digits():
    seen = []
    analyzer = TextAnalyzer(stemmer=lambda word: seen.append(word) or word)
    longest = "x" * 100
    analyzer.terms(f"Über a-b c++ हिन्दी v2 2024 東京 {longest} {longest}x")
    assert sorted(seen) == ["a", "b", "c", longest, "über", "हिन्दी"]


def test_a_stem_is_asked_for_once():
    seen = []
    analyzer = TextAnalyzer(stemmer=lambda word: seen.append(word) or word[:3])
    assert analyzer.index_terms("walking walking, walking").body == {"wal": 3}
    analyzer.query_terms("walking")
    assert seen == ["walking"]


@pytest.mark.parametrize("role", ["stemmer", "segmenter"])
def test_calls_come_one_at_a_time(role):
    inside, again = threading.Event(), threading.Event()
    overlaps = []

    def alone(text):
        if inside.is_set():
            again.set()
        inside.set()
        overlaps.append(again.wait(0.05))
        inside.clear()
        return text if role == "stemmer" else [text]

    analyzer = TextAnalyzer(**{role: alone})
    threads = [threading.Thread(target=analyzer.terms, args=(t,)) for t in ("a東", "b京")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert overlaps == [False, False]


# --- segmenters ----------------------------------------------------------------------


def test_long_words_of_a_segmenter_are_terms_beside_the_pairs():
    analyzer = TextAnalyzer(segmenter=cut)
    made = analyzer.index_terms("数据库设置", "电脑")
    assert made.body == {"数据": 1, "据库": 1, "库设": 1, "设置": 1, "数据库": 1}
    assert made.title == {"电脑": 1, "电": 1, "脑": 1}


def test_a_query_looks_for_words_not_across_their_borders():
    asked = TextAnalyzer(segmenter=cut).query_terms("数据库设置")
    assert asked.body == {"数据库": 1, "设置": 1}
    assert asked.title == {"数据库": 1, "设置": 1, **dict.fromkeys("数据库设置", 1)}
    pairs = {"数据": 1, "据库": 1}
    assert asked.alternatives == (
        Alternatives({"数据库": 1}, (pairs,)),
        Alternatives({"数据库": 1}, (pairs,), title=True),
    )


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("库", {"库": 1}),
        ("据库", {"据库": 1}),
        ("脑的", {"脑的": 1}),
        ("电脑的", {"电脑": 1}),
        ("优化电脑", {"优化": 1, "电脑": 1}),
        ("电脑不优化", {"电脑": 1, "不优": 1, "优化": 1}),
        ("优化的", {"优化": 1, "化的": 1}),
    ],
)
def test_what_a_segmenter_leaves_single_is_asked_for_in_pairs(query, body):
    assert TextAnalyzer(segmenter=cut).query_terms(query).body == body


def test_other_forms_that_a_segmenter_gives_are_terms():
    analyzer = TextAnalyzer(segmenter=lambda _: ["行く", "時"])
    assert analyzer.index_terms("行った").body == {
        "行っ": 1,
        "った": 1,
        "行く": 1,
        "時": 1,
    }


def test_a_segmenter_sees_folded_stretches_alone():
    seen = []
    analyzer = TextAnalyzer(segmenter=lambda text: seen.append(text) or [text])
    analyzer.terms("ABC ｶﾀｶﾅ、重跑gen-itgc后")
    assert seen == ["カタカナ", "重跑", "后"]


# --- dictionaries --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "text", "more"),
    [
        (["gen-itgc"], "重跑gen-itgc后", {}),
        (["node.js"], "node.js node.js-based", {"node.js": 2}),
        ([".NET"], "ASP.NET, .net and internet", {".net": 2}),
        (["C++17"], "c++17 c++ c++171", {"c++17": 1}),
        (["搜索引擎"], "搜索引擎优化", {"搜索引擎": 1}),
        (
            ["搜索引擎", "搜索引擎优化"],
            "搜索引擎优化 搜索引擎",
            {"搜索引擎优化": 1, "搜索引擎": 1},
        ),
        (["heart attack"], "Heart\n attack; heart attacks", {"heart attack": 1}),
        (["東京 Tower"], "東京　ＴＯＷＥＲ", {"東京 tower": 1}),
        (["ｶﾀｶﾅ語"], "カタカナ語", {"カタカナ語": 1}),
        (["検索", "索"], "検索 索", {}),
        (["->", "news"], "a -> b news", {"->": 1, "news": 1}),
    ],
)
def test_entries_are_terms_beside_their_parts(entries, text, more):
    plain = term_counts(text)
    made = TextAnalyzer(dictionary=entries, stop_words=None)
    assert made.index_terms(text).body == {**plain, **more}
    assert made.query_terms(text).body == {**plain, **more}


def test_the_longest_phrase_counts_and_none_overlaps():
    phrases = Phrases(["ab", "ab cd", "cd ef", "東", "東京"])
    assert list(phrases.found("ab cd ef ab xab aba 東京東")) == [
        "ab cd",
        "ab",
        "東京",
        "東",
    ]
    assert list(Phrases([]).found("x")) == []
    assert list(Phrases(["]", "^", "-"]).found("a]^-")) == ["]", "^", "-"]


# --- synonyms ------------------------------------------------------------------------

HEART = {"heart attack": ["myocardial infarction", "MI"]}


def groups(query, synonyms, **options):
    asked = TextAnalyzer(synonyms=synonyms, **options).query_terms(query)
    return [(dict(a.exact), [dict(o) for o in a.others]) for a in asked.alternatives[::2]]


def test_synonyms_of_an_expression():
    others = [{"myocardial": 1, "infarction": 1}, {"mi": 1}]
    analyzer = TextAnalyzer(synonyms=HEART)
    asked = analyzer.query_terms("Heart attacks, heart failure")
    assert asked.body == {"heart": 2, "attack": 1, "failur": 1}
    assert asked.title == asked.body
    assert asked.alternatives == tuple(
        Alternatives({"heart": 1, "attack": 1}, tuple(others), title)
        for title in (False, True)
    )
    assert analyzer.index_terms("heart attack") == TextAnalyzer().index_terms(
        "heart attack"
    )


@pytest.mark.parametrize(
    ("synonyms", "query", "found"),
    [
        ({"电脑": ["计算"]}, "笔记本电脑价格", [({"电脑": 1}, [{"计算": 1}])]),
        ({"car": ["auto"]}, "cars and a car", [({"car": 2}, [{"auto": 1}])]),
        ({"car": ["auto"]}, "scar, car-pool, racecar", []),
        ({"C++": ["cpp"]}, "c c++", [({"c++": 1, "c": 1}, [{"cpp": 1}])]),
        ({"猫": ["喵"]}, "熊猫 猫", [({"猫": 1}, [{"喵": 1}])]),
        ({"京大": ["x"]}, "東京、大阪", []),
        ({"a": ["b"], "b": ["a"]}, "a", [({"a": 1}, [{"b": 1}])]),
        ({"a": ["b"], "b": ["c"]}, "a", [({"a": 1}, [{"b": 1}])]),
        ({"a": ["A", "b"], "ａ": ["d", "b"]}, "a", [({"a": 1}, [{"b": 1}, {"d": 1}])]),
        (
            {"a b": ["x"], "b": ["y"]},
            "a b b",
            [({"a": 1, "b": 1}, [{"x": 1}]), ({"b": 1}, [{"y": 1}])],
        ),
    ],
)
def test_which_expressions_are_found(synonyms, query, found):
    assert groups(query, synonyms) == found


def test_a_function_may_give_the_synonyms_of_a_query():
    asked = []
    assert groups(
        "Big Car", lambda q: asked.append(q) or {"car": ["auto"], "x": ["y"]}
    ) == [({"car": 1}, [{"auto": 1}])]
    assert asked == ["Big Car"]


def test_an_expression_is_part_of_the_query_however_it_is_cut():
    analyzer = TextAnalyzer(segmenter=lambda text: [text], synonyms={"电脑": ["数据库"]})
    asked = analyzer.query_terms("笔记本电脑")
    assert asked.body == {"笔记本电脑": 1, "电脑": 1}
    (synonym, long_word) = [a for a in asked.alternatives if not a.title]
    assert synonym == Alternatives({"电脑": 1}, ({"数据库": 1}, {"数据": 1, "据库": 1}))
    assert long_word.exact == {"笔记本电脑": 1}


# --- as a value ----------------------------------------------------------------------


def test_what_index_depends_on_is_described():
    cached = functools.partial(shout)
    assert TextAnalyzer(stemmer=None).description == "terms 1, stemmer None"
    assert TextAnalyzer(stemmer=cached).description == f"terms 1, stemmer {__name__}.shout"
    both = TextAnalyzer(stemmer=shout, segmenter=cut, name="mine 2")
    assert both.description == "terms 1, stemmer mine 2, segmenter mine 2"
    assert TextAnalyzer(synonyms=HEART).description == TextAnalyzer().description
    one = TextAnalyzer(dictionary=["a b", "ｃ d", "検索"]).description
    assert one == TextAnalyzer(dictionary=["C D", "A  b"]).description
    assert one.startswith("terms 1, stemmer english, dictionary of 2 (")
    assert one != TextAnalyzer(dictionary=["a b", "c e"]).description


def test_names_of_callables():
    assert qualified_name([].append) == "builtins.list.append"
    assert qualified_name(TextAnalyzer().terms) == (
        "langchain_ragstore.text.analyzer.TextAnalyzer.terms"
    )
    assert qualified_name(Phrases) == "langchain_ragstore.text.phrases.Phrases"
    assert qualified_name(len) == "builtins.len"
    assert qualified_name(functools.partial(cut)) == f"{__name__}.cut"


def test_it_is_a_value():
    given = {"stemmer": shout, "segmenter": cut, "dictionary": ["a b"], "synonyms": HEART}
    first, second = TextAnalyzer(**given), TextAnalyzer(**given)
    assert first == second
    assert hash(first) == hash(second)
    assert first != TextAnalyzer(**{**given, "stemmer": first_letter})
    for made in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert made == first
        assert made.query_terms("Heart attack a b") == first.query_terms("Heart attack a b")
    with pytest.raises(AttributeError):
        first.stemmer = None


def test_what_is_given_is_copied():
    words, others = ["a b"], ["x"]
    synonyms = {"car": others}
    analyzer = TextAnalyzer(dictionary=words, synonyms=synonyms)
    words.append("c d")
    others.append("y")
    synonyms["bike"] = ["z"]
    assert analyzer == TextAnalyzer(dictionary=["a b"], synonyms={"car": ["x"]})
    assert analyzer.dictionary == ("a b",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stemmer": "german"}, "stemmer is 'english', None or a function.*got 'german'"),
        ({"stemmer": True}, "got True"),
        ({"segmenter": "jieba"}, "segmenter is None or a function.*got 'jieba'"),
        ({"dictionary": "word"}, r"got 'word'; write \[word\]"),
        ({"dictionary": 5}, "dictionary is a list of words, got 5"),
        ({"dictionary": ["a", ""]}, "non-blank string, got ''"),
        ({"dictionary": ["a", None]}, "non-blank string, got None"),
        ({"dictionary": ["x" * 257]}, "at most 256 characters, .* has 257"),
        ({"synonyms": [("a", "b")]}, "synonyms are a mapping"),
        ({"synonyms": {"a": "b"}}, "the synonyms of 'a' are a list of strings, got 'b'"),
        ({"synonyms": {"a": 1}}, "got 1"),
        ({"synonyms": {"a": []}}, "1 to 64 synonyms, 'a' has 0"),
        ({"synonyms": {"a": list(map(str, range(65)))}}, "'a' has 65"),
        ({"synonyms": {1: ["a"]}}, "non-blank string, got 1"),
        ({"synonyms": {"a": [" "]}}, "non-blank string, got ' '"),
        ({"synonyms": {"a": ["--"]}}, "'--' among the synonyms has no letter or digit"),
        ({"synonyms": {"a" * 257: ["b"]}}, "has 257"),
        ({"name": "x"}, "names a stemmer or segmenter, but neither is a function"),
        ({"name": " ", "stemmer": shout}, "name is a line of text, got ' '"),
        ({"name": 3, "stemmer": shout}, "name is a line of text, got 3"),
    ],
)
def test_wrong_values_are_named(given, message):
    with pytest.raises(InvalidInputError, match=message):
        TextAnalyzer(**given)


def endless(_text):
    while True:
        yield "語"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stemmer": lambda _: None}, "stemmer .* gave None for 'walking'"),
        ({"stemmer": lambda _: " "}, "must give a non-empty string"),
        ({"stemmer": lambda word: word * 99}, "gave 'walking.*a stem, not a text"),
        ({"stemmer": lambda word: {}[word]}, "failed on 'walking': KeyError: 'walking'"),
        (
            {"segmenter": lambda text: text},
            "segmenter .* gave '東京都' .* a list of strings",
        ),
        ({"segmenter": lambda _: None}, "failed on '東京都': TypeError"),
        ({"segmenter": lambda _: ["東", ""]}, "gave '' for '東京都'"),
        ({"segmenter": lambda _: [b"x"]}, "gave b'x' for"),
        ({"segmenter": endless}, "must give its words once"),
        ({"segmenter": lambda text: [text * 99]}, "must give its words once"),
        ({"segmenter": lambda _: 1 / 0}, "failed on '東京都': ZeroDivisionError"),
    ],
)
def test_useless_results_are_refused_when_they_come(given, message):
    analyzer = TextAnalyzer(**given)
    for use in (analyzer.index_terms, analyzer.query_terms):
        with pytest.raises(InvalidInputError, match=message):
            use("Walking 東京都")


def test_how_long_a_result_may_be():
    longest = "x" * (8 * 4 + 16)
    assert TextAnalyzer(stemmer=lambda _: longest).terms("word") == [longest]
    with pytest.raises(InvalidInputError, match="a stem, not a text"):
        TextAnalyzer(stemmer=lambda _: longest + "x").terms("word")
    words = ["東京都"] * 13  # 39 characters; 40 are the most for three
    assert TextAnalyzer(segmenter=lambda _: [*words, "都"]).index_terms("東京都").body == {
        "東京都": 13,
        "東京": 1,
        "京都": 1,
    }
    with pytest.raises(InvalidInputError, match="its words once"):
        TextAnalyzer(segmenter=lambda _: [*words, "都", "都"]).terms("東京都")


def test_errors_show_the_beginning_of_a_long_text():
    analyzer = TextAnalyzer(segmenter=lambda _: 1 / 0)
    with pytest.raises(InvalidInputError, match=f"failed on '{'東' * 60}'…: Zero"):
        analyzer.terms("東" * 61)
    with pytest.raises(InvalidInputError, match=f"failed on '{'東' * 60}': Zero"):
        analyzer.terms("東" * 60)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _: None, "gives a mapping.*got None for 'a query'"),
        (lambda _: {"a": "b"}, "the synonyms of 'a' are a list"),
        (lambda _: 1 / 0, "function of synonyms .* failed on 'a query': ZeroDivisionError"),
    ],
)
def test_useless_synonyms_are_refused_when_they_come(function, message):
    analyzer = TextAnalyzer(synonyms=function)
    assert analyzer.index_terms("a query")
    with pytest.raises(InvalidInputError, match=message):
        analyzer.query_terms("a query")


def test_an_interrupt_is_not_wrapped():
    def interrupted(_word):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TextAnalyzer(stemmer=interrupted).terms("word")


def test_terms_of_a_query_without_words():
    for query in ("", " \n", "\"'(*&", "\0"):
        asked = TextAnalyzer(segmenter=cut, synonyms=HEART).query_terms(query)
        assert asked == Terms({}, {}, (), asked.analyzer)


# --- stop words ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("How do I print the labels?", ["label", "print"]),
        ("how 打印", ["打印"]),
        ("IT support for us", ["it", "support"]),  # a word in capitals is a name
        ("WHO ARE YOU", ["ar", "who", "you"]),  # unless all are; and nothing else is left
        ("TO PRINT", ["print"]),
        ("to be or not to be", ["be", "not", "or", "to"]),
        ("the who", ["the", "who"]),
        ("John Doe does", ["do", "john"]),  # "does" goes, the Doe of the same stem stays
        ("state-of-the-art", ["art", "of", "stat", "state-of-the-art", "the"]),
        ("it's over", ["it", "it's"]),
        ("", []),
    ],
)
def test_what_every_question_has_is_not_looked_for(query, terms):
    assert sorted(TextAnalyzer().query_terms(query).body) == terms


def test_stop_words_stay_in_texts_and_titles():
    made = TextAnalyzer().index_terms("how to", "how to")
    assert set(made.body) == set(made.title) == {"how", "to"}
    assert set(TextAnalyzer().query_terms("how to print").title) == {"how", "to", "print"}


def test_stop_words_of_ones_own():
    query = "the cat der Hund"
    assert sorted(TextAnalyzer(stop_words=["Der"]).query_terms(query).body) == [
        "cat",
        "hund",
        "the",
    ]
    for every in (None, []):
        assert len(TextAnalyzer(stop_words=every).query_terms(query).body) == 4
    # English ones go with English stems; a list of one's own is always in force.
    assert len(TextAnalyzer(stemmer=None).query_terms(query).body) == 4
    own = TextAnalyzer(stemmer=None, stop_words=ENGLISH)
    assert sorted(own.query_terms(query).body) == ["cat", "der", "hund"]


def test_stop_words_of_a_synonym_stay():
    analyzer = TextAnalyzer(synonyms={"heart of the matter": ["core"]})
    asked = analyzer.query_terms("what is the heart of the matter?")
    assert dict(asked.body) == {"heart": 1, "of": 1, "the": 1, "matter": 1}
    assert asked.alternatives[0].exact == dict(asked.body)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("the", r"stop_words is a list of words, got 'the'; write \[word\]"),
        (5, "stop_words is a list of words, got 5"),
        (["a", ""], "a word of stop_words is a non-blank string, got ''"),
    ],
)
def test_stop_words_that_are_none(words, message):
    with pytest.raises(InvalidInputError, match=message):
        TextAnalyzer(stop_words=words)


def test_stop_words_change_no_index_and_can_be_copied():
    plain, own = TextAnalyzer(stop_words=None), TextAnalyzer(stop_words=["a", "a"])
    assert plain.description == own.description == TextAnalyzer().description
    assert plain != own
    again = pickle.loads(pickle.dumps(own))
    assert again == own
    assert again.stop_words == ("a",)
    assert {"how", "the", "of"} < ENGLISH
    assert not {"make", "get", "it's"} & ENGLISH
    assert all(word == word.lower() for word in ENGLISH)
