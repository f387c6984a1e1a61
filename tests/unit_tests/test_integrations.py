"""The store under LangChain's own retrievers, indexing and agents."""

from datetime import date

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
)
from langchain_core.tools import create_retriever_tool

from fakes import Counting
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    FilterError,
    HashingEmbeddings,
    MissingExtraError,
    SQLiteVectorStore,
    StructuredQueryTranslator,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*SHA-1")


@pytest.fixture
def store(tmp_path):
    with SQLiteVectorStore(HashingEmbeddings(128), tmp_path / "rag.db") as opened:
        yield opened


def test_ensemble(store):
    from langchain_classic.retrievers import EnsembleRetriever

    store.add_texts(["late fee", "green tea"], ids=["f", "t"])
    ensemble = EnsembleRetriever(
        retrievers=[store.as_retriever(k=1), store.as_retriever(k=2)]
    )
    assert [d.id for d in ensemble.invoke("fee")] == ["f", "t"]


def test_multi_vector(store):
    from langchain_classic.retrievers import MultiVectorRetriever

    parents = InMemoryByteStore()
    retriever = MultiVectorRetriever(vectorstore=store, byte_store=parents, id_key="parent")
    store.add_texts(["a summary of fees"], [{"parent": "p"}])
    retriever.docstore.mset([("p", Document("the whole text on fees"))])
    assert [d.page_content for d in retriever.invoke("fees")] == ["the whole text on fees"]


def test_parent_documents_lose_no_row(store):
    from langchain_classic.retrievers import ParentDocumentRetriever

    retriever = ParentDocumentRetriever(
        vectorstore=store,
        docstore=InMemoryStore(),
        child_splitter=CJKRecursiveTextSplitter(20, 0),
    )
    texts = ["Late fees are due. The tide is high.", "Late fees are due. Green tea is hot."]
    retriever.add_documents([Document(text) for text in texts])
    assert len(store) == 4
    assert next(d.page_content for d in retriever.invoke("green tea")) == texts[1]


def test_time_weighted(store):
    from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever

    retriever = TimeWeightedVectorStoreRetriever(vectorstore=store, k=1, decay_rate=0.01)
    retriever.add_documents([Document("late fee"), Document("green tea")])
    assert [d.page_content for d in retriever.invoke("fee")] == ["late fee"]


def test_contextual_compression(store):
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
    from langchain_core.cross_encoders import BaseCrossEncoder

    class Shortest(BaseCrossEncoder):
        def score(self, text_pairs):
            return [-len(text) for _, text in text_pairs]

    store.add_texts(["a late fee of ten cents", "fee", "late fee"])
    retriever = ContextualCompressionRetriever(
        base_compressor=CrossEncoderReranker(model=Shortest(), top_n=2),
        base_retriever=store.as_retriever(),
    )
    assert [d.page_content for d in retriever.invoke("fee")] == ["fee", "late fee"]


def test_self_query(store):
    from langchain_classic.chains.query_constructor.schema import AttributeInfo
    from langchain_classic.retrievers import SelfQueryRetriever

    store.add_texts(
        ["late fee", "late fee"], [{"year": 2019}, {"year": 2021}], ids=["old", "new"]
    )
    reply = (
        '```json\n{"query": "fee", "filter": "gt(\\"year\\", 2020)", "limit": null}\n```'
    )
    retriever = SelfQueryRetriever.from_llm(
        FakeListLLM(responses=[reply]),
        store,
        "notes",
        [AttributeInfo(name="year", description="when", type="integer")],
        structured_query_translator=StructuredQueryTranslator(),
    )
    assert [d.id for d in retriever.invoke("fees since 2020")] == ["new"]


def comparison(comparator, attribute, value):
    return Comparison(comparator=comparator, attribute=attribute, value=value)


@pytest.mark.parametrize(
    ("expression", "filter"),
    [
        (comparison(Comparator.EQ, "a", 1), {"a": {"$eq": 1}}),
        (comparison(Comparator.NE, "a", 1), {"a": {"$ne": 1}}),
        (comparison(Comparator.IN, "a", 1), {"a": {"$in": [1]}}),
        (comparison(Comparator.NIN, "a", [1]), {"a": {"$nin": [1]}}),
        (comparison(Comparator.CONTAIN, "a", "x"), {"a": {"$contains": "x"}}),
        (comparison(Comparator.LIKE, "a", "x"), {"a": {"$like": "%x%"}}),
        (comparison(Comparator.LIKE, "a", "x%"), {"a": {"$like": "x%"}}),
        (
            comparison(Comparator.LT, "a", {"date": "2026-01-31", "type": "date"}),
            {"a": {"$lt": date(2026, 1, 31)}},
        ),
        (
            Operation(
                operator=Operator.AND, arguments=[comparison(Comparator.GT, "a", 1)] * 2
            ),
            {"$and": [{"a": {"$gt": 1}}] * 2},
        ),
        (
            Operation(operator=Operator.OR, arguments=[comparison(Comparator.LTE, "a", 1)]),
            {"$or": [{"a": {"$lte": 1}}]},
        ),
        (
            Operation(
                operator=Operator.NOT, arguments=[comparison(Comparator.GTE, "a", 1)]
            ),
            {"$not": {"a": {"$gte": 1}}},
        ),
    ],
    ids=str,
)
def test_translation(store, expression, filter):
    assert expression.accept(StructuredQueryTranslator()) == filter
    store.count(filter)


def test_translation_of_whole_queries():
    translator = StructuredQueryTranslator()
    query = StructuredQuery(query="q", filter=comparison(Comparator.EQ, "a", 1), limit=3)
    assert translator.visit_structured_query(query) == (
        "q",
        {"filter": {"a": {"$eq": 1}}, "k": 3},
    )
    assert translator.visit_structured_query(StructuredQuery(query="q", filter=None)) == (
        "q",
        {},
    )
    twice = [comparison(Comparator.EQ, "a", 1)] * 2
    with pytest.raises(FilterError, match="one condition"):
        Operation(operator=Operator.NOT, arguments=twice).accept(translator)
    wrong = comparison(Comparator.EQ, "a", {"date": "soon", "type": "date"})
    with pytest.raises(FilterError, match="soon"):
        wrong.accept(translator)


@pytest.mark.parametrize(
    "encoder", ["sha1", "sha256", "sha512", "blake2b", lambda d: d.metadata["n"]]
)
@pytest.mark.parametrize("cleanup", [None, "incremental", "full", "scoped_full"])
def test_index(store, encoder, cleanup):
    manager = InMemoryRecordManager("test")
    manager.create_schema()

    def run(texts):
        documents = [
            Document(text, metadata={"source": "s", "n": str(at)})
            for at, text in enumerate(texts)
        ]
        return index(
            documents,
            manager,
            store,
            cleanup=cleanup,
            source_id_key="source",
            key_encoder=encoder,
        )

    assert run(["a", "b", "c"])["num_added"] == 3
    again = run(["a", "b", "c"])
    assert (again["num_skipped"], again["num_added"], again["num_deleted"]) == (3, 0, 0)
    if callable(encoder):
        return
    changed = run(["a", "b"])
    assert changed["num_deleted"] == (0 if cleanup is None else 1)
    assert len(store) == (3 if cleanup is None else 2)


def test_an_agent_searches(store):
    from langchain.agents import create_agent

    store.add_texts(["The late fee is ten cents."])
    tool = create_retriever_tool(store.as_retriever(k=1), "search", "Searches the rules.")

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    call = {"name": "search", "args": {"query": "late fee"}, "id": "1"}
    messages = iter([AIMessage("", tool_calls=[call]), AIMessage("Ten cents.")])
    agent = create_agent(Model(messages=messages), [tool])
    result = agent.invoke({"messages": [{"role": "user", "content": "How much?"}]})
    texts = [message.text for message in result["messages"]]
    assert texts[-2:] == ["The late fee is ten cents.", "Ten cents."]


def test_models_by_name(monkeypatch):
    import langchain.embeddings

    model = Counting()
    monkeypatch.setattr(langchain.embeddings, "init_embeddings", lambda name: model)
    assert SQLiteVectorStore("provider:model").embeddings is model
    monkeypatch.setitem(__import__("sys").modules, "langchain.embeddings", None)
    with pytest.raises(MissingExtraError, match="pip install langchain"):
        SQLiteVectorStore("provider:model")
