"""Research asks its models itself: those calls are paid for too, each for its own answer."""

from typing import TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from bathysphere.agents.research.parallel import all_of
from bathysphere.agents.research.structured_output import Asker
from bathysphere.core.run_context import RunContext
from bathysphere.testing import ScriptedChatModel, says
from bathysphere.testing.purse import MemoryPurse


class Form(BaseModel):
    """A form."""

    text: str


class State(TypedDict, total=False):
    given: list[str]


def answer(messages):
    """Each question gets its own answer; `odd` is answered badly first."""
    asked = next(m.text for m in messages if m.type == "human")
    if asked == "odd" and not any(isinstance(m, AIMessage) for m in messages):
        return says("no JSON")
    return says(f'{{"text": "about {asked}"}}')


class Thread:
    """A graph with one node that asks several questions at once."""

    def __init__(self, balance, *questions):
        self.purse = MemoryPurse(balance)
        self.model = ScriptedChatModel(answer=answer)
        asker = Asker(model=self.model)

        async def ask(state: State) -> State:
            found = await all_of(
                {one: asker.ask(Form, system="s", user=one, name=one) for one in questions}
            )
            return {"given": [found[one].value.text for one in questions]}

        builder = StateGraph(State)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        self.graph = builder.compile(checkpointer=InMemorySaver())

    async def run(self, given):
        return await self.graph.ainvoke(
            given,
            {"configurable": {"thread_id": "1"}},
            context=RunContext(payments=self.purse),
            durability="sync",
        )


async def test_every_question_and_every_repair_is_paid_for():
    thread = Thread(1000, "even", "odd", "three")
    state = await thread.run({"given": []})
    assert state["given"] == ["about even", "about odd", "about three"]
    assert (len(thread.model.requests), thread.purse.spent) == (4, 40)


class Died(BaseException):
    """The process went away."""


@pytest.mark.parametrize("time", range(4))
async def test_after_a_death_each_question_has_its_own_answer_and_no_second_charge(time):
    thread = Thread(1000, "even", "odd", "three")
    seen = iter(range(100))

    def die(door):
        if door == "after complete" and next(seen) == time:
            raise Died

    thread.purse.at = die
    with pytest.raises(Died):
        await thread.run({"given": []})
    thread.purse.at = lambda _: None
    state = await thread.run(None)
    assert state["given"] == ["about even", "about odd", "about three"]
    assert thread.purse.spent == 40


async def test_outside_a_run_nobody_pays():
    asked = await Asker(model=ScriptedChatModel(answer=answer)).ask(Form, system="s", user="even")
    assert asked.value.text == "about even"


async def test_one_question_pauses_for_money_and_goes_on():
    thread = Thread(0, "even")
    paused = await thread.run({"given": []})
    assert paused["__interrupt__"][0].value["type"] == "payment_exhausted"
    assert thread.model.requests == []
    state = await thread.run(Command(resume={"token": "worth 10"}))
    assert (state["given"], thread.purse.spent) == (["about even"], 10)


async def test_several_that_are_not_paid_for_wait_together_and_nothing_is_asked_twice():
    thread = Thread(10, "one", "two", "three")
    state, paid = await thread.run({"given": []}), 0
    while "__interrupt__" in state:
        paid += 1
        state = await thread.run(Command(resume={"token": f"worth 1{paid}"}))
    assert state["given"] == ["about one", "about two", "about three"]
    assert (len(thread.model.requests), thread.purse.spent) == (3, 30)
