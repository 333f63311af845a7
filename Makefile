# make demo: install into .venv and audit the samples. make test: everything that must be green. make bench: how fast it is,
# against its budgets (benchmarks/README.md).
# Needs Python 3.11 or later with venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test bench clean

demo: $(VENV)/.installed
	$(BIN)/toolaudit check samples/ --exit-zero

test: $(VENV)/.developing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -q -n 2

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.developing: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ $(VENV)/.installed

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.run $(BENCH)

clean:
	rm -rf $(VENV) build dist *.egg-info
