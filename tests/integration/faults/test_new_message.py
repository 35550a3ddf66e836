"""A person answers one question of two and then writes something else: the answer is not lost."""

from uuid import UUID, uuid4

import pytest
from engine_rig import ALICE, Rig
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.types import interrupt

from bathysphere.engine.answers import Answers
from bathysphere.engine.errors import AnswerRefused
from bathysphere.engine.graphs import Graphs
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, calls, says, together

pytestmark = pytest.mark.services


def quiet(said: str) -> dict:
    return {"items": [said], "name": "quiet"}


async def asked(rig: Rig, answers: Answers, *, delay: float = 0) -> tuple[UUID, str, str]:
    """A thread with two open questions, left and right; an answered one takes `delay` seconds."""
    thread = uuid4()
    first = {"items": ["first"], "delay": delay}
    await rig.ended(await rig.start(thread, "answering", input=first))
    pending = await answers.pending(thread, graph="answering")
    by_question = {q.value["question"]: name for name, q in pending.items()}
    return thread, by_question["left?"], by_question["right?"]


@pytest.fixture
def answers(rig: Rig) -> Answers:
    return Answers(rig.pool, runs=rig.runs, graphs=rig.graphs)


async def test_a_kept_answer_is_used_before_the_new_message_enters(rig, answers):
    async with rig.working():
        thread, left, right = await asked(rig, answers)
        await answers.give(thread, {left: "yes"}, owner=ALICE, graph="answering")
        run = await rig.ended(await rig.start(thread, "answering", input=quiet("second")))
        assert run.status == "success", run.error
        with pytest.raises(AnswerRefused):  # the question that nobody answered ended with its step
            await answers.give(thread, {right: "no"}, owner=ALICE, graph="answering")
    assert await rig.items(thread, "answering") == [
        "first",
        "left: yes",
        "second",
        "left: nothing to ask",
        "right: nothing to ask",
    ]
    assert await rig.journal(thread) == ["left answered"]
    assert await answers.kept(thread, owner=ALICE) == {}


async def test_a_kept_answer_is_never_used_for_a_question_asked_after_the_message(rig, answers):
    async with rig.working():
        thread, left, _ = await asked(rig, answers)
        await answers.give(thread, {left: "yes"}, owner=ALICE, graph="answering")
        run = await rig.ended(await rig.start(thread, "answering", input={"items": ["second"]}))
        assert run.status == "interrupted"
        assert len(await answers.pending(thread, graph="answering")) == 2
        assert left not in await answers.pending(thread, graph="answering")
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
        await answers.give(thread, {left: "yes"}, owner=ALICE, graph="answering")
        run = await rig.start(thread, "answering", input=quiet("second"))
        await rig.in_journal(thread, "left answered")
        await rig.runs.cancel(run.run_id, owner=ALICE, action="rollback")
        assert (await rig.ended(run)).status == "cancelled"
        both = {left: "again", right: "no"}
        given = await answers.give(thread, both, owner=ALICE, graph="answering")
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
    graphs = Graphs({"agent": lambda: build(spec)})
    answers = Answers(rig.pool, runs=rig.runs, graphs=graphs)
    thread = uuid4()
    async with rig.working(graphs=graphs):
        first = {"messages": [{"role": "user", "content": "go"}]}
        await rig.ended(await rig.start(thread, "agent", input=first))
        pending = await answers.pending(thread, graph="agent")
        name = next(n for n, q in pending.items() if q.value["question"] == "a?")
        given = await answers.give(thread, {name: "blue"}, owner=ALICE, graph="agent")
        assert given.run is None
        second = {"messages": [{"role": "user", "content": "never mind the rest"}]}
        run = await rig.ended(await rig.start(thread, "agent", input=second))
        assert run.status == "success", run.error
    rig.graphs = graphs
    messages = (await rig.state(thread, "agent")).values["messages"]
    said = [(m.type, m.text) for m in messages if m.type != "ai"]
    assert ("tool", "they say blue") in said
    dropped = [text for kind, text in said if kind == "tool" and "blue" not in text]
    assert len(dropped) == 1
    assert "cancelled" in dropped[0]
    assert said[-1] == ("human", "never mind the rest")
