"""The same steps as a graph, as a graph with a subgraph, per run, and as a function."""

import operator
from typing import Annotated, Any, TypedDict

from journal import execute
from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    items: Annotated[list[str], operator.add]
    name: str
    steps: int
    done: int
    delay: float
    what: str


def _thread(config: RunnableConfig) -> str:
    return config["configurable"]["thread_id"]


async def start(state: State) -> State:
    return {"done": 0}


async def step(state: State, config: RunnableConfig) -> State:
    what = f"{state['name']}:{state['done']}"
    return {"what": await execute(_thread(config), what, state.get("delay", 0))}


async def record(state: State) -> State:
    return {"items": [state["what"]], "done": state["done"] + 1}


def more(state: State) -> str:
    return "step" if state["done"] < state["steps"] else END


def _graph(node: Any) -> StateGraph:
    graph = StateGraph(State)
    graph.add_node("start", start)
    graph.add_node("step", node)
    graph.add_node("record", record)
    graph.add_edge(START, "start")
    graph.add_edge("start", "step")
    graph.add_edge("step", "record")
    graph.add_conditional_edges("record", more)
    return graph


class Inner(TypedDict, total=False):
    name: str
    done: int
    delay: float
    what: str


inner = StateGraph(Inner)
inner.add_node("act", step)
inner.add_edge(START, "act")

steps = _graph(step)
nested = _graph(inner.compile()).compile()


def per_run(config: RunnableConfig) -> StateGraph:
    return _graph(step)


@task
async def act(thread: str, what: str, delay: float) -> str:
    return await execute(thread, what, delay)


@entrypoint()
async def functional(
    given: dict, *, previous: list[str] | None = None, config: RunnableConfig
) -> list[str]:
    items = [*(previous or []), *given["items"]]
    for number in range(given["steps"]):
        items.append(await act(_thread(config), f"{given['name']}:{number}", given["delay"]))
    return items
