# Everything a developer types. `make check` is exactly what .ci/run runs.
.DEFAULT_GOAL := help
VENV ?= .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/bin

.PHONY: help setup lock lint types imports test test-unit wheel check faults-engine bench-engine bench-tokens bench-streams bench-scaling bench-loop bench-growth bench-tutor bench-storage fuzz-tenants clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

setup: ## Make the virtual environment and fetch what the tests use (Node packages, small model)
	@scripts/setup.sh

lock: ## Resolve requirements.lock again from pyproject.toml
	uv pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes \
	  --python-version 3.11 --quiet --custom-compile-command "make lock" -o requirements.lock

lint: ## Lint and check the formatting
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: ## Type-check the package
	$(RUN)/mypy

imports: ## Check that imports point down
	$(RUN)/lint-imports

test: ## Run every test
	@scripts/services.sh
	$(RUN)/pytest

test-unit: ## Run the tests that need no service, no Node and no model
	$(RUN)/pytest tests/unit tests/architecture tests/features tests/docs

check: lint types imports test ## What CI runs: lint, types, imports, every test

faults-engine: ## Seeded faults against real workers, PostgreSQL and Redis; last line is JSON
	@scripts/services.sh
	$(PY) tests/faults/engine_campaign.py --schedules $(or $(SCHEDULES),300) --seed $(or $(SEED),1)

bench-engine: ## CPU and time of a served run beside the bare graph; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/engine.py

bench-tokens: ## Server CPU per streamed token beside bare astream; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/tokens.py

bench-streams: ## Open SSE streams on one API process; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/streams.py

bench-scaling: ## Runs per second of 1, 2 and 4 worker processes; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/scaling.py

bench-loop: ## CPU per iteration beside create_agent and create_deep_agent; last line is JSON
	$(PY) benchmarks/speed/loop.py

bench-growth: ## Bytes stored in PostgreSQL beside create_agent and create_deep_agent; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/growth.py

bench-tutor: ## Scripted students measure the tutor (or BATHYSPHERE_MODEL_MAIN); last line is JSON
	$(PY) benchmarks/quality/tutor/run.py

bench-storage: ## Search, single operations and windows on the GCS double; last line is JSON
	$(PY) benchmarks/speed/storage.py

fuzz-tenants: ## Two tenants and a stranger on every route at random; last line is JSON
	@scripts/services.sh
	$(PY) tests/fuzz/tenants_campaign.py --steps $(or $(STEPS),5000) --seed $(or $(SEED),1)

wheel: ## Build the wheel into dist/
	$(PY) -m build --wheel

clean: ## Remove what was built
	rm -rf $(VENV) .cache dist build .mypy_cache .ruff_cache .pytest_cache
