# Developer commands. `make check` is exactly what .ci/run runs.
.DEFAULT_GOAL := help
VENV ?= .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/bin
LIGHT := tests/unit tests/architecture tests/features tests/docs
SIDE_BY_SIDE := $(LIGHT) tests/conformance tests/contract tests/integration/payments tests/integration/server \
  tests/e2e/test_plain_install.py tests/integration/tools tests/integration/test_model_server.py \
  $(addprefix tests/e2e/web/test_,$(addsuffix .py,build bucket_stories research_stories tutor_stories)) \
  tests/integration/test_models.py tests/integration/edge/test_api_keys.py \
  $(addprefix tests/integration/engine/test_,$(addsuffix .py,answers runs schema strict_reading threads))

# Tests start hundreds of processes; without cached bytecode each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# No target is a file.
.PHONY: $(shell grep -oE '^[a-z0-9-]+:' Makefile | tr -d :)

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-22s %s\n", $$1, $$2}'

setup: ## Create the virtual environment and fetch what tests need (Node packages, small model, mint)
	@scripts/setup.sh

lock: ## Regenerate requirements.lock and the test mint's lock
	$(RUN)/uv pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes \
	  --python-version 3.11 --quiet --custom-compile-command "make lock" -o requirements.lock
	$(RUN)/uv pip compile src/bathysphere/testing/mint/requirements.in --override src/bathysphere/testing/mint/overrides.txt \
	  --universal --generate-hashes --python-version 3.11 --quiet --custom-compile-command "make lock" \
	  -o src/bathysphere/testing/mint/requirements.lock

lint: ## Lint, and check formatting
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: ## Type-check the package
	$(RUN)/mypy

imports: ## Check that imports point down
	$(RUN)/lint-imports

test: ## Run every test; timing-sensitive ones run sequentially
	@scripts/services.sh
	$(RUN)/pytest -n 2 --dist loadfile $(SIDE_BY_SIDE) --durations=25
	$(RUN)/pytest tests $(SIDE_BY_SIDE:%=--ignore=%) --durations=25

test-unit: ## Run the tests that need no service, no Node and no model
	$(RUN)/pytest -n 2 --dist loadfile $(LIGHT)

check: lint types imports test ## What CI runs: lint, types, imports, every test

conformance-20: ## Test both stock clients, each behaviour twenty times
	@scripts/services.sh
	CONFORMANCE_COUNT=20 $(RUN)/pytest -q tests/conformance/test_js.py tests/conformance/test_python*.py

conformance-reference: ## Test the same behaviours on LangChain's development server; last line is JSON
	$(PY) tests/conformance/reference.py

conformance-surface: ## Compare every operation with LangChain's development server; last line is JSON
	@scripts/services.sh
	$(PY) tests/conformance/surface.py

faults-engine: ## Inject seeded faults into real workers, PostgreSQL and Redis; last line is JSON
	@scripts/services.sh
	$(PY) tests/faults/engine_campaign.py --schedules $(or $(SCHEDULES),300) --seed $(or $(SEED),1) --graphs $(or $(GRAPHS),own)

faults-interrupts: ## Answer nested, parallel interrupts in every seeded way; last line is JSON
	@scripts/services.sh
	$(PY) tests/faults/interrupts_campaign.py --schedules $(or $(SCHEDULES),1000) --seed $(or $(SEED),1)

faults-crons: ## Kill schedulers and move the clock; every due time must run once; last line is JSON
	@scripts/services.sh
	$(PY) -W ignore tests/faults/crons_campaign.py --ticks $(or $(TICKS),500) --seed $(or $(SEED),1)

faults-payments: ## Kill processes at every boundary; break network, mint and PostgreSQL; last line is JSON
	$(PY) tests/faults/payments_campaign.py --schedules $(or $(SCHEDULES),500) --seed $(or $(SEED),1)

histories-payments: ## Run random ledger histories, audited after every step; last line is JSON
	$(PY) tests/integration/payments/histories.py --steps $(or $(STEPS),10000) --seed $(or $(SEED),1)

bench-payments: ## Compare a charge with a bare transaction of the same writes; last line is JSON
	$(PY) benchmarks/speed/payments.py

mutate-payments: ## Mutation-test the code that handles money; last line is JSON
	$(PY) tests/mutation/mutate.py --workers $(or $(WORKERS),2) --only "$(ONLY)" --limit $(or $(LIMIT),0)

bench-engine: ## Compare CPU and time of a served run with the bare graph; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/engine.py --graph $(or $(GRAPH),own)

bench-tokens: ## Compare server CPU per streamed token with bare astream; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/tokens.py

bench-streams: ## Measure open SSE streams on one API process; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/streams.py

bench-fairness: ## Measure a tenant's latency while another attacks; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/fairness.py

bench-scaling: ## Measure runs per second with 1, 2 and 4 workers; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/scaling.py

bench-loop: ## Compare CPU per iteration with create_agent and create_deep_agent; last line is JSON
	$(PY) benchmarks/speed/loop.py

bench-growth: ## Compare stored bytes with create_agent and create_deep_agent; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/growth.py

bench-tutor: ## Measure the tutor with scripted students (or BATHYSPHERE_MODEL_MAIN); last line is JSON
	$(PY) benchmarks/quality/tutor/run.py

prompts-tutor: ## Run seed 000's example prompts on the scripted model or TEST_MODEL=provider:name
	BATHYSPHERE_TEST_MODEL=$(TEST_MODEL) $(RUN)/pytest tests/features/test_seed_prompts.py

tamper: ## Flip single bytes of an exported proof, in every part; last line is JSON
	$(PY) tests/faults/proof_campaign.py --positions $(or $(POSITIONS),2000) --seed $(or $(SEED),1)

bench-storage: ## Measure search and file operations on the GCS test server; last line is JSON
	$(PY) benchmarks/speed/storage.py

fuzz-tenants: ## Call every route at random as two tenants and a stranger; last line is JSON
	@scripts/services.sh
	$(PY) tests/fuzz/tenants_campaign.py --steps $(or $(STEPS),20000) --seed $(or $(SEED),1)

bench-research: ## Measure research on 320 generated documents (or BATHYSPHERE_MODEL_MAIN); last line is JSON
	$(PY) -W ignore benchmarks/quality/research/run.py --questions $(or $(QUESTIONS),60) --seed $(or $(SEED),1)

web: ## Build the browser app into the package; prints the size of its first load
	npm ci --prefix web --silent --no-audit --no-fund --ignore-scripts
	npm run --prefix web --silent build

test-web: ## Check and test the browser app, with user stories in Chromium
	@scripts/services.sh
	npm run --prefix web --silent check
	npm run --prefix web --silent test
	$(RUN)/pytest tests/e2e/web

screenshots: ## Take the pictures in docs/screenshots again
	@scripts/services.sh
	$(PY) tests/e2e/web/screenshots.py
	STORY_PICTURES=docs/screenshots $(PY) -m pytest -q tests/e2e/web/test_bucket_stories.py -k "form or key"

wheel: web ## Build the wheel into dist/
	$(PY) -m build --wheel

clean: ## Remove build output and caches
	rm -rf $(VENV) .cache dist build .mypy_cache .ruff_cache .pytest_cache
