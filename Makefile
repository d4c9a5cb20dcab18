# Everything that this project needs to be set up, run, tested and released. `make` alone lists it.
# POSIX make and sh; the only thing that has to be there before is Python 3.11 or newer with venv.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
PLUGINS := $(wildcard plugins/*/pyproject.toml examples/*/pyproject.toml)
PROJECTS := pyproject.toml $(PLUGINS)
WORKERS ?= 4
# Where Python may keep no bytecode, every process of the tests, each hub and each command among them, would compile
# all that it imports, and every worker all tests: a sixth of the suite's work.
PYTEST := unset PYTHONDONTWRITEBYTECODE; $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
BENCH ?= fanout

.DEFAULT_GOAL := help
.PHONY: help setup run test full check format bench matrix build clean

help: ## list what can be made
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

setup: $(STAMP) ## create .venv and install everything, editable, with the versions of constraints.txt

$(STAMP): $(PROJECTS) constraints.txt scripts/setup.sh
	@sh scripts/setup.sh $(VENV)
	@touch $@

run: $(STAMP) ## start the hub with its own store; ARGS="--port 8421" are handed on
	@exec $(BIN)/turnhub serve $(ARGS)

# A file's tests share a worker, and with it what they share. (Groups by mark are not kept: pytest 9.2 keeps node
# ids where pytest-xdist 3.8 does not look for them.)
test: $(STAMP) ## run all tests; ARGS="tests/test_fold.py -k retry" narrows them down
	@sh scripts/system-packages.sh chromium curl redis-server tmux --if-there-is caddy nginx-light:nginx
	$(PYTEST) $(ARGS)

full: $(STAMP) ## run all tests and all their variants on real agents, which takes about half an hour
	@sh scripts/system-packages.sh chromium curl redis-server tmux --if-there-is caddy nginx-light:nginx
	$(PYTEST) -m "full or not full" $(ARGS)

check: $(STAMP) ## lint, formatting, types, and who may import whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@for project in $(patsubst %/,%,$(dir $(PLUGINS))); do \
		echo mypy $$project; MYPYPATH=$$project $(BIN)/mypy $$project || exit 1; done
	$(BIN)/lint-imports --no-logo

format: $(STAMP) ## mend formatting and what else ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(STAMP) ## a thousand subscribers of one turn, beside the naive form and a bare writer; BENCH=append, attach, judging
	@$(BIN)/python -m benchmarks.$(BENCH) $(ARGS)

matrix: $(STAMP) ## send every message of the delivery matrix to a real agent in tmux; ARGS="--widths 80 --only emoji"
	@sh scripts/system-packages.sh tmux
	@$(BIN)/python -m plugins.tmux_transport.tests.matrix $(ARGS)

build: $(STAMP) ## build all distributions into dist/
	@for project in $(dir $(PROJECTS)); do \
		$(BIN)/python -m build --no-isolation --outdir dist $$project || exit 1; done

clean: ## remove everything that these commands have made, .venv included
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
