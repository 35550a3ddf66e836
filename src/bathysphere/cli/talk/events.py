"""LangGraph's stream, parsed into the events that the terminal shows.

The main agent's text is streamed. A subagent's text arrives whole, because several may run at once.
Every event names its agent.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt

from bathysphere.harness.context import context_for_run
from bathysphere.models.held_text import MARK, HeldText
from bathysphere.registry.factories import Graph

MODES: tuple[Literal["messages", "updates", "custom", "tasks"], ...] = (
    "messages",
    "updates",
    "custom",
    "tasks",
)
MAIN = ""
"""The main agent, as the `agent` of an event."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentText:
    """Text of an agent: a chunk from the main agent, or a whole message from a subagent."""

    text: str
    agent: str = MAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A tool call made by an agent."""

    id: str
    name: str
    args: Mapping[str, Any]
    agent: str = MAIN
    subagent: str | None = None
    """The subagent that a `task` call starts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    id: str
    name: str
    text: str
    failed: bool
    agent: str = MAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Todos:
    """The current todo list."""

    items: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveChosen:
    """The move chosen for this turn, or why its wording was rejected."""

    move: str
    why: str
    misfits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Disclosure:
    """Passages of the person's documents that were shared with the agent."""

    passages: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Custom:
    """A custom event from a tool or layer."""

    data: Any
    agent: str = MAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """The run waits for the person to answer one or more interrupts."""

    interrupts: tuple[Interrupt, ...]
    asked_by: Mapping[str, str]
    """Interrupt id → agent that raised it."""


Event = AgentText | ToolCall | ToolResult | Todos | MoveChosen | Disclosure | Custom | Pause


@dataclass(kw_only=True)
class Reader:
    """Reads the runs of one thread; remembers its subagents across pauses."""

    graph: Graph
    config: RunnableConfig
    _subagents: dict[str, str] = field(default_factory=dict)
    """`task` call id → label of the subagent it started."""
    _namespaces: dict[str, str] = field(default_factory=dict)
    """First segment of a namespace → label of its subagent."""
    _asked_by: dict[str, str] = field(default_factory=dict)
    _emitted: set[tuple[type, str]] = field(default_factory=set)
    """Calls and results already emitted, by type and id."""
    _held: HeldText = field(default_factory=HeldText)
    _shown: dict[str, str] = field(default_factory=dict)
    """The main agent's text that was emitted, by message."""

    async def run(self, graph_input: Any) -> AsyncIterator[Event]:
        """Run the graph on a message or an answer, until it ends or pauses."""
        pending: dict[str, Interrupt] = {}
        schema = self.graph.context_schema
        stream = self.graph.astream(
            graph_input,
            self.config,
            context=None if schema is None else context_for_run(schema, None),
            stream_mode=MODES,
            subgraphs=True,
            version="v2",
        )
        async for part in stream:
            for event in self._read(part, pending):
                yield event
        if pending:
            yield self.pause_for(pending.values())

    def pause_for(self, interrupts: Iterable[Interrupt]) -> Pause:
        """The pause event for these interrupts."""
        return Pause(interrupts=tuple(interrupts), asked_by=dict(self._asked_by))

    def _read(self, part: Any, pending: dict[str, Interrupt]) -> Iterable[Event]:
        kind, data = part["type"], part["data"]
        namespace = part["ns"][0] if part["ns"] else ""
        agent = self._namespaces.get(namespace, "subagent") if namespace else MAIN
        if kind == "tasks":
            self._note_subagent(data)
        elif kind == "messages":
            for text in self._words(data, agent):
                yield AgentText(text=text)
        elif kind == "custom":
            yield Custom(data=data, agent=agent)
        elif kind == "updates":
            for interrupt in data.get("__interrupt__", ()):
                self._asked_by.setdefault(interrupt.id, agent)
                pending[interrupt.id] = interrupt
            yield from self._of_updates(data, agent)

    def _note_subagent(self, task: Mapping[str, Any]) -> None:
        """Record the namespace of a subagent: the task that runs its `task` call."""
        if task["name"] != "tools" or not isinstance(task.get("input"), list):
            return
        for call in task["input"]:
            if isinstance(call, Mapping) and call.get("id") in self._subagents:
                self._namespaces[f"tools:{task['id']}"] = self._subagents[call["id"]]

    def _of_updates(self, data: Mapping[str, Any], agent: str) -> Iterable[Event]:
        for node, update in data.items():
            if not isinstance(update, Mapping):
                continue
            # Layers that run before the agent return the whole, repaired history.
            is_history = node.endswith(".before_agent")
            for message, is_streamed in _messages(update):
                for event in self._of_message(message, agent, is_streamed=is_streamed):
                    if not (self._was_emitted(event) and is_history):
                        yield event
            if agent == MAIN and update.get("todos") is not None:
                yield Todos(items=tuple(update["todos"]))
            if update.get("disclosures"):
                yield Disclosure(passages=tuple(update["disclosures"]))
            for move in update.get("moves") or ():
                if "fits" not in move:  # chosen or rejected, not yet accepted
                    misfits = tuple(move.get("misfits") or ())
                    yield MoveChosen(move=move["move"], why=move["why"], misfits=misfits)

    def _was_emitted(self, event: Event) -> bool:
        if not isinstance(event, ToolCall | ToolResult):
            return True
        key = (type(event), event.id)
        known = key in self._emitted
        self._emitted.add(key)
        return known

    def _of_message(
        self, message: BaseMessage, agent: str, *, is_streamed: bool
    ) -> Iterable[Event]:
        if isinstance(message, AIMessage):
            text = self._left(message) if agent == MAIN and is_streamed else message.text
            if text:
                yield AgentText(text=text, agent=agent)
            for call in message.tool_calls:
                yield ToolCall(
                    id=call["id"] or "",
                    name=call["name"],
                    args=call["args"],
                    agent=agent,
                    subagent=self._label_subagent(call) if call["name"] == "task" else None,
                )
        elif isinstance(message, ToolMessage):
            yield ToolResult(
                id=message.tool_call_id,
                name=message.name or "",
                text=message.text,
                failed=message.status == "error",
                agent=agent,
            )

    def _words(self, data: tuple[BaseMessage, Mapping[str, Any]], agent: str) -> Iterable[str]:
        """The main agent's text, without summaries of a layer and what may be a call in text."""
        message, metadata = data
        if agent != MAIN or not isinstance(message, AIMessage) or metadata.get("lc_source"):
            return
        shown: Sequence[AIMessage] = [message]
        if isinstance(message, AIMessageChunk) and metadata.get(MARK):
            shown = self._held.feed(message, metadata[MARK])
        for each in shown:
            self._shown[each.id or ""] = self._shown.get(each.id or "", "") + each.text
            if each.text:
                yield each.text

    def _left(self, message: AIMessage) -> str:
        """What is not shown yet of a message that was streamed, or that replaced one."""
        settled = self._held.settle(message)
        shown = self._shown.pop(message.id or "", None)
        if shown is None:
            return "".join(part.text for part in settled)
        if message.text.startswith(shown):
            return message.text[len(shown) :]
        return f"\n\n{message.text}" if message.text.strip() else ""

    def _label_subagent(self, call: Any) -> str:
        name = str(call["args"].get("subagent_type", "subagent"))
        before = sum(label.partition(" #")[0] == name for label in self._subagents.values())
        label = self._subagents.get(call["id"]) or (f"{name} #{before + 1}" if before else name)
        self._subagents[call["id"]] = label
        return label


def _messages(update: Mapping[str, Any]) -> Iterable[tuple[BaseMessage, bool]]:
    """New messages of an update, and whether LangGraph streams them; none if it replaces all."""
    messages = update.get("messages")
    is_one = isinstance(messages, Mapping) or (isinstance(messages, tuple) and _is_pair(messages))
    if is_one:
        messages = [messages]
    if not isinstance(messages, list | tuple):
        return
    for message in messages:
        if isinstance(message, BaseMessage):
            yield message, True
        elif isinstance(message, Mapping) or _is_pair(message):
            with suppress(ValueError, NotImplementedError):  # the graph itself reports it
                yield convert_to_messages([message])[0], False


def _is_pair(message: Any) -> bool:
    """Whether a message is written as role and text."""
    return isinstance(message, tuple | list) and [*map(type, message)] == [str, str]
