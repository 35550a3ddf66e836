#!/usr/bin/env bash
# Install everything `make check` needs, from package registries only. Safe to run again.
# `setup.sh python` installs only what `make test-unit` needs.
set -euo pipefail
cd "$(dirname "$0")/.."

# A Python that was built without profile-guided optimization, as version managers build it, takes
# half as long again for everything. The system's own, where it is new enough, was built with it.
is_optimized() {
  python3 -c 'import sys, sysconfig
flags = sysconfig.get_config_var("CONFIG_ARGS") or ""
sys.exit("--enable-optimizations" not in flags)'
}
is_usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
best_python() {
  if ! is_optimized && is_usable /usr/bin/python3; then echo /usr/bin/python3; else echo python3; fi
}

venv="${VENV:-.venv}"
if [ ! -x "$venv/bin/python" ]; then
  python="${PYTHON:-$(best_python)}"
  echo "setup: virtual environment in $venv, of $python"
  "$python" -m venv "$venv"
fi
# uv installs in seconds; pip 23 backtracks for minutes.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==0.13.7"
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --compile-bytecode \
  --require-hashes -r requirements.lock
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --editable .
if [ "${1:-}" = python ]; then
  echo "setup: done. Next: make test-unit"
  exit
fi

echo "setup: Node packages (scripted model server, JavaScript client, Azure emulator, stock front ends, browser app)"
for folder in tests/node tests/conformance/node tests/storage/node tests/e2e/frontends/node web; do
  (cd "$folder" && npm ci --silent --no-audit --no-fund --ignore-scripts)
done
echo "setup: building the browser app"
(cd web && npm run --silent build)
echo "setup: building the documentation site"
NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -m mkdocs build --quiet
echo "setup: fetching the small model"
"$venv/bin/python" -m bathysphere.testing.small_model
echo "setup: installing the test mint"
"$venv/bin/python" -m bathysphere.testing.mint
echo "setup: installing AgentDojo"
"$venv/bin/python" benchmarks/security/agentdojo/dojo_environment.py
echo "setup: done. Next: make check"
