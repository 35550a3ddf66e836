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
    "research/run_local.py": [
        "task: How deep did the bathysphere dive in 1934?",
        "  fetch_page: corpus:record-1934.md",
        "reached a depth of 923 metres on that day. (corpus:record-1934.md)",
        "The findings rest on 2 pages",
        "Saved as final_report.md.",
    ],
}


def test_every_example_is_known_here():
    found = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*/run_*.py")]
    assert {path.relative_to(EXAMPLES).as_posix() for path in found} == set(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_runs(name, tmp_path):
    env = {"PATH": os.environ["PATH"], "BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0", "PYTHONUTF8": "1"}
    shown = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
    )
    assert shown.returncode == 0, shown.stderr
    for words in SAYS[name]:
        assert words in shown.stdout
