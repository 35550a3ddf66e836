"""The targets that seed 003 names; `make -n` prints what they would run."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = {
    "format": "ruff format .",
    "lint": "ruff check .",
    "lint_package": "ruff check src",
    "lint_tests": "ruff check tests",
    "test": 'run_tests.py tests examples --markers "not long" --alone tests/',
    "test TEST_FILE=tests/unit/test_compat.py": "pytest tests/unit/test_compat.py\n",
    "integration_tests": "pytest tests/integration",
    "test_watch": "watchfiles",
}


@pytest.mark.parametrize("target", TARGETS)
def test_the_targets_of_the_seed_do_their_work(target):
    printed = subprocess.run(
        ["make", "-n", *target.split()], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert TARGETS[target] in printed
