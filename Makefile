# Sfumato's everyday commands. Each does its own set-up on a machine that has Python >= 3.11 and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON := $(shell for p in python3.14 python3.13 python3.12 python3.11 python3 python; do \
  if command -v $$p >/dev/null 2>&1 && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
  then echo $$p; break; fi; done)
VENV := .venv
# One more than cores: started programs are waited for. With three more, two slow cores
# took a sixth longer: every worker imports everything, and what waits is little.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BIN := $(VENV)/bin
# Other tools we measure against; they pin older libraries.
PEERS := .venv-peers
# Numba looks at the file of a compiled function only, not at those it calls: a cache for each state
# of what decides.
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/$(shell cat /dev/null $$($(PYTHON) scripts/compiled_sources.py 2>/dev/null) | cksum | cut -d' ' -f1)

# Where nothing compiled is kept, every started program compiles all of us again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install demo docs walkthroughs reference screenshots test test-outside test-all test-deep spark-versions coverage check format bench bench-long both-ends deal-cases suppression-cases attack evidence clean

help:  ## Show this list.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed  ## Make the virtual environment and install Sfumato into it, with all that tests need.

# What an environment has: Sfumato alone (.light), with what the site takes (.docs), with all that tests need.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e
$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "Sfumato needs Python 3.11 or newer with venv: install it and run make again." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.light: pyproject.toml constraints.txt | $(VENV)/.made
	$(INSTALL) .
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.made
	$(INSTALL) '.[docs]'
	@touch $@ $(VENV)/.light

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/.made
	$(INSTALL) '.[dev]'
	@touch $@ $(VENV)/.light

# What tests import is compiled, and their assertions are rewritten, once: not by all workers at the same time,
# but half of the files by each of two.
$(VENV)/.collected: $(VENV)/.installed
	@printf '%s\n' tests/*/ tests/test_*.py | xargs -n 19 -P 2 $(BIN)/python -m pytest --collect-only -qq > /dev/null || true
	@touch $@

demo: $(VENV)/.light  ## A synthetic census, judged: the whole journey in one command.
	$(BIN)/sfumato demo --out demo --force

test: install $(VENV)/.collected  ## Run the tests that need Python alone.
	$(BIN)/python -m pytest -n $(WORKERS) --outside=without

test-outside: install $(VENV)/.collected  ## Run the tests that start Spark or a browser.
	$(BIN)/python -m pytest --outside=only

test-all: install $(VENV)/.collected  ## Run all tests in one go.
	$(BIN)/python -m pytest -n $(WORKERS)

test-deep: export SFUMATO_EXAMPLES ?= 600
test-deep: test-all  ## Run all tests with 75 times as many random examples (long).

PACKAGES := 'import sysconfig; print(sysconfig.get_path("purelib"))'
# PySpark of each line beside all else that is installed here: an environment's own packages come first. Up to 4.1
# PySpark leaves sockets open, of which Python warns.
spark-versions: install  ## Run the tests of Spark on PySpark 4.0, 4.1 and 4.2, too; all others run on the newest (ten minutes).
	for line in 4.0 4.1 4.2; do \
	  $(PYTHON) -m venv --clear build/pyspark-$$line; \
	  { echo $(CURDIR)/src; $(BIN)/python -c $(PACKAGES); } > $$(build/pyspark-$$line/bin/python -c $(PACKAGES))/all_else.pth; \
	  build/pyspark-$$line/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps "pyspark==$$line.*"; \
	  build/pyspark-$$line/bin/python -m pytest -q --outside=only tests/engines \
	    -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning; \
	done

coverage: install $(VENV)/.collected  ## Which lines the tests run; compiled functions aside.
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term

check: install  ## Lint, types, import directions, one idea a module, names that say what they hold.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/check_rooms.py
	$(BIN)/python scripts/check_modules.py
	$(BIN)/python scripts/check_names.py

format: install  ## Format the code.
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

attack: install  ## Attack the tool itself: hostile files, policies, manifests, ledgers, calls (minutes).
	$(BIN)/python -m tests.attack

# Where tests and benchmarks look for public files, unless another folder is named.
evidence: export SFUMATO_DATA := $(or $(SFUMATO_DATA),$(wildcard ../shared/data))
evidence: install  ## Write docs/evidence.md: the five papers, print beside ours (SFUMATO_DATA names the data folder; a quarter of an hour).
	$(BIN)/sfumato reproduce all --long --memory 2GB --markdown docs/evidence.md --force > /dev/null

docs: $(VENV)/.docs  ## Build the site into site/; a link that leads nowhere is an error.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@! grep -rlE '<(script|link|img|iframe)[^>]* (src|href)="https?:' --include='*.html' site || { echo "these fetch from elsewhere" >&2; exit 1; }
	@echo "site/index.html"

walkthroughs: install  ## Write into tutorials, papers' pages and answers what their commands print now.
	$(BIN)/python -m tests.walkthrough

reference: $(VENV)/.light  ## Write the pages of docs/ that are made of the code: policy, command line, Python, glossary.
	$(BIN)/python scripts/write_reference.py
	$(BIN)/python scripts/write_docs.py

screenshots: install  ## Take the pictures of docs/images/ from the demo, in a browser.
	mkdir -p build
	$(BIN)/sfumato demo --out build/demo --force > /dev/null
	$(BIN)/sfumato compare build/demo/input/census.csv --policy build/demo/input/policy.toml \
	  --sweep k=2,5,10,25 --sweep anonymizer=mondrian,lattice --html build/map.html --force > /dev/null
	$(BIN)/python scripts/screenshots.py build/demo/release/private/report.html build/map.html build/demo/input

bench: install  ## Run all benchmarks and write benchmarks/RESULTS.md: ratios against peers and floors (half an hour).
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
	$(BIN)/python benchmarks/all.py --peer $(PEERS)/bin/python $(SIZES)

bench-long: SIZES := --long
bench-long: bench  ## The same, where cost grows with a hundred million rows too (an hour and a half, 20 GB of disk).

both-ends: install  ## Time the same work before the house was moved and now (a few minutes).
	$(BIN)/python benchmarks/both_ends.py

deal-cases: install  ## Try all 1,000 random tables and policies on deal (some minutes).
	SFUMATO_DEAL_CASES=1000 $(BIN)/python -m pytest -q -s tests/anonymizers/deal/test_random_tables.py

suppression-cases: install  ## Try all 500 random tables on local suppression (a minute).
	SFUMATO_SUPPRESSION_CASES=500 $(BIN)/python -m pytest -q -s tests/anonymizers/test_local_suppression.py

clean:  ## Remove everything that was made.
	rm -rf $(VENV) $(PEERS) .numba_cache .hypothesis .pytest_cache .mypy_cache .ruff_cache .coverage demo build dist site
