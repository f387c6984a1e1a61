"""The tests that the first seed names, under their names."""

import itertools

import pytest
from langchain_core.documents import Document

from langchain_ragstore import CJKRecursiveTextSplitter, MockEmbeddings, make_document


def test_document_new_metadata_defaults_empty():
    """The MIME type is metadata here, a field of its own in the seed."""
    assert make_document("a", "text").metadata == {"mime_type": "text/plain"}
    assert Document("text").metadata == {}


def test_document_clone_partial_eq():
    document = make_document("a", "text", metadata={"k": 1})
    assert document.model_copy() == document


def test_document_different_ids_not_equal():
    assert make_document("a", "text") != make_document("b", "text")


def split(text, size, overlap=0, **keywords):
    return CJKRecursiveTextSplitter(size, overlap, **keywords).split_documents(
        [make_document("d", text, metadata=keywords.get("metadata"))]
    )


def test_split_empty_doc_returns_empty():
    assert CJKRecursiveTextSplitter().split_documents([]) == []
    assert split("", 10) == []


def test_split_short_doc_single_chunk():
    (chunk,) = split("hello", 100)
    assert chunk.page_content == "hello"
    assert (chunk.metadata["chunk_index"], chunk.metadata["chunk_count"]) == (0, 1)


def test_split_constructor_validation():
    with pytest.raises(ValueError, match="chunk_size must be greater than chunk_overlap"):
        CJKRecursiveTextSplitter(10, 10)


def test_split_default_separators():
    separators = ["\n\n", "\n", "。", "？", "！", ".", " ", ""]
    assert CJKRecursiveTextSplitter().separators == separators


def test_split_paragraph_boundary():
    """The seed's table wants two chunks at size 100, its algorithm merges: so do we."""
    assert [c.page_content for c in split("aaa\n\nbbb", 100)] == ["aaa\n\nbbb"]
    assert [c.page_content for c in split("aaa\n\nbbb", 5)] == ["aaa", "bbb"]


def test_split_recursive_deepen():
    chunks = split("word " * 40, 50)
    assert len(chunks) >= 3
    assert all(len(chunk.page_content) <= 50 for chunk in chunks)


def test_split_greedy_merge_combines_segments():
    assert [c.page_content for c in split("a\nb\nc", 5)] == ["a\nb\nc"]
    assert [c.page_content for c in split("a\nb\nc\nd", 5)] == ["a\nb\nc", "d"]


def test_split_overlap_consistency():
    """The seed repeats exactly 5 characters; here at most 5, from a legal border on."""
    chunks = [c.page_content for c in split("一二三四五六七八九十" * 6, 20, 5)]
    for before, after in itertools.pairwise(chunks):
        assert before[-5:] == after[:5]
    words = [c.page_content for c in split("one two three four five six seven", 20, 5)]
    assert words == ["one two three four", "four five six seven"]


def test_split_character_fallback():
    assert [c.page_content for c in split("abcdefghijkl", 5)] == ["abcde", "fghij", "kl"]


def test_split_multibyte_utf8_boundary():
    chunks = [c.page_content for c in split("你好世界" * 10, 10)]
    assert [len(chunk) for chunk in chunks] == [10, 10, 10, 10]
    assert "".join(chunks) == "你好世界" * 10


def test_split_multiple_docs():
    documents = [make_document(name, "text " * 10) for name in "abc"]
    chunks = CJKRecursiveTextSplitter(20, 0).split_documents(documents)
    for chunk in chunks:
        source, index = chunk.metadata["source_id"], chunk.metadata["chunk_index"]
        assert chunk.id == f"{source}:chunk:{index:04d}"
    assert {chunk.metadata["source_id"] for chunk in chunks} == {"a", "b", "c"}


def test_split_metadata_inheritance():
    (chunk,) = CJKRecursiveTextSplitter().split_documents(
        [make_document("d", "text", metadata={"author": "test"})]
    )
    assert chunk.metadata == {
        "author": "test",
        "mime_type": "text/plain",
        "source_id": "d",
        "chunk_index": 0,
        "chunk_count": 1,
        "start_index": 0,
    }


def test_embed_correct_dim():
    assert len(MockEmbeddings(8).embed_query("text")) == 8


def test_embed_batch_size_match():
    assert len(MockEmbeddings(8).embed_documents(["a", "b", "c"])) == 3


def test_embed_deterministic():
    assert MockEmbeddings(8).embed_query("text") == MockEmbeddings(8).embed_query("text")


def test_embed_unit_vector_norm():
    norm = sum(value * value for value in MockEmbeddings(8).embed_query("text")) ** 0.5
    assert abs(norm - 1) < 1e-5


def test_embed_different_inputs_different_vectors():
    assert MockEmbeddings(8).embed_query("abc") != MockEmbeddings(8).embed_query("def")


def test_embed_empty_string():
    assert len(MockEmbeddings(8).embed_query("")) == 8
