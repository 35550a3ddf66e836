"""A short campaign of `make faults-flow`."""

from flow_campaign import WRONG
from flow_schedules import tally


def test_in_random_schedules_a_call_is_one_question_and_no_refused_call_runs():
    found = tally(range(1, 31))
    assert {name: found[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert found["questions"] > 60
    assert found["refused"] > 20
    assert found["restarts"] > 20
