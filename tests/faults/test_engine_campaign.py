"""The short version of the campaign; `make faults-engine` runs the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]


def test_a_short_campaign_loses_and_doubles_nothing():
    script = Path(__file__).with_name("engine_campaign.py")
    done = subprocess.run(
        [sys.executable, str(script), "--schedules", "12", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    result = json.loads(done.stdout.strip().splitlines()[-1])
    assert (result["schedules"], result["lost"], result["doubled"]) == (12, 0, 0), done.stdout
    assert 0 < result["takeover_max_s"] <= 10
    assert done.returncode == 0
