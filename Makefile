# What you can do here. Each target does only what is needed; run any of them as often as you like.
SHELL := /bin/bash
PYTHON := .venv/bin/python
PACK := pottery
PACK_SOURCES = $(shell find assets/packs/$(PACK) -type f 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup page pack run test test-python test-page crash check lock clean

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
	@$(MAKE) --no-print-directory page pack check test-python test-page

test-python: ## the Python tests alone
	@echo "== pytest"
	@$(PYTHON) -m pytest

test-page: ## the page's tests alone
	@echo "== page tests"
	@installer/build-page --npm run test --silent
	@installer/build-page --npm run e2e --silent

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
