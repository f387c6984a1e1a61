"""Keywords that nobody reads are refused, with a guess at what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

OTHER_NAMES: Final = {
    "alpha": "weights",
    "collection": "collection_name",
    "config": "retrieval_config",
    "connection": "path",
    "db_file": "path",
    "db_path": "path",
    "db_url": "path",
    "document_id": "ids",
    "embedding_function": "embedding",
    "embedding_model": "embedding",
    "embeddings": "embedding",
    "engine": "path",
    "expr": "filter",
    "index_name": "collection_name",
    "limit": "k",
    "max_size": "max_bytes",
    "namespace": "collection_name",
    "persist_directory": "path",
    "pre_filter": "filter",
    "search_filter": "filter",
    "table": "collection_name",
    "table_name": "collection_name",
    "threshold": "score_threshold",
    "top_k": "k",
    "ttl": "ttl_seconds",
    "vector_store": "store",
    "vectorstore": "store",
    "where": "filter",
}
"""What other stores call a parameter, and what it is called here."""


def refuse_unknown(
    function: str, unknown: Mapping[str, object], known: Iterable[str]
) -> None:
    """Raise for keywords that a function does not read.

    Raises:
        TypeError: There is one; the message names the likely right keyword, or all.
    """
    known = list(known)
    for name in unknown:
        meant = OTHER_NAMES.get(name)
        if meant not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            meant = close[0] if close else None
        hint = f"did you mean {meant!r}?" if meant else f"it takes {', '.join(known)}"
        raise TypeError(f"{function}() got an unexpected keyword {name!r}; {hint}")
