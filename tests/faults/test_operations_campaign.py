"""The campaign of `make faults-operations` with a short load: nothing lost, doubled or refused."""

import pytest
from operations_campaign import SCENARIOS, play

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


IN_CHECK = ("upgrade",)


@pytest.mark.parametrize("name", IN_CHECK)
def test_a_scenario_loses_doubles_and_refuses_nothing(name: str):
    _plays(name)


@pytest.mark.long(
    "tests/faults/test_operations_campaign.py::test_a_scenario_loses_doubles_and_refuses_nothing"
)
@pytest.mark.parametrize("name", sorted(set(SCENARIOS) - set(IN_CHECK)))
def test_a_scenario_that_kills_loses_doubles_and_refuses_nothing(name: str):
    _plays(name)


def _plays(name: str) -> None:
    outcome = play(SCENARIOS[name], seconds=6)
    assert (outcome.lost, outcome.doubled, outcome.http_5xx) == (0, 0, 0)
    assert outcome.attempts_lost == 0 or SCENARIOS[name].loses_attempts
    assert outcome.runs > 20
