"""`bathysphere serve` or `worker`, with the graphs of the fairness benchmark added."""

import asyncio
import sys
from functools import partial
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph

from bathysphere.cli.main import main
from bathysphere.engine.graphs import Graphs
from bathysphere.server.process import assembly


class State(TypedDict, total=False):
    items: Annotated[list[str], lambda old, new: old + new]
    seconds: float


def short() -> Any:
    """Two steps without delay."""
    builder = StateGraph(State)
    builder.add_node("first", lambda state: {"items": ["first"]})
    builder.add_node("second", lambda state: {"items": ["second"]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return builder.compile()


def slow() -> Any:
    """One step that takes as long as its input says."""

    async def wait(state: State) -> State:
        await asyncio.sleep(state.get("seconds", 1))
        return {"items": ["waited"]}

    builder = StateGraph(State)
    builder.add_node("wait", wait)
    builder.add_edge(START, "wait")
    return builder.compile()


agents_of = assembly.graphs_of


def with_graphs(*models: Any, **more: Any) -> Graphs:
    agents = agents_of(*models, **more)
    named = {name: partial(agents.get, name) for name in agents.names()}
    return Graphs({**named, "short": short, "slow": slow})


if __name__ == "__main__":
    assembly.graphs_of = with_graphs
    sys.exit(main(sys.argv[1:]))
