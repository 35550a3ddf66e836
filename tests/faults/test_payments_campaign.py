"""A short payments campaign; `make faults-payments` runs the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from payments_schedules import OUTAGES, POINTS, WIRE, draw

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

SHORT = (2, 3, 4, 6, 9, 11, 13, 17, 18, 20, 26, 28)
"""Deaths around charges, answers, checkpoints, freezes, POSTs and endings; a frozen mint."""


def test_a_short_campaign_loses_no_sat_and_charges_no_answer_twice():
    script = Path(__file__).with_name("payments_campaign.py")
    done = subprocess.run(
        [sys.executable, str(script), "--seed", "7", "--only", *map(str, SHORT)],
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    line = json.loads(done.stdout.splitlines()[-1])
    zeros = ("imbalance", "charges_minus_answers", "refund_errors", "stuck")
    assert {name: line[name] for name in zeros} == dict.fromkeys(zeros, 0)
    assert (line["schedules"], line["deaths"] >= 8, line["answers"] > 20) == (12, True, True)


def test_a_seed_means_one_schedule_and_every_fault_comes_up():
    schedules = [draw(1, number) for number in range(500)]
    assert schedules == [draw(1, number) for number in range(500)]
    firsts = {(s.deaths[0].side, s.deaths[0].point) for s in schedules}
    assert firsts == {(side, point) for side in ("before", "after") for point in POINTS}
    assert {fault for s in schedules for fault, _ in s.wire} == set(WIRE)
    assert {s.outage for s in schedules} == {None, *OUTAGES}
    assert any(s.text.startswith("tree") for s in schedules)
    assert any(s.is_abandoned for s in schedules)
