"""LangChain text splitters whose chunks are slices of their source."""

from langchain_ragstore.text_splitters.characters import (
    SEPARATORS,
    CJKRecursiveTextSplitter,
)
from langchain_ragstore.text_splitters.structured import StructuredTextSplitter
from langchain_ragstore.text_splitters.tokens import TokenAwareTextSplitter

__all__ = [
    "SEPARATORS",
    "CJKRecursiveTextSplitter",
    "StructuredTextSplitter",
    "TokenAwareTextSplitter",
]
