"""Convert message chunks to protocol events: start, content blocks, deltas and finish.

The engine's log has increments of a message. The protocol requires a strict order: the message
starts, each of its blocks starts, grows and finishes before the next, and the message finishes.
This module tracks the message and the block in progress.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

Wire = dict[str, Any]
_ROLES = {"human": "human", "system": "system", "tool": "tool"}
_APPENDS = {"text": "text", "reasoning": "reasoning"}


@dataclass(slots=True)
class _Block:
    """The block in progress."""

    key: tuple[str, Any]
    index: int
    content: Wire


@dataclass(slots=True)
class _Message:
    """A message in progress."""

    id: str
    node: str | None = None
    count: int = 0
    block: _Block | None = None
    usage: Wire | None = None
    metadata: Wire = field(default_factory=dict)


class MessageWriter:
    """Tracks the messages in progress of one log, by namespace."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ...], dict[str, _Message]] = {}

    def write(self, namespace: tuple[str, ...], data: Mapping[str, Any]) -> Iterator[Wire]:
        """Convert one engine event to protocol events."""
        if data["event"] == "delta":
            message_id = data["id"] or ""
            yield from self._ensure_started(namespace, message_id, data.get("node"))
            message = self._open[namespace][message_id]
            yield from _grow(message, ("text", None), {"type": "text", "text": data["text"]})
        elif data["event"] == "chunk":
            yield from self._chunk(namespace, data["chunk"], data.get("node"))
        else:
            yield from self._complete_message(namespace, data["message"])

    def unfinished(self, namespace: tuple[str, ...]) -> list[str]:
        """The ids of messages in progress in a namespace."""
        return list(self._open.get(namespace, {}))

    def close(self) -> Iterator[tuple[tuple[str, ...], str | None, Wire]]:
        """Finish all messages in progress; yield namespace, node and event."""
        for place in list(self._open):
            for message in self._open.pop(place).values():
                for event in _finish(message):
                    yield place, message.node, event

    def _ensure_started(
        self, namespace: tuple[str, ...], message_id: str, node: str | None
    ) -> Iterator[Wire]:
        messages = self._open.setdefault(namespace, {})
        if message_id not in messages:
            messages[message_id] = _Message(message_id, node)
            yield _start(message_id, "ai")

    def _chunk(
        self, namespace: tuple[str, ...], dumped: Mapping[str, Any], node: str | None
    ) -> Iterator[Wire]:
        # Of the last chunk, LangChain would leave out the end of a call that began in another one.
        is_last = dumped.get("chunk_position") == "last"
        chunk = AIMessageChunk.model_validate({**dumped, "chunk_position": None})
        message_id = chunk.id or ""
        yield from self._ensure_started(namespace, message_id, node)
        message = self._open[namespace][message_id]
        if chunk.usage_metadata:
            message.usage = dict(chunk.usage_metadata)
        message.metadata.update(chunk.response_metadata)
        for block in chunk.content_blocks:
            content: Wire = dict(block)
            place = content.pop("index", None)
            yield from _grow(message, (content["type"], place), content)
        if is_last:
            yield from _finish(self._open[namespace].pop(message_id))

    def _complete_message(
        self, namespace: tuple[str, ...], dumped: Mapping[str, Any]
    ) -> Iterator[Wire]:
        message_id = dumped.get("id") or ""
        role = _ROLES.get(dumped.get("type", ""), "ai")
        if message_id in self._open.get(namespace, {}):
            yield from _finish(self._open[namespace].pop(message_id))
            return
        extra = {"tool_call_id": dumped["tool_call_id"]} if role == "tool" else {}
        yield {**_start(message_id, role), **extra}
        for index, block in enumerate(_blocks(dumped, role)):
            yield _event(message_id, "content-block-start", index=index, content=block)
            yield _event(message_id, "content-block-finish", index=index, content=block)
        usage = dumped.get("usage_metadata")
        yield _event(message_id, "message-finish", **({"usage": usage} if usage else {}))


def _blocks(dumped: Mapping[str, Any], role: str) -> list[Wire]:
    if role == "ai" and dumped.get("type") == "ai":
        return [dict(block) for block in AIMessage.model_validate(dumped).content_blocks]
    content = dumped.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    parts = content if isinstance(content, list) else []
    return [{"type": "text", "text": p} if isinstance(p, str) else dict(p) for p in parts]


def _grow(message: _Message, key: tuple[str, Any], content: Wire) -> Iterator[Wire]:
    block = message.block
    if block is None or block.key != key:
        yield from _finish_block(message)
        block = message.block = _Block(key, message.count, _empty(content))
        message.count += 1
        yield _event(
            message.id, "content-block-start", index=block.index, content=dict(block.content)
        )
    delta = _delta(block, content)
    if delta is not None:
        yield _event(message.id, "content-block-delta", index=block.index, delta=delta)


def _empty(content: Wire) -> Wire:
    kind = content["type"]
    if kind in _APPENDS:
        return {"type": kind, _APPENDS[kind]: ""}
    if kind == "tool_call_chunk":
        return {**content, "args": ""}
    return dict(content)


def _delta(block: _Block, content: Wire) -> Wire | None:
    """Append to the block in progress and return the delta."""
    kind = content["type"]
    if kind in _APPENDS:
        name = _APPENDS[kind]
        added = content.get(name) or ""
        block.content[name] += added
        extras = {k: v for k, v in content.items() if k not in ("type", name) and v is not None}
        block.content.update(extras)
        return {"type": f"{kind}-delta", name: added} if added else None
    if kind == "tool_call_chunk":
        # Clients replace fields, so all arguments received so far are sent.
        block.content["args"] += content.get("args") or ""
        for name in ("id", "name"):
            block.content[name] = content.get(name) or block.content.get(name)
        fields = {"type": kind, "args": block.content["args"]}
        return {"type": "block-delta", "fields": fields} if content.get("args") else None
    block.content.update(content)
    return None


def _finish_block(message: _Message) -> Iterator[Wire]:
    if (block := message.block) is not None:
        message.block = None
        content = _finalized(block.content)
        yield _event(message.id, "content-block-finish", index=block.index, content=content)


def _finalized(content: Wire) -> Wire:
    if content["type"] != "tool_call_chunk":
        return content
    call = {"id": content.get("id"), "name": content.get("name")}
    try:
        args = json.loads(content["args"] or "{}")
    except ValueError:
        args = None
    if isinstance(args, dict):
        return {"type": "tool_call", **call, "args": args}
    error = "The arguments are not a JSON object"
    return {"type": "invalid_tool_call", **call, "args": content["args"], "error": error}


def _finish(message: _Message) -> Iterator[Wire]:
    yield from _finish_block(message)
    extras: Wire = {}
    if message.usage:
        extras["usage"] = message.usage
    if message.metadata:
        extras["metadata"] = message.metadata
        if reason := message.metadata.get("finish_reason"):
            extras["reason"] = reason
    yield _event(message.id, "message-finish", **extras)


def _start(message_id: str, role: str) -> Wire:
    return _event(message_id, "message-start", role=role, id=message_id)


def _event(message_id: str, event: str, **data: Any) -> Wire:
    # Clients distinguish concurrent messages of one node by these: the JavaScript client by
    # `run_id`, the Python client by `message_id`.
    return {"event": event, "run_id": message_id, "message_id": message_id, **data}
