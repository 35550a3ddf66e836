"""Effects: done once, given back when the step is run again, asked about when unknown."""

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from bathysphere.core.effects import Done, Fresh, Unknown
from bathysphere.core.errors import StorageLost
from bathysphere.core.run_context import RunContext
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.effects import has_effect
from bathysphere.testing import ScriptedChatModel, calls, says


class Died(BaseException):
    """The process went away; nothing of ours may catch that."""


class MemoryLog:
    """An effect log that can lose the process between acting and writing down."""

    def __init__(self):
        self.entries, self.die_after_acting, self.die_after_finishing = {}, False, False

    async def begin(self, key):
        if key not in self.entries:
            self.entries[key] = None
            return Fresh()
        done = self.entries[key]
        return Unknown() if done is None else Done(done)

    async def finish(self, key, result):
        if self.die_after_acting:
            self.die_after_acting = False
            raise Died
        self.entries[key] = result
        if self.die_after_finishing:
            self.die_after_finishing = False
            raise Died

    async def forget(self, key):
        self.entries.pop(key, None)


class World:
    """One thread of an agent that can pay, and the payments that were really made."""

    def __init__(self, *script, ask_first=False):
        self.paid, self.log = [], MemoryLog()
        self.fail = False

        @tool
        async def pay(sats: int) -> str:
            """Pay."""
            if ask_first and interrupt("sure?") != "yes":
                return "not paid"
            self.paid.append(sats)
            if self.fail:
                raise RuntimeError("the mint hung up")
            return f"paid {sats}"

        self.model = ScriptedChatModel(script=[*script])
        spec = AgentSpec(name="payer", model=self.model, tools=(has_effect(pay),))
        self.graph = build(spec, checkpointer=InMemorySaver())

    async def step(self, given):
        config = {"configurable": {"thread_id": "1"}}
        return await self.graph.ainvoke(given, config, context=RunContext(effects=self.log))

    async def start(self):
        return await self.step({"messages": [("user", "pay")]})


def results(state):
    return [m.text for m in state["messages"] if m.type == "tool"]


async def test_a_result_is_given_back_when_its_step_is_run_again():
    world = World(calls("pay", sats=5), says("done"))
    world.log.die_after_finishing = True
    with pytest.raises(Died):
        await world.start()
    state = await world.step(None)
    assert world.paid == [5]
    assert results(state) == ["paid 5"]


async def test_an_unknown_outcome_is_a_question_to_the_person():
    world = World(calls("pay", sats=5), says("done"))
    world.log.die_after_acting = True
    with pytest.raises(Died):
        await world.start()
    paused = await world.step(None)
    (asked,) = paused["__interrupt__"]
    assert asked.value["type"] == "clarification_request"
    assert "interrupted during `pay` with {'sats': 5}" in asked.value["question"]
    answer = {"selected": ["happened"], "freeform": "receipt 7"}
    state = await world.step(Command(resume={asked.id: answer}))
    assert world.paid == [5]
    assert results(state) == ["The person confirms that it happened and says: receipt 7."]


async def test_what_did_not_happen_is_tried_again():
    world = World(calls("pay", sats=5), says("done"))
    world.log.die_after_acting = True
    with pytest.raises(Died):
        await world.start()
    world.paid.clear()
    paused = await world.step(None)
    answers = {i.id: {"selected": ["not_happened"]} for i in paused["__interrupt__"]}
    state = await world.step(Command(resume=answers))
    assert world.paid == [5]
    assert results(state) == ["paid 5"]


async def test_a_tool_that_asks_before_it_acts_acts_once():
    world = World(calls("pay", sats=5), says("done"), ask_first=True)
    paused = await world.start()
    assert world.paid == []
    answers = {i.id: "yes" for i in paused["__interrupt__"]}
    state = await world.step(Command(resume=answers))
    assert world.paid == [5]
    assert results(state) == ["paid 5"]


async def test_the_model_sees_every_failure_before_it_is_retried():
    world = World(calls("pay", sats=5), says("done"))
    world.fail = world.log.die_after_finishing = True
    with pytest.raises(Died):
        await world.start()
    state = await world.step(None)
    assert world.paid == [5]
    assert "RuntimeError: the mint hung up" in results(state)[0]


async def test_the_same_call_in_a_new_step_is_a_new_effect():
    world = World(calls("pay", {"sats": 5}, id="c"), calls("pay", {"sats": 5}, id="c"), says("ok"))
    await world.start()
    assert world.paid == [5, 5]


async def test_a_tool_without_an_effect_is_not_written_down():
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    log = MemoryLog()
    model = ScriptedChatModel(script=[calls("look"), says("ok")])
    graph = build(AgentSpec(name="looker", model=model, tools=(look,)))
    await graph.ainvoke({"messages": [("user", "x")]}, context=RunContext(effects=log))
    assert log.entries == {}


class Sure(BaseModel):
    """An answer that can be wrong."""

    sure: bool


async def test_an_invalid_answer_is_not_the_effect_error():
    """The person answers again, and the tool runs."""
    paid, log = [], MemoryLog()

    @tool
    async def pay(sats: int) -> str:
        """Pay."""
        if interrupt("sure?", response_schema=Sure).sure:
            paid.append(sats)
        return f"paid {sats}"

    model = ScriptedChatModel(script=[calls("pay", sats=5), says("done")])
    spec = AgentSpec(name="payer", model=model, tools=(has_effect(pay),))
    graph = build(spec, checkpointer=InMemorySaver())
    options = {
        "config": {"configurable": {"thread_id": "1"}},
        "context": RunContext(effects=log),
    }
    await graph.ainvoke({"messages": [("user", "go")]}, **options)
    with pytest.raises(Exception, match=r"(?i)resume|sure"):
        await graph.ainvoke(Command(resume={"nonsense": 1}), **options)
    assert log.entries == {}
    state = await graph.ainvoke(Command(resume={"sure": True}), **options)
    assert paid == [5]
    assert state["messages"][-1].text == "done"


async def test_an_effect_whose_storage_was_lost_is_unknown_and_not_an_error():
    log = MemoryLog()

    @tool
    async def pay(sats: int) -> str:
        """Pay."""
        raise StorageLost(f"PostgreSQL is unavailable: {sats}")

    model = ScriptedChatModel(script=[calls("pay", sats=5), says("done")])
    graph = build(AgentSpec(name="payer", model=model, tools=(has_effect(pay),)))
    with pytest.raises(StorageLost):
        await graph.ainvoke({"messages": [("user", "go")]}, context=RunContext(effects=log))
    assert list(log.entries.values()) == [None]
