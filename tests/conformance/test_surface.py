"""Our answers to every operation of the reference, beside what the reference answered.

`surface.json` is written by `make conformance-surface`, which drives the reference itself.
"""

import asyncio
import json
from typing import Any

import pytest
from surface import DIFFERENT, RECORDING, Comparison, answers, compare, reasons
from surface_cases import CASES

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDING.read_text())
    return found


@pytest.fixture(scope="module")
def compared(server: str, recorded: dict[str, Any]) -> Comparison:
    return compare(recorded["answers"], asyncio.run(answers(server)))


def test_every_operation_of_the_reference_has_a_case(recorded: dict[str, Any]) -> None:
    assert {case.operation for case in CASES} == set(recorded["operations"])
    assert {case.key for case in CASES} == set(recorded["answers"])


def test_what_is_not_refused_is_answered_as_the_reference_does(compared: Comparison) -> None:
    wrong = {key: what for key, what in compared.differing.items() if key not in DIFFERENT}
    assert wrong == {}


def test_what_differs_on_purpose_still_differs(compared: Comparison) -> None:
    assert DIFFERENT.keys() - compared.differing.keys() == set()


def test_every_refused_operation_has_a_reason(compared: Comparison) -> None:
    assert set(reasons()) == set(compared.refused)
