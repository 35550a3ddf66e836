"""Graphs that misbehave in one way each, to fire an alert."""

import asyncio
import os
import time
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    """How long a run takes."""

    seconds: float


async def answer(state: State) -> State:
    """End at once."""
    return {}


async def wait(state: State) -> State:
    """Take long, without blocking anyone."""
    await asyncio.sleep(state["seconds"])
    return {}


async def block(state: State) -> State:
    """Block the event loop for most of the time."""
    until = time.monotonic() + state["seconds"]
    while time.monotonic() < until:
        time.sleep(0.3)  # noqa: ASYNC251  # the fault
        await asyncio.sleep(0.1)
    return {}


async def fail(state: State) -> State:
    """Raise what no graph should raise."""
    raise RuntimeError("a bug")


async def die(state: State) -> State:
    """Take the worker along."""
    os._exit(9)


def graph_of(node: Any) -> Any:
    """A graph of one node."""
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


quick, slow, blocking, failing, poison = map(graph_of, (answer, wait, block, fail, die))
