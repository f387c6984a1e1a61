"""The laws of the tests on many more examples, other ones each time.

Usage: python benchmarks/fuzz.py [SECONDS] [RESULT.json] [FIRST_SEED]

Runs the tests that draw their input (filters, metadata, ids, calls with arguments of any
kind, exports that were changed, files that were damaged, state machines of the engine
beside its oracle) with the profile "fuzz" of tests/conftest.py, in rounds with one seed
each, until the time is up. A round that is under way is finished.
A failure is shown with what `pytest` needs to repeat it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

import hypothesis
from recorded import recorded

ROOT: Final = Path(__file__).parents[1]
WORKERS: Final = os.cpu_count() or 1
EXAMPLES: Final = re.compile(r"(\d+) passing, \d+ failing")
TALLIES: Final = re.compile(r"(\d+) (passed|failed|error)")


def round_of(seed: int) -> tuple[Counter[str], str]:
    """Run the tests with a seed; what they counted, and all that they printed."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-n", str(WORKERS), "tests"),
        *("-m", "hypothesis and not slow", f"--hypothesis-seed={seed}"),
        "--hypothesis-show-statistics",
    ]
    environment = os.environ | {"HYPOTHESIS_PROFILE": "fuzz", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    counted: Counter[str] = Counter()
    counted["passing examples"] += sum(map(int, EXAMPLES.findall(done.stdout)))
    for number, kind in TALLIES.findall((done.stdout.splitlines() or [""])[-1]):
        counted[f"tests {kind}"] += int(number)
    if done.returncode and not counted["tests failed"] + counted["tests error"]:
        counted["tests error"] += 1  # none was begun
    return counted, done.stdout + done.stderr


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    first = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns() % 1_000_000
    begun, counted, rounds = time.perf_counter(), Counter[str](), 0
    while not rounds or time.perf_counter() - begun < seconds:
        found, told = round_of(first + rounds)
        rounds += 1
        counted += found
        print(f"seed {first + rounds - 1}: {dict(found)}", flush=True)
        if found["tests failed"] or found["tests error"]:
            print(told)
            break
    facts = {
        "examples": counted["passing examples"],
        "failures": counted["tests failed"] + counted["tests error"],
        "seconds": round(time.perf_counter() - begun),
        "seeds": [first, first + rounds - 1],
        "hypothesis": hypothesis.__version__,
    }
    recorded(facts, sys.argv[2] if len(sys.argv) > 2 else None)
    sys.exit(bool(facts["failures"]))


if __name__ == "__main__":
    main()
