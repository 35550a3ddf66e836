"""A builder that is not compiled, with questions in a subgraph, and a functional entrypoint."""

import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class Notes(TypedDict, total=False):
    notes: Annotated[list[str], operator.add]


def ask_name(state: Notes) -> Notes:
    return {"notes": [f"name: {interrupt('Your name?')}"]}


def ask_place(state: Notes) -> Notes:
    return {"notes": [f"place: {interrupt({'question': 'Your place?'})}"]}


inner = StateGraph(Notes)
inner.add_node("ask_name", ask_name)
inner.add_node("ask_place", ask_place)
inner.add_edge(START, "ask_name")
inner.add_edge(START, "ask_place")

nested = StateGraph(Notes)
nested.add_node("inner", inner.compile())
nested.add_node("close", lambda state: {"notes": ["closed"]})
nested.add_edge(START, "inner")
nested.add_edge("inner", "close")


@task
def double(number: int) -> int:
    return number * 2


@entrypoint(checkpointer=InMemorySaver())
def steps(number: int) -> dict:
    """Double a number, ask, and add."""
    first = double(number).result()
    more = interrupt({"question": "How many more?"})
    return {"sum": first + more}
