"""Vectors: checks, norms and exact scores. Pure functions on numpy arrays."""
