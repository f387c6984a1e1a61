"""Checksums of what is true: SQLite has none, and a flipped bit reads as well as any."""

from __future__ import annotations

from typing import Final
from zlib import crc32

_HALF: Final = 32
_SIGN: Final = 1 << 63


def of_record(id: str, content: str, metadata: str) -> int:
    """The checksum of a record's texts, as a signed number of 64 bits.

    CRC-32 finds every change of up to 32 bits side by side, and of others all but one in
    4 * 10^9. The high half is of id and text, the low one of the metadata, so that those
    can be changed without reading the text.
    """
    return of_bytes(*map(_bytes, (id, content, metadata)))


def of_bytes(id: bytes, content: bytes, metadata: bytes) -> int:
    """As `of_record`, of UTF-8."""
    whole = crc32(content, crc32(id)) << _HALF | crc32(metadata)
    return whole - (1 << 64) if whole & _SIGN else whole


def of_metadata(metadata: str) -> int:
    """The low half of a record's checksum."""
    return crc32(_bytes(metadata))


def of_vector(data: bytes) -> int:
    """The checksum of a vector's bytes."""
    return crc32(data)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
