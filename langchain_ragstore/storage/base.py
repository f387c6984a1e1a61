"""The verbs that every engine has; conveniences are derived above them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from langchain_ragstore.errors import (
    AnalyzerMismatchError,
    ConflictError,
    DimensionMismatchError,
    EmbeddingMismatchError,
    InvalidInputError,
)
from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import (
    Fingerprint,
    Found,
    Hit,
    Keys,
    LexicalScores,
    Record,
    Terms,
    Vector,
)
from langchain_ragstore.storage.care import Cared, TermsOf

T = TypeVar("T")


class View(Protocol):
    """One state of a collection, as long as a search reads it; see `Backend.within`.

    Records are numbers here, keys of the engine's own, so that a search which ranks a
    hundred of them and returns ten reads ten. An unknown collection is empty.
    """

    def dense(self, vector: Vector, k: int, where: Filter, *, exact: bool = False) -> Found:
        """The `k` records of highest cosine that match, ranked; see `Backend.dense`."""

    def lexical(self, query: Terms, k: int, where: Filter) -> Found:
        """The `k` records of highest BM25 among those that match, ranked.

        See `Backend.lexical`.
        """

    def cosines(self, vector: Vector, keys: Keys) -> NDArray[np.float64]:
        """The cosine of each record; NaN for one without a vector."""

    def bm25(self, query: Terms, keys: Keys) -> NDArray[np.float64]:
        """The BM25 of each record; NaN for one that is not indexed."""

    def reachable(self, query: Terms) -> float:
        """What no record's BM25 exceeds; see `Backend.lexical_scores`."""

    def mean(self) -> Vector | None:
        """See `Backend.mean`."""

    def keys(self, ids: Collection[str]) -> Keys:
        """The records that have one of these ids, each once."""

    def ids(self, keys: Keys) -> list[str]:
        """The id of each record."""

    def records(self, keys: Keys, *, vectors: bool) -> list[Record]:
        """Each record, with or without its vector."""


class Backend(Cared, Protocol):
    """Records in collections: the contract between the faces and an engine.

    Writes are all or nothing. Vectors arrive checked and with unit length, texts to be
    searched as `Terms`, filters parsed; `Filter.matches()` is their meaning. Searches
    return whole records. A record whose `expires_at` has passed is absent everywhere.
    Nothing that goes in or comes out is aliased by the engine.
    """

    def upsert(
        self,
        collection: str,
        records: Sequence[Record],
        *,
        remove: Collection[str] = (),
        guard: Filter = EVERYTHING,
        expected: Sequence[Record] = (),
        model: Fingerprint | None = None,
        dated: bool = False,
    ) -> None:
        """Store records, replacing those with the same ids, in one transaction.

        Args:
            collection: Made if it does not exist.
            records: With different ids. `created_at` and `updated_at` are the engine's,
                unless they are `dated`.
            remove: Ids that leave in the same transaction (before the records come).
            guard: What a record must match to be replaced or removed.
            expected: Records whose content and metadata must still be just so.
            model: What made the vectors; None for what is not known.
            dated: Keep the records' own times, where they have some: they are copies.

        Raises:
            DimensionMismatchError: Vectors of another length than the collection's.
            AnalyzerMismatchError: Terms of another analyzer than those of the records.
            EmbeddingMismatchError: Another model than that of the collection's vectors.
            ConflictError: A record is not as expected.
            InvalidInputError: An id exists with a record outside `guard`.
        """

    def patch(
        self,
        collection: str,
        *,
        ids: Collection[str] | None,
        where: Filter,
        changes: Mapping[str, Any],
        remove: Collection[str] = (),
    ) -> int:
        """Set and remove metadata keys of the records that match; how many did."""

    def delete(self, collection: str, *, ids: Collection[str] | None, where: Filter) -> int:
        """Remove the records that have one of `ids` (None: any) and match; how many did."""

    def get(
        self,
        collection: str,
        ids: Sequence[str],
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
    ) -> list[Record]:
        """Records in the order of `ids`, repeated like them; absent ids are left out."""

    def scan(
        self,
        collection: str,
        *,
        where: Filter = EVERYTHING,
        order_by: str | tuple[str, ...] | None = None,
        limit: int | None = None,
        offset: int = 0,
        vectors: bool = False,
    ) -> list[Record]:
        """Records that match, in the order in which their ids first came.

        Args:
            collection: An unknown one is empty.
            where: Which records.
            order_by: `created_at`, `updated_at`, `expires_at`, `$id`, or a metadata key
                (a tuple is a nested one); a leading `-` reverses. See `storage.ordering`.
            limit: How many at most; None for all.
            offset: How many to pass over first.
            vectors: Whether the records carry their vectors.
        """

    def within(self, collection: str, ask: Callable[[View], T]) -> T:
        """Read one state of a collection, whatever others write meanwhile.

        Args:
            collection: An unknown one is empty.
            ask: Is given the state, and may be called again with a newer one. The state
                is not to be used after it returns, nor anything else of the engine in it.

        Returns:
            What `ask` returns.
        """

    def dense(
        self,
        collection: str,
        vector: Vector,
        k: int,
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
        exact: bool = False,
    ) -> list[Hit]:
        """The `k` records of highest cosine among those that match, ranked.

        Scores are exact. An engine may miss one in a hundred of the records of large
        collections, but never comes back with fewer than `k` if so many match.

        Args:
            collection: An unknown one is empty.
            vector: Unit length.
            k: How many.
            where: Which records.
            vectors: Whether the records carry their vectors.
            exact: Whether none of the best may be missed.

        Raises:
            DimensionMismatchError: The query has another length than the collection.
        """

    def lexical(
        self,
        collection: str,
        query: Terms,
        k: int,
        *,
        where: Filter = EVERYTHING,
        vectors: bool = False,
    ) -> list[Hit]:
        """The `k` records of highest BM25 among those that match, ranked.

        A hit holds at least one term of the query. Statistics are those of all present,
        indexed records of the collection, whatever the filter; see `lexical.bm25`.

        Raises:
            AnalyzerMismatchError: The query's terms are made by another analyzer than the
                collection's.
        """

    def lexical_scores(
        self, collection: str, query: Terms, ids: Collection[str]
    ) -> LexicalScores:
        """BM25 of given records, and what it could reach at most.

        The bound is (k1 + 1) · Σ qtf · idf over both fields, the title's part weighted;
        a term that no record holds counts with a df of 0, a field that none has with 0.

        Raises:
            AnalyzerMismatchError: As in `lexical`.
        """

    def analyzer(self, collection: str) -> str | None:
        """What made the terms of the present, indexed records; None if there are none."""

    def reindex(self, collection: str, terms_of: TermsOf) -> int:
        """Make the text index anew, from all records at once; how many it then has.

        Before and after, searches see one whole index; after an error, the old one.
        Nothing else of the records changes, and no other writer waits for `terms_of`
        but for what was written meanwhile.

        Args:
            collection: An unknown one is left unknown.
            terms_of: The new terms of a record, None for none; of one analyzer.
        """

    def mean(self, collection: str) -> Vector | None:
        """The mean of the vectors of all present records; None if there are none."""

    def fingerprint(self, collection: str) -> Fingerprint | None:
        """The model of a collection's vectors; None if there are none or it is unknown."""

    def known(
        self, collection: str, digests: Collection[bytes], model: Fingerprint | None
    ) -> dict[bytes, Vector]:
        """Vectors that texts have already, by digest.

        Those of present records, and those that `keep` kept from the same model.
        """

    def keep(
        self,
        collection: str,
        vectors: Mapping[bytes, Vector],
        model: Fingerprint | None,
    ) -> None:
        """Keep vectors until records with their digests are stored.

        Those of another model are forgotten; clearing the collection forgets all.

        Args:
            collection: Made if it does not exist.
            vectors: By digest; of one length.
            model: What made them.

        Raises:
            DimensionMismatchError: Of another length than the records' vectors.
            EmbeddingMismatchError: Another model than that of the records' vectors.
        """

    def adopt(
        self, collection: str, staged: str, digest_of: Callable[[Record], bytes]
    ) -> list[str]:
        """Take the vectors that another collection keeps, and its model, for one's own.

        All at once: searches see the vectors of one model. If a record's are not there
        yet, nothing changes.

        Args:
            collection: Whose records get other vectors.
            staged: A collection without records, whose vectors `keep` kept. It is
                forgotten then.
            digest_of: The digest of what is to be embedded for a record.

        Returns:
            Ids of the records whose digests `staged` has no vector of; none at the end.
        """

    def count(self, collection: str, *, where: Filter = EVERYTHING) -> int:
        """How many records match."""

    def collections(self) -> list[str]:
        """Names of the collections that hold records, sorted."""

    def resident_bytes(self, collection: str) -> int:
        """Bytes of memory that copies of a collection take to be searched quickly.

        What is in memory alone, and could not be read again, does not count.
        """

    def release(self, collection: str) -> None:
        """Free those copies; the next search makes them again.

        Nothing is lost, and a search under way goes on with what it has.
        """

    def stats(self, collection: str) -> dict[str, Any]:
        """Facts about a collection and its engine, for people."""

    def close(self) -> None:
        """Free what the engine holds; a second call does nothing."""


def check_dimension(collection: str, stored: int, given: int) -> None:
    """Refuse a vector of another length than the collection's.

    Raises:
        DimensionMismatchError: `stored` and `given` differ.
    """
    if stored != given:
        raise DimensionMismatchError(
            f"collection {collection!r} holds vectors of {stored} dimensions, got {given}; "
            "use the embedding it was made with, another collection_name, or reembed()"
        )


def check_analyzer(collection: str, stored: str, given: str) -> None:
    """Refuse terms that were made otherwise than the collection's.

    Raises:
        AnalyzerMismatchError: `stored` and `given` differ.
    """
    if stored != given:
        raise AnalyzerMismatchError(
            f"the texts of collection {collection!r} were indexed with ({stored}), this "
            f"store has ({given}); open it with the text_analyzer that it was indexed "
            "with, or index it anew: store.reindex_text()"
        )


def check_model(
    collection: str, stored: Fingerprint | None, given: Fingerprint | None
) -> None:
    """Refuse a model that is not the one that made the collection's vectors.

    Args:
        collection: Its name.
        stored: The model of the vectors that it holds, if that is known.
        given: The one that is to be used with them, if that is known.

    Raises:
        DimensionMismatchError: Their vectors differ in length.
        EmbeddingMismatchError: Their vectors differ otherwise.
    """
    if stored is None or given is None or stored.agrees(given):
        return
    here, there = len(stored.probe), len(given.probe)
    way_out = (
        "use the embedding that the collection was made with, another collection_name, or "
        "reembed(), which embeds its documents anew"
    )
    if here != there:
        raise DimensionMismatchError(
            f"collection {collection!r} holds vectors of {stored.name} with {here} "
            f"dimensions, {given.name} makes {there}; {way_out}"
        )
    raise EmbeddingMismatchError(
        f"collection {collection!r} holds vectors of {stored.name}, but {given.name} makes "
        f"other ones, which cannot be compared with them; {way_out} "
        "(check_model=False turns this check off)"
    )


def outside_guard(collection: str, id: str) -> InvalidInputError:
    """The error of a write to a record that the writer may not see."""
    return InvalidInputError(
        f"id {id!r} of collection {collection!r} belongs to a record outside this scope; "
        "choose another id"
    )


def changed_meanwhile(collection: str, id: str) -> ConflictError:
    """The error of a write that was prepared from a record that is no longer so."""
    return ConflictError(
        f"document {id!r} of collection {collection!r} was changed by another writer at "
        "the same time; nothing was written, try again"
    )


def patched(
    metadata: Mapping[str, Any], changes: Mapping[str, Any], remove: Collection[str]
) -> dict[str, Any]:
    """Metadata after a patch: keys of `remove` go, then `changes` are set."""
    return {k: v for k, v in metadata.items() if k not in remove} | dict(changes)
