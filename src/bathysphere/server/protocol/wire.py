"""From the engine's log to protocol events: numbered, so that a reader can dedupe and resume.

One entry of the log becomes none, one or several wire events. Their `seq` is the entry's id times
`WIDTH` plus a count, so it is the same whoever reads the log, however often. LangGraph tells of a
step's values before its checkpoint, the protocol's readers expect the checkpoint first: the two are
exchanged here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bathysphere.engine.events import Entry, Event
from bathysphere.server.protocol.messages import MessageWriter

WIDTH = 1024
_ENDS = {
    "completed": "completed",
    "failed": "failed",
    "interrupted": "interrupted",
    "cancelled": "interrupted",
}
_FIXED = dict.fromkeys(_ENDS.values(), WIDTH - 3) | {
    "started": WIDTH - 2,
    "running": WIDTH - 1,
}
_Part = tuple[tuple[str, ...], str, Any, str | None]
_PREFIX = b'{"channel":"'


@dataclass(frozen=True, slots=True)
class WireEvent:
    """An event as the protocol has it."""

    seq: int
    channel: str
    method: str
    namespace: tuple[str, ...]
    at: int
    data: Any
    node: str | None = None
    is_made_up: bool = False

    @property
    def event_id(self) -> str:
        """What clients dedupe by: the same in every replay, but each snapshot is news."""
        return f"{self.seq}@{self.at}" if self.is_made_up else str(self.seq)

    def params(self) -> dict[str, Any]:
        """The event's parameters."""
        params = {"namespace": self.namespace, "timestamp": self.at, "data": self.data}
        return {**params, "node": self.node} if self.node else params

    @property
    def is_end(self) -> bool:
        """Whether the thread's run ended with it."""
        return self.channel == "lifecycle" and not self.namespace and self.data["event"] in _ENDS


def channel_of(entry: Entry) -> str:
    """The entry's channel, without decoding all of it."""
    if entry.body.startswith(_PREFIX):
        start = len(_PREFIX)
        return entry.body[start : entry.body.index(b'"', start)].decode()
    return entry.event().channel


def first_seq(entry_id: int) -> int:
    """The lowest `seq` an entry's events can have."""
    return entry_id * WIDTH


class WireMapper:
    """Maps one log, from any point on. `wants` names the channels somebody asked for."""

    def __init__(self, wants: frozenset[str]) -> None:
        self._wants = wants
        self._messages = MessageWriter()
        self._values: Entry | None = None
        self._last: Entry | None = None

    def map(self, entry: Entry) -> Iterator[WireEvent]:
        """The wire events that are certain now that this entry is known."""
        held, self._values = self._values, None
        channel = channel_of(entry)
        if held is not None:
            if channel == "checkpoints" and not (event := entry.event()).namespace:
                yield from self._event(Entry(held.id, b""), event)
                yield from self._event(Entry(entry.id, b""), held.event())
                return
            yield from self._event(held, held.event())
        if channel == "values":
            self._values = self._last = entry
        elif channel in self._wants or channel == "lifecycle":
            yield from self._event(entry, entry.event())

    def forget(self) -> None:
        """Start anew after a gap."""
        self._messages = MessageWriter()
        self._values = self._last = None

    def _event(self, entry: Entry, event: Event) -> Iterator[WireEvent]:
        seq, is_lifecycle = first_seq(entry.id), event.channel == "lifecycle"
        for number, (namespace, channel, data, node) in enumerate(self._wire(event)):
            # A run's end also ends its messages, for those who asked for messages; the number of
            # what everybody gets must not depend on that.
            fixed = number
            if channel == "lifecycle":
                fixed = _FIXED[data["event"]]
            elif is_lifecycle and namespace and channel == "values":
                fixed = WIDTH - 1
            yield WireEvent(
                seq=seq + min(fixed, WIDTH - 1),
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
                yield from self._cut_off(goes_on=data["event"] not in _ENDS)
            for state in _lifecycle(event):
                yield namespace, "lifecycle", state, None
            if (first := _first_words(event)) is not None:
                yield namespace, "values", first, None
        else:
            yield namespace, event.channel, _PLAIN.get(event.channel, _same)(data), None

    def _cut_off(self, *, goes_on: bool) -> Iterator[_Part]:
        """End what was being written when the run ended, or its worker was lost.

        The next attempt writes such a message anew, under another id. Readers keep a message that
        no state has ever had; one that a state had and the next has not, they drop.
        """
        lost = self._messages.unfinished(())
        for place, node, message in self._messages.close():
            yield place, "messages", message, node
        values = self._last.event().data if lost and goes_on and self._last is not None else {}
        if isinstance(values, dict) and isinstance(values.get("messages"), list):
            cut = [{"type": "ai", "id": message_id, "content": ""} for message_id in lost]
            yield (), "values", {**values, "messages": [*values["messages"], *cut]}, None
            yield (), "values", values, None


def _lifecycle(event: Event) -> Iterator[dict[str, Any]]:
    data = event.data
    about = {"run_id": event.run_id}
    if graph := data.get("graph"):
        about["graph_name"] = graph
    name = data["event"]
    if name == "handed_on":
        return
    if name in _ENDS:
        error = data.get("error")
        state = {"event": _ENDS[name], **about}
        if name == "failed":
            state["error"] = _sentence(error)
        yield state
        return
    if name == "started":
        cause = {"cause": data["cause"]} if data.get("cause") else {}
        yield {"event": "started", **about, **cause}
    if not event.namespace:
        yield {"event": "running", **about}


def _first_words(event: Event) -> dict[str, Any] | None:
    """A subagent's state when it starts: what it was asked.

    Stock clients find a subagent's namespace by it.
    """
    call = event.data.get("call") if event.data["event"] == "started" else None
    words = call["args"].get("description") if call and call["name"] == "task" else None
    return {"messages": [{"type": "human", "content": words}]} if isinstance(words, str) else None


def _sentence(error: Any) -> str:
    if isinstance(error, Mapping) and error.get("message"):
        hint = error.get("hint")
        return f"{error['message']} ({hint})" if hint else str(error["message"])
    return "the run failed"


def _custom(data: Any) -> dict[str, Any]:
    if isinstance(data, dict) and data.keys() == {"name", "payload"}:
        return data
    return {"payload": data}


def _input(data: Mapping[str, Any]) -> dict[str, Any]:
    question = {"interrupt_id": data["interrupt_id"], "payload": data["payload"]}
    schema = data.get("response_schema")
    return {**question, "response_schema": schema} if schema is not None else question


def _tools(data: Any) -> Any:
    """A tool that answers with a command (a subagent does) shows the message it answers with."""
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


def _same(data: Any) -> Any:
    return data


_PLAIN = {"custom": _custom, "input": _input, "tools": _tools, "values": _values}
