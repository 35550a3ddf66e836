# Everything a developer types. `make check` is exactly what .ci/run runs.
.DEFAULT_GOAL := help
VENV ?= .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/bin
LIGHT := tests/unit tests/architecture tests/features tests/docs
SIDE_BY_SIDE := $(LIGHT) tests/conformance tests/contract

# Every target that says what it is for: none of them is a file.
.PHONY: $(shell grep -oE '^[a-z0-9-]+:' Makefile | tr -d :)

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-22s %s\n", $$1, $$2}'

setup: ## Make the virtual environment and fetch what the tests use (Node packages, small model)
	@scripts/setup.sh

lock: ## Resolve requirements.lock again from pyproject.toml, and the test mint's lock
	$(RUN)/uv pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes \
	  --python-version 3.11 --quiet --custom-compile-command "make lock" -o requirements.lock
	$(RUN)/uv pip compile src/bathysphere/testing/mint/requirements.in --override src/bathysphere/testing/mint/overrides.txt \
	  --universal --generate-hashes --python-version 3.11 --quiet --custom-compile-command "make lock" \
	  -o src/bathysphere/testing/mint/requirements.lock

lint: ## Lint and check the formatting
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: ## Type-check the package
	$(RUN)/mypy

imports: ## Check that imports point down
	$(RUN)/lint-imports

test: ## Run every test; those that look at a clock run one after the other
	@scripts/services.sh
	$(RUN)/pytest -n 2 --dist loadfile $(SIDE_BY_SIDE)
	$(RUN)/pytest tests $(SIDE_BY_SIDE:%=--ignore=%) --durations=25

test-unit: ## Run the tests that need no service, no Node and no model
	$(RUN)/pytest -n 2 --dist loadfile $(LIGHT)

check: lint types imports test ## What CI runs: lint, types, imports, every test

conformance-20: ## Both stock clients, every behaviour twenty times in a row
	@scripts/services.sh
	CONFORMANCE_COUNT=20 $(RUN)/pytest -q tests/conformance/test_js.py tests/conformance/test_python.py

conformance-reference: ## The same behaviours on LangChain's own development server; last line is JSON
	$(PY) tests/conformance/reference.py

faults-engine: ## Seeded faults against real workers, PostgreSQL and Redis; last line is JSON
	@scripts/services.sh
	$(PY) tests/faults/engine_campaign.py --schedules $(or $(SCHEDULES),300) --seed $(or $(SEED),1)

faults-interrupts: ## Seeded answers of every kind to nested, parallel interrupts; last line is JSON
	@scripts/services.sh
	$(PY) tests/faults/interrupts_campaign.py --schedules $(or $(SCHEDULES),1000) --seed $(or $(SEED),1)

faults-payments: ## Processes killed at every boundary, a broken wire, mint and PostgreSQL; last line is JSON
	$(PY) tests/faults/payments_campaign.py --schedules $(or $(SCHEDULES),500) --seed $(or $(SEED),1)

histories-payments: ## Random histories of the ledger, audited after every step; last line is JSON
	$(PY) tests/integration/payments/histories.py --steps $(or $(STEPS),10000) --seed $(or $(SEED),1)

bench-payments: ## A charge beside the bare transaction of the same writes; last line is JSON
	$(PY) benchmarks/speed/payments.py

mutate-payments: ## Mutation testing of the code that handles money; last line is JSON
	$(PY) tests/mutation/mutate.py --workers $(or $(WORKERS),2) --only "$(ONLY)" --limit $(or $(LIMIT),0)

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

prompts-tutor: ## Seed 000's example prompts, on the scripted model or TEST_MODEL=provider:name
	BATHYSPHERE_TEST_MODEL=$(TEST_MODEL) $(RUN)/pytest tests/features/test_seed_prompts.py

tamper: ## Flip single bytes of an exported proof, in every part; last line is JSON
	$(PY) tests/faults/proof_campaign.py --positions $(or $(POSITIONS),2000) --seed $(or $(SEED),1)

bench-storage: ## Search, single operations and windows on the GCS double; last line is JSON
	$(PY) benchmarks/speed/storage.py

fuzz-tenants: ## Two tenants and a stranger on every route at random; last line is JSON
	@scripts/services.sh
	$(PY) tests/fuzz/tenants_campaign.py --steps $(or $(STEPS),5000) --seed $(or $(SEED),1)

bench-research: ## Research over 320 made documents with a model that lies (or BATHYSPHERE_MODEL_MAIN); last line is JSON
	$(PY) -W ignore benchmarks/quality/research/run.py --questions $(or $(QUESTIONS),60) --seed $(or $(SEED),1)

web: ## Build the browser app into the package; prints its first load
	npm ci --prefix web --silent --no-audit --no-fund --ignore-scripts
	npm run --prefix web --silent build

test-web: ## Check and test the browser app; its user stories run in Chromium
	@scripts/services.sh
	npm run --prefix web --silent check
	npm run --prefix web --silent test
	$(RUN)/pytest tests/e2e/web

screenshots: ## Take the pictures of docs/screenshots anew
	@scripts/services.sh
	$(PY) tests/e2e/web/screenshots.py
	STORY_PICTURES=docs/screenshots $(PY) -m pytest -q tests/e2e/web/test_bucket_stories.py -k "form or key"

wheel: web ## Build the wheel into dist/
	$(PY) -m build --wheel

clean: ## Remove what was built
	rm -rf $(VENV) .cache dist build .mypy_cache .ruff_cache .pytest_cache
