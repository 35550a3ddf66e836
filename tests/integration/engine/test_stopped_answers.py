"""The streamed part of a stopped answer stays in the thread, and the model sees it."""

import asyncio
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid4

import pytest
from engine_rig import ALICE, Rig, open_rig
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from bathysphere.engine.database.pool import Database
from bathysphere.engine.records import Run
from bathysphere.engine.runs.attempts import Attempts
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.testing import ScriptedChatModel, Turn, calls, says, slowly, together

pytestmark = pytest.mark.services

STORY = " ".join(f"word{number}" for number in range(200))


@tool
def sound(depth: str) -> str:
    """Measure a depth."""
    return depth


def plain_agent(model: ScriptedChatModel) -> Any:
    return create_agent(model, [sound])


def deep_agent(model: ScriptedChatModel) -> Any:
    helper = SubagentSpec(name="helper", description="Helps.", prompt="Help.", tools=(sound,))
    return build(AgentSpec(name="deep", model=model, tools=(sound,), subagents=(helper,)))


class Shared(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]


def asking_agent(model: ScriptedChatModel) -> Any:
    """An agent that asks and streams at the same time."""

    async def speak(state: Shared) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def ask(state: Shared) -> Any:
        interrupt({"question": "How deep?"})

    graph = StateGraph(Shared)
    graph.add_node("model", speak)
    graph.add_node("ask", ask)
    graph.add_edge(START, "model")
    graph.add_edge(START, "ask")
    return graph.compile()


AGENTS = {"plain": plain_agent, "deep": deep_agent}


def long_answer(turn: Turn) -> Turn:
    return slowly(turn, pause=0.02)


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


class Talk:
    """A thread with a scripted agent, on one process's services."""

    def __init__(self, rig: Rig, model: ScriptedChatModel, agent: str = "plain") -> None:
        rig.factories["agent"] = lambda: {**AGENTS, "asking": asking_agent}[agent](model)
        self.rig = rig
        self.thread = uuid4()

    async def start(self, text: str = "tell a story", **options: Any) -> Run:
        return await self.rig.start(self.thread, "agent", input=said(text), **options)

    async def streamed(self, run: Run, enough: str) -> tuple[str, str]:
        """Wait until a reader has this much text; return the message's id and text."""
        found: dict[str, str] = {}
        async with asyncio.timeout(20):
            async for entry in self.rig.log.read(self.thread, owner=ALICE):
                event = entry.event()
                if event.channel != "messages" or event.run_id != str(run.run_id):
                    continue
                data = event.data
                text = data.get("text") or str(data.get("chunk", {}).get("content") or "")
                found[data["id"]] = found.get(data["id"], "") + text
                if enough in found[data["id"]]:
                    return data["id"], found[data["id"]]
        raise AssertionError("the log ended")

    async def stop(self, run: Run, **options: Any) -> Run:
        await self.rig.runs.cancel(run.run_id, owner=ALICE, **options)
        return await self.rig.ended(run)


async def messages_of(database: Database, thread: UUID, factory: Any) -> list[Any]:
    """The thread's messages, as read by newly opened services."""
    async with open_rig(database) as fresh:
        fresh.factories["agent"] = factory
        return (await fresh.state(thread, "agent")).values["messages"]


@pytest.mark.parametrize("agent", AGENTS)
async def test_a_stopped_answer_survives_the_process_and_the_model_continues_it(
    rig: Rig, engine_database: Database, agent: str
):
    model = ScriptedChatModel(script=[long_answer(says(STORY)), says("And so it ended.")])
    talk = Talk(rig, model, agent)
    async with rig.working():
        run = await talk.start()
        message_id, read = await talk.streamed(run, "word5")
        assert (await talk.stop(run)).status == "cancelled"
    messages = await messages_of(engine_database, talk.thread, rig.factories["agent"])
    assert [type(message) for message in messages] == [HumanMessage, AIMessage]
    partial = messages[-1]
    assert partial.id == message_id
    assert partial.text.startswith(read)
    assert STORY.startswith(partial.text)
    assert partial.text != STORY
    assert partial.response_metadata == {"stopped": True}
    async with open_rig(engine_database) as later:
        later.factories["agent"] = rig.factories["agent"]
        async with later.working():
            went_on = await later.start(talk.thread, "agent", input=said("continue"))
            assert (await later.ended(went_on)).status == "success"
    assert [message.text for message in model.requests[-1][-3:]] == [
        "tell a story",
        partial.text,
        "continue",
    ]
    messages = await messages_of(engine_database, talk.thread, rig.factories["agent"])
    assert [message.text for message in messages][1:] == [
        partial.text,
        "continue",
        "And so it ended.",
    ]


async def test_the_model_sees_an_answer_that_a_new_message_interrupted(rig: Rig):
    model = ScriptedChatModel(script=[long_answer(says(STORY)), says("Very well.")])
    talk = Talk(rig, model)
    async with rig.working():
        run = await talk.start()
        _, read = await talk.streamed(run, "word5")
        newer = await talk.start("shorter, please", strategy="interrupt")
        assert (await rig.ended(newer)).status == "success"
    _, partial, newest = model.requests[-1]
    assert partial.text.startswith(read)
    assert newest.text == "shorter, please"


async def test_a_half_written_tool_call_is_dropped_and_the_words_before_it_are_kept(rig: Rig):
    turn = together(calls("sound", {"depth": STORY}, id="c1"), text="I measure it.")
    talk = Talk(rig, ScriptedChatModel(script=[slowly(turn, pause=0.3)]))
    async with rig.working():
        run = await talk.start()
        await talk.streamed(run, "measure it")
        await asyncio.sleep(0.5)  # the call is being written
        await talk.stop(run)
    partial = (await rig.state(talk.thread, "agent")).values["messages"][-1]
    assert partial.text == "I measure it."
    assert not partial.tool_calls
    assert not partial.invalid_tool_calls


async def test_text_of_a_subagent_is_not_saved_as_the_main_answer(rig: Rig):
    task = calls("task", {"description": "dive", "subagent_type": "helper"}, id="t1")
    model = ScriptedChatModel(script=[task, long_answer(says(STORY))])
    talk = Talk(rig, model, "deep")
    async with rig.working():
        run = await talk.start()
        await talk.streamed(run, "word5")
        await talk.stop(run)
    messages = (await rig.state(talk.thread, "agent")).values["messages"]
    assert not any("word5" in message.text for message in messages)


async def test_a_rolled_back_run_saves_no_partial_answer(rig: Rig):
    talk = Talk(rig, ScriptedChatModel(script=[long_answer(says(STORY))]))
    async with rig.working():
        run = await talk.start()
        await talk.streamed(run, "word5")
        assert (await talk.stop(run, action="rollback")).status == "cancelled"
    assert not (await rig.state(talk.thread, "agent")).values


async def test_an_answer_stopped_twice_is_saved_once(rig: Rig):
    talk = Talk(rig, ScriptedChatModel(script=[long_answer(says(STORY))]))
    async with rig.working():
        run = await talk.start()
        await talk.streamed(run, "word5")
        await asyncio.gather(*(talk.stop(run) for _ in range(3)))
    messages = (await rig.state(talk.thread, "agent")).values["messages"]
    assert len(messages) == 2


async def test_an_attempt_that_loses_its_run_while_it_stops_writes_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    taken = asyncio.Event()

    async def taken_over(attempts: Attempts, run: Run) -> str:
        async with rig.pool.connection() as connection:  # like the attempt of another worker
            await connection.execute(
                "UPDATE engine.runs SET token = nextval('engine.attempt_tokens') WHERE run_id = %s",
                (run.run_id,),
            )
        taken.set()
        return "interrupt"

    monkeypatch.setattr(Attempts, "cancelled", taken_over)
    talk = Talk(rig, ScriptedChatModel(script=[long_answer(says(STORY))]))
    async with rig.working():
        run = await talk.start()
        await talk.streamed(run, "word5")
        await rig.runs.cancel(run.run_id, owner=ALICE)
        async with asyncio.timeout(10):
            await taken.wait()
    messages = (await rig.state(talk.thread, "agent")).values["messages"]
    assert [type(message) for message in messages] == [HumanMessage]


async def test_a_question_asked_in_the_meantime_stays_open(rig: Rig):
    talk = Talk(rig, ScriptedChatModel(script=[long_answer(says(STORY))]), "asking")
    async with rig.working():
        run = await talk.start()
        await talk.streamed(run, "word5")
        await talk.stop(run)
    (question,) = (await rig.state(talk.thread, "agent")).interrupts
    assert question.value == {"question": "How deep?"}
