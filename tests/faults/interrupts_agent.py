"""Agents of the interrupts campaign: a scripted model, real layers, a record of calls.

Each tool call has a unique id in the whole campaign, and every answer of a person carries
`tok<call id#n>`: a token in the result of another call was misdelivered.
"""

import re
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from interrupts_plans import Step
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.middleware.effects import has_effect
from bathysphere.testing import ScriptedChatModel, calls, says, together

TOKEN = re.compile(r"tok<([^<>#]+)#([^<>#]+)>")
GRAPH = "torture"


@dataclass(kw_only=True)
class World:
    """A record outside of checkpoints: what the model saw, and which tool bodies ran."""

    plans: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    results: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By tool call, every result that a model was shown for it."""
    heard: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By thread, what people said, in the order in which the model saw it."""
    bodies: Counter[str] = field(default_factory=Counter)
    dangling: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def see(self, messages: list[BaseMessage]) -> None:
        """Record the messages that a model was shown."""
        asked: list[str] = []
        with self._lock:
            for message in messages:
                if isinstance(message, ToolMessage):
                    self.results[message.tool_call_id].add(message.text)
                    if message.tool_call_id not in asked:
                        self.dangling.append(f"{message.tool_call_id}: a result without its call")
                    else:
                        asked.remove(message.tool_call_id)
                elif asked:
                    self.dangling.append(f"{asked}: no result before {message.text[:50]!r}")
                    asked = []
                if isinstance(message, AIMessage):
                    asked = [str(call["id"]) for call in message.tool_calls]
            people = [m.text for m in messages if m.type == "human"]
            key = people[-1].split(".")[0]
            if people[-1] not in self.heard[key]:
                self.heard[key].append(people[-1])

    def turn(self, messages: list[BaseMessage]) -> Any:
        """The next turn of the scripted model: the agent's plan, step by step."""
        self.see(messages)
        last = max(n for n, m in enumerate(messages) if m.type == "human")
        done = sum(isinstance(m, AIMessage) and bool(m.tool_calls) for m in messages[last:])
        name = messages[last].text
        steps = self.plans.get(name, ())
        if done >= len(steps):
            return says(f"done with {name}")
        return together(*(calls(ask.name, ask.args, id=ask.id) for ask in steps[done]))

    def ran(self, call: str) -> None:
        """Record that a tool's body ran."""
        with self._lock:
            self.bodies[call] += 1

    def bodies_of(self, key: str) -> dict[str, int]:
        """How often each body of one schedule ran; others are running."""
        with self._lock:
            return {call: n for call, n in self.bodies.items() if call.startswith(f"{key}.")}

    def calls_of(self, key: str) -> list[str]:
        """The calls of one schedule whose results a model was shown."""
        with self._lock:
            return [call for call in self.results if call.startswith(f"{key}.")]


def agent(world: World) -> Any:
    """A tree of agents in which every tool can ask."""

    @tool
    def act(what: str, runtime: ToolRuntime) -> str:
        """Do something."""
        world.ran(str(runtime.tool_call_id))
        return f"did {what}"

    @tool
    def pay(what: str, runtime: ToolRuntime) -> str:
        """Do something that must not be done twice."""
        world.ran(str(runtime.tool_call_id))
        return f"did {what}"

    def layers() -> tuple[Any, ...]:
        return (ClarifyMiddleware(max_questions=100), ClientFilesMiddleware())

    spec = AgentSpec(
        name=GRAPH,
        model=ScriptedChatModel(answer=world.turn),
        tools=(act, has_effect(pay)),
        approvals={"act": True, "pay": True},
        middleware=layers(),
        subagents=tuple(
            SubagentSpec(name=name, description=name, middleware=layers())
            for name in ("left", "right")
        ),
    )
    return build(spec)
