"""Checksums of what is true: SQLite has none, and a flipped bit reads as well as any."""

from __future__ import annotations

from struct import pack
from typing import Final
from zlib import crc32

_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1
_SIGN: Final = 1 << 63


def of_record(
    id: bytes, content: bytes, metadata: bytes, updated: float, expires: float | None
) -> int:
    """The checksum of a record, texts in UTF-8, as a signed number of 64 bits.

    CRC-32 finds every change of up to 32 bits side by side, and of others all but one in
    4 * 10^9. The high half is of id and text, the low one of what a patch changes, so
    that it need not read the text.
    """
    return _signed(crc32(content, crc32(id)) << _HALF | of_rest(metadata, updated, expires))


def of_rest(metadata: bytes, updated: float, expires: float | None) -> int:
    """The low half of a record's checksum."""
    times = pack("<d", updated) + (b"" if expires is None else pack("<d", expires))
    return crc32(times, crc32(metadata))


def of_time(time: float) -> int:
    """The checksum of a moment."""
    return crc32(pack("<d", time))


def low(checksum: int) -> int:
    """The low half."""
    return checksum & _LOW


def of_vector(data: bytes) -> int:
    """The checksum of a vector's bytes."""
    return crc32(data)


def of_owned(data: bytes, id: bytes) -> int:
    """The checksum of a record's vector, whose low half is that of its bytes.

    The high half is of the record's id: where a key is damaged, a record would have
    another's vector. Statements that give a vector to a record put it in.
    """
    return _signed(of_owner(id) << _HALF | of_vector(data))


def of_owner(id: bytes) -> int:
    """The high half of the checksum of a record's vector."""
    return crc32(id)


def _signed(whole: int) -> int:
    return whole - (1 << 64) if whole & _SIGN else whole


def utf8(text: str) -> bytes:
    """A text's bytes in the file."""
    return text.encode("utf-8", "surrogatepass")
