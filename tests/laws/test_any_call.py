"""Whatever a caller gives, it is done or refused, and what is refused changes nothing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from fakes import Clock
from langchain_ragstore import HashingEmbeddings, RetrievalConfig, SQLiteVectorStore
from langchain_ragstore.errors import RagStoreError
from langchain_ragstore.filters import parse
from langchain_ragstore.search_request import KINDS
from records import facts
from strategies import metadatas, values
from wild import (
    any_filter,
    any_metadata,
    counts,
    ids,
    lists,
    long_ids,
    mostly,
    strange,
    texts,
)

MODEL = HashingEmbeddings(8)
REFUSALS = (RagStoreError, ValueError, TypeError)


def store_of_three():
    store = SQLiteVectorStore(MODEL, clock=Clock())
    store.add_texts(
        ["green tea", "东京都 tea", "a\x00b"],
        [{"a": 1}, {"a": "1"}, {}],
        ids=["a", "b", "c"],
    )
    return store


def contents(store):
    name = store.collection_name
    return {r.id: (*facts(r), r.digest) for r in store._backend.scan(name, vectors=True)}


def optional(**arguments):
    """Any of some keyword arguments."""
    return st.fixed_dictionaries({}, optional=arguments)


expiry = mostly(st.sampled_from([None, 5_000.0, 500.0]))
added = optional(
    metadatas=lists(any_metadata), ids=lists(ids), expires_at=expiry, batch_size=counts
)
vectors = st.lists(mostly(st.sampled_from([0.0, 1.0, -1.0, 1e300, 5e-324])), max_size=8)
documents = st.builds(
    lambda text, metadata, id: Document(text, metadata=metadata, id=id),
    texts,
    metadatas,
    st.one_of(st.none(), ids),
)
sources = mostly(st.sampled_from(["a", "source"]))
chunks = mostly(st.lists(mostly(documents), max_size=3))
keys = mostly(st.sampled_from(["a", "title", "", "$id", ("a", "b")]))
writes = st.one_of(
    st.tuples(st.just("add_texts"), st.tuples(lists(texts)), added),
    st.tuples(st.just("add_documents"), st.tuples(chunks), added),
    st.tuples(
        st.just("add_embeddings"),
        st.tuples(lists(texts), lists(mostly(vectors))),
        added,
    ),
    st.tuples(st.just("replace_source"), st.tuples(sources, chunks), st.just({})),
    st.tuples(st.just("update_documents"), st.tuples(lists(ids), chunks), st.just({})),
    st.tuples(
        st.just("update_metadata"),
        st.one_of(st.just(()), st.tuples(lists(ids))),
        st.fixed_dictionaries(
            {"patch": any_metadata}, optional={"filter": any_filter, "remove": lists(keys)}
        ),
    ),
    st.tuples(st.just("delete"), st.tuples(lists(ids)), optional(filter=any_filter)),
    st.tuples(st.just("delete_where"), st.tuples(any_filter), st.just({})),
)
configs = st.builds(
    dict,
    optional(
        rerank=mostly(st.booleans()),
        dedup_threshold=mostly(st.sampled_from([0.5, 0.9])),
        topics=mostly(st.booleans()),
        importance_threshold=mostly(st.sampled_from([0, 1])),
        max_topics=counts,
        candidates=counts,
    ),
)
asked = optional(
    k=counts,
    filter=any_filter,
    score_threshold=mostly(st.sampled_from([0, 0.5, None])),
    with_scores=mostly(st.booleans()),
    window=counts,
    group_by=keys,
    per_group=counts,
    core_tags=lists(texts),
    fetch_k=counts,
    lambda_mult=mostly(st.sampled_from([0, 0.5, 1])),
    fusion=mostly(st.sampled_from(["rrf", "weighted"])),
    weights=mostly(st.fixed_dictionaries({"dense": counts, "text": counts})),
    rrf_k=counts,
    exact=mostly(st.booleans()),
)
kinds = mostly(st.sampled_from(list(KINDS)))
reads = st.one_of(
    st.tuples(
        st.just("get"),
        st.one_of(st.just(()), st.tuples(lists(ids))),
        optional(filter=any_filter, limit=counts, offset=counts, order_by=keys),
    ),
    st.tuples(st.just("get_by_ids"), st.tuples(lists(ids)), st.just({})),
    st.tuples(st.just("count"), st.tuples(any_filter), st.just({})),
    st.tuples(st.just("distinct"), st.tuples(keys), st.just({})),
    st.tuples(st.just("timestamps"), st.tuples(lists(ids)), st.just({})),
    st.tuples(st.just("scoped"), st.tuples(any_filter), st.just({})),
    st.tuples(
        st.just("similarity_search_by_vector"),
        st.tuples(mostly(vectors)),
        optional(k=counts),
    ),
)
calls = st.lists(st.one_of(writes, writes, reads), min_size=1, max_size=4)


def called(face, store, name, arguments, keywords):
    """Call a method of a face of the store; what it refuses must have changed nothing."""
    before = contents(store)
    try:
        getattr(face, name)(*arguments, **keywords)
    except REFUSALS:
        assert contents(store) == before


@given(calls)
def test_what_is_refused_changes_nothing(drawn):
    with store_of_three() as store:
        for call in drawn:
            called(store, store, *call)
            store.timestamps(list(contents(store)))
        assert store.verify() == []


@given(calls)
def test_a_view_refuses_alike_and_touches_nothing_outside(drawn):
    with store_of_three() as store:
        view = store.scoped({"a": 1})
        outside = {id: known for id, known in contents(store).items() if id != "a"}
        for call in drawn:
            called(view, store, *call)
            after = contents(store)
            assert {id: after.get(id) for id in outside} == outside


@given(mostly(texts), kinds, asked, configs)
def test_a_search_answers_or_refuses(query, kind, keywords, config):
    with store_of_three() as store:
        try:
            if config:
                keywords = {**keywords, "retrieval_config": RetrievalConfig(**config)}
            found = store.search_with_score(query, kind, **keywords)
        except REFUSALS:
            return
        assert len({document.id for document, _ in found}) == len(found)
        assert all(np.isfinite(score) for _, score in found)
        told = store.explain(query, search_type=kind, **keywords)
        assert [finding.id for finding in told.hits] == [d.id for d, _ in found]
        str(told)


@given(any_filter, values)
def test_a_filter_parses_and_matches_or_is_refused(filter, value):
    try:
        where = parse(filter)
    except REFUSALS:
        return
    where.matches("id", "text", {"a": value})


@given(st.lists(st.tuples(long_ids, strange), min_size=1, max_size=4))
def test_an_id_of_any_text_is_an_id(drawn):
    with SQLiteVectorStore(MODEL) as store:
        stored = {id: f"text {at}" for at, (id, _) in enumerate(drawn)}
        store.add_texts(list(stored.values()), ids=list(stored))
        assert {d.id: d.page_content for d in store.get_by_ids(list(stored))} == stored
        assert {d.id for d in store.search("text", "text", k=9)} == set(stored)
        assert store.delete(list(stored))
        assert len(store) == 0
