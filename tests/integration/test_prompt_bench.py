"""`make bench-prompt`: the figures that the agents are held to, by a real tokenizer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.small_model, pytest.mark.timeout(180)]


def test_the_agents_keep_to_their_figures_beside_deepagents():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "benchmarks/quality/prompt.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == {
        "deepagents",
        "simple",
        "simple_lean",
        "tutor",
        "tutor_lean",
        "workspace",
        "research_max",
    }
    assert found["simple"] <= 0.9 * found["deepagents"]
    assert found["simple_lean"] <= 1_500
    assert found["tutor_lean"] <= 2_000
    assert min(found.values()) > 100
