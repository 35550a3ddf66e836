"""Small trees of agents for the tests of the harness, and one way to run them sync and async."""

import asyncio
from collections.abc import Callable

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.testing import ScriptedChatModel, Turn, calls, says, together

WORKER = SubagentSpec(name="worker", description="Works.")


def send_out(*descriptions: str) -> Turn:
    """One message that sends a worker out for each description."""
    return together(*(calls("task", description=d, subagent_type="worker") for d in descriptions))


def said(messages: list[BaseMessage]) -> int:
    return sum(isinstance(message, AIMessage) for message in messages)


def by_role(main: Callable[[int], Turn], worker: Callable[[str, int], Turn]) -> ScriptedChatModel:
    """A model that all agents share: it answers by who asks and how often they asked before."""

    def answer(messages: list[BaseMessage]) -> Turn:
        first = next(m.text for m in messages if m.type == "human")
        if first == "go":
            return main(said(messages))
        return worker(first, said(messages))

    return ScriptedChatModel(answer=answer)


def tree(model: ScriptedChatModel, *tools: BaseTool, **fields) -> AgentSpec:
    fields = {"subagents": (WORKER,), **fields}
    return AgentSpec(name="tree", model=model, tools=tools, **fields)


def run(spec: AgentSpec, mode: str, *, text: str = "go", seconds: float = 20, **state):
    """Run to the end; in async under a time bound, so that a hang is a failure and not a wait."""
    graph, given = build(spec), {"messages": [("user", text)], **state}
    if mode == "sync":
        return graph.invoke(given)
    return asyncio.run(asyncio.wait_for(graph.ainvoke(given), seconds))


def results(state) -> list[str]:
    return [m.text for m in state["messages"] if m.type == "tool"]


__all__ = ["WORKER", "by_role", "calls", "results", "run", "said", "says", "send_out", "tree"]
