"""The targets that seed 003 names; `make -n` prints what they would run."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = {
    "format": "ruff format .",
    "lint": "ruff check .",
    "lint_package": "ruff check src",
    "lint_tests": "ruff check tests",
    "test": "pytest -n 2",
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
    if target == "test":  # what one part leaves out, the other runs
        alone = re.findall(r"--ignore=(\S+)", printed)
        assert alone
        assert f"pytest {' '.join(alone)} " in printed
