"""Graphs that record each execution, so that a test can count what actually ran."""

import asyncio
import operator
import os
import signal
import time
from typing import Annotated, Any, Literal, TypedDict

import psycopg
from counting_model import counting_graph
from foreign import foreign_graphs
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel

from bathysphere.core.effects import EffectKey, EffectLog, Fresh, Unknown
from bathysphere.core.errors import UpstreamError
from bathysphere.engine.graphs import Graphs


class State(TypedDict, total=False):
    items: Annotated[list[str], operator.add]
    name: str
    steps: int
    done: int
    delay: float


def journal(url: str, thread: str, what: str) -> None:
    """Record an execution outside of any checkpoint."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO journal (thread, what, pid) VALUES (%s, %s, %s)",
            (thread, what, os.getpid()),
        )


GraphSet = Literal["own", "foreign"]


def known_graphs(which: GraphSet, url: str) -> Graphs:
    """The graphs of this module, or those of the foreign project."""
    return foreign_graphs(url) if which == "foreign" else Graphs(graphs(url))


def graphs(url: str) -> dict[str, Any]:
    return {
        "steps": lambda: steps_graph(url),
        "blocker": lambda: blocker_graph(url),
        "asker": lambda: asker_graph(url),
        "failing": lambda: failing_graph(url),
        "context": context_graph,
        "paying": lambda: steps_graph(url, pays=True),
        "parallel": lambda: parallel_graph(url),
        "answering": lambda: answering_graph(url),
        "poison": poison_graph,
        "counting": lambda: counting_graph(url),
    }


async def pay(url: str, thread: str, what: str, effects: EffectLog) -> None:
    """Perform an external effect once. If its outcome is unknown, a person is asked.

    Checking whether it happened is not enough: a worker that is only paused may still act.
    """
    key = EffectKey(namespace="", task=what, call="pay")
    outcome = await effects.begin(key)
    if isinstance(outcome, Fresh):
        await asyncio.to_thread(journal, url, thread, f"paid {what}")
        await effects.finish(key, what)
    elif isinstance(outcome, Unknown):
        await asyncio.to_thread(journal, url, thread, f"asked {what}")


def poison_graph() -> Any:
    """Kills its worker."""

    async def kill(state: State) -> State:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    graph = StateGraph(State)
    graph.add_node("kill", kill)
    graph.add_edge(START, "kill")
    return graph.compile()


def steps_graph(url: str, *, pays: bool = False) -> Any:
    """Adds `<name>:0`, `<name>:1` … to the items, one step each, `delay` seconds apart."""

    async def start(state: State) -> State:
        return {"done": 0}

    async def step(state: State, config: RunnableConfig, runtime: Runtime[Any]) -> State:
        what, thread = f"{state['name']}:{state['done']}", config["configurable"]["thread_id"]
        await asyncio.to_thread(journal, url, thread, what)
        if pays:
            await pay(url, thread, what, runtime.context.effects)
        await asyncio.sleep(state.get("delay", 0))
        return {"items": [what], "done": state["done"] + 1}

    def more(state: State) -> str:
        return "step" if state["done"] < state["steps"] else END

    graph = StateGraph(State)
    graph.add_node("start", start)
    graph.add_node("step", step)
    graph.add_edge(START, "start")
    graph.add_edge("start", "step")
    graph.add_conditional_edges("step", more)
    return graph.compile()


def blocker_graph(url: str) -> Any:
    """Blocks the event loop for `delay` seconds, like a careless tool."""

    async def block(state: State, config: RunnableConfig) -> State:
        journal(url, config["configurable"]["thread_id"], "blocked")
        time.sleep(state["delay"])  # noqa: ASYNC251  # the point of the test
        return {"items": ["blocked"]}

    graph = StateGraph(State)
    graph.add_node("block", block)
    graph.add_edge(START, "block")
    return graph.compile()


def asker_graph(url: str) -> Any:
    """Asks twice, one question after the other, in two steps."""

    async def first(state: State) -> State:
        return {"items": [f"first={interrupt({'type': 'q', 'question': 'first?'})}"]}

    async def second(state: State, config: RunnableConfig) -> State:
        await asyncio.to_thread(journal, url, config["configurable"]["thread_id"], "second")
        await asyncio.sleep(state.get("delay", 0))
        return {"items": [f"second={interrupt({'type': 'q', 'question': 'pay 1000?'})}"]}

    graph = StateGraph(State)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    return graph.compile()


def failing_graph(url: str) -> Any:
    """Fails `steps` times with a transient error, or at once with a bug (`name="bug"`)."""

    async def fail(state: State, config: RunnableConfig) -> State:
        thread = config["configurable"]["thread_id"]
        await asyncio.to_thread(journal, url, thread, "tried")
        if state["name"] == "bug":
            raise ValueError("a bug in a tool")
        with psycopg.connect(url) as connection:
            row = connection.execute(
                "SELECT count(*) FROM journal WHERE thread = %s", (thread,)
            ).fetchone()
        if row[0] <= state["steps"]:
            raise UpstreamError("The model is unavailable")
        return {"items": ["done"]}

    graph = StateGraph(State)
    graph.add_node("fail", fail)
    graph.add_edge(START, "fail")
    return graph.compile()


def context_graph() -> Any:
    """Returns the owner and thread from its context."""

    async def say(state: State, runtime: Runtime[Any]) -> State:
        return {"items": [runtime.context.tenant, runtime.context.user, runtime.context.thread_id]}

    graph = StateGraph(State)
    graph.add_node("say", say)
    graph.add_edge(START, "say")
    return graph.compile()


class Choice(BaseModel):
    """The schema of an answer to `parallel`."""

    pick: Literal["left", "right"]


def parallel_graph(url: str) -> Any:
    """Asks two questions in one step, one of them with a schema."""

    async def schooled(state: State, config: RunnableConfig) -> State:
        await asyncio.to_thread(journal, url, config["configurable"]["thread_id"], "schooled")
        choice = interrupt({"type": "q", "question": "which?"}, response_schema=Choice)
        return {"items": [f"picked {choice.pick}"]}

    async def free(state: State, config: RunnableConfig) -> State:
        await asyncio.to_thread(journal, url, config["configurable"]["thread_id"], "free")
        return {"items": [f"said {interrupt({'type': 'q', 'question': 'what?'})}"]}

    graph = StateGraph(State)
    graph.add_node("schooled", schooled)
    graph.add_node("free", free)
    graph.add_edge(START, "schooled")
    graph.add_edge(START, "free")
    return graph.compile()


def answering_graph(url: str) -> Any:
    """Asks two questions in one step; each answer takes `delay` seconds to process.

    With `name="quiet"` it asks nothing.
    """

    def asks(which: str) -> Any:
        async def ask(state: State, config: RunnableConfig) -> State:
            if state.get("name") == "quiet":
                return {"items": [f"{which}: nothing to ask"]}
            answer = interrupt({"type": "q", "question": f"{which}?"})
            await asyncio.to_thread(
                journal, url, config["configurable"]["thread_id"], f"{which} answered"
            )
            await asyncio.sleep(state.get("delay", 0))
            return {"items": [f"{which}: {answer}"]}

        return ask

    graph = StateGraph(State)
    for which in ("left", "right"):
        graph.add_node(which, asks(which))
        graph.add_edge(START, which)
    return graph.compile()
