#!/usr/bin/env bash
# Install everything `make check` needs, from package registries only. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="${VENV:-.venv}"
if [ ! -x "$venv/bin/python" ]; then
  echo "setup: virtual environment in $venv"
  "${PYTHON:-python3}" -m venv "$venv"
fi
# uv installs in seconds; pip 23 backtracks for minutes.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==0.13.7"
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --compile-bytecode \
  --require-hashes -r requirements.lock
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --editable .

echo "setup: Node packages (scripted model server, JavaScript client, Azure emulator, browser app)"
for folder in tests/node tests/conformance/node tests/storage/node web; do
  (cd "$folder" && npm ci --silent --no-audit --no-fund --ignore-scripts)
done
echo "setup: building the browser app"
(cd web && npm run --silent build)
echo "setup: fetching the small model"
"$venv/bin/python" -m bathysphere.testing.small_model
echo "setup: installing the test mint"
"$venv/bin/python" -m bathysphere.testing.mint
echo "setup: done. Next: make check"
