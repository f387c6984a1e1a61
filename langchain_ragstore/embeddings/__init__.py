"""Embedding models that need no download."""
