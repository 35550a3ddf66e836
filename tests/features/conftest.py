"""What the feature tests share: a talk with an agent whose model follows a script.

Every test that takes `talk` or `run` is run twice, through `invoke` and through `ainvoke`.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, Turn, says


class Talk:
    """An agent with a checkpointer; `send` starts a run and returns the state it ends in."""

    def __init__(
        self,
        *turns: Turn,
        asynchronous: bool,
        model: Any = None,
        store: Any = None,
        cache: Any = None,
        **spec: Any,
    ) -> None:
        self.model = model or ScriptedChatModel(script=[*turns, says("Done.")])
        self.spec = AgentSpec(name="test", model=self.model, **spec)
        self.saver = InMemorySaver()
        self.graph = build(self.spec, checkpointer=self.saver, store=store, cache=cache)
        self._asynchronous = asynchronous

    def send(
        self, given: Any = "Go.", *, thread: str = "1", context: Any = None, **state: Any
    ) -> dict[str, Any]:
        if isinstance(given, str):
            given = {"messages": [{"role": "user", "content": given}], **state}
        config = {"configurable": {"thread_id": thread}}
        if self._asynchronous:
            return asyncio.run(self.graph.ainvoke(given, config, context=context))
        return self.graph.invoke(given, config, context=context)

    def done(self) -> None:
        if isinstance(self.model, ScriptedChatModel):
            self.model.assert_done()


class Ran:
    """A run that has ended."""

    def __init__(self, talk: Talk, state: dict[str, Any]) -> None:
        self.talk = talk
        self.model = talk.model
        self.state = state

    @property
    def results(self) -> list[BaseMessage]:
        """The tool results that the main agent saw, in order."""
        return [m for m in self.state["messages"] if m.type == "tool"]

    @property
    def texts(self) -> list[str]:
        return [m.text for m in self.results]

    @property
    def statuses(self) -> list[str]:
        return [m.status for m in self.results]

    @property
    def files(self) -> dict[str, str]:
        """The files that are there at the end."""
        stored = self.state.get("files", {})
        return {path: f["content"] for path, f in stored.items() if not f.get("deleted")}


@pytest.fixture(params=["sync", "async"])
def talk(request) -> Callable[..., Talk]:
    """Make an agent; the script ends with "Done." of itself."""

    def start(*turns: Turn, **options: Any) -> Talk:
        return Talk(*turns, asynchronous=request.param == "async", **options)

    return start


@pytest.fixture
def run(talk) -> Callable[..., Ran]:
    """Make an agent, let it do one run, and see that it played its whole script."""

    def once(*turns: Turn, state: dict[str, Any] | None = None, **options: Any) -> Ran:
        context = options.pop("context", None)
        agent = talk(*turns, **options)
        ran = Ran(agent, agent.send(context=context, **(state or {})))
        agent.done()
        return ran

    return once
