# What you can do here. Each target does only what is needed; run any of them as often as you like.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
PYTHON := .venv/bin/python
PACK := pottery
# These start whole processes and mostly wait for them, so they run beside the others. LANE names whose line it is.
APPLIANCE_TESTS := tests/commands tests/crash tests/e2e tests/kiosk tests/watchdog
PYTEST = PYTHONUNBUFFERED=1 $(PYTHON) -m pytest -o cache_dir=.pytest_cache/$@
LANE = 2>&1 | sed -u 's/^/$(@:test-%=%): /'
PACK_SOURCES = $(shell find assets/packs/$(PACK) -type f 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup page pack run test test-parts test-appliance test-page crash check lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | column -t -s "$$(printf '\t')"

setup: ## system libraries, virtual environment, packages (as locked)
	@installer/bootstrap

page: setup ## build the page, if its sources changed
	@installer/build-page

pack: setup var/pack/pack.json ## build the sample exhibit pack, if it changed
var/pack/pack.json: $(PACK_SOURCES) backend/wayside/stores/sqlite/passages.py $(wildcard backend/wayside/releases/*.py)
	@mkdir -p var
	$(PYTHON) -m wayside.cli pack build assets/packs/$(PACK) --out var/pack
	@touch $@

run: setup page pack ## start the kiosk: on the screen here, else it prints an address to open
	@$(PYTHON) -m wayside_watchdog --pack var/pack --state-dir var/state $(ARGS)

test: ## everything: checks, Python tests, page tests (what CI runs)
	@installer/bootstrap --test
	@$(MAKE) --no-print-directory page pack check
	@$(MAKE) --no-print-directory --jobs=2 test-appliance test-rest

.PHONY: test-rest
test-rest: test-parts
	@$(MAKE) --no-print-directory test-page

test-parts: ## the Python tests of the parts: core, runtime, adapters, stores, server, wire
	@echo "== tests of the parts"
	@$(PYTEST) tests $(APPLIANCE_TESTS:%=--ignore=%) $(LANE)

test-appliance: ## the Python tests that start whole processes: sidecar, watchdog, kiosk, commands, crashes
	@echo "== tests of the appliance"
	@$(PYTEST) $(APPLIANCE_TESTS) $(LANE)

test-page: ## the page's tests: units, then in Debian's Chromium
	@echo "== tests of the page"
	@installer/build-page --npm run test --silent $(LANE)
	@installer/build-page --npm run e2e --silent $(LANE)

crash: ## kill the run engine at every named point and 200 times at random, and look at what is left (some minutes)
	@echo "== crash"
	@WAYSIDE_CRASH_KILLS=200 $(PYTHON) -m pytest tests/crash

check: ## formatting, lint, types, layers; of the page too
	@echo "== ruff format"; $(PYTHON) -m ruff format --check -q .
	@echo "== ruff"; $(PYTHON) -m ruff check -q .
	@echo "== mypy"; $(PYTHON) -m mypy
	@echo "== layers"; .venv/bin/lint-imports
	@echo "== page"; installer/build-page --npm run check --silent

lock: ## resolve pyproject.toml anew into the hashed locks (needs uv; ARGS=--upgrade for newer versions)
	@installer/lock $(ARGS)

clean: ## remove what was built here (the virtual environment too)
	rm -rf .venv var dist webui/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find backend/wayside/server/static -mindepth 1 ! -name .gitkeep -delete
