"""Records in short, for the tests of the engines."""

import numpy as np

from langchain_ragstore.model import Record

AXES = np.eye(4, dtype=np.float32)


def record(id, vector=None, *, content="text", expires_at=None, **metadata):
    return Record(id, content, metadata, vector, expires_at=expires_at)


def ids(found):
    """Ids of records or of hits, in order."""
    return [getattr(item, "record", item).id for item in found]


def facts(record):
    """All of a record as comparable values; metadata with their types."""
    vector = None if record.vector is None else record.vector.tobytes()
    times = (record.created_at, record.updated_at, record.expires_at)
    return record.id, record.content, repr(dict(record.metadata)), vector, times


def same(first, second):
    """Equal in value and type, NaN included, all the way down."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, int):  # Python does not write out integers of any size
        return first == second
    return repr(first) == repr(second)
