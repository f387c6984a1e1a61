"""How a script's figures are shown and kept, with what they were made on."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from pathlib import Path
from typing import Any


def recorded(facts: dict[str, Any], path: str | None) -> None:
    """Print figures; write them, too, if there is a path."""
    facts = facts | {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
    }
    text = json.dumps(facts, indent=2)
    print(text)
    if path is not None:
        Path(path).write_text(text + "\n", encoding="utf-8")
