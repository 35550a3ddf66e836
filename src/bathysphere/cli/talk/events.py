"""A run as a person follows it: LangGraph's stream, read into a few kinds of events.

The main agent's words come as they are written. A subagent's come whole, because several may speak
at once. Every event says whose it is.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt

from bathysphere.harness.build import Graph

MODES: tuple[Literal["messages", "updates", "custom", "tasks"], ...] = (
    "messages",
    "updates",
    "custom",
    "tasks",
)
MAIN = ""
"""The main agent, as the `agent` of an event."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """Text of an agent: a piece of the main agent's, or all that a subagent says at once."""

    text: str
    agent: str = MAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """A tool call that an agent decided on."""

    id: str
    name: str
    args: Mapping[str, Any]
    agent: str = MAIN
    sends: str | None = None
    """The subagent that a `task` call sends out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Returned:
    """What came back from a tool call."""

    id: str
    name: str
    text: str
    failed: bool
    agent: str = MAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Todos:
    """The todo list, as it stands now."""

    items: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """The move that was chosen for this turn, or why its words were taken back."""

    move: str
    why: str
    misfits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Disclosed:
    """Passages of the person's documents that have gone to the agent."""

    passages: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Custom:
    """Something that a tool or layer reports in its own format."""

    data: Any
    agent: str = MAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Paused:
    """The run waits for the person, who may have several questions to answer."""

    interrupts: tuple[Interrupt, ...]
    asked_by: Mapping[str, str]
    """Interrupt id → the agent that asks."""


Event = Words | Called | Returned | Todos | Moved | Disclosed | Custom | Paused


@dataclass(kw_only=True)
class Reader:
    """Reads the runs of one thread; knows the subagents that were sent out over a pause."""

    graph: Graph
    config: RunnableConfig
    _sent: dict[str, str] = field(default_factory=dict)
    """Id of a `task` call → what we call the subagent it sent out."""
    _places: dict[str, str] = field(default_factory=dict)
    """First part of a namespace → the subagent that works there."""
    _asked_by: dict[str, str] = field(default_factory=dict)
    _shown: set[tuple[type, str]] = field(default_factory=set)
    """Calls and results that were told, by their id."""

    async def run(self, given: Any) -> AsyncIterator[Event]:
        """Run the graph on a message or an answer, until it ends or pauses."""
        pending: dict[str, Interrupt] = {}
        stream = self.graph.astream(
            given, self.config, stream_mode=MODES, subgraphs=True, version="v2"
        )
        async for part in stream:
            for event in self._read(part, pending):
                yield event
        if pending:
            yield self.paused(pending.values())

    def paused(self, interrupts: Iterable[Interrupt]) -> Paused:
        """The pause of these interrupts, with who asks."""
        return Paused(interrupts=tuple(interrupts), asked_by=dict(self._asked_by))

    def _read(self, part: Any, pending: dict[str, Interrupt]) -> Iterable[Event]:
        kind, data = part["type"], part["data"]
        place = part["ns"][0] if part["ns"] else ""
        agent = self._places.get(place, "subagent") if place else MAIN
        if kind == "tasks":
            self._learn(data)
        elif kind == "messages":
            yield from _words(data, agent)
        elif kind == "custom":
            yield Custom(data=data, agent=agent)
        elif kind == "updates":
            for interrupt in data.get("__interrupt__", ()):
                self._asked_by.setdefault(interrupt.id, agent)
                pending[interrupt.id] = interrupt
            yield from self._of_updates(data, agent)

    def _learn(self, task: Mapping[str, Any]) -> None:
        """Note where a subagent works: the task that runs its `task` call is its namespace."""
        if task["name"] != "tools" or not isinstance(task.get("input"), list):
            return
        for call in task["input"]:
            if isinstance(call, Mapping) and call.get("id") in self._sent:
                self._places[f"tools:{task['id']}"] = self._sent[call["id"]]

    def _of_updates(self, data: Mapping[str, Any], agent: str) -> Iterable[Event]:
        for node, update in data.items():
            if not isinstance(update, Mapping):
                continue
            # A layer that starts a run hands on the history with what it put right in it.
            is_history = node.endswith(".before_agent")
            for message in _messages(update):
                for event in self._of_message(message, agent):
                    if not (self._was_shown(event) and is_history):
                        yield event
            if agent == MAIN and update.get("todos") is not None:
                yield Todos(items=tuple(update["todos"]))
            if update.get("disclosures"):
                yield Disclosed(passages=tuple(update["disclosures"]))
            for move in update.get("moves") or ():
                if "fits" not in move:  # chosen, or taken back; not yet done with
                    misfits = tuple(move.get("misfits") or ())
                    yield Moved(move=move["move"], why=move["why"], misfits=misfits)

    def _was_shown(self, event: Event) -> bool:
        if not isinstance(event, Called | Returned):
            return True
        key = (type(event), event.id)
        known = key in self._shown
        self._shown.add(key)
        return known

    def _of_message(self, message: BaseMessage, agent: str) -> Iterable[Event]:
        if isinstance(message, AIMessage):
            if agent != MAIN and message.text:
                yield Words(text=message.text, agent=agent)
            for call in message.tool_calls:
                yield Called(
                    id=call["id"] or "",
                    name=call["name"],
                    args=call["args"],
                    agent=agent,
                    sends=self._send(call) if call["name"] == "task" else None,
                )
        elif isinstance(message, ToolMessage):
            yield Returned(
                id=message.tool_call_id,
                name=message.name or "",
                text=message.text,
                failed=message.status == "error",
                agent=agent,
            )

    def _send(self, call: Any) -> str:
        name = str(call["args"].get("subagent_type", "subagent"))
        before = sum(label.partition(" #")[0] == name for label in self._sent.values())
        label = self._sent.get(call["id"]) or (f"{name} #{before + 1}" if before else name)
        self._sent[call["id"]] = label
        return label


def _words(data: tuple[BaseMessage, Mapping[str, Any]], agent: str) -> Iterable[Words]:
    """The main agent's words; not those of a summary that a layer has written on the side."""
    message, about = data
    is_answer = isinstance(message, AIMessage | AIMessageChunk)
    if agent == MAIN and is_answer and message.text and not about.get("lc_source"):
        yield Words(text=message.text)


def _messages(update: Mapping[str, Any]) -> Iterable[BaseMessage]:
    """New messages of an update; one that replaces the whole history has nothing new to show."""
    messages = update.get("messages")
    if not isinstance(messages, list | tuple):
        return ()
    return tuple(m for m in messages if isinstance(m, BaseMessage))
