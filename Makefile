# make demo: watch the demo company's mails being answered.   make test: everything that is promised, checked.
# make check: format, types and the rooms' unit tests, without the model and servers: the loop while you write.
# Only Python 3.11 to 3.13, make and a C and C++ compiler are needed; the rest is fetched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO_INSTALLED := $(VENV)/.installed-demo

# GCC 12 drops the tile configuration that llama.cpp's AMX code loads, and the program would crash at its first choice
# on a processor that has AMX. The flags are given where the compiler knows them.
AMX_OFF := -mno-amx-tile -mno-amx-int8 -mno-amx-bf16
NO_AMX := $(shell $(CC) $(AMX_OFF) -x c -E /dev/null >/dev/null 2>&1 && echo $(AMX_OFF))
export CFLAGS := $(strip $(CFLAGS) $(NO_AMX))
export CXXFLAGS := $(strip $(CXXFLAGS) $(NO_AMX))

.PHONY: demo check test bench docs fuzz crash lock sbom audit clean

demo: $(DEMO_INSTALLED)
	@$(BIN)/support-agent model pull
	@$(BIN)/support-agent demo

CODE = support_agent tests migrations docs deploy
LINT = $(BIN)/ruff check $(CODE) && $(BIN)/ruff format --check -q $(CODE)
TYPES = $(BIN)/mypy && $(BIN)/lint-imports --no-cache
ROOMS = tests/unit tests/test_docs.py --ignore=tests/unit/benchmarks
# Files in the order of collection: by default those with few tests come last, as the longest ones would.
BY_FILE = -n auto --dist loadfile --no-loadscope-reorder
# A thread of numpy's for each core in each process would wait actively for the others.
ONE_THREAD = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
COVERAGE = build/coverage.json
MEASURED = $(BIN)/python -W "ignore:Unable to activate:RuntimeWarning" -m slipcover --immediate --branch --source support_agent --json --out $(COVERAGE)
# Types and import contracts are checked on one core beside the tests, and their result is printed after theirs.
define beside_types
	@mkdir -p build; echo '$(TYPES) &'; { $(TYPES); } >build/types.log 2>&1 & types=$$!; trap "kill $$types" INT TERM; \
	echo '$(1)'; $(1); tests=$$?; wait $$types; types=$$?; cat build/types.log; exit $$((tests + types > 0))
endef

check: $(INSTALLED)
	$(LINT)
	$(call beside_types,$(ONE_THREAD) $(BIN)/pytest $(BY_FILE) -m "not model and not servers" $(ROOMS))

test: $(INSTALLED)
	@sh deploy/install-servers.sh
	@$(BIN)/support-agent model pull
	$(LINT)
	$(call beside_types,$(ONE_THREAD) $(MEASURED) -m pytest $(BY_FILE))
	@$(BIN)/python -m tests.coverage_by_room $(COVERAGE)

bench: $(INSTALLED)
	@$(BIN)/support-agent model pull
	$(BIN)/python -m tests.benchmarks

# The pages of docs/ as a site, in build/docs; fails at a link that leads nowhere.
docs: $(INSTALLED)
	@$(BIN)/uv pip install -q --python $(BIN)/python -c requirements-dev.lock --group docs
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build -q -W -b html docs build/docs

# FUZZ_COUNT inputs to all that reads mail; each that fails is kept as a file. `make test` runs some hundreds.
FUZZ_COUNT ?= 200000

fuzz: $(INSTALLED)
	$(BIN)/python -m tests.fuzz --count $(FUZZ_COUNT)

# Every fault (kill -9, stopped, database restarted, disk full, clock jumps, servers gone) at every step boundary, on both
# databases, then random histories; prints how many were tried.
HISTORIES ?= 10

crash: $(INSTALLED)
	@sh deploy/install-servers.sh
	$(BIN)/python -m tests.crash --histories $(HISTORIES)

# The lock is exact, for both targets; `make lock` rewrites it from the ranges in pyproject.toml.
lock: $(INSTALLED)
	$(BIN)/uv pip compile -q pyproject.toml --no-header --no-emit-index-url --universal --python-version 3.11 -o requirements.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra demo --group dev --no-header --no-emit-index-url --universal --python-version 3.11 -c requirements.lock -o requirements-dev.lock

# What ships, as CycloneDX; and whether any of it has a known hole, for which an advisory service must be reached.
TOOL = $(BIN)/python -m pip install -q --disable-pip-version-check 'uv>=0.8,<1' && $(BIN)/uv tool run -q --python $(BIN)/python

sbom: | $(VENV)/bin/python
	@mkdir -p build
	@$(TOOL) --from 'cyclonedx-bom>=7.5,<8' cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible -o build/sbom.cdx.json
	@echo build/sbom.cdx.json

audit: | $(VENV)/bin/python
	@$(TOOL) 'pip-audit>=2.10,<3' --strict --no-deps --disable-pip --progress-spinner off -r requirements.lock || { \
	echo "audit: failed. A package above has a known hole, or the advisory service (PyPI's JSON API) cannot be reached" >&2; \
	echo "from here: then nothing was audited. The job audit of .github/workflows/test.yml does it on each push." >&2; exit 1; }

# A compiled llama.cpp is taken from its project's index where that can be reached; LLAMA_WHEELS= compiles it for this processor.
LLAMA_WHEELS ?= https://abetlen.github.io/llama-cpp-python/whl/cpu
# What uses the models fetches them while llama.cpp compiles.
WITH_MODELS := $(if $(filter demo test bench,$(or $(MAKECMDGOALS),demo)),--models)
INSTALL = $(BIN)/python deploy/install.py $(WITH_MODELS) --wheels '$(LLAMA_WHEELS)'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "support-agent needs Python 3.11 to 3.13: make PYTHON=python3.12 demo")'
	@echo "Making $(VENV) and installing."
	@$(PYTHON) -m venv $(VENV)

$(DEMO_INSTALLED): requirements.lock pyproject.toml | $(VENV)/bin/python
	@$(INSTALL) requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements-dev.lock -e '.[demo]'
	@touch $@

$(INSTALLED): requirements-dev.lock pyproject.toml | $(VENV)/bin/python
	@$(INSTALL) requirements-dev.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@ $(DEMO_INSTALLED)

clean:
	rm -rf $(VENV) demo-workspace build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
