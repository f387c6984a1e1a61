"""What a result file says beside its figures, and how it is written."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from typing import Any

import numpy as np


def machine() -> dict[str, Any]:
    """Where figures were made."""
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "numpy": np.__version__,
    }


def dumped(report: dict[str, Any]) -> str:
    """JSON with a row a line."""
    lists = {key: value for key, value in report.items() if isinstance(value, list)}
    head = json.dumps({k: v for k, v in report.items() if k not in lists}, indent=2)
    tails = [
        f',\n  "{key}": [\n    '
        + ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in rows)
        + "\n  ]"
        for key, rows in lists.items()
    ]
    return head.removesuffix("\n}") + "".join(tails) + "\n}"
