"""A person answers one question of two and then writes something else: the answer is not lost."""

from uuid import UUID, uuid4

import pytest
from engine_rig import ALICE, Rig
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.types import interrupt
from pydantic import BaseModel, model_validator

from bathysphere.engine.errors import AnswerRefused
from bathysphere.engine.runs.answers import Answers
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.testing import ScriptedChatModel, calls, says, together

pytestmark = pytest.mark.services


def quiet(said: str) -> dict:
    return {"items": [said], "name": "quiet"}


async def asked(rig: Rig, answers: Answers, *, delay: float = 0) -> tuple[UUID, str, str]:
    """A thread with two open questions, left and right; an answered one takes `delay` seconds."""
    thread = uuid4()
    first = {"items": ["first"], "delay": delay}
    await rig.ended(await rig.start(thread, "answering", input=first))
    pending = await answers.pending(thread, owner=ALICE, graph="answering")
    by_question = {q.value["question"]: name for name, q in pending.items()}
    return thread, by_question["left?"], by_question["right?"]


@pytest.fixture
def answers(rig: Rig) -> Answers:
    return rig.answers


async def test_a_kept_answer_is_used_before_the_new_message_enters(rig, answers):
    async with rig.working():
        thread, left, right = await asked(rig, answers)
        await answers.submit(thread, {left: "yes"}, owner=ALICE, graph="answering")
        run = await rig.ended(await rig.start(thread, "answering", input=quiet("second")))
        assert run.status == "success", run.error
        with pytest.raises(AnswerRefused):  # the question that nobody answered ended with its step
            await answers.submit(thread, {right: "no"}, owner=ALICE, graph="answering")
    assert await rig.items(thread, "answering") == [
        "first",
        "left: yes",
        "second",
        "left: nothing to ask",
        "right: nothing to ask",
    ]
    assert await rig.journal(thread) == ["left answered"]
    assert await answers.saved(thread, owner=ALICE) == {}


async def test_a_kept_answer_is_never_used_for_a_question_asked_after_the_message(rig, answers):
    async with rig.working():
        thread, left, _ = await asked(rig, answers)
        await answers.submit(thread, {left: "yes"}, owner=ALICE, graph="answering")
        run = await rig.ended(await rig.start(thread, "answering", input={"items": ["second"]}))
        assert run.status == "interrupted"
        assert len(await answers.pending(thread, owner=ALICE, graph="answering")) == 2
        assert left not in await answers.pending(thread, owner=ALICE, graph="answering")
    assert await rig.items(thread, "answering") == ["first", "left: yes", "second"]


async def test_without_a_kept_answer_a_new_message_only_drops_the_questions(rig, answers):
    async with rig.working():
        thread, *_ = await asked(rig, answers)
        run = await rig.ended(await rig.start(thread, "answering", input=quiet("second")))
    assert (run.status, run.work.resume) == ("success", None)
    assert (await rig.items(thread, "answering"))[:2] == ["first", "second"]


async def test_rolling_the_message_back_opens_the_questions_again(rig, answers):
    async with rig.working():
        thread, left, right = await asked(rig, answers, delay=2.0)
        await answers.submit(thread, {left: "yes"}, owner=ALICE, graph="answering")
        run = await rig.start(thread, "answering", input=quiet("second"))
        await rig.in_journal(thread, "left answered")
        await rig.runs.cancel(run.run_id, owner=ALICE, action="rollback")
        assert (await rig.ended(run)).status == "cancelled"
        both = {left: "again", right: "no"}
        given = await answers.submit(thread, both, owner=ALICE, graph="answering")
        assert (await rig.ended(given.run)).status == "success"
    items = await rig.items(thread, "answering")
    assert (items[0], sorted(items[1:])) == ("first", ["left: again", "right: no"])


@tool
def ask(question: str) -> str:
    """Ask the person."""
    return f"they say {interrupt({'type': 'clarification_request', 'question': question})}"


async def test_an_agent_reads_the_answer_and_that_the_other_question_was_dropped(rig):
    def answer(messages: list[BaseMessage]):
        if messages[-1].type == "human" and messages[-1].text == "go":
            return together(calls("ask", question="a?"), calls("ask", question="b?"))
        return says("understood")

    spec = AgentSpec(name="asking", model=ScriptedChatModel(answer=answer), tools=(ask,))
    rig.factories["agent"] = lambda: build(spec)
    answers, thread = rig.answers, uuid4()
    async with rig.working():
        first = {"messages": [{"role": "user", "content": "go"}]}
        await rig.ended(await rig.start(thread, "agent", input=first))
        pending = await answers.pending(thread, owner=ALICE, graph="agent")
        name = next(n for n, q in pending.items() if q.value["question"] == "a?")
        given = await answers.submit(thread, {name: "blue"}, owner=ALICE, graph="agent")
        assert given.run is None
        second = {"messages": [{"role": "user", "content": "never mind the rest"}]}
        run = await rig.ended(await rig.start(thread, "agent", input=second))
        assert run.status == "success", run.error
    messages = (await rig.state(thread, "agent")).values["messages"]
    said = [(m.type, m.text) for m in messages if m.type != "ai"]
    assert ("tool", "they say blue") in said
    dropped = [text for kind, text in said if kind == "tool" and "blue" not in text]
    assert len(dropped) == 1
    assert "cancelled" in dropped[0]
    assert said[-1] == ("human", "never mind the rest")


@tool
def ask_twice(question: str) -> str:
    """Ask the person, and then once more."""
    return f"{interrupt({'question': question})}, {interrupt({'question': 'sure?'})}"


class Even(BaseModel):
    """What no JSON Schema says."""

    number: int

    @model_validator(mode="after")
    def _is_even(self) -> "Even":
        if self.number % 2:
            raise ValueError("odd")
        return self


@tool
def ask_number() -> str:
    """Ask for an even number."""
    return f"they chose {interrupt({'question': 'n?'}, response_schema=Even).number}"


class Talk:
    """A person and an agent that is served."""

    def __init__(self, rig: Rig, first, **spec) -> None:
        def answer(messages: list[BaseMessage]):
            return first if messages[-1].text == "go" else says("understood")

        made = AgentSpec(name="agent", model=ScriptedChatModel(answer=answer), **spec)
        self.rig, self.thread = rig, uuid4()
        rig.factories["agent"] = lambda: build(made)
        self.answers = rig.answers

    async def say(self, text: str):
        words = {"messages": [{"role": "user", "content": text}]}
        return await self.rig.ended(await self.rig.start(self.thread, "agent", input=words))

    async def answer(self, **answers):
        """Answer by the question's text."""
        pending = await self.answers.pending(self.thread, owner=ALICE, graph="agent")
        ids = {q.value["question"].rstrip("?"): name for name, q in pending.items()}
        values = {ids[question]: value for question, value in answers.items()}
        given = await self.answers.submit(self.thread, values, owner=ALICE, graph="agent")
        return await self.rig.ended(given.run) if given.run is not None else None

    async def results(self) -> dict[str, str]:
        messages = (await self.rig.state(self.thread, "agent")).values["messages"]
        return {m.tool_call_id: m.text for m in messages if m.type == "tool"}


async def test_what_a_step_has_done_is_kept_although_no_answer_waits(rig):
    both = together(
        calls("ask", {"question": "a?"}, id="c1"), calls("ask_twice", {"question": "b?"}, id="c2")
    )
    talk = Talk(rig, both, tools=(ask, ask_twice))
    async with rig.working():
        await talk.say("go")
        await talk.answer(a="blue", b="two")  # the second call asks again
        assert (await talk.say("never mind")).status == "success"
    results = await talk.results()
    assert results["c1"] == "they say blue"
    assert "did not complete" in results["c2"]


async def test_the_agent_is_told_what_an_unfinished_subagent_had_got(rig):
    both = together(calls("ask", {"question": "a?"}), calls("ask", {"question": "b?"}))
    helper = SubagentSpec(
        name="helper", description="h", model=ScriptedChatModel(answer=lambda _: both)
    )
    first = calls("task", {"description": "help", "subagent_type": "helper"}, id="t1")
    talk = Talk(rig, first, tools=(ask,), subagents=(helper,))
    async with rig.working():
        await talk.say("go")
        await talk.answer(a="blue")
        assert (await talk.say("never mind")).status == "success"
    told = (await talk.results())["t1"]
    assert told.startswith("Stopped before it was done")
    assert told.endswith("- a?: they say blue")


async def test_an_answer_that_only_its_question_can_refuse_does_not_keep_the_message_out(rig):
    both = together(calls("ask_number", {}, id="c1"), calls("ask", {"question": "b?"}, id="c2"))
    talk = Talk(rig, both, tools=(ask, ask_number))
    async with rig.working():
        await talk.say("go")
        await talk.answer(n={"number": 3})
        assert (await talk.say("never mind")).status == "success"
    assert "did not complete" in (await talk.results())["c1"]


async def test_an_answer_that_only_its_question_can_refuse_may_be_given_again(rig):
    talk = Talk(rig, calls("ask_number", {}, id="c1"), tools=(ask_number,))
    async with rig.working():
        await talk.say("go")
        assert (await talk.answer(n={"number": 3})).status == "error"
        assert (await talk.answer(n={"number": 4})).status == "success"
    assert (await talk.results())["c1"] == "they chose 4"
