"""The probes of a model: what passes, what fails, and which profile follows."""

import json

import pytest

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import ModelUnavailable
from bathysphere.models import probes
from bathysphere.models.probes import PROBES, REQUIRED, probe_model, profile_from, trust_from
from bathysphere.models.profiles import INSTALLATION
from bathysphere.testing import (
    ScriptedChatModel,
    calls,
    fails,
    refuses,
    says,
    together,
)

FISH = says(json.dumps({"name": "Halibut", "lives_deep": True, "metres": 2000}))
WORDS = says("one two three four five")


def capable(**changed):
    """What a capable model answers to each probe, in order; a None is a probe not reached."""
    turns = {
        probes.ANSWERS: says("Hello."),
        probes.FOLLOWS: says("**BLUE**."),
        probes.LANGUAGE: says("Der Himmel ist blau."),
        probes.CALLS: calls("sea_depth", place="Bermuda"),
        probes.TYPES: calls("plan_dive", metres=60, gas="trimix"),
        probes.CHOOSES: calls("sea_depth", place="Guam"),
        probes.USES_RESULT: says("The sea is 10,935 metres deep there."),
        probes.REFRAINS: says("4"),
        probes.PARALLEL: together(
            calls("sea_depth", place="Bermuda"), calls("sea_depth", place="Guam")
        ),
        probes.SHORT: says("HALIBUT"),
        probes.LONG: says("Halibut."),
    }
    turns |= {getattr(probes, name): turn for name, turn in changed.items()}
    return [turn for turn in turns.values() if turn is not None]


WITHOUT_CALLS = dict.fromkeys(("TYPES", "CHOOSES", "USES_RESULT", "REFRAINS", "PARALLEL", "LONG"))


async def probed(*script, progress=None):
    model = ScriptedChatModel(script=[*script, WORDS])
    report = await probe_model("test:model", model, clock=SystemClock(), progress=progress)
    model.assert_done()
    return report


def states(report):
    return {result.name: result.state for result in report.probes}


async def test_a_model_that_does_all_of_it_has_the_full_profile():
    seen = []
    report = await probed(*capable(), progress=lambda *step: seen.append(step))
    assert report.profile == "full"
    assert "tools, files and helpers" in report.trust
    # The scripted model cannot be constrained to a schema, which the profile does not need.
    assert {name for name, state in states(report).items() if state != "passed"} == {probes.SCHEMA}
    assert [done for done, _, _ in seen] == list(range(len(PROBES) + 1))
    assert report.tokens_per_s > 0


@pytest.mark.parametrize(
    ("name", "turn"),
    [
        ("FOLLOWS", says("Sure! The word is BLUE.")),
        ("TYPES", calls("plan_dive", metres="60", gas="trimix")),
        ("CHOOSES", calls("send_mail", to="a", text="b")),
        ("USES_RESULT", calls("sea_depth", place="Guam")),
        ("REFRAINS", calls("sea_depth", place="2+2")),
        ("LONG", says("I do not know.")),
        ("LONG", refuses(400)),
    ],
)
async def test_a_model_that_fails_what_the_full_profile_needs_is_lean(name, turn):
    report = await probed(*capable(**{name: turn}))
    assert states(report)[getattr(probes, name)] == "failed"
    assert report.profile == "lean"


async def test_parallel_calls_and_german_are_not_needed_for_the_full_profile():
    one = calls("sea_depth", place="Bermuda")
    report = await probed(*capable(PARALLEL=one, LANGUAGE=says("The sky is blue.")))
    assert states(report)[probes.PARALLEL] == states(report)[probes.LANGUAGE] == "failed"
    assert report.profile == "full"


async def test_a_call_that_is_written_as_text_is_no_call_and_what_needs_calls_is_skipped():
    fenced = says('```json\n{"name": "sea_depth", "arguments": {"place": "Bermuda"}}\n```')
    report = await probed(*capable(CALLS=fenced, **WITHOUT_CALLS))
    assert report.profile == "lean"
    assert states(report)[probes.CALLS] == "failed"
    assert states(report)[probes.TYPES] == states(report)[probes.LONG] == "skipped"
    assert report.trust == "short questions; not tools"


async def test_a_server_that_refuses_tools_fails_the_probe_and_not_the_test():
    report = await probed(*capable(CALLS=refuses(500), **WITHOUT_CALLS))
    assert states(report)[probes.CALLS] == "failed"
    (seen,) = (r.detail for r in report.probes if r.name == probes.CALLS)
    assert seen == "test:model failed with status 500"


async def test_a_model_that_cannot_be_reached_ends_the_test():
    model = ScriptedChatModel(script=[fails(ConnectionError("gone"))])
    with pytest.raises(ModelUnavailable, match="test:model is unreachable"):
        await probe_model("test:model", model, clock=SystemClock())


async def test_a_mistake_of_ours_is_not_taken_for_a_failed_probe():
    model = ScriptedChatModel(script=[fails(KeyError("ours"))])
    with pytest.raises(KeyError):
        await probe_model("test:model", model, clock=SystemClock())


def test_a_model_that_follows_no_instruction_tests_the_installation_and_nothing_more():
    assert trust_from({probes.ANSWERS, probes.SCHEMA, probes.SHORT}) == INSTALLATION
    assert profile_from({probes.ANSWERS, probes.SCHEMA, probes.SHORT}) == "lean"


def test_there_are_a_dozen_probes_and_each_has_a_level_of_trust():
    names = [probe.name for probe in PROBES]
    assert len(set(names)) == 12
    levels = [set(), {probes.FOLLOWS}, {probes.FOLLOWS, probes.SCHEMA}]
    levels += [{probes.CALLS, probes.TYPES}, set(REQUIRED)]
    assert len({trust_from(level) for level in levels}) == 5
