"""The graphs the conformance suite runs: each shows one thing a client must be able to see."""

import asyncio
import operator
from typing import Annotated, Any

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel
from tethered_graphs import tether
from typing_extensions import TypedDict

from bathysphere.testing import ScriptedChatModel, calls, says, together


class Items(TypedDict, total=False):
    items: Annotated[list[str], operator.add]
    name: str
    delay: float
    steps: int
    done: int


class YesNo(BaseModel):
    """What a person may answer."""

    approve: bool
    reason: str = ""


def _last(messages: list[AnyMessage]) -> AnyMessage:
    return messages[-1]


def _asked(messages: list[AnyMessage]) -> str:
    return [m for m in messages if m.type == "human"][-1].text


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool
def ask(question: str) -> str:
    """Ask the person."""
    return str(interrupt({"type": "clarification_request", "question": question}))


@tool
def confirm(what: str) -> str:
    """Ask for a yes or a no, with a schema for the answer."""
    answer = interrupt({"type": "confirm", "what": what}, response_schema=YesNo)
    return f"{what}: {answer.approve}"


@tool
def my_file(path: str) -> str:
    """Read a file in the person's browser."""
    call = {"id": f"call_{path}", "name": "my_file", "args": {"path": path}}
    answer = interrupt({"type": "tool", "tool_call": call})
    if isinstance(answer, dict) and set(answer) == {call["id"]}:
        answer = answer[call["id"]]
    return str(answer)


def _answer(messages: list[AnyMessage]) -> Any:
    last, text = _last(messages), _asked(messages)
    if last.type == "tool":
        results = [m.text for m in messages if m.type == "tool"]
        return says(f"The answers are {', '.join(results)}.")
    plans = {
        "add": calls("add", {"a": 2, "b": 3}, id="call_add"),
        "ask": calls("ask", {"question": "Which year?"}, id="call_ask"),
        "ask two": together(
            calls("ask", {"question": "First?"}, id="call_1"),
            calls("ask", {"question": "Second?"}, id="call_2"),
        ),
        "confirm": calls("confirm", {"what": "delete"}, id="call_c"),
        "files": together(
            calls("my_file", {"path": "a"}, id="call_a"),
            calls("my_file", {"path": "b"}, id="call_b"),
        ),
    }
    return plans.get(text, says(f"You said: {text}. These are a few words that come as a stream."))


def _task(description: str) -> Any:
    args = {"description": description, "subagent_type": "general-purpose"}
    return calls("task", args, id="call_t")


def _deep(messages: list[AnyMessage]) -> Any:
    last, text = _last(messages), _asked(messages)
    if text == "go" and last.type == "human":
        return _task("look")
    if text == "go both" and last.type == "human":
        return together(
            _task("ask it"),
            calls("ask", {"question": "Main?"}, id="call_m"),
        )
    if text == "ask it" and last.type == "human":
        return calls("ask", {"question": "Sub?"}, id="call_s")
    return says(f"Done with {text}: {last.text}")


def chat() -> Any:
    """An agent with tools, some of which ask."""
    model = ScriptedChatModel(answer=_answer)
    return create_agent(model, tools=[add, ask, confirm, my_file])


def deep() -> Any:
    """An agent that sends out another."""
    return create_deep_agent(model=ScriptedChatModel(answer=_deep), tools=[ask])


def steps() -> Any:
    """Adds `<name>:0`, `<name>:1` … to the items, one step each, `delay` seconds apart."""

    async def start(state: Items) -> Items:
        return {"done": 0}

    async def step(state: Items) -> Items:
        await asyncio.sleep(state.get("delay", 0))
        return {"items": [f"{state['name']}:{state['done']}"], "done": state["done"] + 1}

    graph = StateGraph(Items)
    graph.add_node("start", start)
    graph.add_node("step", step)
    graph.add_edge(START, "start")
    graph.add_edge("start", "step")
    graph.add_conditional_edges(
        "step",
        lambda s: "step" if s["done"] < s.get("steps", 1) else "__end__",
        ["step", "__end__"],
    )
    return graph.compile()


def writer() -> Any:
    """Tells of its progress on the custom channel."""

    async def tell(state: Items) -> Items:
        write = get_stream_writer()
        write({"progress": 1})
        write({"name": "argmap", "payload": {"node": "claim"}})
        return {"items": ["told"]}

    graph = StateGraph(Items)
    graph.add_node("tell", tell)
    graph.add_edge(START, "tell")
    return graph.compile()


def failing() -> Any:
    """Fails."""

    async def fail(state: Items) -> Items:
        raise ValueError("a bug in a node")

    graph = StateGraph(Items)
    graph.add_node("fail", fail)
    graph.add_edge(START, "fail")
    return graph.compile()


def nested() -> Any:
    """A graph inside a graph."""

    async def inside(state: MessagesState) -> MessagesState:
        return {"messages": [AIMessage("from inside", id="inside")]}

    inner = StateGraph(MessagesState)
    inner.add_node("inside", inside)
    inner.add_edge(START, "inside")
    graph = StateGraph(MessagesState)
    graph.add_node("inner", inner.compile())
    graph.add_edge(START, "inner")
    return graph.compile()


class Topic(TypedDict, total=False):
    """What a client may send as context."""

    topic: str
    depth: int


def told() -> Any:
    """Says what context and tags it was given."""

    async def say(state: Items, runtime: Runtime[Topic], config: RunnableConfig) -> Items:
        given = runtime.context or {}
        said = [f"{name}={given[name]}" for name in ("topic", "depth") if name in given]
        return {"items": [*said, *(f"#{tag}" for tag in config.get("tags") or [])]}

    graph = StateGraph(Items, context_schema=Topic)
    graph.add_node("say", say)
    graph.add_edge(START, "say")
    return graph.compile()


GRAPHS = {
    "chat": chat,
    "deep": deep,
    "steps": steps,
    "writer": writer,
    "failing": failing,
    "nested": nested,
    "told": told,
    "tether": tether,
}
