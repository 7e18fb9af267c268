SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help install lock

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

install: $(STAMP) ## make .venv from requirements.lock and put the project in it (nothing to do: under 1 s)

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "connect_dagster needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Set PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet 'uv>=0.5'

$(STAMP): pyproject.toml requirements.lock | $(BIN)/uv
	$(BIN)/uv pip install --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

lock: $(BIN)/uv ## resolve the dependencies of pyproject.toml anew into requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --group dev \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header --output-file requirements.lock pyproject.toml
