"""Numbers of texts, ids and results at which other stores stop."""

import numpy as np
import pytest

from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

pytestmark = pytest.mark.slow


def test_a_hundred_thousand_texts_in_one_call(tmp_path):
    """Reports 29, 30: such a batch failed after it was paid for, and such lists of ids."""
    numbers = range(100_000)
    names = [f"id {n}" for n in numbers]
    with SQLiteVectorStore(HashingEmbeddings(8), tmp_path / "kb.db") as store:
        metadatas = [{"n": n} for n in numbers]
        assert (
            store.add_texts([f"text {n}" for n in numbers], metadatas, ids=names) == names
        )
        assert len(store) == 100_000
        many = names[:40_000]
        assert [document.id for document in store.get_by_ids(many)] == many
        assert store.count({"$id": {"$in": many}}) == 40_000
        assert store.count({"n": {"$in": list(range(40_000))}}) == 40_000
        assert store.delete_where({"n": {"$lt": 20_000}}) == 20_000
        assert store.delete(many) is True
        assert len(store) == 60_000
        assert store.text_search("99999", k=1)[0].id == "id 99999"


@pytest.fixture(scope="module")
def wide():
    """20 000 records near the query but for three, of which every second one is even."""
    rng = np.random.default_rng(5)
    vectors = rng.normal(scale=0.3, size=(20_000, 64)) / 8
    vectors[:, 0] += 1
    vectors[-3:] *= -1
    texts = ["tea " + "word " * (at >= 19_997) * 50 for at in range(20_000)]
    with SQLiteVectorStore(HashingEmbeddings(64)) as store:
        metadatas = [{"even": at % 2 == 0, "rare": at >= 19_997} for at in range(20_000)]
        names = [f"{at:05}" for at in range(20_000)]
        store.add_embeddings(texts, vectors, metadatas, ids=names)
        yield store


@pytest.mark.parametrize("kind", ["similarity", "text", "hybrid", "mmr"])
def test_three_matches_of_twenty_thousand(wide, kind):
    """Report 54: neighbours were looked for first, and no number of them was enough."""
    found = wide.search("tea", kind, k=3, filter={"rare": True})
    assert sorted(document.id for document in found) == ["19997", "19998", "19999"]


@pytest.mark.parametrize("kind", ["similarity", "text", "hybrid"])
def test_ten_thousand_results(wide, kind):
    """Reports 54, 78: more than 4 096 results could not be asked for."""
    assert len({d.id for d in wide.search("tea", kind, k=10_000)}) == 10_000
    found = wide.search("tea", kind, k=10_000, filter={"even": True})
    assert len({d.id for d in found}) == 10_000
    assert all(d.metadata["even"] for d in found)
