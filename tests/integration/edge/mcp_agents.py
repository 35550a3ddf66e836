"""Agents for the tests of `/mcp`: one that answers, one that asks, one that takes long."""

import asyncio
from typing import Any, Literal, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from bathysphere.testing import ScriptedChatModel, calls, says


class Pick(BaseModel):
    """What the person picks."""

    colour: Literal["red", "blue"]
    amount: int


class Order(TypedDict, total=False):
    item: str
    done: str
    seconds: float


@tool
def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


def _echo(messages: list[Any]) -> Any:
    return says(f"{len(messages)}: {messages[-1].text}")


def _remove(messages: list[Any]) -> Any:
    last = messages[-1]
    return says(last.text) if last.type == "tool" else calls("remove", {"path": last.text}, id="c")


async def _order(state: Order) -> Order:
    picked: Pick = interrupt({"question": f"Which {state['item']}?"}, response_schema=Pick)
    return {"done": f"{picked.amount} {picked.colour} {state['item']}"}


async def _sleep(state: Order) -> Order:
    await asyncio.sleep(state.get("seconds", 0.1))
    return {"done": "slept"}


def _graph(node: Any) -> Any:
    return StateGraph(Order).add_node("work", node).add_edge(START, "work").compile()


chat = create_agent(ScriptedChatModel(answer=_echo))
remover = create_agent(
    ScriptedChatModel(answer=_remove),
    tools=[remove],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"remove": True}, interrupt_mode="per_call")],
)
order = _graph(_order)
sleeper = _graph(_sleep)
