"""Topics: clusters that the data have, their number, and labels that tell."""

import numpy as np
import pytest

from langchain_ragstore import HashingEmbeddings, InvalidInputError
from langchain_ragstore.documents_as_hits import embedder
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.buckets import Bucket, clusters, silhouette
from langchain_ragstore.retrieval.labels import labels
from langchain_ragstore.retrieval.question import Question

TEXTS = [
    *(
        "Green tea wants water of 80 degrees",
        "Green tea grows in the shade",
        "A cup of tea",
    ),
    *(
        "The library charges late fees",
        "Late fees of books",
        "Books of the library are late",
    ),
]


def hits(texts, vectors=None):
    rows = HashingEmbeddings().embed_documents(texts) if vectors is None else vectors
    return [
        Hit(Record(f"h{at}", text, {}, np.array(row, np.float32)), 1.0 - at / 10)
        for at, (text, row) in enumerate(zip(texts, rows, strict=True))
    ]


def topics(found):
    return [(h.signals["topic"], dict(h.notes)["topic"]) for h in found]


def blobs(sizes, seed=0, spread=0.02, dimension=8):
    rng = np.random.default_rng(seed)
    rows = [
        np.eye(dimension)[at] + spread * rng.normal(size=dimension)
        for at, size in enumerate(sizes)
        for _ in range(size)
    ]
    return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def test_topics_of_texts():
    found = Bucket()(hits(TEXTS), Question(), None)
    assert topics(found) == [
        *[(1.0, "tea, green")] * 3,
        *[(2.0, "late, library, fees")] * 3,
    ]
    assert [h.record.id for h in found] == [f"h{at}" for at in range(6)]
    assert [h.score for h in found] == [h.score for h in hits(TEXTS)]


def test_the_best_hit_has_topic_1():
    found = Bucket()(hits(TEXTS)[::-1], Question(), None)
    assert [number for number, _ in topics(found)] == [1, 1, 1, 2, 2, 2]
    assert topics(found)[0][1] == "late, library, fees"


@pytest.mark.parametrize(
    "sizes", [(9,), (5, 5), (7, 2, 4), (3, 3, 3, 3), (2, 6, 3, 5, 4)], ids=str
)
@pytest.mark.parametrize("seed", range(4))
def test_the_data_decide_how_many(sizes, seed):
    points = blobs(sizes, seed) if len(sizes) > 1 else np.tile(blobs((1,)), (sizes[0], 1))
    places = clusters(points, 8, seed)
    true = np.repeat(np.arange(len(sizes)), sizes)
    pairs = {(int(a), int(b)) for a, b in zip(true, places, strict=True)}
    assert len(pairs) == len(set(places.tolist())) == len(sizes)


def test_at_most():
    assert len(set(clusters(blobs((4, 4, 4, 4)), 2, 0).tolist())) == 2
    assert set(clusters(blobs((4, 4)), 1, 0).tolist()) == {0}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_points(count):
    assert len(clusters(blobs((1,) * count), 8, 0)) == count


def test_zero_vectors_and_twins():
    points = np.zeros((4, 3), np.float32)
    assert set(clusters(points, 8, 0).tolist()) == {0}
    points[2:] = [1, 0, 0]
    places = clusters(points, 8, 0).tolist()
    assert (places[0], places[2]) == (places[1], places[3])


def test_random_points_have_no_topics():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(30, 384))
    points = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    assert set(clusters(points, 8, 0).tolist()) == {0}


def test_a_silhouette_by_hand():
    """Points at 0, 1, 4 and 6 of a line: (a, b) = (1, 5) (1, 4) (2, 3.5) (2, 5.5)."""
    line = np.array([0.0, 1.0, 4.0, 6.0])
    apart = np.abs(line[:, None] - line[None])
    by_hand = (4 / 5 + 3 / 4 + 1.5 / 3.5 + 3.5 / 5.5) / 4
    assert silhouette(apart, np.array([3, 3, 7, 7])) == pytest.approx(by_hand)
    # one alone has 0; of 0 and 1 to it 6 and 5; of 4: a = 3.5, b = 2
    alone = (0 + (6 - 2.5) / 6 + (5 - 2) / 5 + (2 - 3.5) / 3.5) / 4
    assert silhouette(apart, np.array([1, 1, 1, 0])) == pytest.approx(alone)
    assert silhouette(apart, np.zeros(4, int)) == 0.0


def test_vectors_that_lack_are_made():
    plain = [Hit(Record(f"h{at}", text, {}), 1.0) for at, text in enumerate(TEXTS)]
    made = Bucket(embed=embedder(HashingEmbeddings())).bucketed(plain)
    assert topics(made) == topics(Bucket().bucketed(hits(TEXTS)))
    with pytest.raises(InvalidInputError, match=r"sorting into topics.*'h0' has none"):
        Bucket().bucketed(plain)
    assert Bucket().bucketed([]) == []


# --- labels -----------------------------------------------------------------------------


def test_labels_of_scripts_without_blanks():
    refunds = ["退款将在七个工作日内到账", "如何申请退款", "退款政策"]
    teas = ["绿茶要用八十度的水", "绿茶的保存", "红茶和绿茶"]
    first, second = labels([refunds, teas])
    assert first.split(", ")[0] == "退款"
    assert second.split(", ")[0] == "绿茶"
    (word, *_), _ = (
        text.split(", ") for text in labels([["搜索引擎"] * 2, ["自行车"] * 2])
    )
    assert word == "搜索引擎"  # the longest of those that lie within each other


def test_labels_leave_out_what_tells_nothing():
    groups = [["the tea of 2024", "the tea and 2024"], ["the fee of a", "the fee or 2024"]]
    assert labels(groups) == ["tea", "fee"]
    assert labels([["a b", "1 2"], ["the", ""]]) == ["topic 1", "topic 2"]
    assert labels([["same words"], ["same words"]]) == ["topic 1", "topic 2"]
    assert labels([["green tea", "green tea"]]) == ["green, tea"]
    assert labels([]) == []
    # words of single texts only where no word is of several
    assert labels([["tea one", "tea two"], ["fee", "fee"]]) == ["tea", "fee"]
    assert labels([["green tea", "black tea"], ["steel tea", "tea"]]) == [
        "green, black",
        "steel",
    ]


def test_titles_are_read():
    vectors = [[1, 0], [1, 0], [0, 1], [0, 1]]
    found = hits(["one", "two", "three", "four"], vectors)
    for at, h in enumerate(found):
        h.record.metadata["title"] = "Brewing" if at < 2 else "Prices"
    labelled = [label for _, label in topics(Bucket().bucketed(found))]
    assert labelled == ["brewing", "brewing", "prices", "prices"]
