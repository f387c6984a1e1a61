"""LangChain documents and the records that stand for them."""

from __future__ import annotations

import copy
import hashlib
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeAlias

from langchain_core.documents import Document

from langchain_ragstore import filters
from langchain_ragstore.config import CONTENT_ID_LENGTH, DIGEST_BYTES
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import Filter, Predicate
from langchain_ragstore.metadata import encode
from langchain_ragstore.model import Record, Unanalyzed
from langchain_ragstore.numeric import number
from langchain_ragstore.text.analyzer import DEFAULT_ANALYZER, TextAnalyzer

RESULT_KEYS: Final = frozenset({"relevance_score", "ragstore"})
"""Metadata that searches write on results; dropped when a result is stored again."""

TITLE_KEYS: Final = frozenset({"title", "heading_path"})
"""Metadata that stand above a text and are found with it."""

FilterLike: TypeAlias = Mapping[Any, Any] | Callable[[Document], bool] | Filter | None
"""What every `filter` argument takes: a dictionary, a function of a document, None."""


IndexText: TypeAlias = Callable[[Document], str]
"""What of a document both kinds of search read; it may differ from what is returned."""


class Timestamps(NamedTuple):
    """When something was stored first, stored last, and is to vanish (None: never)."""

    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


def make_document(
    id: str,
    text: str,
    *,
    mime_type: str = "text/plain",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Make a document with an id and a MIME type.

    Args:
        id: Identifies the document; its chunks' ids begin with it.
        text: The content.
        mime_type: Kept in the metadata; a `mime_type` in `metadata` wins.
        metadata: Anything else to keep; it is copied.

    Returns:
        A LangChain `Document`.

    Example:
        ```python
        from langchain_ragstore import make_document

        document = make_document("guide", "Water boils at 100 °C.", metadata={"page": 1})
        assert document.metadata == {"mime_type": "text/plain", "page": 1}
        ```
    """
    return Document(
        id=id, page_content=text, metadata={"mime_type": mime_type, **(metadata or {})}
    )


def chunk_id(source_id: str, index: int) -> str:
    """The id of a chunk; past 9999 it grows a digit."""
    return f"{source_id}:chunk:{index:04d}"


def to_document(record: Record) -> Document:
    """A record as LangChain returns it; the metadata are the caller's to change."""
    return Document(
        id=record.id, page_content=record.content, metadata=dict(record.metadata)
    )


def to_timestamps(record: Record) -> Timestamps:
    """A stored record's times, in UTC."""
    assert record.created_at is not None  # noqa: S101 - every engine sets both
    assert record.updated_at is not None  # noqa: S101
    return in_utc(record.created_at, record.updated_at, record.expires_at)


def in_utc(created: float, updated: float, expires: float | None) -> Timestamps:
    """Seconds since the epoch as datetimes, the nearest ones to what none can tell."""
    return Timestamps(
        _in_utc(created), _in_utc(updated), None if expires is None else _in_utc(expires)
    )


def _in_utc(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):  # before the year 1, after 9999
        if seconds < 0:
            return datetime.min.replace(tzinfo=UTC)
        return datetime.max.replace(tzinfo=UTC)


def canonical(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Equal metadata with its keys in order, at every depth.

    Args:
        metadata: Such as `encode` takes; without cycles, therefore.
    """
    return {key: _in_order(metadata[key]) for key in sorted(metadata)}


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return canonical(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_in_order, value)) if type(value) in (list, tuple) else value
    return value


def content_id(text: str, metadata: Mapping[str, Any]) -> str:
    """The id of a document that has none: the same for equal text and metadata.

    So a notebook cell that is run twice stores nothing twice.
    """
    encoded = encode(canonical(metadata))
    digest = hashlib.sha256(f"{len(text)}:{text}{encoded}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:CONTENT_ID_LENGTH]


def titles(metadata: Mapping[str, Any]) -> str:
    """The title and the headings above a chunk, where they are texts; each once."""
    title, path = metadata.get("title"), metadata.get("heading_path")
    if not path:
        return title if isinstance(title, str) else ""
    found = [title, *(path if isinstance(path, (list, tuple)) else ())]
    return "\n".join(dict.fromkeys(title for title in found if isinstance(title, str)))


def with_titles(document: Document) -> str:
    r"""The default `index_text`: a document's title and headings, a blank line, its text.

    A chunk of the middle of a section so says what it is about.

    Example:
        ```python
        from langchain_core.documents import Document

        from langchain_ragstore.documents import with_titles

        chunk = Document("Press F4.", metadata={"title": "Printing", "page": 3})
        assert with_titles(chunk) == "Printing\n\nPress F4."
        assert with_titles(Document("Press F4.")) == "Press F4."
        ```
    """
    return _below(titles(document.metadata), document.page_content)


def _below(titles: str, text: str) -> str:
    return f"{titles}\n\n{text}" if titles else text


def to_index_text(function: IndexText | None) -> IndexText:
    """The function that makes what is indexed; None is `with_titles`.

    Raises:
        InvalidInputError: It cannot be called.
    """
    if function is None:
        return with_titles
    if not callable(function):
        raise InvalidInputError(
            f"index_text is a function of a document that returns a string, such as "
            f"lambda document: document.page_content; got {function!r}"
        )
    return function


def to_filter(filter: FilterLike) -> Filter:
    """Parse a filter argument.

    Raises:
        FilterError: It does not parse.
    """
    if callable(filter):
        function = filter

        def on_document(id: str, content: str, metadata: Mapping[str, Any]) -> bool:
            return function(Document(id=id, page_content=content, metadata=dict(metadata)))

        return Predicate(on_document)
    return filters.parse(filter)


def to_seconds(moment: datetime | float | None) -> float | None:
    """A time as seconds since the epoch; a naive datetime is read as UTC.

    Raises:
        InvalidInputError: Neither a datetime nor a finite number.
    """
    if moment is None:
        return None
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp()
    if isinstance(moment, bool) or not isinstance(moment, (int, float)):
        msg = f"expires_at is a datetime or seconds since the epoch, got {moment!r}"
        raise InvalidInputError(msg)
    return number("expires_at", moment)


def to_ids(ids: Iterable[str] | str, name: str = "ids") -> list[str]:
    """Ids as a list; a bare string is one id, not one for each of its characters.

    Raises:
        InvalidInputError: An id is not a string.
    """
    listed = [ids] if isinstance(ids, str) else list(ids)
    for id in listed:
        if not isinstance(id, str):
            raise InvalidInputError(f"{name} are strings, got {id!r} ({type(id).__name__})")
    return listed


def to_name(name: str, value: object) -> str:
    """The name of a part of a file.

    Raises:
        InvalidInputError: Empty, or not a string.
    """
    if not value or not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a non-empty string, got {value!r}")
    return value


def to_count(name: str, value: object) -> int:
    """A number of results as an int.

    Raises:
        InvalidInputError: Not a whole number.
    """
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        msg = f"{name} must be an integer, got {value!r} ({type(value).__name__})"
        raise InvalidInputError(msg) from None


def to_records(
    texts: Iterable[str],
    metadatas: Iterable[Mapping[str, Any] | None] | None,
    ids: Iterable[str | None] | str | None,
    *,
    stamp: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
    id_factory: Callable[[], str] | None = None,
    expires_at: float | None = None,
    index_text: IndexText = with_titles,
) -> list[Record]:
    """Check what is to be added, before anything is embedded.

    Args:
        texts: Read once; may be a generator.
        metadatas: One for each text, or None.
        ids: One for each text; an empty one is filled in.
        stamp: Makes the metadata to store from those given.
        id_factory: Makes missing ids; None for ids of the content.
        expires_at: Seconds since the epoch.
        index_text: Makes what is embedded of a document.

    Returns:
        One record for each text, without vectors.

    Raises:
        InvalidInputError: Lengths differ, or a text, id or metadata cannot be stored.
    """
    if isinstance(texts, str):
        raise InvalidInputError("texts is a list of strings, got one string; write [text]")
    listed = list(texts)
    for at, text in enumerate(listed):
        if not isinstance(text, str):
            raise InvalidInputError(f"text {at} is a {type(text).__name__}, not a string")
    given_metadata = _of_length("metadatas", metadatas, len(listed))
    given_ids = _of_length("ids", [ids] if isinstance(ids, str) else ids, len(listed))
    records = []
    for text, metadata, id in zip(listed, given_metadata, given_ids, strict=True):
        if id is not None and not isinstance(id, str):
            raise InvalidInputError(f"ids are strings, got {id!r} ({type(id).__name__})")
        kept = stamp(_without_results(metadata))
        encoded = encode(kept)
        made = id or (id_factory() if id_factory else content_id(text, kept))
        indexed = to_indexed(made, text, kept, index_text)
        digest = text_digest(indexed)
        records.append(
            Record(
                made,
                text,
                kept,
                expires_at=expires_at,
                indexed=indexed,
                digest=digest,
                encoded=encoded,
            )
        )
    return records


def to_indexed(
    id: str, text: str, metadata: Mapping[str, Any], index_text: IndexText
) -> str:
    """The text that is embedded for a document.

    Raises:
        InvalidInputError: `index_text` made no text.
    """
    if index_text is with_titles:
        return _below(titles(metadata), text)
    own = copy.deepcopy(dict(metadata))  # a function may change what it is given
    made = index_text(Document(id=id, page_content=text, metadata=own))
    if not isinstance(made, str):
        raise InvalidInputError(
            f"index_text must return a string, got {made!r} for document {id!r}"
        )
    return made


def text_digest(text: str) -> bytes:
    """What tells texts that were embedded apart."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def to_terms(record: Record, analyzer: TextAnalyzer) -> Unanalyzed:
    """What full text finds a record by: what is indexed of it, and its titles beside.

    Titles that are part of the text, too, were measured to be worth .02 of nDCG@10.
    """
    return Unanalyzed(record.indexed or "", titles(record.metadata), analyzer)


def to_analyzer(value: object) -> TextAnalyzer:
    """What a `text_analyzer` argument means; None is the default.

    Raises:
        InvalidInputError: It is no `TextAnalyzer`.
    """
    if value is None:
        return DEFAULT_ANALYZER
    if not isinstance(value, TextAnalyzer):
        raise InvalidInputError(
            f"text_analyzer is a TextAnalyzer or None, got {value!r}; functions go into "
            "one: TextAnalyzer(stemmer=..., segmenter=...)"
        )
    return value


def _of_length(name: str, values: Iterable[Any] | None, length: int) -> list[Any]:
    listed = [None] * length if values is None else list(values)
    if len(listed) != length:
        raise InvalidInputError(
            f"{length} texts but {len(listed)} {name}; give one for each, or None"
        )
    return listed


def _without_results(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be a dict, got {metadata!r}")
    kept = dict(metadata)
    for key in RESULT_KEYS:
        kept.pop(key, None)
    return kept


def last_of_each(records: Sequence[Record]) -> list[Record]:
    """One record for each id, the last one given, in the order of the ids."""
    return list({record.id: record for record in records}.values())


def missing_from(ids: Collection[str], records: Iterable[Record]) -> list[str]:
    """Ids that none of the records has."""
    found = {record.id for record in records}
    return [id for id in ids if id not in found]
