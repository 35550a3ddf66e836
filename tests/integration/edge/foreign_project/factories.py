"""Graphs that are made for each run, and one that is made once."""

import contextlib
import operator
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from langgraph_sdk.runtime import ServerRuntime


class Notes(TypedDict, total=False):
    notes: Annotated[list[str], operator.add]


@dataclass
class Wish:
    tone: str = "plain"


def _graph(*notes: str):
    graph = StateGraph(Notes, context_schema=Wish)
    graph.add_node("note", lambda state: {"notes": list(notes)})
    graph.add_edge(START, "note")
    return graph


def per_run(config: RunnableConfig):
    """Made for each run, from its config."""
    given = config["configurable"]
    return _graph(given.get("tone", "none"), str("thread_id" in given)).compile()


async def per_run_async(config):
    return _graph("async", config["configurable"].get("tone", "none"))


@contextlib.asynccontextmanager
async def with_runtime(runtime: ServerRuntime[Wish]):
    run = runtime.execution_runtime
    tone = run.context.tone if run else "described"
    yield _graph(tone, runtime.ensure_user().identity).compile()
    if run:
        Path(os.environ["HELPDESK_LEFT"]).touch()  # noqa: ASYNC240


def asking():
    def ask(state: Notes, runtime: Runtime[Wish]) -> Notes:
        return {"notes": [f"{runtime.context.tone}: {interrupt('Well?')}"]}

    graph = StateGraph(Notes, context_schema=Wish)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph


async def once():
    return _graph("once")
