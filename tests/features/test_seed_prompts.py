"""Seed 000's example prompts: which need a question to the person, and which need none.

On the scripted model they prove the machinery. The same file puts the same prompts to a real model:

    BATHYSPHERE_TEST_MODEL=provider:name pytest tests/features/test_seed_prompts.py

The variable is one of its own, so that no test run is ever billed to a model set up for other work.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from bathysphere.middleware.reliability import reliability
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel, calls, says

ROOT = Path(__file__).parents[2]
REAL = os.environ.get("BATHYSPHERE_TEST_MODEL")

sys.path.insert(0, str(ROOT / "benchmarks" / "quality" / "tutor"))

from tutor_dialogue import Dialogue  # noqa: E402  # the benchmark's own parts
from tutor_seed_prompts import SEED_PROMPTS  # noqa: E402

# LangChain keeps a real model's connections open, and open for one event loop only.
OPEN = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
pytestmark = [pytest.mark.filterwarnings(line) for line in OPEN] if REAL else []

WRITES, SEARCHES = SEED_PROMPTS[3], SEED_PROMPTS[4]


def picks(move):
    return says(json.dumps({"move": move, "why": "It is due."}))


async def put(case, script):
    """Put a prompt to a tutor on a scripted model; the talk that came of it."""
    model = ScriptedChatModel(script=list(script))
    models = Models(main=model, subagent=model, summary=model, audit=model)
    talk = Dialogue(models=models, documents=case.documents)
    await talk.say(case.prompt, lambda question: case.answer)
    model.assert_done()
    return talk


async def put_to_a_real_model(case):
    settings = ModelSettings.from_environment().model_copy(update={"main": REAL})
    models = Models.from_settings(settings)
    layers = reliability(settings, fallback=models.fallback)
    talk = Dialogue(models=models, documents=case.documents, reliability=layers)
    await talk.say(case.prompt, lambda question: case.answer)
    return talk


def test_the_prompts_are_those_of_the_seed():
    assert [(case.prompt, case.asks) for case in SEED_PROMPTS] == [
        ("Help me with my argument", True),
        ("I want to write about economics", True),
        ("Improve this", True),
        (
            "Create a new document titled 'Bitcoin Thesis' with an introduction about sound money",
            False,
        ),
        ("Search my files for mentions of inflation", False),
    ]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.timeout(900 if REAL else 60)
@pytest.mark.parametrize("case", SEED_PROMPTS, ids=lambda case: case.prompt[:30])
async def test_a_prompt_of_the_seed_is_asked_about_when_it_should_be(case):
    talk = await put_to_a_real_model(case) if REAL else await put(case, case.script)
    assert case.failures(talk) == []


async def test_a_question_is_put_as_a_clarification_and_its_answer_begins_a_turn():
    for case in SEED_PROMPTS[:3]:
        talk = await put(case, case.script)
        (asked,) = (v for v in talk.asked if v["type"] == "clarification_request")
        assert asked["question"].endswith("?")
        assert talk.state["moves"][0]["move"] == "clarify_term"
        assert len(talk.state["moves"]) == 2


async def test_economics_is_asked_with_choices_and_room_for_something_else():
    talk = await put(SEED_PROMPTS[1], SEED_PROMPTS[1].script)
    (asked,) = talk.asked
    assert [option["label"] for option in asked["options"]] == [
        "Monetary policy",
        "Market structures",
        "International trade",
    ]
    assert asked["allow_freeform"]


async def test_what_should_be_improved_is_changed_as_the_person_agreed():
    talk = await put(SEED_PROMPTS[2], SEED_PROMPTS[2].script)
    assert "Nobody was asked to vote for it." in talk.shelf.texts["draft.md"]


async def test_clear_work_is_done_at_once_with_the_person_files():
    written = await put(WRITES, WRITES.script)
    assert "Sound money" in written.shelf.texts["Bitcoin Thesis"]
    searched = await put(SEARCHES, SEARCHES.script)
    assert searched.device.asked == ["grep_user_files"]
    assert {value["type"] for value in (*written.asked, *searched.asked)} == {"tool"}


@pytest.mark.parametrize(
    ("case", "script", "why"),
    [
        (SEED_PROMPTS[0], [picks("tell"), says("Here it is."), says("Here it is.")], "did not ask"),
        (SEARCHES, [picks("work"), says("Nothing.")], "used none of grep_user_files"),
        (
            SEARCHES,
            [
                picks("work"),
                calls("ask_user", question="Which files?"),
                picks("work"),
                calls("grep_user_files", pattern="inflation"),
                says("Found."),
            ],
            "asked without need",
        ),
    ],
)
async def test_a_tutor_that_takes_a_prompt_wrongly_is_found_out(case, script, why):
    (failure,) = case.failures(await put(case, script))
    assert why in failure
