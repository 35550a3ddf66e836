"""A short interrupts campaign; `make faults-interrupts` runs the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from interrupts_plans import KINDS, draw

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]
SCHEDULES = 30


def test_a_short_campaign_loses_wedges_and_misdelivers_nothing():
    script = Path(__file__).with_name("interrupts_campaign.py")
    done = subprocess.run(
        [sys.executable, str(script), "--schedules", str(SCHEDULES), "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    result = json.loads(done.stdout.strip().splitlines()[-1])
    wrong = ("lost", "wedged", "misdelivered", "doubled", "failed", "dangling", "wrongly_taken")
    assert result["schedules"] == SCHEDULES
    assert {name: result[name] for name in wrong} == dict.fromkeys(wrong, 0), done.stdout
    assert done.returncode == 0
    assert result["answers_taken"] > 100
    assert result["answers_repeated"] > 0
    assert result["answers_refused"] > 0


def test_every_kind_of_answer_is_in_the_short_campaign_and_a_seed_draws_the_same_again():
    schedules = [draw(7, number) for number in range(SCHEDULES)]
    assert {action.kind for one in schedules for action in one.actions} == set(KINDS)
    assert schedules == [draw(7, number) for number in range(SCHEDULES)]
    assert schedules != [draw(8, number) for number in range(SCHEDULES)]


def test_the_short_campaign_has_parallel_subagents_that_ask_and_messages_that_stop_a_run():
    schedules = [draw(7, number) for number in range(SCHEDULES)]
    steps = [step for one in schedules for plan in one.plans.values() for step in plan]
    assert any([ask.name for ask in step].count("task") == 2 and len(step) > 3 for step in steps)
    assert any(action.stops for one in schedules for action in one.actions)
    names = {ask.name for step in steps for ask in step}
    assert {"ask_user", "ask_choices", "act", "pay", "write_user_file", "task"} <= names
