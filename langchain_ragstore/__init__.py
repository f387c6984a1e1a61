"""Retrieval for LangChain apps out of one SQLite file."""
