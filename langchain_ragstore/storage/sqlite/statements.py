"""Every statement that reads or writes records, by name.

A text is bound as `CAST(? AS TEXT)`, because the driver refuses lone surrogates in a
`str` but takes the same bytes (see `connection.bound`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

ID_BATCH: Final = 200
"""Ids or keys in one statement: with a filter of some conditions still below 250 variables.
Libraries are built to bind at least 999 by default, and any program may lower the limit."""

_SIZES: Final = (16, 64, ID_BATCH)

TEXTS: Final = ", ".join(["CAST(? AS TEXT)"] * ID_BATCH)
"""What to bind a batch of texts to; see `batches`."""

INT64_MAX: Final = 2**63 - 1
"""The largest number that can be bound."""

_KEYS: Final = ", ".join("?" * ID_BATCH)

PRESENT: Final = "(r.expires_at IS NULL OR r.expires_at > ?)"
"""Whether a record has not expired; takes the time now."""

MATCH_FUNCTION: Final = "ragstore_match"
"""Name under which `where` gives SQLite the conditions that only Python decides."""


def batches(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Lists of exactly `ID_BATCH` values, the last filled up with NULL."""
    for start in range(0, len(values), ID_BATCH):
        batch = list(values[start : start + ID_BATCH])
        yield batch + [None] * (ID_BATCH - len(batch))


def fitting(statement: str, values: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """As `batches`, each with the statement for as few places as hold it.

    A search reads some ten or fifty records; places of a whole batch take longer than they.

    Args:
        statement: With the places of a whole batch.
        values: What to bind to them.
    """
    for start in range(0, len(values), ID_BATCH):
        batch = list(values[start : start + ID_BATCH])
        size = next(size for size in _SIZES if len(batch) <= size)
        yield _with_places(statement, size), batch + [None] * (size - len(batch))


@lru_cache(maxsize=256)
def _with_places(statement: str, size: int) -> str:
    few = ", ".join(["CAST(? AS TEXT)"] * size), ", ".join("?" * size)
    return statement.replace(TEXTS, few[0]).replace(_KEYS, few[1])


# --- collections ---------------------------------------------------------------------
COLLECTION: Final = (
    "SELECT key, generation, floor, dimension, analyzer, coded FROM ragstore_collection "
    "WHERE name = CAST(? AS TEXT)"
)
ADD_COLLECTION: Final = (
    "INSERT OR IGNORE INTO ragstore_collection (name) VALUES (CAST(? AS TEXT))"
)
COLLECTIONS: Final = f"""
SELECT name FROM ragstore_collection c
WHERE EXISTS (SELECT 1 FROM ragstore_record r WHERE r.collection = c.key AND {PRESENT})
"""
NAMES: Final = "SELECT name FROM ragstore_collection ORDER BY key"
NEXT_GENERATION: Final = (
    "UPDATE ragstore_collection SET generation = generation + 1 "
    "WHERE key = ? RETURNING generation"
)
SET_DIMENSION: Final = "UPDATE ragstore_collection SET dimension = ? WHERE key = ?"
ANY_RECORD: Final = "SELECT 1 FROM ragstore_record WHERE collection = ? LIMIT 1"
ANY_VECTOR: Final = """
SELECT 1 FROM ragstore_record r JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection = ? LIMIT 1
"""

# --- the model, and vectors without a record -------------------------------------------
MODEL: Final = "SELECT model, probe FROM ragstore_collection WHERE key = ?"
SET_MODEL: Final = (
    "UPDATE ragstore_collection SET model = CAST(? AS TEXT), probe = ? WHERE key = ?"
)
ANY_PRESENT_VECTOR: Final = f"""
SELECT 1 FROM ragstore_record r JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection = ? AND {PRESENT} LIMIT 1
"""
VECTORS_BY_DIGEST: Final = f"""
SELECT r.digest, v.data, v.checksum
FROM ragstore_record r JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection = ? AND {PRESENT} AND r.digest IN ({_KEYS})
"""
ANY_KEPT: Final = "SELECT data FROM ragstore_kept_vector WHERE collection = ? LIMIT 1"
KEPT: Final = f"""
SELECT digest, data, checksum FROM ragstore_kept_vector
WHERE collection = ? AND digest IN ({_KEYS})
"""
KEEP: Final = """
INSERT OR REPLACE INTO ragstore_kept_vector (collection, digest, data, checksum)
VALUES (?, ?, ?, ?)
"""
DROP_KEPT: Final = "DELETE FROM ragstore_kept_vector WHERE collection = ? AND digest = ?"
DROP_ALL_KEPT: Final = "DELETE FROM ragstore_kept_vector WHERE collection = ?"
KEPT_DIGESTS: Final = "SELECT digest FROM ragstore_kept_vector WHERE collection = ?"
TAKE_KEPT: Final = """
INSERT OR REPLACE INTO ragstore_vector (record, data, checksum)
SELECT ?1, data, (?2 << 32) | checksum
FROM ragstore_kept_vector WHERE collection = ? AND digest = ?
"""
SET_DIGEST: Final = "UPDATE ragstore_record SET digest = ? WHERE key = ?"
DROP_COLLECTION: Final = "DELETE FROM ragstore_collection WHERE key = ?"
COUNT_KEPT: Final = "SELECT count(*) FROM ragstore_kept_vector WHERE collection = ?"

# --- writing records -----------------------------------------------------------------
UPSERT_RECORD: Final = """
INSERT INTO ragstore_record
    (collection, id, content, metadata, generation, created_at, updated_at, expires_at,
     stamp, digest, checksum, created_checksum)
VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (collection, id) DO UPDATE SET
    content = excluded.content, metadata = excluded.metadata,
    generation = excluded.generation, updated_at = excluded.updated_at,
    expires_at = excluded.expires_at, stamp = excluded.stamp, digest = excluded.digest,
    checksum = excluded.checksum
"""
# Takes what is to replace an earlier `created_at` and its checksum, or NULL and NULL.
UPSERT_DATED: Final = f"""{UPSERT_RECORD.rstrip()},
    created_at = coalesce(?, created_at), created_checksum = coalesce(?, created_checksum)
"""
# `OR REPLACE` and `SELECT` would make SQLite copy each page that a row changes, in case it
# fails in the middle: half of all that 100 000 documents made it write.
UPSERT_VECTOR: Final = """
INSERT INTO ragstore_vector (data, checksum, record)
VALUES (?1, (?2 << 32) | ?3,
    (SELECT key FROM ragstore_record WHERE collection = ?4 AND id = CAST(?5 AS TEXT)))
ON CONFLICT (record) DO UPDATE SET data = excluded.data, checksum = excluded.checksum
"""
DELETE_VECTOR: Final = """
DELETE FROM ragstore_vector WHERE record =
    (SELECT key FROM ragstore_record WHERE collection = ? AND id = CAST(? AS TEXT))
"""
PATCHED: Final = "r.key, r.id, r.metadata, r.updated_at, r.expires_at, r.checksum"
# The checksum's high half is of the text, which a patch leaves as it is.
PATCH_RECORD: Final = """
UPDATE ragstore_record SET metadata = ?, checksum = (checksum >> 32 << 32) | ?,
    generation = ?, updated_at = ?
WHERE key = ?
"""
DELETE_RECORD: Final = "DELETE FROM ragstore_record WHERE key = ?"
EXPIRED: Final = "SELECT key FROM ragstore_record WHERE collection = ? AND expires_at <= ?"

# --- tombstones ----------------------------------------------------------------------
ADD_TOMBSTONE: Final = (
    "INSERT INTO ragstore_tombstone (collection, generation, record) VALUES (?, ?, ?)"
)
OLD_TOMBSTONE: Final = (
    "SELECT generation FROM ragstore_tombstone WHERE collection = ? "
    "ORDER BY generation DESC LIMIT 1 OFFSET ?"
)
DROP_TOMBSTONES: Final = (
    "DELETE FROM ragstore_tombstone WHERE collection = ? AND generation <= ?"
)
SET_FLOOR: Final = "UPDATE ragstore_collection SET floor = ? WHERE key = ?"

# --- the text index ------------------------------------------------------------------
NEXT_STAMP: Final = (
    "UPDATE ragstore_collection SET stamp = stamp + ? WHERE key = ? RETURNING stamp"
)
LIVE_STAMPS: Final = (
    f"SELECT stamp FROM ragstore_record WHERE collection = ? AND stamp IN ({_KEYS})"
)
LIVE_RANGE: Final = (
    "SELECT stamp FROM ragstore_record WHERE collection = ? AND stamp BETWEEN ? AND ?"
)
SEGMENTS: Final = """
SELECT key, rows, length(fences) / 8, merging FROM ragstore_segment
WHERE collection = ? ORDER BY key
"""
SEGMENT: Final = "SELECT rows, slots, fences FROM ragstore_segment WHERE key = ?"
ADD_SEGMENT: Final = (
    "INSERT INTO ragstore_segment (collection, rows, merging, slots, fences) "
    "VALUES (?, ?, ?, ?, ?) RETURNING key"
)
MERGED_TO: Final = "UPDATE ragstore_segment SET merging = ?, fences = ? WHERE key = ?"
DROP_SEGMENT: Final = "DELETE FROM ragstore_segment WHERE key = ?"
DROP_DEAD_SEGMENTS: Final = """
DELETE FROM ragstore_segment WHERE collection = ? AND NOT EXISTS (
    SELECT 1 FROM ragstore_record r
    WHERE r.collection = ragstore_segment.collection AND r.stamp IS NOT NULL
)
"""
ADD_BLOCK: Final = "INSERT INTO ragstore_posting (segment, number, data) VALUES (?, ?, ?)"
BLOCK: Final = "SELECT data FROM ragstore_posting WHERE segment = ? AND number = ?"

SET_ANALYZER: Final = (
    "UPDATE ragstore_collection SET analyzer = CAST(? AS TEXT) WHERE key = ?"
)
ANY_INDEXED: Final = f"""
SELECT 1 FROM ragstore_record r
WHERE r.collection = ? AND {PRESENT} AND r.stamp IS NOT NULL LIMIT 1
"""
GENERATIONS: Final = (
    "SELECT key, generation FROM ragstore_record WHERE collection = ? ORDER BY key"
)
SET_STAMP: Final = "UPDATE ragstore_record SET stamp = ? WHERE key = ?"
DROP_SEGMENTS: Final = "DELETE FROM ragstore_segment WHERE collection = ?"

# --- following changes ---------------------------------------------------------------
CHANGED: Final = """
SELECT r.key, r.expires_at, v.data, v.checksum FROM ragstore_record r
LEFT JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection = ? AND r.generation > ?
"""
TOMBSTONES: Final = (
    "SELECT record FROM ragstore_tombstone WHERE collection = ? AND generation > ?"
)
CHANGED_STAMPS: Final = (
    "SELECT key, stamp, expires_at FROM ragstore_record "
    "WHERE collection = ? AND generation > ?"
)
COUNT_VECTORS: Final = """
SELECT count(*) FROM ragstore_record r JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection = ?
"""

DROP_EXPIRED_BLOBS: Final = "DELETE FROM ragstore_blob WHERE expires_at <= ?"

# --- checking and repairing ------------------------------------------------------------
OUR_TABLES: Final = """
SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'ragstore_*'
ORDER BY name
"""
# As bytes, since a damaged text may be none.
RAW_RECORDS: Final = """
SELECT r.key, CAST(r.id AS BLOB), CAST(r.content AS BLOB), CAST(r.metadata AS BLOB),
       r.created_at, r.updated_at, r.expires_at, r.checksum, r.created_checksum,
       v.data, v.checksum
FROM ragstore_record r LEFT JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection = ? ORDER BY r.key
"""
ALL_KEPT: Final = "SELECT data, checksum FROM ragstore_kept_vector WHERE collection = ?"
HIGHEST: Final = """
SELECT coalesce(max(CAST(generation AS INTEGER)), 0),
       coalesce(max(CAST(stamp AS INTEGER)), 0)
FROM ragstore_record NOT INDEXED WHERE collection = ?
"""
COUNTERS: Final = "SELECT generation, stamp, floor FROM ragstore_collection WHERE key = ?"
SET_COUNTERS: Final = (
    "UPDATE ragstore_collection SET generation = ?, floor = ?, stamp = ? WHERE key = ?"
)
STAMPS: Final = (
    "SELECT stamp FROM ragstore_record WHERE collection = ? AND stamp IS NOT NULL"
)
LOSE_VECTOR: Final = "DELETE FROM ragstore_vector WHERE record = ?"
LOSE_DIGEST: Final = "UPDATE ragstore_record SET digest = NULL WHERE key = ?"
FOUND_COLLECTIONS: Final = """
INSERT INTO ragstore_collection (key, name, generation, dimension, stamp)
SELECT r.collection, 'recovered-' || r.collection, max(r.generation),
       max(length(v.data)) / 4, coalesce(max(r.stamp), 0)
FROM ragstore_record r LEFT JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection NOT IN (SELECT key FROM ragstore_collection)
GROUP BY r.collection RETURNING name
"""
EXPIRIES: Final = (
    "SELECT key, expires_at FROM ragstore_record "
    "WHERE collection = ? AND expires_at IS NOT NULL"
)
VECTORS: Final = (
    f"SELECT record, data, checksum FROM ragstore_vector WHERE record IN ({_KEYS})"
)

# --- metadata of many records ----------------------------------------------------------
VALUES: Final = f"""
SELECT key, type, CASE
    WHEN type IN ('text', 'integer') THEN json_extract(metadata, ?)
    WHEN type IN ('real', 'object', 'array') THEN metadata
END
FROM (
    SELECT key, metadata, json_type(metadata, ?) AS type FROM ragstore_record
    WHERE key IN ({_KEYS})
)
"""
METADATA: Final = (
    f"SELECT key, 'object', metadata FROM ragstore_record WHERE key IN ({_KEYS})"
)

# --- codes of vectors ------------------------------------------------------------------
ALL_VECTORS: Final = """
SELECT r.key, v.data FROM ragstore_record r JOIN ragstore_vector v ON v.record = r.key
WHERE r.collection = ? ORDER BY r.key
"""
ADD_WRITTEN: Final = (
    "UPDATE ragstore_collection SET written = written + ? WHERE key = ? RETURNING written"
)
SET_CODED: Final = "UPDATE ragstore_collection SET coded = ?, written = ? WHERE key = ?"
CODES: Final = "SELECT data FROM ragstore_code WHERE collection = ? ORDER BY number"
CODE: Final = "SELECT data FROM ragstore_code WHERE collection = ? AND number = ?"
COUNT_CODES: Final = "SELECT total(rows) FROM ragstore_code WHERE collection = ?"
PUT_CODE: Final = (
    "INSERT INTO ragstore_code (collection, number, rows, data) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (collection, number) DO UPDATE "
    "SET rows = excluded.rows, data = excluded.data"
)
DROP_CODE: Final = "DELETE FROM ragstore_code WHERE collection = ? AND number = ?"
DROP_CODES: Final = "DELETE FROM ragstore_code WHERE collection = ?"
CODEBOOK: Final = "SELECT rows, needed, mean FROM ragstore_codebook WHERE collection = ?"
PUT_CODEBOOK: Final = (
    "INSERT OR REPLACE INTO ragstore_codebook (collection, rows, needed, mean) "
    "VALUES (?, ?, ?, ?)"
)
DROP_CODEBOOK: Final = "DELETE FROM ragstore_codebook WHERE collection = ?"

# --- reading records -----------------------------------------------------------------
_COLUMNS: Final = (
    "r.key, r.id, r.content, r.metadata, r.created_at, r.updated_at, r.expires_at, "
    "r.digest, r.checksum, r.created_checksum"
)


def select(chosen: str, condition: str, *, vectors: bool = False) -> str:
    """The records of one collection that are present and fulfil a condition.

    Parameters are the collection's key, the time now, and those of the condition.
    """
    join = " LEFT JOIN ragstore_vector v ON v.record = r.key" if vectors else ""
    # SQLite would go through the whole collection for 250 keys; + keeps it from that.
    collection = "+r.collection" if condition == AMONG_KEYS else "r.collection"
    return (
        f"SELECT {chosen} FROM ragstore_record r{join} "
        f"WHERE {collection} = ? AND {PRESENT} AND {condition}"
    )


def present_vectors(condition: str) -> str:
    """Key, vector and its checksum of the records that have one; see `select`."""
    return (
        "SELECT r.key, v.data, v.checksum FROM ragstore_record r JOIN ragstore_vector v "
        f"ON v.record = r.key WHERE r.collection = ? AND {PRESENT} AND {condition}"
    )


def columns(*, vectors: bool) -> str:
    """The columns of a whole record; the last are its vector, or NULL, and its checksum."""
    return f"{_COLUMNS}, {'v.data, v.checksum' if vectors else 'NULL, NULL'}"


def records(condition: str, *, vectors: bool) -> str:
    """Whole records; see `select` and `columns`."""
    return select(columns(vectors=vectors), condition, vectors=vectors)


RECORD_PAGE: Final = (
    f"SELECT r.generation, {columns(vectors=False)} FROM ragstore_record r "
    "WHERE r.collection = ? AND r.key > ? ORDER BY r.key LIMIT ?"
)
"""Whole records after a key, expired ones too, each behind its generation."""

AMONG_IDS: Final = f"r.id IN ({TEXTS})"
AMONG_KEYS: Final = f"r.key IN ({_KEYS})"

INDEXED_RECORDS: Final = (
    f"SELECT r.stamp, {columns(vectors=False)} FROM ragstore_record r "
    "WHERE r.collection = ? AND r.stamp IS NOT NULL ORDER BY r.key"
)
"""Whole records that are in the text index, each behind its stamp; expired ones, too."""
