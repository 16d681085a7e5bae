# `make` prints the menu. The environment lives in .venv and is filled on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo
ROWS ?= 1000000
KERNELS := $(shell find src/windrow/operators/kernels -name '*.py')
RUNTIME := $(VENV)/.runtime $(VENV)/.compiled
DEV := $(VENV)/.dev $(VENV)/.compiled

.DEFAULT_GOAL := menu
.NOTPARALLEL:
.PHONY: menu demo test lint check bench compare papers soak docs site clean
MAKEFLAGS += --no-print-directory

menu: ## this menu
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-7s %s\n", $$1, $$2}' Makefile

demo: $(RUNTIME) ## a disordered stream of trades, one query on an embedded Spark, its answer
	@mkdir -p $(DEMO)
	$(BIN)/windrow generate trades $(DEMO)/trades.parquet --rows $(ROWS) --seed 1 --disorder "band 30 s"
	$(BIN)/windrow run examples/trades.sql --batch-rows 200000

test: $(DEV) ## every test, doctest, example and snippet of the docs
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not soak"

lint: $(VENV)/.dev ## style, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check: lint test ## lint, then test: run it before you commit

bench: $(DEV) ## every benchmark, and what changed since the last run here; ONLY=groups for one, QUICK=1 for a try
	@set -e; for file in benchmarks/$(or $(ONLY),[!_]*).py; do \
	  echo "== $$file"; $(BIN)/python "$$file" $(if $(QUICK),--quick); done

compare: $(DEV) ## is this checkout slower than the one in WITH=folder? ONLY="groups joins", each piece in both in turn
	@$(BIN)/python benchmarks/_compare.py $(WITH) $(ONLY)

papers: $(DEV) ## the experiments of the papers: tables here, pictures in build/papers
	@set -e; for file in benchmarks/papers/[!_]*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

soak: $(DEV) ## the randomised tests with many examples, Spark killed and checkpoints damaged again and again (hours)
	@WINDROW_SOAK=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m soak

docs: $(DEV) ## run every snippet of README, docs and examples
	@$(BIN)/python -m pytest tests/test_docs.py

site: $(VENV)/.site ## the docs as a web site in build/site, with a reference of the API; a broken link is an error
	@$(BIN)/sphinx-build -q -W --keep-going -E -d build/site-cache -c docs/site . build/site
	@echo "open build/site/index.html"

clean: ## remove what the targets above made, .venv included
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp per set of packages, so that setting up runs once and again only when pyproject.toml changes.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Windrow needs Python 3.10 or later; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "python3 -m venv does not work here; install it (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }

$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	@echo "setting up .venv, once: packages, then the compiled loops (a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "setting up .venv, once: packages, then the compiled loops (a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(VENV)/.runtime $@

# A compiled loop does not notice that a loop it calls, in another file, has changed: all are made anew.
$(VENV)/.compiled: $(KERNELS)
	@find src benchmarks -name '*.nb[ic]' -delete
	@$(BIN)/windrow compile
	@touch $@

$(VENV)/.site: pyproject.toml | $(BIN)/python
	@echo "setting up .venv for the web site, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[site]'
	@touch $@
