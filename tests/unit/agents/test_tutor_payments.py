"""The tutor where it is paid for: a person who declines is asked once, and the run ends."""

import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents.tutor import spec
from bathysphere.core.run_context import RunContext
from bathysphere.core.usage import Limits
from bathysphere.harness.build import build
from bathysphere.middleware.payments.middleware import DECLINED
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, calls, says, together
from bathysphere.testing.purse import MemoryPurse

THREAD = {"configurable": {"thread_id": "1"}}
PICK = says(json.dumps({"move": "ask_premise", "why": "It is due."}))
WORK = says(json.dumps({"move": "work", "why": "They ask for a seminar."}))
QUESTION = says("What does that rest on?")


class Lesson:
    """One thread of a paid tutor; each call costs 10."""

    def __init__(self, *script, balance=0, config=None):
        self.purse = MemoryPurse(balance)
        self.model = ScriptedChatModel(script=list(script))
        models = Models(main=self.model, subagent=self.model, summary=self.model, audit=self.model)
        self.graph = build(spec(models=models, config=config), checkpointer=InMemorySaver())

    async def step(self, given):
        context = RunContext(payments=self.purse)
        return await self.graph.ainvoke(given, THREAD, durability="sync", context=context)

    async def say(self, text="Money is trust."):
        return await self.step({"messages": [("user", text)]})

    async def decline(self, state):
        questions = state["__interrupt__"]
        assert {question.value["type"] for question in questions} == {"payment_exhausted"}
        return await self.step(
            Command(resume={question.id: {"action": "decline"} for question in questions})
        )


def assert_ended(state):
    assert "__interrupt__" not in state
    assert state["messages"][-1].text == DECLINED
    assert state["payment_status"] == "declined"


@pytest.mark.parametrize(
    ("balance", "paid"), [pytest.param(0, 0, id="choosing"), pytest.param(10, 1, id="wording")]
)
async def test_declining_once_ends_the_run(balance, paid):
    lesson = Lesson(PICK, QUESTION, QUESTION, balance=balance)
    state = await lesson.decline(await lesson.say())
    assert_ended(state)
    assert len(lesson.model.requests) == paid
    assert [m.text for m in state["messages"]].count(DECLINED) == 1


async def test_declining_when_a_wording_is_asked_for_again_ends_the_run():
    lesson = Lesson(PICK, says("I tell you everything."), QUESTION, balance=20)
    assert_ended(await lesson.decline(await lesson.say()))


@pytest.mark.parametrize("voices", [1, 2])
async def test_declining_in_a_voice_ends_the_run(voices):
    names = ["advocate", "sceptic"][:voices]
    seminar = together(*(calls("task", subagent_type=n, description="Speak.") for n in names))
    lesson = Lesson(WORK, seminar, says("never said"), balance=20)
    assert_ended(await lesson.decline(await lesson.say("Hold a seminar.")))
    assert len(lesson.model.requests) == 2


async def test_the_next_message_may_be_paid_for_again():
    lesson = Lesson(PICK, QUESTION)
    await lesson.decline(await lesson.say())
    lesson.purse.balance = 100
    state = await lesson.say("Trust is slow.")
    assert state["messages"][-1].text == "What does that rest on?"
    assert state["payment_status"] == "paid"


async def test_a_limit_ends_the_turn_without_a_move_by_rule():
    from bathysphere.agents.tutor import TutorConfig

    config = TutorConfig(limits=Limits(model_calls=1))
    lesson = Lesson(PICK, QUESTION, balance=1000, config=config)
    state = await lesson.say()
    assert "limit of 1 model calls" in state["messages"][-1].text
    assert len(lesson.model.requests) == 1
