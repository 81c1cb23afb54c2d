# Everything a developer runs. `.venv` is made from the lock files, and again when they change.
PYTHON ?= python3
PY := .venv/bin/python
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
# Nothing that `make check` runs connects to a database, but the settings want to know one.
NOWHERE := postgresql://nobody@127.0.0.1:1/none

# As many as CI has cores: with three the suite took no less time there.
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help up test test-changed test-repeat check bench faults lock prices clean venv venv-dev conformance

help:
	@echo "make up            run Toolgate with everything it needs"
	@echo "make test          the whole suite; ARGS are pytest's"
	@echo "make test-changed  the tests nearest to a change, for 90 seconds; SINCE=main, MINUTES=5"
	@echo "make test-repeat   the whole suite ten times, each in a clean clone; ARGS=\"--times 4 --busy 2\""
	@echo "make check         lint, types, layers, migrations, templates"
	@echo "make bench         the benchmarks"
	@echo "make faults        the long fault suite"
	@echo "make lock          resolve the dependencies anew"
	@echo "make prices        list the prices of models anew, out of genai-prices"
	@echo "make clean         remove .venv and caches; var/ stays"

# make passes SIGTERM on to its child, which `exec` makes the supervisor itself; --parent: it also stops when make is killed.
up: venv
	@exec $(PY) manage.py up --parent $$PPID

# Tests start many processes: none of them compiles the modules again.
test: export PYTHONDONTWRITEBYTECODE =
test: venv-dev
	@exec $(PY) -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

# What is not committed yet, or is new since SINCE; as many of its tests as take so long, or with 0 all of them.
SINCE ?= HEAD
MINUTES ?= 1.5
test-changed: export PYTHONDONTWRITEBYTECODE =
test-changed: venv-dev
	@tests=$$($(PY) -m tests.changed --since $(SINCE) --minutes $(MINUTES)) || exit; [ -z "$$tests" ] || \
	  exec $(PY) -m pytest -n $(WORKERS) --dist loadgroup $$tests $(ARGS)

test-repeat: venv-dev
	@exec $(PY) -m tests.repeat $(ARGS)

check: export DATABASE_URL = $(NOWHERE)
check: export DATABASE_OWNER_URL = $(NOWHERE)
check: export REDIS_URL = redis://127.0.0.1:1/0
check: venv-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(PY) manage.py check
	$(PY) -m djlint --lint templates
	@if docker compose version >/dev/null 2>&1; then echo "docker compose config"; \
	  sed 's/=$$/=check/' .env.example | docker compose --env-file /dev/stdin config -q; fi

bench: venv-dev
	@exec $(PY) -m bench $(ARGS)

faults: export TOOLGATE_FAULTS = long
faults: venv-dev
	@exec $(PY) -m pytest tests/faults $(ARGS)

prices: venv-dev
	$(PY) gateway/budgets/price_list.py > prices.json.new && mv prices.json.new gateway/budgets/prices.json

lock:
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .schemathesis staticfiles
	find . -name var -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# $(1) is the lock file to install, $(2) what is installed with it. A copy of a lock file in .venv says that it is
# installed; it is taken away first, and a .venv without one is made afresh, so that a killed install leaves no half.
define installed
@if ! cmp -s $(1) .venv/$(1) || ! $(PY) -I -S -c pass 2>/dev/null; then \
  found=$$($(PYTHON) -I -c 'import sys; print("%d.%d" % sys.version_info[:2]); sys.exit(sys.version_info < (3, 11))' 2>/dev/null) || { \
    echo "toolgate: needs Python 3.11 or newer; $(PYTHON) is $${found:-not there}: install one, or set PYTHON=/path/to/python3" >&2; exit 1; }; \
  if ! [ -e .venv/requirements.lock ] || ! $(PY) -I -S -c pass 2>/dev/null; then \
    echo "toolgate: making .venv with Python $$found"; \
    rm -rf .venv; \
    $(PYTHON) -m venv .venv >/dev/null 2>&1 || { rm -rf .venv; \
      echo "toolgate: $(PYTHON) cannot make a virtual environment: install its venv module (Debian, Ubuntu: apt-get install python3-venv), or set PYTHON" >&2; exit 1; }; \
  fi; \
  rm -f .venv/requirements.lock .venv/requirements-dev.lock; \
  echo "toolgate: installing what $(1) lists into .venv"; \
  $(PY) -m pip install -qq --disable-pip-version-check --no-input --no-deps --require-hashes -r $(1) || { \
    echo "toolgate: the packages of $(1) could not be installed, as pip says above" >&2; exit 1; }; \
  for lock in $(2); do cp $$lock .venv/$$lock || exit 1; done; \
fi
endef

venv:
	$(call installed,requirements.lock,requirements.lock)

# The development lock holds everything that the other does, in the same versions. What only tests/bfcl reads, and what
# tests run in Node or load into a browser, are directories in .venv; without them those tests say so.
BFCL := tests/bfcl/requirements.lock
NODE := tests/node
venv-dev:
	$(call installed,requirements-dev.lock,requirements.lock requirements-dev.lock)
	@cmp -s $(BFCL) .venv/bfcl/requirements.lock || { rm -rf .venv/bfcl; \
	  $(PY) -m pip install -qq --disable-pip-version-check --no-input --no-deps --require-hashes --target .venv/bfcl -r $(BFCL) \
	    && cp $(BFCL) .venv/bfcl/requirements.lock; } || echo "toolgate: without $(BFCL) tests/bfcl cannot run" >&2
	@cmp -s $(NODE)/package-lock.json .venv/node/installed.json || { rm -rf .venv/node && mkdir .venv/node \
	  && cp $(NODE)/package.json $(NODE)/package-lock.json .venv/node/ \
	  && npm ci --prefix .venv/node --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null 2>&1 \
	    && cp $(NODE)/package-lock.json .venv/node/installed.json; } || echo "toolgate: without npm the tests that need $(NODE) cannot run" >&2

# The official MCP conformance suite and the Node that it needs, 150 MB that only tests/mcp/test_conformance.py uses: CI
# installs them.
CONFORMANCE := tests/mcp/conformance
conformance: venv-dev
	@cmp -s $(CONFORMANCE)/package-lock.json .venv/conformance/installed.json || { rm -rf .venv/conformance \
	  && mkdir .venv/conformance && cp $(CONFORMANCE)/package.json $(CONFORMANCE)/package-lock.json .venv/conformance/ \
	  && $(PY) -m pip install -qq --disable-pip-version-check --no-input --no-deps --require-hashes \
	    --target .venv/conformance/python -r $(CONFORMANCE)/requirements.lock \
	  && npm ci --prefix .venv/conformance --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null 2>&1 \
	  && cp $(CONFORMANCE)/package-lock.json .venv/conformance/installed.json; }
