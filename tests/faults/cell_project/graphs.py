"""A graph whose state shows each of its steps once, if each was stored once."""

import asyncio
import operator
from typing import Annotated, Literal, TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    """What was done, and what is to be done."""

    items: Annotated[list[str], operator.add]
    name: str
    count: int
    done: int


async def step(state: State) -> State:
    """Do one step."""
    await asyncio.sleep(0.1)
    done = state.get("done", 0)
    return {"items": [f"{state['name']}:{done}"], "done": done + 1}


async def start(state: State) -> State:
    """Begin at the first step."""
    return {"done": 0}


def more(state: State) -> Literal["step", "__end__"]:
    """Whether there is another step."""
    return "step" if state["done"] < state["count"] else END


builder = StateGraph(State)
builder.add_node("start", start)
builder.add_node("step", step)
builder.add_edge(START, "start")
builder.add_edge("start", "step")
builder.add_conditional_edges("step", more)
steps = builder.compile()
