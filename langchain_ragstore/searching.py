"""Every search of a store: keywords become a plan, the query a question, hits results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from typing_extensions import override

from langchain_ragstore.documents import to_document, to_ids
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import both
from langchain_ragstore.model import Hit, Terms, Vector
from langchain_ragstore.notebook.explanation import Explanation
from langchain_ragstore.reembedding import Reembedding
from langchain_ragstore.retrieval.explain import explained
from langchain_ragstore.retrieval.plan import run
from langchain_ragstore.retrieval.question import Question, Shelf
from langchain_ragstore.retrieval.sources import Lexical
from langchain_ragstore.search_request import Search, to_search
from langchain_ragstore.vectors.arrays import unit_vector

_SAID: Final = ("topic", "reranker_failed")
"""Notes that results carry whether or not their scores were asked for."""

Scored = list[tuple[Document, float]]
"""Documents with their scores, as LangChain's `…_with_score` methods give them."""


class Searcher(Reembedding):
    """A store that is searched by plans; the named searches are mixed in above it."""

    # --- by the name of a search -----------------------------------------------------

    @override
    def search(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """Documents by a named kind of search, with that search's keywords.

        Args:
            query: What to look for.
            search_type: `"similarity"`, `"similarity_score_threshold"`, `"mmr"`,
                `"text"` (words alone) or `"hybrid"` (words and meaning).
            **kwargs: Of `similarity_search`, `max_marginal_relevance_search`,
                `text_search` or `hybrid_search`.

        Raises:
            InvalidInputError: There is no such search.
        """
        return documents_of(self.search_with_score(query, search_type, **kwargs))

    @override
    async def asearch(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """As `search`, awaiting the embedder."""
        return documents_of(await self.asearch_with_score(query, search_type, **kwargs))

    def search_with_score(self, query: str, search_type: str, **kwargs: Any) -> Scored:
        """As `search`, each document with its score.

        A cosine in `"similarity"` and `"mmr"`, otherwise a number in [0, 1]; see
        `docs/retrieval.md`.
        """
        return self._searched(query, search_type, kwargs)

    async def asearch_with_score(
        self, query: str, search_type: str, **kwargs: Any
    ) -> Scored:
        """As `search_with_score`, awaiting the embedder."""
        return await self._asearched(query, search_type, kwargs)

    # --- why ---------------------------------------------------------------------------

    def explain(
        self,
        query: str,
        *,
        search_type: str = "similarity",
        ids: Iterable[str] | str = (),
        **kwargs: Any,
    ) -> Explanation:
        """What a search does, and why its results are what they are.

        The search itself is run and watched; its results are those of
        `search(query, search_type, **kwargs)`.

        Args:
            query: What to look for.
            search_type: As in `search`.
            ids: Documents to account for, although they may be no results: what keeps
                them out, their rank and their score. This ranks the whole collection.
            **kwargs: As in `search`.

        Returns:
            An `Explanation`: data, text when printed, a picture in a notebook.

        Example:
            ```python
            from langchain_ragstore import HashingEmbeddings, SQLiteVectorStore

            store = SQLiteVectorStore(HashingEmbeddings())
            store.add_texts(["green tea", "black coffee"], ids=["tea", "coffee"])
            why = store.explain("green tea", k=1, search_type="hybrid", ids="coffee")
            assert why.hits[0].words[0].term == "green"
            assert why.absent[0].reason == "rank 2, below the first 1"
            ```
        """
        search = self._asked(query, search_type, kwargs)
        wanted = to_ids(ids)
        vector = self._embedder.embed_query(query) if search.embeds else None
        return self._explained(query, vector, search, (search_type, wanted, kwargs))

    async def aexplain(
        self,
        query: str,
        *,
        search_type: str = "similarity",
        ids: Iterable[str] | str = (),
        **kwargs: Any,
    ) -> Explanation:
        """As `explain`, awaiting the embedder."""
        search = self._asked(query, search_type, kwargs)
        asked = search_type, to_ids(ids), kwargs
        vector = await self._embedder.aembed_query(query) if search.embeds else None
        return await run_in_executor(None, self._explained, query, vector, search, asked)

    def _explained(
        self,
        query: str,
        vector: Sequence[float] | None,
        search: Search,
        asked: tuple[str, Sequence[str], Mapping[str, Any]],
    ) -> Explanation:
        search_type, ids, keywords = asked
        question = self._question(query, vector, search, self._terms(query))
        with self._in_use():
            account = explained(
                search.plan, question, self._shelf, self._scope.where, self._terms, ids
            )
        return Explanation.of(account, search_type, keywords.get("filter"))

    # --- what all searches share -------------------------------------------------------

    def _searched(
        self, query: str, search_type: str, keywords: Mapping[str, Any]
    ) -> Scored:
        search = self._asked(query, search_type, keywords)
        if not search.embeds:
            return self._results(query, None, search)
        model = self._embedder.model
        found = self._results(query, self._embedder.embed_query(query), search)
        if self._embedder.agrees(model):
            return found
        # The collection was embedded anew meanwhile. Either this store has the new model,
        # too, or it is refused now.
        return self._results(query, self._embedder.embed_query(query), search)

    async def _asearched(
        self, query: str, search_type: str, keywords: Mapping[str, Any]
    ) -> Scored:
        search = self._asked(query, search_type, keywords)
        if not search.embeds:
            return await run_in_executor(None, self._results, query, None, search)
        model = self._embedder.model
        vector = await self._embedder.aembed_query(query)
        found = await run_in_executor(None, self._results, query, vector, search)
        if await run_in_executor(None, self._embedder.agrees, model):
            return found
        vector = await self._embedder.aembed_query(query)
        return await run_in_executor(None, self._results, query, vector, search)

    def _asked(self, query: str, search_type: str, keywords: Mapping[str, Any]) -> Search:
        """Check what is asked for, before the embedder is called for it."""
        if not isinstance(query, str):
            raise InvalidInputError(f"a query is a string, got {type(query).__name__}")
        return to_search(search_type, keywords)

    def _by_vector(
        self, embedding: Sequence[float], search_type: str, keywords: Mapping[str, Any]
    ) -> Scored:
        return self._results("", embedding, to_search(search_type, keywords))

    def _results(
        self, query: str, embedding: Sequence[float] | None, search: Search
    ) -> Scored:
        hits = self.hits(query, embedding, search)
        return [(result(hit, marked=search.marked), hit.score) for hit in hits]

    def hits(
        self, query: str, embedding: Sequence[float] | None, search: Search
    ) -> list[Hit]:
        """What a search finds for a query that is embedded already.

        Args:
            query: What to look for; empty if only its vector is known.
            embedding: Its vector; None for a search that needs none.
            search: How, and of which documents; the view's bounds hold as ever.
        """
        by_words = any(isinstance(source, Lexical) for source in search.plan.sources)
        terms = self._terms(query) if by_words else Terms({})
        question = self._question(query, embedding, search, terms)
        with self._in_use():
            return run(search.plan, question, self._shelf)

    def _question(
        self,
        query: str,
        embedding: Sequence[float] | None,
        search: Search,
        terms: Terms,
    ) -> Question:
        vector: Vector | None = None if embedding is None else unit_vector(embedding)
        return Question(query, vector, terms, both(self._scope.where, search.where))

    def _terms(self, query: str) -> Terms:
        return self._analyzer.query_terms(query)

    @property
    def _shelf(self) -> Shelf:
        return Shelf(self._backend, self.collection_name, self._analyzer)


def result(hit: Hit, *, marked: bool) -> Document:
    """A hit as LangChain returns it.

    Args:
        hit: What was found.
        marked: Whether it says how: `relevance_score`, and `ragstore` in detail.
    """
    document = to_document(hit.record)
    details: dict[str, Any] = dict(hit.signals) if marked else {}
    if hit.joined:
        details["joined"] = list(hit.joined)
    details |= {name: words for name, words in hit.notes if marked or name in _SAID}
    if marked:
        document.metadata["relevance_score"] = hit.score
    if marked or details:
        document.metadata["ragstore"] = details
    return document


def documents_of(scored: Iterable[tuple[Document, float]]) -> list[Document]:
    """The documents alone."""
    return [document for document, _ in scored]


def embed_once(stores: Sequence[Searcher], query: str) -> list[list[float]]:
    """The vector of a query for each of several stores, made once for each model.

    Raises:
        EmbeddingMismatchError: Another model made the vectors of one of the collections.
    """
    made: dict[int, list[float]] = {}
    vectors = []
    for embedder in (store._embedder for store in stores):  # noqa: SLF001 - the module's own
        model = id(embedder.model)
        if model in made:
            embedder.agree()
        else:
            made[model] = embedder.embed_query(query)
        vectors.append(made[model])
    return vectors


async def aembed_once(stores: Sequence[Searcher], query: str) -> list[list[float]]:
    """As `embed_once`, awaiting the models."""
    made: dict[int, list[float]] = {}
    vectors = []
    for embedder in (store._embedder for store in stores):  # noqa: SLF001 - the module's own
        model = id(embedder.model)
        if model in made:
            await embedder.aagree()
        else:
            made[model] = await embedder.aembed_query(query)
        vectors.append(made[model])
    return vectors


def agree(stores: Iterable[Searcher], models: Iterable[Embeddings | None]) -> bool:
    """Whether stores have the models that a query was embedded with for them."""
    pairs = zip(stores, models, strict=True)
    return all(store._embedder.agrees(model) for store, model in pairs)  # noqa: SLF001
