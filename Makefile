# Everything runs from .venv; nothing outside the checkout is changed.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
# The interpreter is the user's: uv must never fetch another one.
export UV_PYTHON_DOWNLOADS := never
# Commands start in half the time when nothing has to be compiled first.
export UV_COMPILE_BYTECODE := 1
# What tests are compiled to is kept between runs, whatever the shell says: it takes longer than many of them.
unexport PYTHONDONTWRITEBYTECODE
export UV_NO_CONFIG := 1
export VIRTUAL_ENV := $(CURDIR)/.venv

# One more than a small machine has cores: tests wait as much as they compute.
WORKERS ?= 3
UPGRADE ?=
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes $(UPGRADE) \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make locks"
# A lock that did not change keeps its time, so that nothing is installed again; pins stay unless UPGRADE says so.
define lock
	@test -e requirements/$(1).lock || : > requirements/$(1).lock; cp requirements/$(1).lock requirements/$(1).new
	$(COMPILE) $(2) -o requirements/$(1).new
	@cmp -s requirements/$(1).new requirements/$(1).lock || cp requirements/$(1).new requirements/$(1).lock
	@rm requirements/$(1).new
endef

.PHONY: help setup demo brief dev check fast test house bench soak locks docs clean
.DEFAULT_GOAL := help

help:
	@echo "make setup   .venv with everything          make demo    the engine at work, core and cli only"
	@echo "make test    all checks and all tests       make fast    tests that are not slow"
	@echo "make check   lint, format, types, layers    make docs    regenerate the generated pages"
	@echo "make brief   the example pipeline: a page from three news feeds (ARGS=--evaluate)"
	@echo "make dev     an engine to play with         make bench   measurements    make soak  a long run"
	@echo "make house   how it is built, in figures; BASE=/another/checkout compares with that"
	@echo "make locks   write the locks (UPGRADE=--upgrade)  make clean   remove what make made"

# Three stamps, each built on the one before: the installer, the core, the tools.
.venv/.bootstrap: requirements/bootstrap.lock
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Holdfast needs Python 3.11 or later; $(PYTHON) is %d.%d. Try: make PYTHON=python3.12 ..." % v[:2])'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock
	@touch $@

.venv/.core: .venv/.bootstrap requirements/core.lock pyproject.toml
	$(UV) pip install --quiet --require-hashes -r requirements/core.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

.venv/.dev: .venv/.core requirements/dev.lock
	$(UV) pip sync --quiet --require-hashes requirements/dev.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

setup: .venv/.dev

demo: .venv/.core
	$(BIN)/holdfast demo

brief: setup
	$(BIN)/python -m examples.news_brief $(ARGS)

dev: setup
	$(BIN)/holdfast dev

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fast: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

test: check
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

house: setup
	$(BIN)/python -m tests.house $(if $(BASE),--base $(BASE))

bench: setup
	$(BIN)/python -m bench peers
	$(BIN)/python -m bench store --quick

# The tests that carry load, with the figures of a long run: hours.
soak: setup
	HOLDFAST_SOAK=1 HOLDFAST_FUZZ=200000 $(BIN)/python -m pytest -n $(WORKERS) -m slow \
		tests/load tests/systems tests/api/test_fuzz.py

docs: setup
	$(BIN)/python -m holdfast.cli.proof.lifecycle_page
	$(BIN)/python -m holdfast.api.problems.page
	$(BIN)/python -m tests.schema_page
	$(BIN)/python -m tests.conformance

# dev.lock holds everything of the other two at the same versions, so that one sync is enough.
locks: .venv/.bootstrap
	$(call lock,bootstrap,requirements/bootstrap.in)
	$(call lock,core,pyproject.toml --extra cli -c requirements/bootstrap.lock)
	$(call lock,dev,pyproject.toml --extra cli --extra server --extra client --extra postgres --extra redis --extra otel requirements/bootstrap.in requirements/dev.in \
		-c requirements/bootstrap.lock -c requirements/core.lock)
	@# What the bench compares with: each by itself, and oban with the oldest Python that it takes.
	for peer in awa dbos huey pgqueuer procrastinate; do $(COMPILE) bench/peers/$$peer.in -o bench/peers/$$peer.lock || exit; done
	$(subst 3.11,3.12,$(COMPILE)) bench/peers/oban.in -o bench/peers/oban.lock

clean:
	rm -rf .venv bench/.envs .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
