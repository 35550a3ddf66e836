"""Map LangGraph's stream to our events; `cli/talk/events.py` reads the same stream in process.

Reads `astream(version="v2", subgraphs=True)`. Tokens come out as `Token`, for the publisher to
merge; everything else as a `StreamEvent`. What clients must not see is left out here: nested
`values`, full states inside `checkpoints`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, RemoveMessage

from bathysphere.engine.events.lineage import Lineage
from bathysphere.engine.events.log import Channel
from bathysphere.models.held_text import MARK, HeldText
from bathysphere.upstream import INTERRUPT

Namespace = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A piece of a message that is being written."""

    namespace: Namespace
    node: str
    chunk: AIMessageChunk


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamEvent:
    """An event for a channel."""

    channel: Channel
    namespace: Namespace
    data: Any


class StreamMapper:
    """Maps the parts of one run's stream, and records whether the run was interrupted."""

    def __init__(self, *, shows_tasks: bool = False) -> None:
        self.is_interrupted = False
        self._shows_tasks = shows_tasks
        self._asked: set[str] = set()
        self._places: dict[str, Namespace] = {}
        self._lineage = Lineage()
        self._held: dict[Namespace, HeldText] = {}

    def map(self, part: Mapping[str, Any]) -> Iterator[Token | StreamEvent]:
        """Yield the tokens and events of one part of the stream."""
        kind, namespace, data = part["type"], tuple(part["ns"]), part["data"]
        for place, lifecycle in self._lineage.process(kind, namespace, data):
            yield StreamEvent(channel="lifecycle", namespace=place, data=lifecycle)
        if kind == "messages":
            # A RemoveMessage is an instruction to the state, not part of the conversation.
            if not isinstance(data[0], RemoveMessage):
                yield from self._messages(namespace, *data)
        elif kind == "updates":
            yield from self._updates(namespace, data)
        elif kind == "values":
            if not namespace:
                yield StreamEvent(channel="values", namespace=(), data=data)
        elif kind == "checkpoints":
            yield StreamEvent(channel="checkpoints", namespace=namespace, data=_checkpoint(data))
        elif kind in ("custom", "tools") or (kind == "tasks" and self._shows_tasks):
            yield StreamEvent(channel=kind, namespace=namespace, data=data)

    def _messages(
        self, namespace: Namespace, message: Any, metadata: Mapping[str, Any]
    ) -> Iterator[Token | StreamEvent]:
        """A message; text that may be a call is held until the step is done."""
        if not isinstance(message, AIMessageChunk) or not metadata.get(MARK):
            yield _message(namespace, message, metadata)
            return
        held = self._held.setdefault(namespace, HeldText())
        for chunk in held.feed(message, metadata[MARK]):
            yield _message(namespace, chunk, metadata)

    def _settled(
        self, namespace: Namespace, node: str, update: Any
    ) -> Iterator[Token | StreamEvent]:
        """What was held of the messages that a step has finished."""
        held = self._held.get(namespace)
        if held is None:
            return
        for message in _finished(update):
            for part in held.settle(message):
                yield _message(namespace, part, {"langgraph_node": node})

    def _updates(
        self, namespace: Namespace, data: Mapping[str, Any]
    ) -> Iterator[Token | StreamEvent]:
        for node, update in data.items():
            yield from self._settled(namespace, node, update)
            if node == INTERRUPT:
                yield from self._questions(namespace, update)
            else:
                values = {"node": node, "values": update}
                yield StreamEvent(channel="updates", namespace=namespace, data=values)

    def _questions(self, namespace: Namespace, interrupts: Any) -> Iterator[StreamEvent]:
        # A nested interrupt arrives twice: under its namespace, then at the root. It cannot be
        # answered before that, so it is published then; a client may answer at once.
        if namespace:
            for question in interrupts:
                self._places.setdefault(question.id, namespace)
            return
        self.is_interrupted = True
        for question in interrupts:
            if question.id in self._asked:
                continue
            self._asked.add(question.id)
            place = self._places.get(question.id, ())
            data = {
                "event": "requested",
                "interrupt_id": question.id,
                "payload": question.value,
                "response_schema": question.response_schema,
            }
            yield StreamEvent(channel="input", namespace=place, data=data)


def _message(
    namespace: Namespace, message: Any, metadata: Mapping[str, Any]
) -> Token | StreamEvent:
    node = metadata.get("langgraph_node", "")
    if isinstance(message, AIMessageChunk):
        return Token(namespace=namespace, node=node, chunk=message)
    body = message.model_dump() if isinstance(message, BaseMessage) else message
    data = {"event": "message", "node": node, "message": body}
    return StreamEvent(channel="messages", namespace=namespace, data=data)


def _finished(update: Any) -> list[AIMessage]:
    """The answers in the update of a step."""
    messages = update.get("messages") if isinstance(update, Mapping) else None
    return [m for m in messages if isinstance(m, AIMessage)] if isinstance(messages, list) else []


def _checkpoint(data: Mapping[str, Any]) -> dict[str, Any]:
    parent = data.get("parent_config")
    metadata = data.get("metadata") or {}
    return {
        "id": data["config"]["configurable"]["checkpoint_id"],
        "parent_id": parent["configurable"].get("checkpoint_id") if parent else None,
        "step": metadata.get("step"),
        "source": metadata.get("source"),
        "next": list(data.get("next", ())),
    }
