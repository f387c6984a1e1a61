"""The SQLite engine; the only room that knows SQL."""
