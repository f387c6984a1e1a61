"""Pictures for notebooks and terminals, made of plain HTML and text."""

from langchain_ragstore.notebook.chunks import ChunkComparison, ChunkView, show_chunks

__all__ = ["ChunkComparison", "ChunkView", "show_chunks"]
