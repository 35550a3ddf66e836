"""A short engine campaign; `make faults-engine` runs the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from schedules import KINDS, draw

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]


@pytest.mark.long(
    "tests/faults/test_engine_campaign.py::test_a_short_campaign_loses_and_doubles_nothing"
)
def test_a_short_campaign_with_foreign_graphs_loses_and_doubles_nothing(within):
    _plays("foreign", 12, within)


def test_a_short_campaign_loses_and_doubles_nothing(within):
    _plays("own", 26, within)


def _plays(graphs, schedules, within):
    script = Path(__file__).with_name("engine_campaign.py")
    options = ["--schedules", str(schedules), "--seed", "7", "--graphs", graphs]
    done = subprocess.run(
        [sys.executable, str(script), *options],
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    result = json.loads(done.stdout.strip().splitlines()[-1])
    assert (result["schedules"], result["lost"], result["doubled"]) == (schedules, 0, 0), (
        done.stdout
    )
    assert result["takeover_max_s"] > 0
    within(result["takeover_max_s"], 10)
    assert result["cancels"] > 0
    assert done.returncode == 0


def test_every_kind_of_fault_is_in_the_short_campaign_and_a_seed_draws_the_same_again():
    schedules = [draw(7, number) for number in range(26)]
    assert {fault.kind for one in schedules for fault in one.faults} == set(KINDS)
    assert schedules == [draw(7, number) for number in range(26)]
    assert schedules != [draw(8, number) for number in range(26)]
