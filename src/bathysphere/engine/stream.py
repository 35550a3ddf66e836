"""From LangGraph's stream to our events: the one place that knows the shape of the former.

Reads `astream(version="v2", subgraphs=True)`. Tokens come out as `Token`, for the publisher to
gather; everything else as an `Event` body. What a client is not meant to see is left out here:
nested `values`, full states inside `checkpoints`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage, RemoveMessage

from bathysphere.engine.events import Channel
from bathysphere.engine.lineage import Lineage

INTERRUPT = "__interrupt__"
Namespace = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A piece of a message that is being written."""

    namespace: Namespace
    node: str
    chunk: AIMessageChunk


@dataclass(frozen=True, kw_only=True, slots=True)
class Happening:
    """Something for a channel."""

    channel: Channel
    namespace: Namespace
    data: Any


class StreamMapper:
    """Maps the parts of one run's stream, and notes whether the run stopped to ask."""

    def __init__(self, *, shows_tasks: bool = False) -> None:
        self.is_interrupted = False
        self._shows_tasks = shows_tasks
        self._asked: set[str] = set()
        self._places: dict[str, Namespace] = {}
        self._lineage = Lineage()

    def map(self, part: Mapping[str, Any]) -> Iterator[Token | Happening]:
        """What one part of the stream says."""
        kind, namespace, data = part["type"], tuple(part["ns"]), part["data"]
        for place, told in self._lineage.see(kind, namespace, data):
            yield Happening(channel="lifecycle", namespace=place, data=told)
        if kind == "messages":
            # One that removes others is an instruction to the state, not something that was said.
            if not isinstance(data[0], RemoveMessage):
                yield _message(namespace, *data)
        elif kind == "updates":
            yield from self._updates(namespace, data)
        elif kind == "values":
            if not namespace:
                yield Happening(channel="values", namespace=(), data=data)
        elif kind == "checkpoints":
            yield Happening(channel="checkpoints", namespace=namespace, data=_checkpoint(data))
        elif kind in ("custom", "tools") or (kind == "tasks" and self._shows_tasks):
            yield Happening(channel=kind, namespace=namespace, data=data)

    def _updates(self, namespace: Namespace, data: Mapping[str, Any]) -> Iterator[Happening]:
        for node, update in data.items():
            if node == INTERRUPT:
                yield from self._questions(namespace, update)
            else:
                values = {"node": node, "values": update}
                yield Happening(channel="updates", namespace=namespace, data=values)

    def _questions(self, namespace: Namespace, interrupts: Any) -> Iterator[Happening]:
        # A nested interrupt comes twice: under its namespace, then at the root. Only then can it be
        # answered, so only then is it told; a client may be quick.
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
            yield Happening(channel="input", namespace=place, data=data)


def _message(namespace: Namespace, message: Any, about: Mapping[str, Any]) -> Token | Happening:
    node = about.get("langgraph_node", "")
    if isinstance(message, AIMessageChunk):
        return Token(namespace=namespace, node=node, chunk=message)
    body = message.model_dump() if isinstance(message, BaseMessage) else message
    data = {"event": "message", "node": node, "message": body}
    return Happening(channel="messages", namespace=namespace, data=data)


def _checkpoint(data: Mapping[str, Any]) -> dict[str, Any]:
    parent = data.get("parent_config")
    about = data.get("metadata") or {}
    return {
        "id": data["config"]["configurable"]["checkpoint_id"],
        "parent_id": parent["configurable"].get("checkpoint_id") if parent else None,
        "step": about.get("step"),
        "source": about.get("source"),
        "next": list(data.get("next", ())),
    }
