"""Files that earlier releases wrote are opened, searched, checked and written on.

`make_files.py` made them, each with the release whose schema it has.
"""

import gzip
from pathlib import Path

import pytest

from codes import check_codes
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.storage.sqlite.schema import MIGRATIONS
from records import facts

HERE = Path(__file__).parent
MODEL = HashingEmbeddings(16)
VERSIONS = range(1, len(MIGRATIONS) + 1)
LARGEST = 200_000


@pytest.fixture(params=VERSIONS)
def old(request, tmp_path):
    """A copy of a file that was written with a version of the schema."""
    path = tmp_path / "rag.db"
    packed = HERE / f"schema_{request.param}.db.gz"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    with SQLiteVectorStore(MODEL, path) as store:
        yield store


def stored(store):
    return {
        record.id: (*facts(record), record.digest)
        for record in store._backend.scan(store.collection_name, vectors=True)
    }


def test_every_version_of_the_schema_has_a_file():
    names = sorted(path.name for path in HERE.glob("schema_*.db.gz"))
    assert names == sorted(f"schema_{version}.db.gz" for version in VERSIONS)
    assert sum(path.stat().st_size for path in HERE.glob("schema_*")) < LARGEST


def test_an_old_file_is_sound(old):
    assert old.verify() == []
    assert check_codes(old._backend, "default") == []


def test_an_old_file_is_found_by_words_and_by_meaning(old):
    assert [d.id for d in old.search("退款", "text", k=1)] == ["refund"]
    assert [d.id for d in old.search("coffee", "text", k=5)] == ["d05"]
    assert [d.id for d in old.search("word17", "text", k=5)] == ["d17"]
    text = "number 17 is about tea and word17, 第17号 茶"
    ((found, score),) = old.similarity_search_with_score(text, k=1)
    assert (found.id, round(score, 5)) == ("d17", 1)
    assert [d.id for d in old.search(text, "hybrid", k=1)] == ["d17"]
    assert [d.id for d in old.search(text, "similarity", k=1, filter={"n": -4})] == ["d04"]


def test_an_old_file_holds_what_was_written(old):
    known = stored(old)
    assert len(known) == 62
    assert "d03" not in known
    (refund,) = old.get_by_ids(["refund"])
    assert refund.metadata == {
        "title": "退货 refunds",
        "bytes": b"\x00\xff",
        "big": 2**70,
        "deep": {"a": [1]},
    }
    assert old.get_by_ids(["id \udfff \x00"])[0].page_content == "a lone \ud800 surrogate"
    times = old.timestamps(["d05"])["d05"]
    assert (times.created_at.timestamp(), times.updated_at.timestamp()) == (1_000, 1_060)
    assert old.record_manager("notes").list_keys(group_ids=["g"]) == ["k1"]
    assert old.byte_store("blobs").mget(["key"]) == [b"\x00value"]
    assert sorted(old.collections()) == ["default", "other"]


def test_an_old_file_is_written_on(old):
    old.add_texts(["something new about matcha"], ids=["new"])
    old.delete(["d01"])
    assert [d.id for d in old.search("matcha", "text", k=1)] == ["new"]
    assert old.similarity_search("something new about matcha", k=1)[0].id == "new"
    old.compact()
    assert old.verify() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_export_holds_what_the_old_file_holds(old, version, tmp_path):
    with SQLiteVectorStore(MODEL, tmp_path / "new.db") as new:
        assert new.import_jsonl(HERE / f"schema_{version}.jsonl").added == 62
        assert stored(new) == stored(old)
        assert new.verify() == []
