"""A collection as lines of JSON: what it is, its records, how many there were.

The first line names the format, the collection, its model and its analyzer; the last one
counts, so that a file that was cut off is known. Vectors and digests are base64, a vector
of its little-endian float32 numbers; metadata are written as the store itself does.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from langchain_ragstore.config import (
    DIGEST_BYTES,
    EXCERPT,
    EXPORT_VERSION,
    RECORD_PAGE,
    UNIT_SLACK,
)
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.metadata import encode, restored
from langchain_ragstore.model import Fingerprint, Record, Vector

_FORMAT: Final = "langchain-ragstore"
_TIMES: Final = ("created_at", "updated_at", "expires_at")
_UNREADABLE: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from.

    Attributes:
        collection: Its name.
        model: What made its vectors, if that is known.
        analyzer: What made its text index; None if it has none.
    """

    collection: str
    model: Fingerprint | None = None
    analyzer: str | None = None


# --- writing ---------------------------------------------------------------------------


def write(file: BinaryIO, origin: Origin, pages: Iterable[list[Record]]) -> int:
    """Write a collection; how many records it has."""
    model = origin.model and {
        "name": origin.model.name,
        "probe": _packed(origin.model.probe.astype("<f4").tobytes()),
    }
    header = {
        "format": _FORMAT,
        "version": EXPORT_VERSION,
        "collection": origin.collection,
        "model": model,
        "analyzer": origin.analyzer,
    }
    file.write(_line(_json(header)))
    count = 0
    for page in pages:
        file.write(b"".join(_line(_written(record)) for record in page))
        count += len(page)
    file.write(_line(_json({"records": count})))
    return count


def _written(record: Record) -> str:
    vector = None if record.vector is None else record.vector.astype("<f4").tobytes()
    parts = [
        ("id", _json(record.id)),
        ("content", _json(record.content)),
        ("metadata", encode(record.metadata)),
        ("vector", _json(_packed(vector))),
        ("digest", _json(_packed(record.digest))),
        *((name, _json(getattr(record, name))) for name in _TIMES),
    ]
    return "{" + ", ".join(f'"{name}": {text}' for name, text in parts) + "}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _line(text: str) -> bytes:
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only write escaped
        return json.dumps(json.loads(text)).encode() + b"\n"


def _packed(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


# --- reading ---------------------------------------------------------------------------


class Exported:
    """A file of `write`, to be read as often as need be.

    Args:
        path: The file.

    Raises:
        InvalidInputError: There is none, or it does not begin as it should.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        try:
            with self._path.open("rb") as file:
                first = file.readline()
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"{path} cannot be read: {error}") from error
        self.origin = self._origin(first)

    def _origin(self, line: bytes) -> Origin:
        try:
            header = json.loads(line)
            known = header["format"] == _FORMAT
        except (*_UNREADABLE, RecursionError):
            known = False
        if not known:
            raise self._refused(1, "this is no export of a store")
        if header.get("version") != EXPORT_VERSION:
            raise self._refused(
                1,
                f"its format is version {header.get('version')!r}, this release reads "
                f"{EXPORT_VERSION}; upgrade: pip install -U langchain-ragstore",
            )
        try:
            model = header["model"]
            if model is not None:
                probe = np.frombuffer(_unpacked(model["probe"]), "<f4").astype(np.float32)
                if not len(probe) or not np.isfinite(probe).all():
                    raise ValueError("the model's probe is no vector")
                model = Fingerprint(_text(model["name"]), probe)
            analyzer = header["analyzer"]
            return Origin(
                _text(header["collection"]),
                model,
                None if analyzer is None else _text(analyzer),
            )
        except _UNREADABLE as error:
            raise self._refused(1, f"damaged ({_reason(error)})") from error

    def pages(self) -> Generator[list[Record], None, None]:
        """The records, some at a time.

        Raises:
            InvalidInputError: A line cannot be read, or lines are missing.
        """
        page: list[Record] = []
        count, told, number = 0, None, 1
        with self._path.open("rb") as file:
            file.readline()
            for number, line in enumerate(file, 2):
                if told is not None:
                    raise self._refused(number, "there is more after the last record")
                raw = self._parsed(number, line)
                if raw.keys() == {"records"}:
                    told = raw["records"]
                    continue
                page.append(self._record(number, raw))
                count += 1
                if len(page) == RECORD_PAGE:
                    yield page
                    page = []
        if told != count:
            raise self._refused(
                number,
                f"the file was cut off: {count} records are there"
                + ("" if told is None else f", {told!r} should be"),
            )
        if page:
            yield page

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            raw = json.loads(line)
        except (*_UNREADABLE, RecursionError) as error:
            raise self._refused(number, f"no JSON ({_reason(error)})") from error
        if not isinstance(raw, dict):
            raise self._refused(number, f"no JSON object: {str(raw)[:EXCERPT]}")
        return raw

    def _record(self, number: int, raw: Mapping[str, Any]) -> Record:
        try:
            return _record(raw)
        except (*_UNREADABLE, RecursionError) as error:
            raise self._refused(number, _reason(error)) from error

    def _refused(self, number: int, why: str) -> InvalidInputError:
        return InvalidInputError(f"{self._path}, line {number}: {why}; nothing was written")


def _record(raw: Mapping[str, Any]) -> Record:
    id = _text(raw["id"])
    if not id:
        raise ValueError("an empty id")
    vector = raw["vector"]
    digest = raw["digest"]
    metadata = raw["metadata"]
    if not isinstance(metadata, dict):
        raise TypeError("the metadata are no object")
    made = restored(metadata)
    return Record(
        id,
        _text(raw["content"]),
        made,
        None if vector is None else _vector(vector),
        created_at=_time(raw["created_at"]),
        updated_at=_time(raw["updated_at"]),
        expires_at=_time(raw["expires_at"]),
        digest=None if digest is None else _digest(digest),
        encoded=encode(made),
    )


def _vector(text: str) -> Vector:
    vector: Vector = np.frombuffer(_unpacked(text), "<f4").astype(np.float32)
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not len(vector) or not isfinite(length) or (length and abs(length - 1) > UNIT_SLACK):
        raise ValueError(f"the vector's length is {length:g}, not 1")
    return vector


def _digest(text: str) -> bytes:
    digest = _unpacked(text)
    if len(digest) != DIGEST_BYTES:
        raise ValueError(f"a digest of {len(digest)} bytes instead of {DIGEST_BYTES}")
    return digest


def _time(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a time is a number, got {value!r}")
    if not isfinite(value):
        raise ValueError(f"a time is finite, got {value!r}")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, got {str(value)[:EXCERPT]}")
    return value


def _unpacked(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return f"{type(error).__name__}: {str(error)[:200]}"
