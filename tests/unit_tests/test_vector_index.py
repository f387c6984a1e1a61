"""Collections too large to compare everything: as the engine stores and searches them."""

import sqlite3
import threading

import numpy as np
import pytest

from codes import check_codes, rebuild_codes
from langchain_ragstore import (
    HashingEmbeddings,
    InvalidInputError,
    SQLiteVectorStore,
    config,
)
from langchain_ragstore.errors import CorruptStoreError
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.model import Record
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite import coding
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.vectors.arrays import unit_matrix
from records import ids

DIMENSION, COUNT = 64, 4_000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Codes from 1 000 vectors on."""
    monkeypatch.setattr(coding, "SCAN_VALUES", 1_000 * DIMENSION)


def vectors(seed, count=COUNT, shift=0.0):
    """Clustered, the clusters of a seed."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, DIMENSION)) + shift
    noise = 0.7 * rng.normal(size=(count, DIMENSION))
    return unit_matrix(centres[rng.integers(0, 40, count)] + noise)


def records(rows, start=0):
    return [
        Record(f"r{n}", "text", {"n": n, "group": n % 10, "half": n % 2 == 0}, row)
        for n, row in enumerate(rows, start)
    ]


def filled(backend, rows):
    for start in range(0, len(rows), 1_500):
        backend.upsert("c", records(rows[start : start + 1_500], start))
    return backend


def found(backend, query, k=10, **keywords):
    return [(h.record.id, h.score) for h in backend.dense("c", query, k, **keywords)]


def searches(backend):
    return backend.stats("c")["searches"]


def recall(backend, oracle, queries, k=10, **keywords):
    hits = wanted = 0
    for query in queries:
        right = dict(found(oracle, query, k, **keywords))
        got = dict(found(backend, query, k, **keywords))
        assert len(got) == len(right)
        assert all(right.get(id, score) == score for id, score in got.items())
        hits += len(right.keys() & got.keys())
        wanted += len(right)
    return hits / wanted if wanted else 1


@pytest.fixture
def pair(tmp_path):
    """An engine and the oracle with the same records, and queries."""
    rows = vectors(1, COUNT + 40)
    backend = filled(SQLiteBackend(tmp_path / "a.db"), rows[40:])
    oracle = MemoryBackend()
    oracle.upsert("c", records(rows[40:]))
    yield backend, oracle, rows[:40]
    backend.close()


def test_sketches_find_what_a_comparison_of_all_finds(pair):
    backend, oracle, queries = pair
    assert recall(backend, oracle, queries) >= 0.99
    assert searches(backend) == {"sketches": 40}


@pytest.mark.parametrize(
    ("filter", "strategy"),
    [
        ({"half": True}, "sketches"),
        ({"group": 3}, "codes"),
        ({"n": {"$gte": 100, "$lt": 140}}, "codes"),
        ({"n": {"$in": [7, 5.0, 3_999]}}, "codes"),
        ({"$or": [{"group": 1}, {"n": {"$lt": 3}}]}, "codes"),
        ({"group": {"$gte": "1"}}, "codes"),
    ],
)
def test_filters_of_any_width_come_back_full(pair, filter, strategy):
    backend, oracle, queries = pair
    assert recall(backend, oracle, queries, where=parse(filter)) >= 0.99
    assert searches(backend) == {strategy: 40}


def test_the_farthest_are_found_if_they_alone_match(pair):
    backend, oracle, (query, *_) = pair
    far = [id for id, _ in found(oracle, query, COUNT)[-3:]]
    where = parse({"$id": {"$in": far}})
    assert found(backend, query, where=where) == found(oracle, query, where=where)
    assert len(found(backend, query, where=where)) == 3


def test_exact_is_exact(pair):
    backend, oracle, queries = pair
    for k in (1, 10, 100):
        for query in queries[:10]:
            assert found(backend, query, k, exact=True) == found(oracle, query, k)
    assert searches(backend) == {"codes": 30}


def test_deletions_and_replacements_are_followed(pair, tmp_path):
    backend, oracle, queries = pair
    other = SQLiteBackend(tmp_path / "a.db")
    found(other, queries[0])
    gone = [f"r{n}" for n in range(0, COUNT, 7)]
    new = records(vectors(1, 600)[::-1], 100)
    for engine in (backend, oracle):
        engine.delete("c", ids=gone, where=EVERYTHING)
        engine.upsert("c", new)
    for engine in (backend, other):
        assert recall(engine, oracle, queries) >= 0.99
        assert check_codes(engine, "c") == []
    other.close()
    again = SQLiteBackend(tmp_path / "a.db")
    assert recall(again, oracle, queries) >= 0.99
    again.close()


def test_opening_reads_codes_and_few_vectors(pair, tmp_path):
    *_, queries = pair
    asked = []
    again = SQLiteBackend(tmp_path / "a.db")
    with again.database.read() as connection:
        connection.set_trace_callback(asked.append)
    found(again, queries[0])
    read = [text for text in asked if "ragstore_vector" in text]
    assert len(read) == 1
    assert "record IN" in read[0]
    again.close()


def test_a_small_collection_gets_codes_when_it_has_grown(tmp_path):
    rows = vectors(2)
    backend = SQLiteBackend(tmp_path / "a.db")
    oracle = MemoryBackend()
    other = SQLiteBackend(tmp_path / "a.db")
    for start in range(0, 2_000, 250):
        some = records(rows[start : start + 250], start)
        backend.upsert("c", some)
        oracle.upsert("c", some)
        for engine in (backend, other):
            assert recall(engine, oracle, rows[-5:]) == 1
    assert searches(other) == {"all": 20, "sketches": 20}
    assert check_codes(backend, "c") == []
    other.close()
    backend.close()


def test_replacing_the_same_few_records_makes_no_codes():
    backend = SQLiteBackend()
    for _ in range(5):
        backend.upsert("c", records(vectors(1, 400)))
    found(backend, vectors(1, 1)[0])
    assert searches(backend) == {"all": 1}
    backend.close()


def test_a_collection_that_becomes_another_is_measured_anew():
    """Drift: ten times as many vectors, all elsewhere."""
    backend, oracle = SQLiteBackend(), MemoryBackend()
    first, later = vectors(1, 1_100), vectors(5, 11_040, shift=3.0)
    for rows, start in ((first, 0), (later[40:], 2_000)):
        for at in range(0, len(rows), 1_000):
            some = records(rows[at : at + 1_000], start + at)
            backend.upsert("c", some)
            oracle.upsert("c", some)
    with backend.database.read() as connection:
        (rows,) = connection.execute("SELECT rows FROM ragstore_codebook").fetchone()
        coded, written = connection.execute(
            "SELECT coded, written FROM ragstore_collection"
        ).fetchone()
    assert coded > 2
    assert rows > 6_000
    assert written <= config.SKETCH_STALE * rows
    assert recall(backend, oracle, later[:40]) >= 0.99
    assert searches(backend) == {"sketches": 40}
    backend.close()


def test_a_copy_in_memory_follows_a_measurement():
    backend, oracle = SQLiteBackend(), MemoryBackend()
    rows = vectors(1, 1_100)
    for engine in (backend, oracle):
        engine.upsert("c", records(rows))
    found(backend, rows[0])
    later = vectors(5, 3_040, shift=3.0)
    for engine in (backend, oracle):
        engine.upsert("c", records(later[40:], 2_000))
    assert recall(backend, oracle, later[:40]) >= 0.99
    backend.close()


def test_a_failed_measurement_leaves_the_write(monkeypatch, caplog):
    backend = SQLiteBackend()
    backend.upsert("c", records(vectors(1, 1_100)))

    def fail(*_):
        raise CorruptStoreError("broken")

    monkeypatch.setattr(coding, "measure", fail)
    backend.upsert("c", records(vectors(2, 1_101), 5_000))
    assert backend.count("c") == 2_201
    assert "c: the codes were not measured: broken" in caplog.text
    monkeypatch.undo()
    monkeypatch.setattr(coding, "SCAN_VALUES", 1_000 * DIMENSION)
    backend.upsert("c", records(vectors(2, 1), 9_000))
    with backend.database.read() as connection:
        rows = connection.execute("SELECT rows FROM ragstore_codebook").fetchone()
    assert rows == (2_202,)
    backend.close()


@pytest.mark.parametrize(
    ("budget", "strategy", "exactly"),
    [(10**9, "sketches", "codes"), (160_000, "sketches", "rows"), (9_999, "rows", "rows")],
)
def test_memory_keeps_within_its_budget(pair, tmp_path, budget, strategy, exactly):
    _, oracle, queries = pair
    backend = SQLiteBackend(tmp_path / "a.db", memory_budget=budget)
    assert recall(backend, oracle, queries) >= 0.99
    assert searches(backend) == {strategy: 40}
    assert backend.stats("c")["memory_budget"] == budget
    assert backend.stats("c")["resident_bytes"] <= budget
    assert recall(backend, oracle, queries[:3], exact=True) == 1
    assert searches(backend)[exactly] == (43 if exactly == strategy else 3)
    where = parse({"group": 2})
    assert recall(backend, oracle, queries, where=where) >= 0.99
    change = [Record("new", "text", {"group": 2}, queries[0])]
    for engine in (backend, oracle):
        engine.upsert("c", change)
    assert found(backend, queries[0], where=where)[0] == ("new", 1.0)
    assert np.allclose(backend.mean("c"), oracle.mean("c"), atol=1e-4)
    assert backend.stats("c")["resident_bytes"] <= budget
    backend.close()


def test_whole_vectors_that_do_not_fit_are_read_each_time():
    backend, oracle = SQLiteBackend(memory_budget=99), MemoryBackend()
    for engine in (backend, oracle):
        engine.upsert("c", records(vectors(1, 300)))
        engine.upsert("c", [Record("none", "text", {})])
    assert recall(backend, oracle, vectors(1, 5)) == 1
    assert recall(backend, oracle, vectors(1, 5), where=parse({"group": 1})) == 1
    assert searches(backend) == {"rows": 10}
    assert np.allclose(backend.mean("c"), oracle.mean("c"), atol=1e-6)
    for engine in (backend, oracle):
        engine.delete("c", ids=[f"r{n}" for n in range(300)], where=EVERYTHING)
    assert found(backend, vectors(1, 1)[0]) == []
    assert backend.mean("c") is None
    backend.close()


def test_the_collection_unused_for_longest_leaves_memory():
    backend = SQLiteBackend(memory_budget=250_000)
    rows = vectors(1, 900)
    for name in "abc":
        backend.upsert(name, records(rows))
    for name in "abac":
        backend.dense(name, rows[0], 3)
    held = {name: backend.stats(name)["resident_bytes"] for name in "abc"}
    assert held["b"] == held["a"] == 0 < held["c"]
    backend.close()


def test_expired_records_are_not_found(tmp_path):
    now = 0.0
    backend = SQLiteBackend(tmp_path / "a.db", clock=lambda: now)
    rows = vectors(1, 1_200)
    mortal = [
        Record(f"r{n}", "", {}, row, expires_at=10.0 if n < 5 else None)
        for n, row in enumerate(rows)
    ]
    backend.upsert("c", mortal)
    assert found(backend, rows[0], 1)[0][0] == "r0"
    now = 10.0
    assert found(backend, rows[0], 1)[0][0] != "r0"
    backend.close()
    backend = SQLiteBackend(tmp_path / "a.db", clock=lambda: now)
    assert found(backend, rows[0], 1)[0][0] != "r0"
    assert len(found(backend, rows[0], 2_000)) == 1_195
    backend.close()


def test_equal_vectors_are_all_found_and_ranked_by_id():
    backend = SQLiteBackend()
    backend.upsert("c", records(np.repeat(vectors(1, 1), 1_500, axis=0)))
    names = sorted(f"r{n}" for n in range(1_500))
    assert ids(backend.dense("c", vectors(1, 1)[0], 5)) == names[:5]
    backend.close()


# --- damage ------------------------------------------------------------------------------
DAMAGE = {
    "DELETE FROM ragstore_code WHERE number = 1": "has a vector but no code",
    "UPDATE ragstore_code SET data = substr(data, 2)": "no rows of 76 bytes",
    "UPDATE ragstore_vector SET data = (SELECT data FROM ragstore_vector WHERE record = 9)"
    " WHERE record = 8": "record 8 has the code of another vector",
    "DELETE FROM ragstore_vector WHERE record = 8": "record 8 has a code but no vector",
    "DELETE FROM ragstore_codebook": "lack what was learned",
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_damage_is_seen_and_rebuilt(pair, tmp_path, statement):
    backend, *_, queries = pair
    assert check_codes(backend, "c") == check_codes(backend, "unknown") == []
    raw = sqlite3.connect(tmp_path / "a.db")
    with raw:
        raw.execute(statement)
    raw.close()
    assert DAMAGE[statement] in check_codes(backend, "c")[0]
    rebuild_codes(backend, "c")
    rebuild_codes(backend, "unknown")
    assert check_codes(backend, "c") == []
    assert len(found(backend, queries[0])) == 10
    assert searches(backend) == {"sketches": 1}


def test_codes_of_vectors_that_are_gone_are_a_named_error(pair, tmp_path):
    backend, *_, queries = pair
    raw = sqlite3.connect(tmp_path / "a.db")
    with raw:
        raw.execute("DELETE FROM ragstore_vector")
    raw.close()
    with pytest.raises(CorruptStoreError, match="do not fit the vectors"):
        found(backend, queries[0])


# --- many at once ------------------------------------------------------------------------
def test_searches_and_writes_of_many_threads(pair):
    backend, _, queries = pair
    errors = []

    def write():
        for n in range(30):
            backend.upsert("c", [Record(f"w{n}", "", {"group": 1}, queries[n])])

    def read():
        try:
            for n in range(60):
                hits = backend.dense("c", queries[n % 40], 5, where=parse({"group": 1}))
                assert [h.record.metadata["group"] for h in hits] == [1] * 5
        except AssertionError as error:
            errors.append(error)

    threads = [threading.Thread(target=target) for target in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    found_now = backend.dense("c", queries[29], 1, where=parse({"group": 1}))
    assert ids(found_now) == ["w29"]


# --- the store ---------------------------------------------------------------------------
def test_exact_is_a_keyword_of_every_search_by_vector():
    store = SQLiteVectorStore(HashingEmbeddings(64))
    store.add_texts(["tea", "coffee"], ids=["t", "c"])
    for search in (store.similarity_search, store.hybrid_search):
        assert [d.id for d in search("tea", 1, exact=True)] == ["t"]
    assert store.max_marginal_relevance_search("tea", 1, exact=False)[0].id == "t"
    retriever = store.as_retriever(search_kwargs={"exact": True, "k": 1})
    assert retriever.invoke("tea")[0].id == "t"
    with pytest.raises(InvalidInputError, match="exact must be True or False, got 1"):
        store.similarity_search("tea", exact=1)
    with pytest.raises(TypeError, match="exact"):
        store.text_search("tea", exact=True)


def test_a_budget_is_a_number_of_bytes():
    store = SQLiteVectorStore(HashingEmbeddings(64))
    assert store.stats()["memory_budget"] == config.MEMORY_BUDGET == 512 * 2**20
    assert SQLiteVectorStore(None, memory_budget=5).stats()["memory_budget"] == 5
    with pytest.raises(
        InvalidInputError, match="memory_budget must be an integer, at least 0; got -1"
    ):
        SQLiteVectorStore(None, memory_budget=-1)
    with pytest.raises(InvalidInputError, match="memory_budget must be an integer"):
        SQLiteVectorStore(None, memory_budget=0.5)


def test_another_model_gets_codes_of_its_own():
    store = SQLiteVectorStore(HashingEmbeddings(64))
    store.add_texts([f"text number {n}" for n in range(1_100)])
    store.similarity_search("text")
    store.reembed(HashingEmbeddings(128))
    assert store.similarity_search("text number 7", 1)[0].page_content == "text number 7"
    assert store.stats()["searches"] == {"codes": 2}
    assert check_codes(store._backend, "default") == []


def test_a_new_file_has_large_pages(tmp_path):
    SQLiteVectorStore(None, tmp_path / "a.db").close()
    raw = sqlite3.connect(tmp_path / "a.db")
    assert raw.execute("PRAGMA page_size").fetchone() == (16_384,)
    raw.close()


def test_the_limits_of_codes():
    assert (config.SCAN_VALUES, config.SKETCH_LEAST_DIMENSION) == (4_000_000, 64)
    assert coding.block_rows(384) == 41
    assert coding.block_rows(100_000) == 1
