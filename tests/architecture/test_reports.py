"""What users reported of other embedded stores is tested here, report by report.

The numbers are those of a list of reports of users of other embedded stores, collected
before this package was written. The docstring of a test names those that it would have
been: "Report 38: …" or "Reports 31, 32: …". Numbers that are not in the list were wishes and
doubles that were left out of it.
"""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
REPORTS = {
    *(*range(1, 9), 11, 12, *range(14, 20), 21, 22, *range(24, 35), 36, *range(38, 45)),
    *(46, 47, 48, 50, *range(52, 60), 61, 63, 64, 65, 67, 68, *range(72, 77)),
    *(*range(78, 84), *range(85, 90)),
}
NOT_APPLICABLE = {
    4: "a virtual table of an extension refused LIMIT on older libraries; none is used here",
}
NAMED = re.compile(r"\bReports? (\d+(?:, \d+)*)")


def reports_of(docstring):
    """The numbers that a docstring names."""
    lists = NAMED.findall(" ".join(docstring.split()))
    return {int(number) for numbers in lists for number in numbers.split(", ")}


def found_in_tests():
    """Numbers of reports → the tests that name them."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if not node.name.startswith("test_"):
                    continue
                for number in reports_of(ast.get_docstring(node) or ""):
                    found.setdefault(number, []).append(f"{path.name}::{node.name}")
    return found


def test_numbers_are_read():
    assert reports_of("Report 7: no more.\n\nReports 31,\n32: and that.") == {7, 31, 32}
    assert reports_of("Reporting 5 things; report 6.") == set()


def test_every_report_is_tested_or_cannot_happen():
    assert len(REPORTS) == 71
    tested = found_in_tests().keys()
    assert tested | NOT_APPLICABLE.keys() == REPORTS
    assert not tested & NOT_APPLICABLE.keys()
