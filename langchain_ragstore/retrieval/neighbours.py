"""Neighbours: the chunks before and after a hit, joined to its text in reading order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

from langchain_ragstore.config import LEAST_SHARED
from langchain_ragstore.filters import both, parse
from langchain_ragstore.model import Hit, Record
from langchain_ragstore.retrieval.question import Question, Shelf


class Place(NamedTuple):
    """Which chunk of which source a record is."""

    source: str
    number: int


Known: TypeAlias = Mapping[Place, Record]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Joins each hit with the chunks around it; hits that thereby touch become one.

    A joined hit has the record of its best hit with the whole text, stands where that one
    stood, and names its chunks. A neighbour that is not stored, has expired or does not
    fulfil the search's filter ends the text on its side. A hit that is no chunk of a
    source (`source_id` a string, `chunk_index` a whole number) stays as it is.

    Attributes:
        window: How many chunks on each side.
    """

    window: int
    vectors: ClassVar[bool] = False
    wants: ClassVar[int] = 0

    def __call__(self, hits: list[Hit], question: Question, shelf: Shelf) -> list[Hit]:
        """The hits with their neighbours."""
        asked = around(hits, self.window)
        return joined(hits, _read(asked, hits, question, shelf), self.window)


def place(record: Record) -> Place | None:
    """Which chunk of which source a record is; None for what is no chunk."""
    source = record.metadata.get("source_id")
    number = _whole(record.metadata, "chunk_index")
    if not isinstance(source, str) or number is None:
        return None
    return Place(source, number)


def around(hits: Iterable[Hit], window: int) -> list[Place]:
    """The chunks within `window` of a hit that are no hits themselves, in order."""
    own = {place(hit.record) for hit in hits}
    wanted = {
        Place(at.source, number)
        for at in own
        if at is not None
        for number in range(max(0, at.number - window), at.number + window + 1)
    }
    return sorted(wanted - own)


def _read(
    asked: Sequence[Place], hits: Iterable[Hit], question: Question, shelf: Shelf
) -> dict[Place, Record]:
    """The chunks that may be shown.

    They are read by the ids that splitters give. Only sources of hits with other ids are
    searched for by their metadata, which reads the whole collection.
    """
    if not asked:
        return {}
    found = shelf.get([_id(at) for at in asked], question.where)
    other = {
        at.source
        for hit in hits
        if (at := place(hit.record)) is not None and hit.record.id != _id(at)
    }
    parts = [
        {"source_id": source, "chunk_index": {"$in": [at.number for at in chunks]}}
        for source in sorted(other)
        if (chunks := [at for at in asked if at.source == source])
    ]
    if parts:
        found += shelf.scan(both(question.where, parse({"$or": parts})))
    wanted = set(asked)
    known: dict[Place, Record] = {}
    for record in found:  # those with a splitter's id first, and the first one counts
        at = place(record)
        if at in wanted:
            known.setdefault(at, record)
    return known


def _id(at: Place) -> str:
    return f"{at.source}:chunk:{at.number:04d}"


def joined(hits: Sequence[Hit], neighbours: Known, window: int) -> list[Hit]:
    """Hits with the text of their neighbours.

    Args:
        hits: The best first, or in any other order: the first of those that touch stays.
        neighbours: Chunks that are no hits; of those within `window` of one.
        window: How far from a hit a chunk may be.

    Returns:
        One hit for each stretch of chunks that follow each other, and the hits that are
        no chunks, in the order of `hits`. Two records of one place do not touch: the
        second stays as it is.
    """
    best: dict[Place, Hit] = {}
    for hit in hits:
        at = place(hit.record)
        if at is not None:
            best.setdefault(at, hit)
    records = {at: hit.record for at, hit in best.items()} | {
        at: record for at, record in neighbours.items() if at not in best
    }
    runs = {at: run for run in _runs(best, records, window) for at in run}
    done: set[Place] = set()
    result = []
    for hit in hits:
        at = place(hit.record)
        if at is None or best[at] is not hit:
            result.append(hit)
        elif at not in done:
            run = runs[at]
            done.update(run)
            result.append(_whole_hit(hit, [records[part] for part in run]))
    return result


def _runs(best: Iterable[Place], records: Known, window: int) -> Iterator[list[Place]]:
    """Stretches of chunks that follow each other, each within reach of a hit."""
    reached: set[Place] = set()
    for source, number in best:
        reached.add(Place(source, number))
        for step in (-1, 1):
            for distance in range(1, window + 1):
                at = Place(source, number + step * distance)
                if at not in records:
                    break
                reached.add(at)
    run: list[Place] = []
    for at in sorted(reached):
        if run and at != Place(run[-1].source, run[-1].number + 1):
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def _whole_hit(hit: Hit, chunks: Sequence[Record]) -> Hit:
    record = replace(hit.record, content=text_of(chunks))
    return replace(hit, record=record, joined=tuple(chunk.id for chunk in chunks))


def text_of(chunks: Sequence[Record]) -> str:
    """The text of chunks that follow each other, what they share once.

    `start_index` tells what they share, if it agrees with the texts; if it does not, or
    is absent, what ends one and begins the next. What a splitter put before a chunk
    (`prefix_len`: the header of a table) is left out of all but the first. Blanks that
    stripping took away between two chunks come back as one or two line ends.

    Example:
        ```python
        from langchain_ragstore.model import Record
        from langchain_ragstore.retrieval.neighbours import text_of

        one = Record("1", "Tea wants 80 °C.", {"start_index": 0})
        two = Record("2", "80 °C. Coffee more.", {"start_index": 10})
        assert text_of([one, two]) == "Tea wants 80 °C. Coffee more."
        ```
    """
    text, last = chunks[0].content, chunks[0]
    for chunk in chunks[1:]:
        more = _continued(last, chunk)
        if more:  # a chunk that lies within the one before it does not end the text
            text, last = text + more, chunk
    return text


def _continued(before: Record, after: Record) -> str:
    """What the second of two chunks adds, and what stands between them."""
    end, start = _body(before), _body(after)
    shared = _shared_by_position(before, after)
    if shared is None:
        shared = _shared_by_text(end, start)
        blank = not end or end[-1:].isspace() or start[:1].isspace()
        return start[shared:] if shared or blank else "\n" + start
    if shared < 0:
        return "\n" * min(2, -shared) + start
    return start[shared:]


def _shared_by_position(before: Record, after: Record) -> int | None:
    """Characters that two chunks share by their positions, negative for those between.

    None if the positions do not tell: they are absent, go backwards (each page of a
    document counts anew) or contradict the texts.
    """
    first = _whole(before.metadata, "start_index")
    second = _whole(after.metadata, "start_index")
    if first is None or second is None or second < first:
        return None
    end, start = _body(before), _body(after)
    shared = first + len(end) - second
    if shared > 0 and end[-shared:] != start[:shared]:
        # The second may lie within the first, as the last chunk of some splitters does.
        inside = end[len(end) - shared :].startswith(start)
        return len(start) if inside else None
    return shared


def _shared_by_text(end: str, start: str) -> int:
    """Length of the longest end of one text that begins the other; 0 if it is short."""
    head = start[:LEAST_SHARED]
    if len(head) < LEAST_SHARED:
        return 0
    at = end.find(head, max(0, len(end) - len(start)))
    while at >= 0:
        if start.startswith(end[at:]):
            return len(end) - at
        at = end.find(head, at + 1)
    return 0


def _body(record: Record) -> str:
    """A chunk without what a splitter put before it."""
    prefix = _whole(record.metadata, "prefix_len") or 0
    return record.content[prefix:] if prefix <= len(record.content) else record.content


def _whole(metadata: Mapping[str, Any], key: str) -> int | None:
    value = metadata.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value
