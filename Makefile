# Each target sets up what it needs in .venv; only Python 3.11 or newer and make must be there.
#   for everybody:      make demo | quick | test | clean                                  make PYTHON=python3.12 test
#   to change it:       make lint | format | docs | javascript | test-all | bench
#   single surfaces:    make test-postgres | test-page | test-gateways | screenshots
#   what CI adds:       make test-lowest | test-thorough | wheel-test
#   to release it:      make dist | sbom | audit | third-party
#   a new dependency:   make hashes

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done)
VERSION := $(shell $(if $(PYTHON),$(PYTHON),false) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
PIP := -m pip --disable-pip-version-check
INSTALL := $(PIP) --quiet install --constraint
# What sections of constraints.txt name, and nothing else: pip checks each file by its hash. What is ours comes after it,
# from this folder, and finds all that it depends on in place.
#   usage: $(call hashed,PYTHON,SECTIONS,OPTIONS)
hashed = awk -v wanted=" $(2) " '/^\# == /{on = index(wanted, " " $$3 " ")} on' constraints.txt >.hashed-$(firstword $(2)).txt && \
	{ $(1) $(PIP) install --require-hashes --no-deps $(3) --requirement .hashed-$(firstword $(2)).txt; status=$$?; rm .hashed-$(firstword $(2)).txt; exit $$status; }
OURS := $(PIP) --quiet install --no-index --no-build-isolation
BIN := .venv/bin
# One environment, which grows: what runs, then what `make test` needs, then what everything else does.
RUNS := .venv/runs-$(VERSION)
TESTS := .venv/tests-$(VERSION)
READY := .venv/ready-$(VERSION)
READY_LOWEST := .venv-lowest/ready-$(VERSION)

.PHONY: demo quick test test-slow test-all test-gateways test-page test-postgres test-over-postgres test-of-postgres screenshots test-thorough test-lowest lint format docs javascript \
	bench dist wheel-test sbom audit hashes third-party clean

demo: $(RUNS)
	$(BIN)/gateway-memory demo

# WORKERS: how many processes share the tests; three suit two cores, since many tests wait. Those of one group
# (xdist_group) run in one of them.
WORKERS ?= 3
SHARED := --numprocesses $(WORKERS) --dist loadgroup
test: $(TESTS)
	$(BIN)/pytest $(SHARED) -m "not slow"

# Those that start servers or many processes, or try many cases. The tests of MQTT and of the pooler are skipped without
# Mosquitto and PgBouncer.
test-slow: $(READY)
	$(BIN)/pytest $(SHARED) -m "slow and not of_postgres"

# Pure functions alone, with fewer examples: after each edit.
quick: $(TESTS)
	$(BIN)/pytest -m "not slow and not lengthy" --hypothesis-profile quick tests/unit

test-all: test test-slow test-postgres

# The plugins in the real gateways, which the tests install into .gateways/. One process: a gateway takes long to start.
test-gateways: $(TESTS)
	@command -v npm >/dev/null || { echo "make test-gateways installs OpenClaw by npm, which is missing; on Debian and Ubuntu: apt install npm" >&2; exit 1; }
	$(BIN)/pytest tests/gateways

# The page in a real browser, which must be installed: Chromium, with a font for Chinese.
test-page: $(TESTS)
	@command -v chromium >/dev/null || { echo "make test-page needs Chromium; on Debian and Ubuntu: apt install chromium fonts-noto-cjk" >&2; exit 1; }
	@$(call hashed,$(BIN)/python,browser,--quiet)
	$(BIN)/pytest tests/browser

# Pictures of the page for the documentation, made anew.
screenshots: $(TESTS)
	@$(call hashed,$(BIN)/python,browser,--quiet)
	mkdir -p docs/images
	GATEWAY_MEMORY_SCREENSHOTS=$(CURDIR)/docs/images $(BIN)/pytest tests/browser/test_screenshots.py

# What a memory promises, over PostgreSQL in the place of files (one server for each process of the tests); and what only
# PostgreSQL has: hosts that share one, poolers, faults, load, and what an operator does.
test-postgres: test-over-postgres test-of-postgres
test-of-postgres: $(READY)
	env -u GATEWAY_MEMORY_TEST_BACKEND $(BIN)/pytest $(SHARED) -m of_postgres tests/integration
test-over-postgres: $(READY)
	GATEWAY_MEMORY_TEST_BACKEND=postgres $(BIN)/pytest $(SHARED) -m "over_postgres and not files" tests/acceptance tests/integration

# Every case of the large products of which `make test-all` takes a sample, more examples, more rounds of faults: some hours.
test-thorough: $(READY)
	GATEWAY_MEMORY_THOROUGH=1 $(BIN)/pytest $(SHARED)

# The tests of `make test` that meet a dependency, with the lowest version of each that pyproject.toml allows.
test-lowest: $(READY_LOWEST)
	.venv-lowest/bin/pytest $(SHARED) -m "not slow" tests/contract tests/integration tests/acceptance

lint: $(TESTS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(TESTS)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The tables of docs/commands.md and docs/config.md, from the code; a test fails while they are out of date.
docs: $(TESTS)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/ways.py

# The types of the client in JavaScript, from the service's OpenAPI file; a test fails while they are out of date.
javascript: $(TESTS)
	$(BIN)/python docs/javascript.py

# MEMORIES: how many memories to measure with; DATA: evaluation files for the quality of recall (optional).
MEMORIES ?= 10000
DATA ?=
bench: $(TESTS)
	$(BIN)/python benchmarks/latency.py --memories $(MEMORIES)
	$(BIN)/python benchmarks/notify.py
	$(BIN)/python benchmarks/hooks.py --memories $(MEMORIES)
	for data in $(DATA); do $(BIN)/python benchmarks/recall_quality.py --data "$$data" || exit 1; done

# The wheel and the source archive, each tried in an environment that has nothing else.
dist: $(TESTS)
	rm -rf dist build/dist
	$(BIN)/python -m hatchling build -d dist
	for archive in dist/*; do \
		$(PYTHON) -m venv --clear build/dist && ($(call hashed,build/dist/bin/python,builds runs,--quiet)) && \
		build/dist/bin/python $(OURS) "$$archive" && \
		(cd build && dist/bin/python -I -m gateway_memory.cli.entry demo >demo.txt || { cat demo.txt; exit 1; }) && \
		echo "$$archive: installed, and its demo holds" || exit 1; \
	done

# The tests, run where the packages can only come from the installed wheel.
wheel-test: dist
	rm -rf build/wheel-test
	mkdir -p build/wheel-test/checkout
	$(PYTHON) -m venv build/wheel-test/venv
	$(call hashed,build/wheel-test/venv/bin/python,builds runs extras tests servers,--quiet)
	build/wheel-test/venv/bin/python $(OURS) "$$(echo dist/*.whl)[dev,test-postgres]"
	tar -cf - --exclude=./.git --exclude='./.venv*' --exclude=./build --exclude=./dist --exclude=./gateway_memory \
		--exclude=./extractor --exclude=./recall --exclude=./notifier . | tar -xf - -C build/wheel-test/checkout
	cd build/wheel-test/checkout && ../venv/bin/pytest $(SHARED)

# What an installation with every extra holds: the list of its parts (CycloneDX), and from it THIRD_PARTY.md.
INSTALLED := build/installed/bin
sbom: $(TESTS)
	$(PYTHON) -m venv --clear build/tools && build/tools/bin/python $(PIP) --quiet install cyclonedx-bom
	$(PYTHON) -m venv --clear build/installed
	$(call hashed,$(INSTALLED)/python,builds runs extras,--quiet)
	$(INSTALLED)/python $(OURS) '.[metrics,postgres,serve,watch]'
	$(INSTALLED)/python $(PIP) --quiet uninstall --yes hatchling editables pathspec pluggy tomlkit trove-classifiers setuptools pip
	mkdir -p dist
	build/tools/bin/cyclonedx-py environment --output-reproducible --output-file dist/sbom.cdx.json $(INSTALLED)/python

# Which of the pinned versions have known vulnerabilities, as PyPI's advisories say. It fails where one is known, and
# where a package could not be looked up, so that no answer is never taken for a good one.
audit:
	$(PYTHON) -m venv --clear build/audit && build/audit/bin/python $(PIP) --quiet install pip-audit
	build/audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt

# constraints.txt anew, from pyproject.toml and the package index; UPGRADE=--upgrade takes the newest versions.
hashes:
	$(PYTHON) -m venv --clear build/hashes && build/hashes/bin/python $(PIP) --quiet install uv
	PATH="$(CURDIR)/build/hashes/bin:$$PATH" $(PYTHON) docs/hashes.py $(UPGRADE)

third-party: sbom
	$(BIN)/python docs/third_party.py dist/sbom.cdx.json

clean:
	rm -rf .venv .venv-lowest .gateways build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Made anew when the dependencies or the version of Python change. hatchling is installed and builds without isolation, so
# that the build too runs on what was checked. pip tells what it does: the first time takes minutes on a slow line.
$(RUNS): pyproject.toml constraints.txt
	@test -n "$(VERSION)" || { echo "gateway-memory needs Python 3.11 or newer$(if $(PYTHON),; PYTHON=$(PYTHON) is not,: none was found; name one with make PYTHON=…)." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gateway-memory needs Python 3.11 or newer; $(PYTHON) is $(VERSION)." >&2; exit 1; }
	@echo "Setting up .venv with Python $(VERSION), once: it downloads about 70 MB, 210 MB on disk …"
	@$(PYTHON) -m venv --clear .venv || { echo "Python's venv module is incomplete; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(call hashed,$(BIN)/python,builds runs,--no-compile)
	@$(BIN)/python $(OURS) --editable .
	@$(BIN)/python $(PIP) --quiet uninstall --yes setuptools 2>/dev/null
	@touch $@

$(TESTS): $(RUNS)
	@echo "Adding to .venv what the tests need …"
	@$(call hashed,$(BIN)/python,extras tests)
	@$(BIN)/python $(OURS) --editable '.[dev]'
	@touch $@

$(READY): $(TESTS)
	@echo "Adding to .venv a PostgreSQL server for tests …"
	@$(call hashed,$(BIN)/python,servers,--quiet)
	@$(BIN)/python $(OURS) --editable '.[dev,test-postgres]'
	@touch $@

$(READY_LOWEST): pyproject.toml constraints-lowest.txt
	@echo "Setting up .venv-lowest with Python $(VERSION) …"
	@$(PYTHON) -m venv --clear .venv-lowest
	@.venv-lowest/bin/python $(INSTALL) constraints-lowest.txt hatchling editables
	@.venv-lowest/bin/python $(INSTALL) constraints-lowest.txt --no-build-isolation --editable '.[dev,test-postgres]'
	@touch $@
