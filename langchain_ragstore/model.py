"""What flows between the rooms: records, hits, and the one way to order hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import neg
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.config import LEAST_AGREEMENT

Vector: TypeAlias = NDArray[np.float32]
"""One embedding: shape `(dimension,)`, float32, unit length or all zeros."""

Matrix: TypeAlias = NDArray[np.float32]
"""Embeddings, one a row: shape `(count, dimension)`, float32, C-contiguous."""


Keys: TypeAlias = NDArray[np.int64]
"""An engine's own numbers of records, shape `(count,)`."""

Found: TypeAlias = tuple[Keys, NDArray[np.float64]]
"""Records by key and the score of each, best first."""


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What may stand in place of some of a query's terms; see `lexical.bm25`.

    Attributes:
        exact: Terms of the query, and how often each is part of it for this.
        others: What may stand for all of them together, each as terms and their counts.
        title: Whether all of this is looked for in the title, not in the body.
    """

    exact: Mapping[str, int]
    others: tuple[Mapping[str, int], ...]
    title: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """What a record is found by in full text, or what a query looks for.

    Attributes:
        body: Terms and how often each occurs, at least once.
        title: Those of the title, which counts less and is matched in more ways: single
            characters, too.
        alternatives: Of a query: synonyms, and whatever else may stand for its terms.
        analyzer: What made the terms. Those of one collection are made by the same.
    """

    body: Mapping[str, int]
    title: Mapping[str, int] = field(default_factory=dict)
    alternatives: tuple[Alternatives, ...] = ()
    analyzer: str = ""


class PieceKeys(Protocol):
    """What gives the numbers of the terms of words; see `lexical.pieces`."""

    def of(self, pieces: Iterable[str | bytes]) -> bytes:
        """Those of some words, one after the other, 8 bytes each."""

    def of_ascii(
        self, texts: Sequence[bytes]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Those of ASCII texts, and the place of the text of each."""


class Analyzer(Protocol):
    """What makes terms of texts."""

    @property
    def description(self) -> str:
        """What the terms depend on, in a line."""

    @property
    def keys_of(self) -> PieceKeys | None:
        """The numbers of words' terms.

        None if texts have terms besides those of their words and pairs of characters.
        """

    def index_terms(self, text: str, title: str = "") -> Terms:
        """What a text and its title are found by."""


class Unanalyzed(NamedTuple):
    """A text whose terms are still to be made; an engine makes those of many at once.

    Attributes:
        body: The text.
        title: Its title, empty for none.
        by: What makes the terms.
    """

    body: str
    title: str
    by: Analyzer

    @property
    def analyzer(self) -> str:
        """What makes the terms, as it is called in `Terms`."""
        return self.by.description

    @property
    def characters(self) -> int:
        """How long it is."""
        return len(self.body) + len(self.title)

    def terms(self) -> Terms:
        """The terms."""
        return self.by.index_terms(self.body, self.title)


@dataclass(frozen=True, slots=True)
class Record:
    """One stored chunk.

    Attributes:
        id: Unique within its collection.
        content: The text that is returned.
        metadata: What the user gave; a value of its own, aliased by nobody.
        vector: Unit-length float32 embedding; None when the record has none or
            when it was not asked for.
        created_at: Seconds since the epoch, kept across updates; None before storing.
        updated_at: Seconds since the epoch of the last write; None before storing.
        expires_at: Seconds since the epoch from which on the record is absent.
        terms: What full text finds it by, None for nothing; stored, never returned.
        indexed: The text that `vector` and `terms` stand for; None once it is stored.
        digest: Of `indexed`, where `vector` is what a model made of it: an equal text
            need not be embedded again. None if the vector came from elsewhere.
        encoded: `metadata` as text, if that was made already (`metadata.encode`).
    """

    id: str
    content: str
    metadata: Mapping[str, Any]
    vector: Vector | None = field(default=None, compare=False, repr=False)
    created_at: float | None = None
    updated_at: float | None = None
    expires_at: float | None = None
    terms: Terms | Unanalyzed | None = field(default=None, compare=False, repr=False)
    indexed: str | None = field(default=None, compare=False, repr=False)
    digest: bytes | None = field(default=None, compare=False, repr=False)
    encoded: str | None = field(default=None, compare=False, repr=False)

    def completed(self, vector: Vector | None, terms: Unanalyzed | None) -> Record:
        """With what it is found by; a digest without a vector means nothing.

        Written out, since `dataclasses.replace` takes as long as all the rest of a write.
        """
        return Record(
            self.id,
            self.content,
            self.metadata,
            vector,
            expires_at=self.expires_at,
            terms=terms,
            digest=None if vector is None else self.digest,
            encoded=self.encoded,
        )


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one embedding model from another.

    Attributes:
        name: For people; two models may share it.
        probe: The model's vector of `config.PROBE_TEXT`, unit length.
    """

    name: str
    probe: Vector = field(repr=False)

    def agrees(self, other: Fingerprint) -> bool:
        """Whether vectors of both may be compared."""
        if len(self.probe) != len(other.probe):
            return False
        if not self.probe.any() or not other.probe.any():
            return not self.probe.any() and not other.probe.any()
        return float(self.probe @ other.probe) >= LEAST_AGREEMENT


def alike(first: Fingerprint | None, second: Fingerprint | None) -> bool:
    """Whether two models, either of which may be unknown, can be taken for one."""
    if first is None or second is None:
        return first is second
    return first.agrees(second)


@dataclass(frozen=True, slots=True)
class Hit:
    """A record found by a search.

    Attributes:
        record: What was found.
        score: Higher is better, always.
        signals: What the score was made of, by name (`"dense"`: the cosine, `"lexical"`:
            BM25). A signal that was not measured is absent, which is not the same as 0.
        joined: Ids of the chunks that the text was joined from, in reading order; empty
            if it is the record's own.
        notes: What stages have to say in words, by name: a topic, or why a reranker's
            answer is missing.
    """

    record: Record
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)
    joined: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    def noted(self, name: str, words: str | None) -> tuple[tuple[str, str], ...]:
        """Its notes with another one under a name; None to take that away."""
        others = tuple(note for note in self.notes if note[0] != name)
        return others if words is None else (*others, (name, words))


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be in a store's file.

    Attributes:
        collection: Where; None if it is not a matter of one collection.
        kind: `"file"` (pages, indexes of the file), `"record"`, `"vector"`, `"orphan"`
            (what belongs to nothing), or the name of a cache, such as `"text index"`.
        ids: The documents that are concerned, where that is known.
        what: What is wrong, or, from `repair`, what was done and what is lost.
        way_out: What to do now.
    """

    collection: str | None
    kind: str
    ids: tuple[str, ...]
    what: str
    way_out: str


class Compacted(NamedTuple):
    """What room a store took before and after it was compacted, in bytes."""

    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """Full-text scores of given records.

    Attributes:
        scores: BM25 by id, 0 for a record without any term of the query; a record that
            is absent or not indexed is left out.
        reachable: What no record's score for this query exceeds, so that scores of
            different queries can be compared; 0 for a query without terms.
    """

    scores: Mapping[str, float]
    reachable: float


def best_first(scores: Sequence[float], ids: Sequence[str]) -> list[int]:
    """The places of what was found, best first; equal scores are ordered by id.

    This is the only place where finds are sorted, so that every back end and every stage
    breaks ties in the same way.

    Args:
        scores: One for each find.
        ids: The id of each; of one whose score no other has, anything.
    """
    # Tuples are compared without calling Python for each.
    places = zip(map(neg, scores), ids, range(len(scores)), strict=True)
    return [place for *_, place in sorted(places)]


def best_first_asking(
    scores: NDArray[np.float64], ids_of: Callable[[NDArray[np.intp]], Sequence[str]]
) -> NDArray[np.intp]:
    """As `best_first`, of finds whose ids must be read: those of equal scores alone are.

    Args:
        scores: One for each find, shape `(count,)`.
        ids_of: Gives the ids of the finds at some places.
    """
    order = np.argsort(-scores, kind="stable")
    same = scores[order[1:]] == scores[order[:-1]]
    if not same.any():
        return order
    tied = order[np.append(same, False) | np.append(False, same)]
    names = dict(zip(tied.tolist(), ids_of(tied), strict=True))
    ids = [names.get(place, "") for place in range(len(scores))]
    return np.array(best_first(scores.tolist(), ids), np.intp)


def ranked(hits: Iterable[Hit], k: int | None = None) -> list[Hit]:
    """Hits in the order of `best_first`.

    Args:
        hits: In any order.
        k: How many to return; None for all of them.

    Returns:
        At most `k` hits, best first.
    """
    found = list(hits)
    order = best_first([hit.score for hit in found], [hit.record.id for hit in found])
    return [found[place] for place in order[:k]]
