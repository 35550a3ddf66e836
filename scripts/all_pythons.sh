#!/usr/bin/env bash
# Run tests on every supported Python that is installed here, each in an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

ended=0
for version in 3.11 3.12 3.13 3.14; do
  python=$(.venv/bin/uv python find --no-python-downloads "$version" 2>/dev/null) || {
    echo "python $version: not installed here"
    continue
  }
  export VENV=".cache/python-$version"
  PYTHON="$python" scripts/setup.sh python >/dev/null
  echo "python $version: $("$VENV/bin/python" --version)"
  "$VENV/bin/python" -m pytest -q -n 2 --dist loadfile -m "not node" "$@" || ended=1
done
exit "$ended"
