"""Giving memory that was freed back to the system."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Return what the C library keeps of freed memory, where it can be asked to.

    Arrays of a few hundred kilobytes lie in glibc's heap between others that live on; of
    1 000 collections that were unloaded it returned nothing by itself. Other libraries
    have no such function, and return memory in their own way.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc
        return
    trim(0)
