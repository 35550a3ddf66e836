#!/usr/bin/env bash
# Makes everything `make check` uses, from package registries alone. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="${VENV:-.venv}"
if [ ! -x "$venv/bin/python" ]; then
  echo "setup: virtual environment in $venv"
  "${PYTHON:-python3}" -m venv "$venv"
fi
# uv resolves and installs in seconds what pip 23 backtracks over for minutes.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv>=0.9"
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --require-hashes -r requirements.lock
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --editable .

if [ -f tests/node/package-lock.json ]; then
  echo "setup: Node packages for the scripted model server"
  (cd tests/node && npm ci --silent --no-audit --no-fund --ignore-scripts)
fi
if "$venv/bin/python" -c "import bathysphere.testing.small_model" 2>/dev/null; then
  echo "setup: the small real model"
  "$venv/bin/python" -m bathysphere.testing.small_model
fi
echo "setup: done. Next: make check"
