"""What the engine in memory does with one record."""

from __future__ import annotations

from dataclasses import replace

from langchain_ragstore.filters import Filter
from langchain_ragstore.metadata import decode, encode
from langchain_ragstore.model import Record


def unchanged(first: Record, second: Record) -> bool:
    """Whether text and metadata are the same."""
    return (first.content, encode(first.metadata)) == (
        second.content,
        encode(second.metadata),
    )


def expired(record: Record, now: float) -> bool:
    """Whether a record is absent from now on."""
    return record.expires_at is not None and record.expires_at <= now


def matches(record: Record, where: Filter) -> bool:
    """Whether a filter lets a record through."""
    return where.matches(record.id, record.content, record.metadata)


def copied(record: Record, vectors: bool) -> Record:  # noqa: FBT001
    """A record that nothing else refers to; without its vector unless it is asked for."""
    vector = record.vector.copy() if vectors and record.vector is not None else None
    metadata = decode(encode(record.metadata))
    return replace(record, metadata=metadata, vector=vector, terms=None)
