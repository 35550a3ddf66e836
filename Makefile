# Developer commands. `make check` is exactly what .ci/run runs.
.DEFAULT_GOAL := help
VENV ?= .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/bin
LIGHT := tests/unit tests/security tests/architecture tests/features tests/docs
tests-in = $(patsubst %,$(1)/test_%.py,$(2))
# Tests that measure time, which must not compete with others. All others run in three processes.
ALONE := $(call tests-in,tests/e2e,first_minute) $(call tests-in,tests/e2e/web,first_minute measured_stories new_project search_speed) \
  $(call tests-in,tests/faults,engine_campaign fairness nursery pool_outage progress reconnect tenant_under_attack worker_loss) \
  $(call tests-in,tests/integration,small_model) $(call tests-in,tests/integration/mcp,connections) \
  $(call tests-in,tests/integration/edge,admission dev_command hostile_pages slow_clients) \
  $(call tests-in,tests/integration/engine,fence told_when_cancelled) $(call tests-in,tests/integration/faults,stuck_process)
# Tests that need a processor and nothing else, however late they get it. They run while those do.
BESIDE := $(call tests-in,tests/e2e/web,build) tests/architecture tests/docs tests/unit/evaluation \
  $(wildcard tests/unit/agents/test_*.py) \
  $(call tests-in,tests/unit/middleware,argument_map clarify client_files effects files memories moves)
# Tests start hundreds of processes; without cached bytecode each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# No target is a file.
.PHONY: $(shell grep -oE '^[a-z0-9_-]+:' Makefile | tr -d :)

help: ## Show this list
	@grep -hE '^[a-z0-9_-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-22s %s\n", $$1, $$2}'

setup: ## Create the virtual environment and fetch what tests need (Node packages, small model, mint, AgentDojo)
	@scripts/setup.sh

setup-python: ## Create the virtual environment only, which is what test-unit needs
	@scripts/setup.sh python

latest: ## Replace the locked packages by the newest versions, to see early what a new version breaks
	$(RUN)/uv pip install --python $(PY) --upgrade --group dev --group docs -e ".[all]"
	$(RUN)/uv pip install --python $(PY) --upgrade deepagents langchain langgraph

# The extras of the container image: all that a shipped agent needs, without a model server of its own.
IMAGE_EXTRAS := openai ollama research payments storage push otel

COMPILE := $(RUN)/uv pip compile --universal --generate-hashes --python-version 3.11 --quiet --custom-compile-command "make lock"

lock: ## Regenerate requirements.lock and the locks of the image, the test mint and AgentDojo
	$(COMPILE) pyproject.toml --all-extras --group dev --group docs -o requirements.lock
	$(COMPILE) pyproject.toml $(IMAGE_EXTRAS:%=--extra %) --constraints requirements.lock --no-annotate -o deploy/requirements.lock
	$(COMPILE) deploy/build.in --constraints requirements.lock --no-annotate -o deploy/build.lock
	$(COMPILE) src/bathysphere/testing/mint/requirements.in --override src/bathysphere/testing/mint/overrides.txt \
	  -o src/bathysphere/testing/mint/requirements.lock
	$(COMPILE) benchmarks/security/agentdojo/requirements.in --no-deps -o benchmarks/security/agentdojo/requirements.lock

image-root: ## Build the image's root file system by the Containerfile's steps, and use it; last line is JSON
	@scripts/services.sh
	@rm -rf --one-file-system .cache/image
	@unshare --mount --propagation private $(PY) -W ignore tests/image/image_campaign.py .cache/image
	@rm -rf --one-file-system .cache/image

lint: ## Lint, and check formatting
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

lint_package: ## Lint the package only
	$(RUN)/ruff check src

lint_tests: ## Lint the tests only
	$(RUN)/ruff check tests

format: ## Format the code, and fix what the linter can fix
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .

types: ## Type-check the package
	$(RUN)/mypy

imports: ## Check that imports point down
	$(RUN)/lint-imports

test: ## Run the tests of the check, those that measure time sequentially, and once more what failed; or only TEST_FILE
	@scripts/services.sh
ifdef TEST_FILE
	$(RUN)/pytest $(TEST_FILE)
else
	$(PY) scripts/run_tests.py tests examples --markers "not long" --alone $(ALONE) --beside $(BESIDE)
endif

test-long: ## Run the tests that are too long for the check, and once more what failed
	@scripts/services.sh
	$(PY) scripts/run_tests.py tests examples --markers long --alone $(ALONE)

test-once: ## Run every test, the long ones too; each failure counts
	@scripts/services.sh
	BAD_INPUT_EXAMPLES=40 $(PY) scripts/run_tests.py tests examples --no-repeat --alone $(ALONE)

integration_tests: ## Run the tests that talk to real servers
	@scripts/services.sh
	$(RUN)/pytest tests/integration

test_watch: ## Run the quick tests again after every change (TEST_FILE)
	$(RUN)/watchfiles "$(RUN)/pytest -q $(or $(TEST_FILE),tests/unit)" src tests

test-unit: ## Run the tests that need no service, no Node and no model
	$(RUN)/pytest -n 2 --dist loadfile -m "not node" $(LIGHT)

check-all-pythons: ## Run the light tests on every supported Python that is installed
	@scripts/all_pythons.sh $(LIGHT)

check: ## What CI runs: lint, types, imports, and the tests that are not long
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint types imports
	@$(MAKE) --no-print-directory test

word-samples: ## Draw 100 docstrings, errors and interface texts to read (SEED); last line is JSON
	@$(PY) scripts/word_samples.py --seed $(or $(SEED),26)

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

faults-flow: ## Answer questions of flow control and file approvals in random schedules; last line is JSON
	$(PY) tests/faults/flow_campaign.py --schedules $(or $(SCHEDULES),1000) --seed $(or $(SEED),1)

faults-operations: ## Upgrade, fail over, fill the disk, move clocks, restore, lose Redis and workers (SECONDS each, ONLY); last line is JSON
	@scripts/services.sh
	$(PY) -W ignore tests/faults/operations_campaign.py --seconds $(or $(SECONDS),60) --only "$(ONLY)"

faults-cells: ## Move a tenant between two cells again and again while it is used (MOVES, SEED); last line is JSON
	@scripts/services.sh
	$(PY) -W ignore tests/faults/cells_campaign.py --moves $(or $(MOVES),50) --seed $(or $(SEED),1)

faults-models: ## Run the four agents on a model that fails in twelve ways, by seed; last line is JSON
	$(PY) -W ignore tests/faults/models_campaign.py --seeds $(or $(SEEDS),20) --seed $(or $(SEED),1)

faults-crons: ## Kill schedulers and move the clock; every due time must run once; last line is JSON
	@scripts/services.sh
	$(PY) -W ignore tests/faults/crons_campaign.py --ticks $(or $(TICKS),500) --seed $(or $(SEED),1) --moves $(or $(MOVES),5)

faults-usage: ## Kill and pause workers; usage must equal the model's own count (RUNS); last line is JSON
	@scripts/services.sh
	$(PY) -W ignore tests/faults/usage_campaign.py --runs $(or $(RUNS),1000) --seed $(or $(SEED),1)

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

bench-queue: ## Count fetches, statements and commits per served run with 1, 8 and 32 workers (RUNS, RATE, WORKERS); last line is JSON
	@scripts/services.sh
	$(PY) -W ignore benchmarks/speed/job_queue.py --runs $(or $(RUNS),200) --rate $(or $(RATE),5) --workers $(or $(WORKERS),1 8 32)

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

bench-scale: ## Compare requests beside 100,000 threads with those beside 1,000 (THREADS, SAMPLES); last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/scale/threads.py --threads $(or $(THREADS),100000) --samples $(or $(SAMPLES),300)

bench-expiry: ## Measure how fast expired threads are deleted, and what runs cost meanwhile (THREADS); last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/scale/expiry.py --threads $(or $(THREADS),100000)

simulate-scale: ## Simulate 1, 10 and 100 million sessions a day from measured costs; last line is JSON
	@$(PY) benchmarks/scale/simulate.py

bench-loop: ## Compare CPU per iteration with create_agent and create_deep_agent; last line is JSON
	$(PY) benchmarks/speed/loop.py

bench-prompt: ## Count the tokens of each agent's first prompt beside create_deep_agent; last line is JSON
	$(PY) -W ignore benchmarks/quality/prompt.py

bench-encryption: ## Measure sealing and opening of stored values, by size; last line is JSON
	$(PY) benchmarks/speed/encryption.py

bench-flow: ## Measure CPU, stored bytes and model calls of flow control; last line is JSON
	$(PY) benchmarks/speed/flow.py

bench-growth: ## Compare stored bytes with create_agent and create_deep_agent; last line is JSON
	@scripts/services.sh
	$(PY) benchmarks/speed/growth.py

bench-log: ## Measure the event log: bytes, reconnects, a killed API, memory of serve (CLIENTS, THREADS, ONLY); last line is JSON
	@scripts/services.sh
	$(PY) -W ignore benchmarks/speed/event_log.py --clients $(or $(CLIENTS),1000) --threads $(or $(THREADS),10000) --only "$(ONLY)"

bench-tutor: ## Measure the tutor with scripted students (or BATHYSPHERE_MODEL_MAIN); last line is JSON
	$(PY) benchmarks/quality/tutor/run.py

eval-scripted: ## Run the harness tasks of `bathysphere eval` with scripted models, one that fails (RUNS, SEED, SUITES); last line is JSON
	$(PY) -W ignore benchmarks/quality/evaluation/run.py --runs $(or $(RUNS),5) --seed $(or $(SEED),1) --suites $(or $(SUITES),harness) --baseline

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

bench-agentdojo: ## Run AgentDojo's 949 attacks and 97 tasks with a gullible model (MODES, WORKERS); last line is JSON
	$(PY) -W ignore benchmarks/security/agentdojo/run.py $(if $(MODES),--modes $(MODES)) $(if $(WORKERS),--workers $(WORKERS))

benchmarks: ## Run the quick benchmarks and write docs/benchmarks.md from what they print
	@$(PY) scripts/benchmarks_page.py

web: ## Build the browser app into the package; prints the size of its first load
	npm ci --prefix web --silent --no-audit --no-fund --ignore-scripts
	npm run --prefix web --silent build

test-web: ## Check and test the browser app, with user stories in Chromium
	@scripts/services.sh
	npm run --prefix web --silent check
	npm run --prefix web --silent test
	$(RUN)/pytest tests/e2e/web

stories: ## Tell the user stories COUNT times on a desk and a phone, light and dark, or in one FORM; last line is JSON
	@scripts/services.sh
	$(PY) -W ignore tests/e2e/web/stories_campaign.py --count $(or $(COUNT),10) $(if $(FORM),--form $(FORM)) $(if $(ONLY),--only "$(ONLY)")

frontends: ## Drive four stock front ends in Chromium, four flows each; last line is JSON
	@scripts/services.sh
	@cd tests/e2e/frontends/copilotkit && npm ci --silent --no-audit --no-fund --ignore-scripts
	$(PY) -W ignore tests/e2e/frontends/campaign.py

# Stories that take pictures of what they see: files of tests, and single tests.
PICTURED := bucket_stories or keeping_stories or model_choice_stories or settings_stories or sign_in_stories \
	or diagrams_are_drawn or composer_answers or address_of_nobody or reads_edits_and_deletes or read_with_formulas \
	or asked_about_with_its_passage or goes_out_as_files or read_in_german

screenshots: ## Take the pictures in docs/screenshots again
	@scripts/services.sh
	$(PY) tests/e2e/web/screenshots.py
	STORY_PICTURES=docs/screenshots $(PY) -m pytest -q tests/e2e/web -k "$(PICTURED)"

animation: ## Record the animation of the README again
	@scripts/services.sh
	$(PY) tests/e2e/web/animation.py

release-notes: ## Print what the changelog says about the newest version
	@awk '/^## / { section += 1 } section == 1' CHANGELOG.md

docs: ## Build the documentation site into the package; the server shows it at /help
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet

docs-archive: ## Put the built documentation site into build/docs, for a release
	$(PY) scripts/docs_site/versions.py pack src/bathysphere/server/help build/docs

wheel: web docs ## Build the wheel into dist/
	$(PY) -m build --wheel

HELM := $(firstword $(wildcard $(RUN)/helm) helm)
CHARTS ?= build/chart

chart: ## Lint the Helm chart, and package it into build/chart (CHARTS) for IMAGE
	@rm -rf $(CHARTS)/bathysphere
	@mkdir -p $(CHARTS)
	@cp -r deploy/helm/bathysphere $(CHARTS)/
	@sed -i 's|^  repository: .*|  repository: $(or $(IMAGE),bathysphere)|' $(CHARTS)/bathysphere/values.yaml
	$(HELM) lint --strict $(CHARTS)/bathysphere
	$(HELM) package --destination $(CHARTS) $(CHARTS)/bathysphere

clean: ## Remove build output and caches
	rm -rf $(VENV) .cache dist build .mypy_cache .ruff_cache .pytest_cache
