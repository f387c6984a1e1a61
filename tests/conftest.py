"""Set-up shared by all tests: another SQLite library on request, Hypothesis profiles."""

import os
import sys

from hypothesis import HealthCheck, settings

OTHER_SQLITE = os.environ.get("RAGSTORE_TEST_SQLITE")

if OTHER_SQLITE:
    sys.path.insert(0, OTHER_SQLITE)
    import pysqlite3
    import pysqlite3.dbapi2

    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2

settings.register_profile(
    "fast",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# Enough to find an SQLite that answers otherwise than Python's own, which gets them all.
settings.register_profile("brief", settings.get_profile("fast"), max_examples=20)
settings.register_profile("thorough", settings.get_profile("fast"), max_examples=1_000)
# Other examples each time, by the seed that `benchmarks/fuzz.py` gives; nothing remembered.
settings.register_profile(
    "fuzz",
    settings.get_profile("fast"),
    max_examples=500,
    derandomize=False,
    database=None,
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_report_header() -> str:
    import sqlite3

    return f"SQLite {sqlite3.sqlite_version}"
