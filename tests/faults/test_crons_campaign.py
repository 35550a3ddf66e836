"""A short campaign of schedules; `make faults-crons` runs the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]


def test_a_short_campaign_loses_and_doubles_no_due_time():
    script = Path(__file__).with_name("crons_campaign.py")
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            str(script),
            "--ticks",
            "40",
            "--seed",
            "7",
            "--moves",
            "1",
        ],
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    assert done.stdout, done.stderr[-2000:]
    result = json.loads(done.stdout.strip().splitlines()[-1])
    assert result["ticks"] >= 40
    assert (result["lost"], result["doubled"]) == (0, 0), done.stdout
    assert min(result["killed"], result["forward"], result["back"]) > 0
    assert done.returncode == 0
