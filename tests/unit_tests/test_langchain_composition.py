"""The store inside LangChain's indexing, chains and retrievers, in every mode."""

import hashlib
import sys

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.stores import InMemoryStore
from langchain_core.tools import create_retriever_tool

from fakes import Counting, Table
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    InvalidInputError,
    MissingExtraError,
    SQLiteVectorStore,
)


@pytest.fixture
def store():
    with SQLiteVectorStore(Counting()) as store:
        yield store


# --- indexing -----------------------------------------------------------------------


def by_content(document):
    return "own-" + hashlib.sha256(document.page_content.encode()).hexdigest()


def documents(**texts):
    return [
        Document(page_content=text, metadata={"source": source})
        for source, several in texts.items()
        for text in several.split()
    ]


def counts(result):
    return tuple(
        result[f"num_{what}"] for what in ("added", "updated", "skipped", "deleted")
    )


FIRST = documents(s="a b c", t="d")
SECOND = documents(s="a b new")
# What is left of FIRST after SECOND, and how many went.
CLEANUPS = {
    None: ("abcd", 0),
    "incremental": ("abd", 1),
    "scoped_full": ("abd", 1),
    "full": ("ab", 2),
}


@pytest.mark.filterwarnings("ignore:Using SHA-1 for document hashing:UserWarning")
@pytest.mark.parametrize("encoder", ["sha1", "sha256", "sha512", "blake2b", by_content])
@pytest.mark.parametrize("cleanup", CLEANUPS)
@pytest.mark.parametrize("function", [index, aindex])
async def test_indexing(store, encoder, cleanup, function):
    manager = InMemoryRecordManager("test")
    manager.create_schema()

    async def run(docs):
        result = function(
            *(docs, manager, store),
            cleanup=cleanup,
            source_id_key="source",
            key_encoder=encoder,
        )
        return counts(result if function is index else await result)

    assert await run(FIRST) == (4, 0, 0, 0)
    assert await run(FIRST) == (0, 0, 4, 0)
    kept, deleted = CLEANUPS[cleanup]
    assert await run(SECOND) == (1, 0, 2, deleted)
    assert sorted(d.page_content for d in store.get()) == [*kept, "new"]
    assert {d.metadata["source"] for d in store.get(filter={"$content": "new"})} == {"s"}
    assert store.embeddings.texts == ["a", "b", "c", "d", "new"]


def test_indexing_anew_embeds_again_but_doubles_nothing(store):
    for _ in range(2):
        manager = InMemoryRecordManager("fresh")
        manager.create_schema()
        assert index(FIRST, manager, store, key_encoder="sha256")["num_added"] == 4
    assert len(store) == 4


def test_indexing_a_scope(store):
    """`full` clean-up of one user's documents leaves the other's."""
    managers = {}
    for user in "AB":
        managers[user] = InMemoryRecordManager(user)
        managers[user].create_schema()
        view = store.scoped({"user": user})
        texts = [Document(page_content=f"{user} {n}") for n in range(2)]
        index(texts, managers[user], view, cleanup="full", key_encoder="sha256")
    result = index(
        *([], managers["A"], store.scoped({"user": "A"})),
        cleanup="full",
        key_encoder="sha256",
    )
    assert result["num_deleted"] == 2
    assert sorted(d.page_content for d in store.get()) == ["B 0", "B 1"]


# --- chains and tools ---------------------------------------------------------------


async def test_a_chain_of_the_users_own(store):
    store.add_texts(["The late fee is ten cents.", "Green tea is hot."])
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    model = GenericFakeChatModel(messages=iter(["ten cents"] * 2))
    chain = (
        {
            "context": store.as_retriever(k=1) | (lambda found: found[0].page_content),
            "question": RunnablePassthrough(),
        }
        | prompt
        | model
        | StrOutputParser()
    )
    assert list(chain.stream("late fee?")) == ["ten", " ", "cents"]
    assert [token async for token in chain.astream("fee?")] == ["ten", " ", "cents"]


def test_batches_run_in_threads():
    axes = {f"text {n}": [float(n == m) for m in range(20)] for n in range(20)}
    with SQLiteVectorStore(Table(axes)) as store:
        store.add_texts(axes)
        found = store.as_retriever(k=1).batch(list(axes))
    assert [d.page_content for (d,) in found] == list(axes)


async def test_a_tool(store):
    store.add_texts(["The late fee is ten cents."], [{"source": "rules"}])
    tool = create_retriever_tool(store.as_retriever(k=1), "rules", "Searches the rules.")
    assert tool.invoke({"query": "fee"}) == "The late fee is ten cents."
    assert await tool.ainvoke({"query": "fee"}) == "The late fee is ten cents."


async def test_a_retriever_adds_documents(store):
    retriever = store.as_retriever()
    assert retriever.add_documents([Document(page_content="a")], ids=["1"]) == ["1"]
    assert await retriever.aadd_documents([Document(page_content="b", id="2")]) == ["2"]
    assert len(store) == 2


def test_retrievers_tell_tracers_who_they_are(store):
    retriever = store.as_retriever(tags=["mine"], name="rules")
    assert retriever.tags == ["mine", "SQLiteVectorStore", "Counting"]
    assert retriever.get_name() == "rules"


# --- LangChain's classic retrievers -------------------------------------------------


def parents(store, **keywords):
    from langchain_classic.retrievers import ParentDocumentRetriever

    return ParentDocumentRetriever(
        vectorstore=store,
        docstore=InMemoryStore(),
        child_splitter=CJKRecursiveTextSplitter(20, 0),
        **keywords,
    )


# Equal first lines in two documents: chunks with equal text and other parents.
SHARED = ["A line they share.\nGreen tea is hot.", "A line they share.\nThe tide is high."]


@pytest.mark.parametrize("ids", [None, ["p", "q"]])
async def test_parents_without_ids_lose_no_chunk(store, ids):
    retriever = parents(store)
    retriever.add_documents([Document(page_content=text) for text in SHARED], ids=ids)
    assert len(store) == 4
    assert len(store.distinct("doc_id")) == 2
    for text, query in zip(SHARED, ["green tea", "high tide"], strict=True):
        assert retriever.invoke(query)[0].page_content == text
        assert (await retriever.ainvoke(query))[0].page_content == text


def test_parents_of_parents(store):
    retriever = parents(store, parent_splitter=CJKRecursiveTextSplitter(40, 0))
    text = "".join(f"Sentence number {n}. " for n in range(12))
    retriever.add_documents([Document(page_content=text)])
    parts = [retriever.docstore.mget([key])[0] for key in retriever.docstore.yield_keys()]
    assert len(store) == 12
    assert sorted(store.distinct("doc_id").values()) == [2] * 6
    assert len(parts) == 6


async def test_ensembles_join_by_text(store):
    from langchain_classic.retrievers import EnsembleRetriever

    store.add_texts(["green tea", "black tea", "late fee"], [{"n": n} for n in range(3)])
    ensemble = EnsembleRetriever(
        retrievers=[
            store.as_retriever(k=2),
            store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "lambda_mult": 0}),
        ]
    )
    found = [d.page_content for d in ensemble.invoke("green tea")]
    assert found[0] == "green tea"
    assert len(found) == len(set(found)) == 3
    assert [d.page_content for d in await ensemble.ainvoke("green tea")] == found


def test_time_weighted_keeps_every_document(store):
    from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever

    retriever = TimeWeightedVectorStoreRetriever(vectorstore=store, k=3)
    retriever.add_documents([Document(page_content=t) for t in ("tea", "tea", "fee")])
    assert len(store) == 3
    assert sorted(d.page_content for d in retriever.invoke("tea")) == ["fee", "tea", "tea"]


# --- models by name -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["no provider", "nobody:model", ""])
def test_names_that_mean_nothing(name):
    with pytest.raises(ValueError, match="provider"):
        SQLiteVectorStore(name)


def test_a_name_that_gives_no_model(monkeypatch):
    monkeypatch.setattr("langchain.embeddings.init_embeddings", lambda _: object())
    with pytest.raises(InvalidInputError, match="'p:m' does not name an embedding model"):
        SQLiteVectorStore("p:m")


def test_names_need_langchain(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.embeddings", None)
    with pytest.raises(MissingExtraError, match="langchain is not installed; run: pip "):
        SQLiteVectorStore("openai:text-embedding-3-small")
