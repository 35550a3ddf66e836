"""The legacy stream of LangGraph's clients: `/runs/stream` with stream modes.

It reads the same log as protocol v2. With subgraphs, event names carry the namespace
(`updates|tools:<id>`); without, only events of the root are sent.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.messages.tool import ToolCallChunk

from bathysphere.engine.events.log import Event
from bathysphere.engine.events.publisher import OMITTED

Part = tuple[str, Any]
_MESSAGE_MODES = frozenset({"messages", "messages-tuple", "events"})


class LegacyStream:
    """Maps the events of one run to the parts of its legacy stream."""

    def __init__(self, modes: frozenset[str], *, subgraphs: bool) -> None:
        self._modes = modes
        self._subgraphs = subgraphs
        self._values: dict[str, Any] = {}
        self._questions: list[dict[str, Any]] = []
        self._written: dict[str, AIMessageChunk] = {}
        self._streamed: dict[str, list[AIMessageChunk]] = {}

    def map(self, event: Event) -> Iterator[Part]:
        """Map one engine event to stream parts."""
        if event.channel == "input":
            yield from self._ask(event)
        elif self._subgraphs or not event.namespace:
            for name, data in self._parts(event):
                yield "|".join((name, *event.namespace)), data

    def _parts(self, event: Event) -> Iterator[Part]:
        channel, data = event.channel, event.data
        if channel == "values":
            yield from self._state(data)
        elif channel == "messages":
            if self._modes & _MESSAGE_MODES:
                yield from self._message(event)
        elif channel == "updates" and "updates" in self._modes:
            yield "updates", {data["node"]: data["values"]}
        elif channel == "lifecycle":
            yield from self._end(data)
        elif channel in self._modes:
            yield channel, data

    def _ask(self, event: Event) -> Iterator[Part]:
        """A question is the whole graph's, also if a subgraph asks it."""
        question = _question(event.data)
        self._questions.append(question)
        if "updates" in self._modes:
            if event.namespace and self._subgraphs:
                yield "|".join(("updates", *event.namespace)), {"__interrupt__": [question]}
            yield "updates", {"__interrupt__": [question]}

    def _state(self, data: Any) -> Iterator[Part]:
        if isinstance(data, dict):
            if OMITTED in data:
                return
            data = self._values = {k: v for k, v in data.items() if k != "__interrupt__"}
        if "values" in self._modes:
            yield "values", data

    def _end(self, data: Mapping[str, Any]) -> Iterator[Part]:
        if data["event"] == "interrupted" and self._questions and "values" in self._modes:
            yield "values", {**self._values, "__interrupt__": self._questions}
        elif data["event"] == "failed":
            error = data.get("error") or {}
            code, message = error.get("code", "run_failed"), error.get("message", "The run failed")
            yield "error", {"error": code, "message": message}

    def _message(self, event: Event) -> Iterator[Part]:
        metadata = {
            "langgraph_node": event.data.get("node"),
            "langgraph_checkpoint_ns": "|".join(event.namespace),
            "run_id": event.run_id,
        }
        if event.data["event"] == "message":
            message = event.data["message"]
            yield from self._whole(message, metadata)
            return
        chunk = _chunk(event.data)
        # First, as in the reference: AG-UI's LangGraph agent skips the tuples once it has seen one.
        if "events" in self._modes:
            yield from self._model_events(chunk, metadata)
        if "messages-tuple" in self._modes:
            yield "messages", [chunk.model_dump(), metadata]
        if "messages" in self._modes:
            yield from self._partial(chunk, metadata)

    def _whole(self, message: Mapping[str, Any], metadata: dict[str, Any]) -> Iterator[Part]:
        if "messages-tuple" in self._modes:
            yield "messages", [message, metadata]
        if "messages" in self._modes:
            yield "messages/metadata", {message.get("id"): {"metadata": metadata}}
            yield "messages/complete", [message]

    def _model_events(self, chunk: AIMessageChunk, metadata: dict[str, Any]) -> Iterator[Part]:
        for part in as_streamed(chunk):
            data = {"chunk": part.model_dump()}
            yield "events", _model_event("on_chat_model_stream", chunk, data, metadata)
        known = self._streamed.setdefault(chunk.id or "", [])
        known.append(chunk)
        if chunk.chunk_position == "last":
            whole = add_ai_message_chunks(*self._streamed.pop(chunk.id or ""))
            data = {"output": {**whole.model_dump(), "type": "ai"}}
            yield "events", _model_event("on_chat_model_end", chunk, data, metadata)

    def _partial(self, chunk: AIMessageChunk, metadata: dict[str, Any]) -> Iterator[Part]:
        known = self._written.get(chunk.id or "")
        if known is None:
            yield "messages/metadata", {chunk.id: {"metadata": metadata}}
        whole = known + chunk if known is not None else chunk
        self._written[chunk.id or ""] = whole
        is_last = chunk.chunk_position == "last"
        body = {**whole.model_dump(), "type": "ai"}
        yield ("messages/complete" if is_last else "messages/partial"), [body]


def _chunk(data: Mapping[str, Any]) -> AIMessageChunk:
    if data["event"] == "delta":
        return AIMessageChunk(content=data["text"], id=data["id"])
    return AIMessageChunk.model_validate(data["chunk"])


def as_streamed(chunk: AIMessageChunk) -> Iterator[AIMessageChunk]:
    """Split a chunk that was merged for the log into what a model streams.

    Clients of `events` expect one thing per chunk: text, the name of a tool call, its arguments,
    or how the message ended. They drop whatever else comes with it.
    """
    if chunk.content:
        yield AIMessageChunk(
            content=chunk.content, id=chunk.id, additional_kwargs=chunk.additional_kwargs
        )
    for call in chunk.tool_call_chunks:
        if call["name"]:
            yield AIMessageChunk(content="", id=chunk.id, tool_call_chunks=[{**call, "args": ""}])
        if call["args"] or not call["name"]:
            rest: ToolCallChunk = {**call, "name": None, "id": None}
            yield AIMessageChunk(content="", id=chunk.id, tool_call_chunks=[rest])
    if chunk.response_metadata or chunk.usage_metadata or chunk.chunk_position:
        yield AIMessageChunk(
            content="",
            id=chunk.id,
            response_metadata=chunk.response_metadata,
            usage_metadata=chunk.usage_metadata,
            chunk_position=chunk.chunk_position,
        )


def _model_event(
    name: str, chunk: AIMessageChunk, data: dict[str, Any], metadata: dict[str, Any]
) -> dict[str, Any]:
    return {
        "event": name,
        "run_id": chunk.id,
        "name": metadata["langgraph_node"],
        "tags": [],
        "metadata": metadata,
        "data": data,
        "parent_ids": [],
    }


def _question(data: Mapping[str, Any]) -> dict[str, Any]:
    question = {"id": data["interrupt_id"], "value": data["payload"]}
    schema = data.get("response_schema")
    return {**question, "response_schema": schema} if schema is not None else question
