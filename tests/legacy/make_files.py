"""Makes the files that `test_old_files.py` opens: of this release's schema and export.

Usage: PYTHONPATH=.:tests python tests/legacy/make_files.py

Run once for each version of the schema, before it is released; the files of earlier
versions stay as their releases wrote them.
"""

import gzip
import tempfile
from pathlib import Path

from fakes import Clock
from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore
from langchain_ragstore.storage.sqlite import coding
from langchain_ragstore.storage.sqlite.schema import MIGRATIONS

HERE = Path(__file__).parent
MODEL = HashingEmbeddings(16)


def fill(path):
    """Something of everything that a file can hold, and nothing that has gone."""
    clock = Clock()
    with SQLiteVectorStore(MODEL, path, clock=clock) as store:
        store.add_texts(
            [f"number {n} is about tea and word{n}, 第{n}号 茶" for n in range(60)],
            [{"n": n, "tags": ["even", "odd"][n % 2 : n % 2 + 1]} for n in range(60)],
            ids=[f"d{n:02}" for n in range(60)],
        )
        store.delete(["d03"])
        store.update_metadata(["d04"], patch={"n": -4})
        clock.now += 60
        store.add_texts(["number five is about coffee, 珈琲"], [{"n": 5}], ids=["d05"])
        store.add_texts(
            ["退款在七天内完成。"],
            [
                {
                    "title": "退货 refunds",
                    "bytes": b"\x00\xff",
                    "big": 2**70,
                    "deep": {"a": [1]},
                }
            ],
            ids=["refund"],
        )
        store.add_texts(["a lone \ud800 surrogate"], ids=["id \udfff \x00"], expires_at=4e9)
        store.add_embeddings(["a foreign vector"], [[1.0] + [0.0] * 15], ids=["foreign"])
        store.record_manager("notes").update(["k1", "k2"], group_ids=["g", None])
        store.byte_store("blobs").mset([("key", b"\x00value")])
        with SQLiteVectorStore(MODEL, path, collection_name="other", clock=clock) as other:
            other.add_texts(["another collection about tea"], ids=["d01"])


def main():
    coding.SCAN_VALUES, coding.SKETCH_LEAST_DIMENSION = 100, 8  # codes of few vectors
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rag.db"
        fill(path)
        packed = gzip.compress(path.read_bytes(), mtime=0)
        place = HERE / f"schema_{len(MIGRATIONS)}.db.gz"
        place.write_bytes(packed)
        with SQLiteVectorStore(MODEL, path) as store:
            store.export_jsonl(HERE / f"schema_{len(MIGRATIONS)}.jsonl", overwrite=True)
    print(f"{place}: {len(packed)} bytes")  # noqa: T201 - a script


if __name__ == "__main__":
    main()
