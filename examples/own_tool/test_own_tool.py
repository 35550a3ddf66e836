"""The agent is served by the real command, and `ask.py` approves and rejects its calls."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def url(serve):
    return serve(HERE, "./agent.py:diver").url


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ('CALL depth {"place": "Baltic Sea"}', ["| 459"]),
        (
            'CALL record_dive {"place": "Baltic Sea", "metres": 459}',
            ["'metres': 459}: approve", "Recorded: 459 m, Baltic Sea."],
        ),
        (
            'CALL record_dive {"place": "Mariana Trench", "metres": 10935}',
            [": reject", "Nobody dives below 1000 m."],
        ),
    ],
)
def test_a_program_asks_and_decides(url, question, says):
    command = [sys.executable, "ask.py", url, question]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for words in says:
        assert words in done.stdout
