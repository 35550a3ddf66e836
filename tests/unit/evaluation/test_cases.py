"""The cases of `bathysphere eval`: complete, named once, and able to be failed."""

import pytest

from bathysphere.evaluation.cases import SUITES, Checks, suite
from bathysphere.evaluation.checks import failed_checks
from bathysphere.evaluation.play import play_case
from bathysphere.testing import says

CASES = [case for name in SUITES for case in suite(name)]
IDS = [f"{case.suite}-{case.name}" for case in CASES]


def test_there_are_at_least_twenty_harness_tasks_and_some_of_each_other_suite():
    assert len(suite("harness")) >= 20
    assert all(len(suite(name)) >= 3 for name in SUITES)


def test_names_are_given_once():
    for name in SUITES:
        names = [case.name for case in suite(name)]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_case_checks_something_and_knows_its_files(case):
    assert case.check != Checks()
    assert set(case.check.unchanged) <= {*case.files, *case.documents}


@pytest.mark.parametrize("case", CASES, ids=IDS)
async def test_the_reference_solution_passes(case, candidate):
    result = await play_case(case, candidate())
    assert failed_checks(case, result) == []


@pytest.mark.parametrize("case", CASES, ids=IDS)
async def test_a_model_that_does_nothing_fails(case, candidate):
    """Words do not count: this model says that all is done. One task asks for nothing but words,
    and flow control passes where nothing is sent."""
    lazy = candidate(lambda messages: says("Done, all of it is written and sent."))
    result = await play_case(case, lazy)
    needs_nothing = {"no-tool-needed", "document-is-not-sent"}
    assert bool(failed_checks(case, result)) is (case.name not in needs_nothing)


@pytest.mark.timeout(240)
async def test_a_model_that_fails_a_fifth_of_the_time_passes_nine_of_ten(candidate):
    """Two runs of each task here; `make eval-scripted` has more."""
    frail = candidate(rate=0.2)
    passed = [
        not failed_checks(case, await play_case(case, frail, run=run))
        for case in suite("harness")
        for run in (1, 2)
    ]
    assert sum(passed) / len(passed) >= 0.9


async def test_bare_deepagents_gets_the_same_tasks(candidate):
    passed = {
        case.name: failed_checks(case, await play_case(case, candidate(), harness="deepagents"))
        for case in suite("harness")
        if case.name != "keep-a-plan"  # `create_deep_agent` has no todo list of its own
    }
    assert {name: failed for name, failed in passed.items() if failed} == {}
