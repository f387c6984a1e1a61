"""The import graph of the package, read from its source; run it to print the graph."""

import ast
from pathlib import Path
from pprint import pformat

PACKAGE = "langchain_ragstore"
ROOT = Path(__file__).parents[2] / PACKAGE


def modules():
    """Module name (without the package's) → its file."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__") or "__init__"
        found[name] = path
    return found


def imports(path):
    """Full names of everything a file imports, inside functions, too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def graph():
    """Module → the package's modules that it imports."""
    known = modules()
    edges = {}
    for name, path in known.items():
        targets = set()
        for full in imports(path):
            if not full.startswith(PACKAGE + "."):
                continue
            inner = full.removeprefix(PACKAGE + ".")
            targets.add(inner if inner in known else inner.rpartition(".")[0])
        edges[name] = targets - {"", name}
    return edges


if __name__ == "__main__":
    print(pformat({name: sorted(targets) for name, targets in graph().items()}, width=88))  # noqa: T201
