"""Failures of a case: the agent's are results, those of the model's server stop the evaluation."""

import httpx
import pytest

from bathysphere.core.errors import ModelUnavailable
from bathysphere.evaluation.cases import suite
from bathysphere.evaluation.checks import failed_checks
from bathysphere.evaluation.play import play_case
from bathysphere.testing import fails, refuses

CASE = suite("harness")[0]


@pytest.mark.parametrize("harness", ["bathysphere", "deepagents"])
async def test_a_model_that_cannot_be_reached_says_nothing_about_it(candidate, harness):
    gone = candidate(lambda messages: fails(httpx.ConnectError("refused")))
    with pytest.raises(ModelUnavailable):
        await play_case(CASE, gone, harness=harness)


@pytest.mark.parametrize("harness", ["bathysphere", "deepagents"])
async def test_an_error_of_the_agent_is_a_failed_task(candidate, harness):
    broken = candidate(lambda messages: fails(KeyError("lost")))
    result = await play_case(CASE, broken, harness=harness)
    assert "KeyError" in failed_checks(CASE, result)[0]


async def test_a_request_that_is_refused_is_a_failed_task(candidate):
    refused = candidate(lambda messages: refuses(400, "the context is too long"))
    result = await play_case(CASE, refused)
    assert "rejected the request" in failed_checks(CASE, result)[0]
