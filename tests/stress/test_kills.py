"""Processes that are killed at random moments, by the script that records more of them."""

import importlib.util
import os
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
]
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"


def test_what_was_acknowledged_is_there_and_no_part_of_a_batch(tmp_path, monkeypatch):
    """Report 22: a kill left an index that crashed readers, or was built without end."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("kills", SCRIPT)
    kills = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kills)
    with kills.small_as_large():
        facts = kills.run(tmp_path, 50, seed=11)
    assert sum(facts["killed during"].values()) == facts["kills"] == 50
    assert facts["acknowledged steps"] > 50
    assert {"add", "update"} <= set(facts["killed during"])
