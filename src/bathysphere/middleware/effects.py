"""Effects: a tool with side effects runs once, even if its step is repeated.

A run that lost its worker continues from its last checkpoint, so an interrupted tool runs again. A
tool marked with `has_effect` is logged before and after it acts (`core.effects`, `effects` in the
run's context); when repeated, the recorded result is returned. If a call was started and its
outcome is unknown, the person is asked.

Order: innermost, right around the tool. No graph state. Without a log in the context, or without
async, tools run unchanged.
"""

import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeVar

from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.runtime import get_runtime
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ConfigDict, Field

from bathysphere.core.effects import Done, EffectKey, EffectLog, Unknown
from bathysphere.core.errors import UpstreamError
from bathysphere.core.run_context import context_of

ToolResult = ToolMessage | Command[Any]
Handler = Callable[[ToolCallRequest], Awaitable[ToolResult]]
ToolT = TypeVar("ToolT", bound=BaseTool)

# ── text for the person and the model ──

DID_IT_HAPPEN = (
    "The run was interrupted during `{name}` with {args}. Did it happen? "
    "It will be retried only if you say that it did not."
)
HAPPENED = "The person confirms that it happened{words}."
FAILED_BEFORE = "it failed on the first attempt: {why}"

OPTIONS = [
    {"id": "happened", "label": "It happened"},
    {"id": "not_happened", "label": "It did not happen: try it"},
]


class Outcome(BaseModel):
    """The person's answer about an effect whose outcome is unknown."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    selected: list[Literal["happened", "not_happened"]] = Field(min_length=1, max_length=1)
    freeform: str | None = Field(default=None, max_length=20_000)


# ── middleware ──


def has_effect(tool: ToolT) -> ToolT:
    """Mark a tool as having side effects, so that it runs once."""
    return tool.model_copy(update={"metadata": {**(tool.metadata or {}), "effect": True}})


class EffectsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Runs a tool with side effects once and returns its recorded result on repetition."""

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Run the tool unchanged: durable runs are async."""
        return handler(request)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolResult:
        """Run the tool unless its result is recorded."""
        log = _log_of(request)
        if log is None:
            return await handler(request)
        key = _key(request)
        known = await log.begin(key)
        if isinstance(known, Unknown):
            outcome = _ask(request)
            if outcome.selected == ["happened"]:
                return await _confirmed(log, key, request, outcome)
            await log.forget(key)
            known = await log.begin(key)
        if isinstance(known, Done):
            return _read(known.result)
        return await _act(log, key, request, handler)


async def _act(
    log: EffectLog, key: EffectKey, request: ToolCallRequest, handler: Handler
) -> ToolResult:
    try:
        result = await handler(request)
    except GraphBubbleUp:
        await log.forget(key)  # it only asked; tools ask before they act
        raise
    except Exception as error:
        if is_invalid_resume(error):
            await log.forget(key)  # the person is asked again; the tool has not acted
            raise
        if getattr(error, "ends_run", False):
            raise  # the outcome is unknown and cannot be recorded now
        await log.finish(key, {"error": f"{type(error).__name__}: {error}"})
        raise
    await log.finish(key, _serialized(result))
    return result


async def _confirmed(
    log: EffectLog, key: EffectKey, request: ToolCallRequest, outcome: Outcome
) -> ToolResult:
    words = f" and says: {outcome.freeform}" if outcome.freeform else ""
    call = request.tool_call
    text = HAPPENED.format(words=words)
    result = ToolMessage(text, tool_call_id=call["id"], name=call["name"])
    await log.finish(key, _serialized(result))
    return result


def _ask(request: ToolCallRequest) -> Outcome:
    call = request.tool_call
    value = {
        "type": "clarification_request",
        "tool": call["name"],
        "tool_call_id": call["id"],
        "question": DID_IT_HAPPEN.format(name=call["name"], args=call["args"]),
        "options": OPTIONS,
        "allow_multiple": False,
        "allow_freeform": True,
    }
    return interrupt(value, response_schema=Outcome)


def _log_of(request: ToolCallRequest) -> EffectLog | None:
    if request.tool is None or not (request.tool.metadata or {}).get("effect"):
        return None
    return context_of(request.runtime).effects


def _key(request: ToolCallRequest) -> EffectKey:
    info = get_runtime().execution_info
    if info is None:
        raise UpstreamError("A tool with side effects was called outside a graph")
    call = str(request.tool_call["id"])
    return EffectKey(namespace=info.checkpoint_ns, task=info.task_id, call=call)


def _serialized(result: ToolResult) -> dict[str, str]:
    kind, data = JsonPlusSerializer(allowed_msgpack_modules=None).dumps_typed(result)
    return {"kind": kind, "data": base64.b64encode(data).decode()}


def _read(result: Mapping[str, str]) -> ToolResult:
    if "error" in result:
        raise UpstreamError(FAILED_BEFORE.format(why=result["error"]))
    data = base64.b64decode(result["data"])
    read: ToolResult = JsonPlusSerializer(allowed_msgpack_modules=None).loads_typed(
        (result["kind"], data)
    )
    return read
