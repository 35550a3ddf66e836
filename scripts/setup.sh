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

echo "setup: Node packages for the scripted model server, the JavaScript client and Azure's emulator, the browser app"
for folder in tests/node tests/conformance/node tests/storage/node web; do
  (cd "$folder" && npm ci --silent --no-audit --no-fund --ignore-scripts)
done
echo "setup: the browser app"
(cd web && npm run --silent build)
echo "setup: the small real model"
"$venv/bin/python" -m bathysphere.testing.small_model
echo "setup: the test mint"
"$venv/bin/python" -m bathysphere.testing.mint
echo "setup: done. Next: make check"
