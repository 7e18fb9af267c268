SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# Tests wait about half of their time, so that three at once fill two cores.
JOBS ?= 3
BIN := .venv/bin
STAMP := .venv/.installed
# A test file stays in one process, and so do the folders that tests/conftest.py names: what they start for all their tests
# starts once. The unit tests, small files, come last.
PYTEST := $(BIN)/pytest --numprocesses $(JOBS) --dist loadscope --no-loadscope-reorder

# A package of the system: its name, those who need it, and where they look for what is in it.
define installed
[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
  || { echo "Missing for $(2): install your system's package, so that $(3)." >&2; exit 1; }; \
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1)
endef

# A program of the system: its command, its package, those who need it.
define have
@command -v $(1) >/dev/null && exit 0; \
$(call installed,$(2),$(3),'$(1)' is on PATH)
endef

.PHONY: help install lock fmt lint types imports check test nightly golden soak campaign bench
.PHONY: browser network libraries kerberos docs demo clean

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
	@archive=$$($(BIN)/python -m connect_dagster.worker.spark.class_archive); [ -z "$$archive" ] || touch $@

lock: $(BIN)/uv ## resolve the dependencies of pyproject.toml anew into requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --group dev \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header --output-file requirements.lock pyproject.toml

fmt: install ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lint: install ## check style, formatting and language
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.language

types: install ## check types, strictly
	$(BIN)/mypy .

imports: install ## check that imports go downwards only
	$(BIN)/lint-imports --no-logo --cache-dir .import_linter_cache

check: lint types imports ## lint, types and the import contract

test: install libraries kerberos ## run the tests that each change must pass (TESTS=path to narrow, JOBS=n at once)
	$(PYTEST) --durations 10 $(TESTS)

nightly: install browser network libraries kerberos ## run the whole matrix, Java's answers checked, then 30 minutes of faults (TESTS=path: no faults)
	GOLDEN=check $(PYTEST) -m "not soak and not alone" $(TESTS)
	$(BIN)/pytest -m "alone" $(TESTS) || [ $$? = 5 ] # none among TESTS
	$(if $(TESTS),,$(BIN)/python -m tests.campaign --minutes 30 $(CAMPAIGN))

golden: install ## ask Java 4.3.1 and record its answers in tests/golden (TESTS=a test module to narrow)
	GOLDEN=record $(BIN)/pytest -m "not soak" $(or $(TESTS),tests/conformance tests/unit/java tests/unit/kafka)

soak: install network ## play 1,000 faults, then run the long tests; a stopped campaign continues (TESTS=path: no faults)
	$(if $(TESTS),,$(BIN)/python -m tests.campaign --seed 1 --folder docs/campaign $(CAMPAIGN))
	$(BIN)/pytest -m soak $(TESTS)

campaign: install network ## play faults that are drawn from a seed (CAMPAIGN="--faults 20 --seed 7", CAMPAIGN=--help)
	$(BIN)/python -m tests.campaign $(CAMPAIGN)

bench: install ## compare with Java Kafka Connect, OF=mirror with its MirrorMaker, OF=jdbc with databases, OF=cdc with Debezium, OF=transactions with exactly-once sources, OF=records lists of records with frames, on a quiet machine (BENCH="--quick --cells source")
	$(BIN)/python -m benchmarks$(addprefix .,$(OF)) $(BENCH)

browser: ## have Chromium for the UI tests: installed from the system's packages when missing and root
	$(call have,chromium,chromium,the UI tests)

network: ## have `ip` for the tests that cut networks: installed in the same way
	$(call have,ip,iproute2,the tests that cut networks)
	$(call have,systemd-analyze,systemd,the test of the service)

kerberos: ## have a key distribution centre for the tests with Kerberos: installed in the same way
	$(call have,kadmin.local,krb5-admin-server krb5-kdc,the tests with Kerberos)
	$(call have,kinit,krb5-user,the tests with Kerberos)

libraries: install ## have the shared libraries of the MySQL server of tests: installed in the same way, or in the cache
	@$(BIN)/python -m tests.system_libraries 2>/dev/null && exit 0; \
	$(call installed,libaio1 libnuma1,the tests with MySQL,the linker finds libaio.so.1 and libnuma.so.1)

docs: install ## write the reference pages and the typed resources from the code
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.generate_resources
	$(BIN)/python -m tests.acceptance

demo: install ## run a log through Kafka to a file, seen in Dagster (ONCE=1: check, report, end)
	$(BIN)/python -m examples.demo $(if $(ONCE),--once)

clean: ## remove .venv, caches and build products
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist artifacts spark-warehouse *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
