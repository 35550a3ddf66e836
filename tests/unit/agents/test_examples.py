"""The examples run as they stand, with the scripted tour as their model."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
SAYS = {
    "first_agent.py": ["agent diver", "tools      depth", "What would you like an agent to help"],
    "approvals.py": ["asked for: edit_file", "Your answer: Sort my photos"],
}


def test_every_example_is_known_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_runs(name):
    env = {"PATH": os.environ["PATH"], "BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0", "PYTHONUTF8": "1"}
    shown = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name], capture_output=True, text=True, env=env
    )
    assert shown.returncode == 0, shown.stderr
    for words in SAYS[name]:
        assert words in shown.stdout
