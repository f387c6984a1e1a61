# Two commands are enough: `make demo` and `make test`. Each sets up all it needs in .venv.

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
RUNTIME := $(VENV)/.runtime
TESTING := $(VENV)/.testing
# Tests with other SQLite libraries than Python's own: the oldest one that is common, and
# the newest. The wheels exist for CPython 3.11 on Linux x86_64.
SQLITE_BUILDS := 0.5.0 0.5.4.post2

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow unit sqlite lint format type coverage clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(PY):
	@python=$$(scripts/find-python) && $$python -m venv $(VENV) && $(PIP) install --upgrade pip

$(RUNTIME): $(PY) pyproject.toml
	@echo "setting up: the package and what it needs"
	@$(PIP) install --editable .
	@touch $@

$(TESTING): $(RUNTIME) pyproject.toml
	@echo "setting up: tools and tests"
	@$(PIP) install --group dev
	@touch $@

demo: $(RUNTIME) ## Ingest, search and reopen real documents in three languages
	@$(PY) examples/demo.py

test: lint type unit sqlite ## Everything that is checked before a change lands

unit: $(TESTING) ## The fast tests, on Python's own SQLite, with coverage
	@$(BIN)/coverage run -m pytest -q -m "not slow"
	@$(BIN)/coverage report --fail-under=95 | tail -n 25

sqlite: $(TESTING) ## The storage tests on an old and on the newest SQLite
	@scripts/other-sqlite $(PY) $(SQLITE_BUILDS)

test-slow: $(TESTING) ## Kills, stress, large inputs
	@$(PY) -m pytest -q -m slow

lint: $(TESTING) ## Style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(TESTING) ## Put the code into style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

type: $(TESTING) ## Types, strictly
	@$(BIN)/mypy

coverage: unit ## The lines that no test reaches, as HTML in htmlcov/
	@$(BIN)/coverage html

clean: ## Remove what the commands above made
	rm -rf $(VENV) htmlcov .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
