"""Text: break classes, spans and terms. Pure functions on `str`."""
