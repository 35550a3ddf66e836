"""A short campaign of usage; `make faults-usage` runs the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]


def test_a_short_campaign_counts_what_the_model_counted():
    script = Path(__file__).with_name("usage_campaign.py")
    command = [sys.executable, "-W", "ignore", str(script), "--runs", "100", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=220, check=False)
    assert done.stdout, done.stderr[-2000:]
    result = json.loads(done.stdout.strip().splitlines()[-1])
    assert result["counted"] == result["expected"], done.stdout
    assert (result["lost"], result["doubled"], result["wrong_runs"]) == (0, 0, 0)
    assert result["kills"] > 0
    assert done.returncode == 0, done.stdout
