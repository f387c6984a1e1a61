"""Explanations: figures that add up, words in their places, and why a hit is none."""

import json
import re
from html.parser import HTMLParser

import pytest

from fakes import Table
from langchain_ragstore import (
    Explanation,
    HashingEmbeddings,
    Plan,
    RagPipeline,
    SQLiteVectorStore,
    StorageError,
)
from langchain_ragstore.notebook.characters import columns, fitted
from langchain_ragstore.retrieval.sources import Dense

# Cosines to the query: near 0.8, half 0.6, far 0; "words" has no vector of its own.
VECTORS = {
    "green tea": [1, 0],
    "Green tea is green.": [4, 3],
    "Black tea.": [3, 4],
    "Paint dries.": [0, 1],
}


def as_it_is(document):
    return document.page_content


@pytest.fixture
def store():
    with SQLiteVectorStore(Table(VECTORS), index_text=as_it_is) as store:
        store.add_texts(
            list(VECTORS)[1:],
            [{"n": 0}, {"n": 1, "title": "Green leaves"}, {"n": 2}],
            ids=["near", "half", "far"],
        )
        yield store


def test_similarity(store):
    why = store.explain("green tea", k=2)
    assert isinstance(why, Explanation)
    assert (why.search_type, why.filter, why.query) == ("similarity", None, "green tea")
    assert why.terms == ("green", "tea")
    assert why.plan == Plan((Dense(2),))
    (step,) = why.steps
    assert (step.part, step.taken, step.given) == (Dense(2), None, 2)
    assert step.seconds > 0
    first, second = why.hits
    assert (first.id, first.rank, first.ranks) == ("near", 1, {"dense": 1})
    assert first.score == pytest.approx(0.8)
    assert first.contributions == {"dense": first.score} == first.signals
    assert (second.id, second.rank) == ("half", 2)
    assert why.asked == why.absent == ()


def test_words_stand_where_they_stand(store):
    near, half = store.explain("green tea", k=2).hits
    assert [(w.term, w.body > 0, w.title > 0) for w in near.words] == [
        ("green", True, False),
        ("tea", True, False),
    ]
    assert [(w.term, w.body > 0, w.title > 0) for w in half.words] == [
        ("green", False, True),
        ("tea", True, False),
    ]
    by_text = store.explain("green tea", search_type="text")
    for hit in by_text.hits:  # the words' parts are the whole of BM25
        total = sum(word.body + word.title for word in hit.words)
        assert total == pytest.approx(hit.signals["lexical"])
    title_only = store.explain("茶", search_type="text")
    assert title_only.hits == ()


def test_words_that_are_indexed_but_not_returned():
    def longer(document):
        return f"{document.page_content} hidden oolong 茶"

    with SQLiteVectorStore(HashingEmbeddings(), index_text=longer) as store:
        store.add_texts(["green tea 绿茶"], [{"title": "Oolong"}])
        (hit,) = store.explain("tea hidden oolong 茶", search_type="text").hits
        facts = [(w.term, w.body > 0, w.title > 0, w.shown) for w in hit.words]
        assert facts == [
            ("tea", True, False, True),
            ("hidden", True, False, False),
            ("oolong", True, True, False),
            ("茶", True, False, True),
        ]
        why = str(store.explain("tea hidden oolong 茶", search_type="text"))
        assert "tea in text, hidden in indexed text, oolong in title, 茶 in text" in why
    with SQLiteVectorStore(HashingEmbeddings()) as store:  # title and text are indexed
        store.add_texts(["green tea"], [{"title": "Brewing"}])
        assert "brewing" not in str(store.explain("tea"))
        assert "brew in title, tea in text" in str(store.explain("brewing tea"))


@pytest.mark.parametrize(
    "keywords",
    [
        {"search_type": "text"},
        {"search_type": "mmr"},
        {"search_type": "hybrid"},
        {"search_type": "hybrid", "fusion": "rrf"},
        {"search_type": "hybrid", "fusion": "rrf", "weights": {"dense": 1, "text": 3}},
        {"search_type": "hybrid", "weights": {"dense": 1, "text": 0}},
        {"search_type": "hybrid", "weights": {"dense": 0, "text": 2}},
        {"search_type": "hybrid", "lambda_mult": 0.2, "window": 1},
        {"search_type": "hybrid", "group_by": "n"},
    ],
    ids=str,
)
@pytest.mark.parametrize("query", ["green tea", "Paint dries.", "Black tea."])
def test_contributions_add_up(store, query, keywords):
    why = store.explain(query, k=3, ids=["near", "half", "far"], **keywords)
    assert why.hits
    for finding in (*why.hits, *why.asked):
        if finding.score is not None:
            total = sum(finding.contributions.values())
            assert total == pytest.approx(finding.score, abs=1e-12)
    kind = keywords["search_type"]
    options = {k: v for k, v in keywords.items() if k != "search_type"}
    found = store.search_with_score(query, kind, k=3, **options)
    assert [(h.id, h.score) for h in why.hits] == [(d.id, s) for d, s in found]


def test_a_query_of_one_leg(store):
    """A query without a word that is indexed has only its meaning."""
    store._embedder.model.vectors = VECTORS | {"?!": [1, 0]}
    for fusion in ("weighted", "rrf"):
        why = store.explain("?!", search_type="hybrid", fusion=fusion)
        assert why.terms == ()
        dense, text, *_ = why.steps
        assert (dense.given, text.hits, text.given) == (3, None, 0)
        for hit in why.hits:
            assert list(hit.contributions) == ["dense"]
            assert hit.contributions["dense"] == pytest.approx(hit.score)
        assert "–" in str(why)


# --- why not ----------------------------------------------------------------------------


def reasons(why):
    return {finding.id: finding.reason for finding in why.asked}


def test_why_not_a_nearest_one(store):
    why = store.explain("green tea", k=1, ids=["far", "near", "nothing", "far"])
    assert reasons(why) == {
        "far": "rank 3, below the first 1",
        "near": "result 1",
        "nothing": "no document has this id",
    }
    far, nothing = why.absent
    assert (far.id, far.rank, far.score) == ("far", 3, pytest.approx(0.0, abs=1e-7))
    assert far.text == "Paint dries."
    assert (nothing.rank, nothing.score) == (None, None)
    assert store.explain("green tea", k=1, ids="half").absent[0].rank == 2


def test_why_not_for_each_stage(store):
    def why(**keywords):
        return reasons(store.explain("green tea", ids=["half", "far"], **keywords))

    assert why(filter={"n": {"$ne": 1}})["half"] == "the filter leaves it out"
    assert why(k=3, score_threshold=0.7) == {
        "half": "its score 0.6 is below score_threshold=0.7",
        "far": "its score 0 is below score_threshold=0.7",
    }
    assert why(k=1, score_threshold=0.7)["far"].endswith("score_threshold=0.7")
    assert why(k=2, search_type="text") == {
        "half": "result 2",
        "far": "it holds no word of the query",
    }
    assert why(k=1, search_type="hybrid")["half"] == "rank 2, below the first 1"
    given = {"dense": 0.35, "text": 0.65}  # the default reads ten in any case
    deep = why(k=1, search_type="hybrid", fetch_k=1, weights=given)
    assert deep["half"] == "rank 2, not among the first 1 by meaning or by words"
    assert why(k=1, search_type="mmr")["half"].startswith("rank 2, but others add more")


def test_why_not_in_a_group(store):
    store.update_metadata(["near", "half"], patch={"kind": "tea"})
    why = store.explain("green tea", k=2, group_by="kind", ids="half")
    assert reasons(why) == {"half": "of its group 'near' ranked before it"}
    assert [hit.id for hit in why.hits] == ["near", "far"]


def test_why_not_of_a_neighbour():
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        metadatas = [{"source_id": "s", "chunk_index": n} for n in range(3)]
        ids = [f"s:chunk:{n:04d}" for n in range(3)]
        store.add_texts(["green tea", "black coffee", "paint"], metadatas, ids=ids)
        why = store.explain("tea", search_type="text", k=1, window=1, ids=ids)
        assert reasons(why) == {
            ids[0]: "result 1",
            ids[1]: "its text is part of result 1",
            ids[2]: "it holds no word of the query",
        }
        assert why.hits[0].joined == (ids[0], ids[1])
        assert why.hits[0].text == "green tea\nblack coffee"
        for shown in (str(why), why._repr_html_()):
            assert f"joined from {ids[0]}, {ids[1]}" in shown


def test_a_document_without_a_vector(tmp_path):
    with SQLiteVectorStore(None, tmp_path / "a.db") as store:
        store.add_texts(["Green paint"], ids=["plain"])
    with SQLiteVectorStore(Table(VECTORS), tmp_path / "a.db") as store:
        store.add_texts(["Black tea."], ids=["half"])
        why = store.explain("green tea", ids=["plain"])
        assert reasons(why) == {"plain": "it has no vector"}
        assert why.asked[0].words[0].term == "green"


def test_a_scope_tells_nothing_of_what_it_hides(store):
    view = store.scoped({"n": {"$lt": 2}})
    why = view.explain("green tea", k=1, ids=["far", "half"], filter={"n": 0})
    assert reasons(why) == {
        "far": "no document has this id",
        "half": "the filter leaves it out",
    }
    assert "Paint" not in json.dumps(why.to_dict())
    assert why.asked[0].words == ()


# --- as data, as text, as a picture -----------------------------------------------------

HOSTILE = "<script>alert('x')</script> & \x1b[31m \ud800 \u202e\"茶"


@pytest.fixture
def hostile():
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        store.add_texts(
            [f"{HOSTILE} green tea", "緑茶と紅茶", "tea"],
            [{"title": HOSTILE}, {"title": "茶"}, {}],
            ids=[f"<b>{HOSTILE}", "茶:chunk:0001", "x"],
        )
        yield store.explain(
            f"{HOSTILE} tea 緑茶",
            search_type="hybrid",
            k=2,
            ids=["x", f"<b>{HOSTILE}", "<i>"],
            filter={"title": {"$ne": HOSTILE + "!"}},
            window=1,
            group_by="title",
        )


def test_data_is_json(hostile):
    again = json.loads(json.dumps(hostile.to_dict()))
    assert again["search_type"] == "hybrid"
    assert again["plan"]["sources"][0] == {"name": "Dense", "depth": 50, "exact": False}
    assert again["plan"]["fuse"]["name"] == "WeightedByQuery"
    assert [stage["name"] for stage in again["plan"]["stages"]] == [
        "Group",
        "Top",
        "Neighbours",
    ]
    assert again["plan"]["stages"][0]["key"] == ["title"]
    assert [step["part"]["name"] for step in again["steps"]] == [
        *("Dense", "Lexical", "Weighted", "Group", "Top", "Neighbours"),
    ]
    assert again["hits"][0]["rank"] == 1
    assert len(again["hits"][0]["words"]) > 0
    assert again["asked"][-1]["reason"] == "no document has this id"


def test_text_is_aligned_and_harmless(hostile):
    text = str(hostile)
    assert text == repr(hostile)
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode()
    lines = [line for line in text.split("\n") if re.match(r" +\d  ", line)]
    assert len(lines) == 2
    starts = {columns(line[: line.index(" dense ")]) for line in lines}
    assert len(starts) == 1  # in one column, whatever the width of the ids


class Reader(HTMLParser):
    """Notes the elements and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def test_html_is_escaped_and_has_bars(hostile):
    page = hostile._repr_html_()
    page.encode()
    reader = Reader(page)
    names = {tag for tag, _ in reader.tags}
    assert names <= {
        *("style", "div", "b", "bdi", "span", "table", "thead", "tbody", "tr", "th", "td"),
    }
    assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
    assert "http" not in page
    assert "\x1b" not in page
    assert "<script>alert('x')</script>" in "".join(reader.words)
    bars = [attrs["style"] for tag, attrs in reader.tags if "style" in attrs]
    widths = [float(re.match(r"width:([\d.]+)%", style)[1]) for style in bars]
    assert len(widths) >= 8  # two parts and two signals for each result
    assert all(0 <= width <= 100 for width in widths)
    assert sum(widths[:2]) == pytest.approx(100, abs=0.2)  # the best fills its bar
    style = page[: page.index("</style>")]
    assert "color:#" not in style  # letters and background are the theme's
    assert {name.split("-")[0] for name in re.findall(r"\.([\w-]+)", style)} == {"lcrs"} | {
        *re.findall(r"\.(\d+)", style)
    }


def test_nothing_found():
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        why = store.explain("tea", search_type="hybrid", ids="x")
        assert "no results" in str(why)
        assert "no document has this id" in why._repr_html_()
        assert store.explain("tea", k=0).hits == ()


@pytest.mark.parametrize(
    ("text", "width"),
    [("tea", 3), ("緑茶", 4), ("e\u0301", 1), ("ＡＢ", 4), ("ｶﾅ", 2), ("한글", 4), ("", 0)],
)
def test_columns(text, width):
    assert columns(text) == width
    assert columns(fitted(text, 8)) == 8
    assert columns(fitted(text * 9, 5)) == 5


def test_lines_stay_lines(store):
    query = "green\ntea\t" + "very " * 1000
    store._embedder.model.vectors = VECTORS | {query: [1, 0]}
    why = store.explain(query, filter={"n": {"$in": list(range(5000))}}, ids="a\nb")
    assert why.query == query
    lines = str(why).split("\n")
    assert lines[0].startswith('similarity search for "green tea very very')
    assert max(map(columns, lines)) < 250
    assert len(why._repr_html_()) < 20_000
    assert "a b" in lines[-1]


def test_a_long_query_is_broken_down_in_part():
    with SQLiteVectorStore(HashingEmbeddings()) as store:
        words = [f"w{n:03d}x" for n in range(200)]
        store.add_texts([" ".join(words)])
        why = store.explain(" ".join(words), search_type="text")
        assert len(why.terms) == 200
        assert len(why.hits[0].words) == 64


# --- other doors --------------------------------------------------------------------------


async def test_stores_of_others_cannot_explain():
    from langchain_core.vectorstores import InMemoryVectorStore

    foreign = InMemoryVectorStore(HashingEmbeddings())
    foreign.add_texts(["tea"])
    pipeline = RagPipeline(store=foreign)
    with pytest.raises(StorageError, match="InMemoryVectorStore cannot explain"):
        pipeline.explain("tea")
    with pytest.raises(StorageError, match="InMemoryVectorStore cannot explain"):
        await pipeline.as_retriever().aexplain("tea")


def test_a_pipeline_explains(store):
    pipeline = RagPipeline(store=store)
    why = pipeline.explain("green tea", 2, ids=["far"], filter={"n": {"$lt": 9}})
    assert why.search_type == "hybrid"
    assert reasons(why)["far"].startswith("its score 0 is below")
    assert why.filter is not None
    assert pipeline.explain("green tea", search_type="text").search_type == "text"
