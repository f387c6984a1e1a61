"""Rotation, codes, sketches and the depth: what searching by them may rely on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.vectors.arrays import cosines, unit_matrix
from langchain_ragstore.vectors.codes import Codes, bound, encode, pack, unpack
from langchain_ragstore.vectors.depth import Depth, measured
from langchain_ragstore.vectors.index import Index
from langchain_ragstore.vectors.rotation import Rotation, rotation
from langchain_ragstore.vectors.sketch import closest, distances, words
from strategies import share

ROTATED = [
    [0.0, 0.0, 0.5, 0.5, 0.5, 0.5],
    [0.0, 0.0, 0.5, 0.5, 0.5, 0.5],
    [0.5, 0.5, 0.5, 0.5, 0.0, 0.0],
    [0.5, 0.5, 0.5, 0.5, 0.0, 0.0],
    [0.5, 0.5, 0.0, 0.0, 0.5, 0.5],
    [0.5, 0.5, 0.0, 0.0, 0.5, 0.5],
]
SIGNS = [
    [0, 0, 1, -1, 1, 1],
    [0, 0, 1, -1, -1, -1],
    [1, -1, -1, -1, 0, 0],
    [1, -1, 1, 1, 0, 0],
    [-1, -1, 0, 0, 1, -1],
    [-1, -1, 0, 0, -1, 1],
]

seeds = st.integers(0, 2**32 - 1)
dimensions = st.one_of(st.integers(1, 40), st.sampled_from([64, 96, 384, 1000, 1536]))
kinds = st.sampled_from(["even", "clustered", "sparse", "equal", "shifted"])


def drawn(seed, kind, count, dimension):
    """Unit vectors of one kind."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, dimension))
    if kind in ("clustered", "shifted"):
        centres = rng.normal(size=(max(1, count // 30), dimension))
        rows = centres[rng.integers(0, len(centres), count)] + 0.5 * rows
        rows += 3 if kind == "shifted" else 0
    elif kind == "sparse":
        rows *= rng.random(rows.shape) < 0.05
    elif kind == "equal":
        rows[:] = rows[0]
    return unit_matrix(rows)


@given(seeds, dimensions)
def test_a_rotation_keeps_products_and_turns_back(seed, dimension):
    rows = drawn(seed, "even", 4, dimension)
    turned = rotation(dimension)(rows)
    assert np.allclose(turned @ turned.T, rows @ rows.T, atol=1e-5)
    assert np.allclose(rotation(dimension).back(turned), rows, atol=1e-5)
    assert np.array_equal(Rotation(dimension)(rows), turned)


def test_a_rotation_is_the_same_for_ever():
    """Codes in a file are read by later releases: what made them must not change."""
    turned = rotation(6)(np.eye(6, dtype=np.float32))
    signs = np.sign(np.round(turned, 3)).astype(int).tolist()
    assert np.allclose(np.abs(turned), ROTATED, atol=1e-3)
    assert signs == SIGNS


@given(seeds, dimensions, kinds)
def test_a_score_by_code_is_wrong_by_no_more_than_its_bound(seed, dimension, kind):
    rows, query = drawn(seed, kind, 20, dimension), drawn(seed + 1, "even", 1, dimension)
    codes = encode(rows)
    scores = codes.scores(rotation(dimension)(query)[0])
    wrong = np.abs(scores - cosines(rows, query[0]))
    assert (wrong <= bound(codes.scales, dimension)).all()


@given(seeds, st.integers(0, 9), st.integers(1, 20))
def test_codes_are_packed_and_unpacked(seed, count, dimension):
    codes = encode(drawn(seed, "even", count, dimension).reshape(count, dimension))
    keys = np.arange(count) + seed
    data = pack(keys, codes)
    assert len(data) == count * (12 + dimension)
    again, read = unpack(data, dimension)
    assert again.tolist() == keys.tolist()
    assert read.values.tolist() == codes.values.tolist()
    assert read.scales.tolist() == codes.scales.tolist()
    with pytest.raises(ValueError, match="no rows"):
        unpack(data + b"x", dimension)


@given(seeds, st.integers(1, 200), st.integers(1, 300))
def test_distances_count_differing_bits(seed, count, dimension):
    rows = drawn(seed, "even", count, dimension)
    mean = rows.mean(axis=0)
    found = distances(words(rows, mean), words(rows[:1], mean))
    assert found.tolist() == ((rows > mean) != (rows[0] > mean)).sum(axis=1).tolist()


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 30), st.randoms()
)
def test_the_closest_are_all_that_are_no_farther_than_the_last(found, count, random):
    among = np.array([random.random() < 0.7 for _ in found])
    some = np.array(found, np.uint16)
    expected = sorted(d for d, there in zip(found, among, strict=True) if there)
    limit = expected[count - 1] if count <= len(expected) else 99
    places = closest(some.copy(), count, among)
    assert places.tolist() == [
        at for at, there in enumerate(among) if there and found[at] <= limit
    ]


def index_of(rows):
    codes = encode(rows)
    mean, depth = measured(lambda: [codes], len(rows))
    return Index(words(codes.decoded(slice(None)), mean), codes, mean, depth)


def recall(index, rows, queries, k, among):
    hits = 0
    for query in queries:
        places, _ = index.survivors(query, k, among)
        assert among[places].all()
        assert len(places) >= min(k, np.count_nonzero(among))
        scores = np.where(among, cosines(rows, query), -2.0)
        hits += len(set(np.argsort(-scores)[:k].tolist()) & set(places.tolist()))
    return hits / (k * len(queries))


@pytest.mark.parametrize("k", [1, 10, 50, 150])
@pytest.mark.parametrize("kind", ["even", "clustered", "sparse", "shifted"])
def test_at_most_one_in_a_hundred_is_missed(kind, k):
    rows = drawn(7, kind, 6_060, 128)
    queries, rows = rows[:60], rows[60:]
    index = index_of(rows)
    everything = np.ones(len(rows), bool)
    _, strategy = index.survivors(queries[0], 1, everything)
    assert strategy == ("codes" if kind == "even" else "sketches")
    assert recall(index, rows, queries, k, everything) >= 0.99
    few = np.random.default_rng(1).random(len(rows)) < 0.03
    assert recall(index, rows, queries, k, few) >= 0.99


@pytest.mark.parametrize("share", [0.5, 0.2, 0.1, 0.04, 0.01])
@pytest.mark.parametrize("size", [25, 60, 150, 500])
def test_a_filter_that_leaves_few_of_a_cluster_finds_the_others(size, share):
    """The nearest that match stand where the whole collection's k / share nearest end."""
    rng = np.random.default_rng(size)
    centres = rng.normal(size=(12_040 // size, 256))
    rows = centres[rng.integers(0, len(centres), 12_040)]
    rows = unit_matrix(rows + 0.7 * rng.normal(size=rows.shape))
    queries, rows = rows[:40], rows[40:]
    matching = rng.random(len(rows)) < share
    assert recall(index_of(rows), rows, queries, 10, matching) >= 0.99


@share(30)
@given(seeds, kinds, st.integers(1, 300), st.integers(1, 320))
def test_exactly_none_is_missed(seed, kind, count, k):
    rows = drawn(seed, kind, count, 32)
    (query,) = drawn(seed + 1, kind, 1, 32)
    among = np.random.default_rng(seed).random(count) < 0.8
    places, strategy = index_of(rows).survivors(query, k, among, exact=True)
    assert strategy == "codes"
    scores = np.where(among, cosines(rows, query), -np.inf)
    wanted = min(k, int(among.sum()))
    if wanted:
        last = np.sort(scores)[::-1][wanted - 1]
        assert set(np.flatnonzero(scores >= last)) <= set(places.tolist())
    assert among[places].all()


def test_depth_grows_with_k_and_with_the_collection():
    depth = Depth(100_000, (500, 600, 1_000, 2_000))
    assert depth.candidates(1, 100_000) == depth.candidates(10, 100_000) == 1_000
    assert depth.candidates(11, 100_000) == depth.candidates(20, 100_000) == 1_200
    assert depth.candidates(50, 100_000) == 2_000
    assert depth.candidates(51, 100_000) == depth.candidates(100, 100_000) == 4_000
    assert depth.candidates(200, 100_000) == 8_000
    assert depth.candidates(10, 50_000) == 1_000
    assert depth.candidates(10, 150_000) == 1_500
    assert depth.candidates(10, 100_000, 100_000) == 1_000
    assert depth.candidates(10, 100_000, 50_000) == 600  # half of rank 20's
    assert depth.candidates(10, 100_000, 10_000) == 400  # a tenth of rank 100's
    assert depth.candidates(10, 200_000, 20_000) == 800  # of twice as many
    assert depth.candidates(10, 100_000, 9_999) == 9_999  # beyond what was measured
    assert depth.candidates(100, 100_000, 50_000) == 4_000  # half of rank 200's
    assert depth.candidates(100, 100_000, 49_999) == 49_999
    assert depth.candidates(10, 100_000, 3) == 10
    assert depth.candidates(10, 100_000, 0) == 10
    least = Depth(100_000, (1, 1, 1, 1))
    assert least.candidates(10, 100_000) == 200
    assert least.candidates(300, 100_000) == 300


def test_the_depth_of_equal_vectors_is_all_of_them():
    codes = encode(drawn(0, "equal", 500, 64))
    assert measured(lambda: [codes], 500)[1] == Depth(500, (500,) * 4)


def test_the_depth_does_not_depend_on_how_codes_are_read():
    codes = encode(drawn(3, "clustered", 3_000, 64))
    parts = [
        Codes(codes.values[at : at + 700], codes.scales[at : at + 700])
        for at in range(0, 3_000, 700)
    ]
    whole, depth = measured(lambda: [codes], 3_000)
    again, same = measured(lambda: parts, 3_000)
    assert same == depth
    assert np.allclose(again, whole, atol=1e-6)
    assert 10 <= depth.needed[0] < 1_500


def test_one_vector_needs_no_depth():
    codes = encode(drawn(0, "even", 1, 64))
    assert measured(lambda: [codes], 1)[1] == Depth(1, (1,) * 4)
