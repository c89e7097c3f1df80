# Everything is installed in .venv. Each `.installed-*` file there marks a finished installation, so that the next `make`
# skips it, unless a lock file or pyproject.toml has changed since.

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev
COMPILED := $(VENV)/.compiled
SOURCES := tui_agent plugins tests benchmarks
WORKERS ?= 4
# Bytecode is kept whatever the caller set: each worker, and each program that a test starts, would compile all anew.
export PYTHONDONTWRITEBYTECODE =
# Quick enough for every `make check`.
QUICK_RULES := $(patsubst %,tests/architecture/test_%.py,size_budgets plain_names figures house_rules key_names)
# With CHECKED=1 all tests leave out what `make check` runs. `make test` always does.
CHECKED ?=
LEAVE_OUT_CHECKED = $(QUICK_RULES:%=--ignore %)
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --ignore tests/soak
ARGS ?=

.PHONY: run test test-all compile bench check fmt soak mutants wheel lock install clean help

run: $(RUNTIME) ## install what is needed and open the app (ARGS="…" goes to it)
	@$(BIN)/tui-agent $(ARGS)

test: $(COMPILED) ## run the unit, engine and app tests and eight end-to-end ones (five minutes)
	@echo "Running the unit, engine and app tests and eight end-to-end ones (about five minutes on two cores)."
	@echo "\`make test-all\` adds the slow and the other end-to-end tests, \`make check\` the quick house rules."
	@$(PYTEST) $(LEAVE_OUT_CHECKED) --hypothesis-profile dev -m "not soak and not slow and (not e2e or smoke)" $(ARGS)

test-all: $(COMPILED) ## run all tests, as CI does (fifteen minutes)
	@echo "Running all tests (about fifteen minutes on two cores)."
	@$(PYTEST) $(if $(CHECKED),$(LEAVE_OUT_CHECKED)) --hypothesis-profile ci $(ARGS)

bench: $(DEV) ## measure, beside an empty Textual app on the same machine, and print the table
	@$(BIN)/python -m benchmarks.run $(ARGS)

check: $(DEV) ## format, lint, strict types, import contracts, quick house rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@# In CI they run beside the tests, at low priority.
	@$(BIN)/python -m pytest -q --timeout 600 $(QUICK_RULES)

fmt: $(DEV) ## format and fix what can be fixed
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

soak: $(DEV) ## the long runs, then mutants (with ARGS="tests/soak/…" those runs alone)
	@$(BIN)/python -m pytest -q -m soak --timeout 0 $(ARGS)
	@$(if $(strip $(ARGS)),,$(BIN)/python -m tests.mutation)

mutants: $(DEV) ## break gate, policy, log and revert on purpose; print the share that the tests notice
	@$(BIN)/python -m tests.mutation $(ARGS)

wheel: $(DEV) ## build dist/*.whl
	@$(BIN)/python -m hatchling build -t wheel

lock: ## resolve pyproject.toml again (needs uv)
	@requirements/lock.sh

compile: $(COMPILED) ## the bytecode of the program and its tests, as the first `make test` does

install: $(DEV) ## everything for developing

clean: ## remove what these rules made
	@rm -rf $(VENV) dist build

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# Each worker of the first `make test` would compile all of it, at the same time as the others.
$(COMPILED): $(DEV)
	@echo "Compiling the program and its tests."
	@$(BIN)/python -m compileall -q -j 2 tui_agent plugins || true
	@$(BIN)/python -m pytest --collect-only -qq tests/unit >/dev/null 2>&1 & \
		$(BIN)/python -m pytest --collect-only -qq tests --ignore tests/unit >/dev/null 2>&1; wait
	@touch $@

$(RUNTIME): requirements/lock.txt pyproject.toml requirements/install.sh
	@requirements/install.sh requirements/lock.txt
	@touch $@

$(DEV): requirements/dev.txt pyproject.toml requirements/install.sh
	@requirements/install.sh requirements/dev.txt
	@touch $@ $(RUNTIME)
