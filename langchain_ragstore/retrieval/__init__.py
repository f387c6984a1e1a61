"""Retrieval stages: one algorithm a file, plain functions on hits."""
