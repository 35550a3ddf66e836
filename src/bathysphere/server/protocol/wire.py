"""Map the engine's log to protocol events, numbered so that clients can deduplicate and resume.

One log entry becomes zero or more wire events, each with a `Position`. LangGraph emits a step's
values before its checkpoint, while clients of the protocol expect the checkpoint first: the two
swap positions here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bathysphere.engine.events.log import Entry, Event
from bathysphere.server.protocol.messages import MessageWriter
from bathysphere.server.protocol.position import Position

_ENDS = {
    "completed": "completed",
    "failed": "failed",
    "interrupted": "interrupted",
    "cancelled": "interrupted",
}
_Part = tuple[tuple[str, ...], str, Any, str | None]
_PREFIX = b'{"channel":"'


@dataclass(frozen=True, slots=True)
class WireEvent:
    """A protocol event."""

    position: Position
    channel: str
    method: str
    namespace: tuple[str, ...]
    at: int
    data: Any
    node: str | None = None
    is_synthetic: bool = False

    @property
    def seq(self) -> int:
        """The event's number, which increases along the stream."""
        return self.position.seq

    @property
    def event_id(self) -> str:
        """The deduplication key: the same in every replay, but new for each snapshot."""
        return f"{self.seq}@{self.at}" if self.is_synthetic else str(self.seq)

    def params(self) -> dict[str, Any]:
        """The event's parameters."""
        params = {"namespace": self.namespace, "timestamp": self.at, "data": self.data}
        return {**params, "node": self.node} if self.node else params

    @property
    def is_end(self) -> bool:
        """Whether this event ends the thread's run."""
        return self.channel == "lifecycle" and not self.namespace and self.data["event"] in _ENDS


def channel_of(entry: Entry) -> str:
    """The entry's channel, without decoding the whole entry."""
    if entry.text.startswith(_PREFIX):
        start = len(_PREFIX)
        return entry.text[start : entry.text.index(b'"', start)].decode()
    return entry.event().channel


def starts_run(entry: Entry) -> bool:
    """Whether the entry is the first of a run."""
    if channel_of(entry) != "lifecycle":
        return False
    event = entry.event()
    return not event.namespace and event.data["event"] == "started"


class WireMapper:
    """Maps one log from any point on. `channels` are those of the subscription."""

    def __init__(self, channels: frozenset[str]) -> None:
        self._channels = channels
        self._messages = MessageWriter()
        self._values: Entry | None = None
        self._last: Entry | None = None

    def map(self, entry: Entry) -> Iterator[WireEvent]:
        """Return the wire events that are final now that this entry is known."""
        held, self._values = self._values, None
        channel = channel_of(entry)
        if held is not None:
            if channel == "checkpoints" and not (event := entry.event()).namespace:
                yield from self._events(event, entry_id=held.id)
                yield from self._events(held.event(), entry_id=entry.id)
                return
            yield from self._events(held.event(), entry_id=held.id)
        if channel == "values":
            self._values = self._last = entry
        elif channel in self._channels or channel == "lifecycle":
            yield from self._events(entry.event(), entry_id=entry.id)

    def reset(self) -> None:
        """Reset after a gap."""
        self._messages = MessageWriter()
        self._values = self._last = None

    def _events(self, event: Event, *, entry_id: int) -> Iterator[WireEvent]:
        is_lifecycle = event.channel == "lifecycle"
        for number, (namespace, channel, data, node) in enumerate(self._wire(event)):
            if channel == "lifecycle":
                position = Position.of_status(entry_id, data["event"])
            elif is_lifecycle and namespace and channel == "values":
                position = Position.end_of(entry_id)
            else:
                position = Position.of_part(entry_id, number)
            yield WireEvent(
                position=position,
                channel=channel,
                method="input.requested" if channel == "input" else channel,
                namespace=namespace,
                at=event.at,
                data=data,
                node=node,
            )

    def _wire(self, event: Event) -> Iterator[_Part]:
        namespace, data = event.namespace, event.data
        if event.channel == "messages":
            for message in self._messages.write(namespace, data):
                yield namespace, "messages", message, data.get("node")
        elif event.channel == "lifecycle":
            if not namespace and data["event"] != "started":
                yield from self._finish_interrupted(continues=data["event"] not in _ENDS)
            for state in _lifecycle(event):
                yield namespace, "lifecycle", state, None
            if (first := _initial_values(event)) is not None:
                yield namespace, "values", first, None
        else:
            yield namespace, event.channel, _CONVERTERS.get(event.channel, _unchanged)(data), None

    def _finish_interrupted(self, *, continues: bool) -> Iterator[_Part]:
        """Finish messages that were in progress when the run ended or its worker was lost.

        The next attempt writes such a message again, under another id. Clients keep a message that
        was in no state; they drop one that was in a state and is missing from the next.
        """
        lost = self._messages.unfinished(())
        for place, node, message in self._messages.close():
            yield place, "messages", message, node
        values = self._last.event().data if lost and continues and self._last is not None else {}
        if isinstance(values, dict) and isinstance(values.get("messages"), list):
            cut = [{"type": "ai", "id": message_id, "content": ""} for message_id in lost]
            yield (), "values", {**values, "messages": [*values["messages"], *cut]}, None
            yield (), "values", values, None


def _lifecycle(event: Event) -> Iterator[dict[str, Any]]:
    data = event.data
    run = {"run_id": event.run_id}
    if graph := data.get("graph"):
        run["graph_name"] = graph
    name = data["event"]
    if name == "handed_on":
        return
    if name in _ENDS:
        error = data.get("error")
        state = {"event": _ENDS[name], **run}
        if name == "failed":
            state["error"] = _error_text(error)
        yield state
        return
    if name == "started":
        cause = {"cause": data["cause"]} if data.get("cause") else {}
        yield {"event": "started", **run, **cause}
    if not event.namespace:
        yield {"event": "running", **run}


def _initial_values(event: Event) -> dict[str, Any] | None:
    """The initial state of a subagent: its task as a message.

    Stock clients use it to find the subagent's namespace.
    """
    call = event.data.get("call") if event.data["event"] == "started" else None
    words = call["args"].get("description") if call and call["name"] == "task" else None
    return {"messages": [{"type": "human", "content": words}]} if isinstance(words, str) else None


def _error_text(error: Any) -> str:
    if isinstance(error, Mapping) and error.get("message"):
        hint = error.get("hint")
        return f"{error['message']} ({hint})" if hint else str(error["message"])
    return "The run failed"


def _custom(data: Any) -> dict[str, Any]:
    if isinstance(data, dict) and data.keys() == {"name", "payload"}:
        return data
    return {"payload": data}


def _input(data: Mapping[str, Any]) -> dict[str, Any]:
    question = {"interrupt_id": data["interrupt_id"], "payload": data["payload"]}
    schema = data.get("response_schema")
    return {**question, "response_schema": schema} if schema is not None else question


def _tools(data: Any) -> Any:
    """Replace a tool's output that is a command, as of a subagent, with its message."""
    output = data.get("output")
    if isinstance(output, dict) and isinstance(output.get("update"), dict):
        for message in output["update"].get("messages") or ():
            if isinstance(message, dict) and message.get("tool_call_id") == data["tool_call_id"]:
                return {**data, "output": message}
    return data


def _values(data: Any) -> Any:
    if isinstance(data, dict) and "__interrupt__" in data:
        return {name: value for name, value in data.items() if name != "__interrupt__"}
    return data


def _unchanged(data: Any) -> Any:
    return data


_CONVERTERS = {"custom": _custom, "input": _input, "tools": _tools, "values": _values}
