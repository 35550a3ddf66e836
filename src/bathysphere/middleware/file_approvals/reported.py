"""Reported decisions: what the person decided about file changes, for clients to show.

The result of a change says it in its `additional_kwargs`. The messages of a subagent are not kept
with the conversation, so its decisions go to the result of the call that started it.

Order: `ReportedDecisionsMiddleware` is among the layers of an agent whose subagents change files.
State: `file_decisions`, from a subagent to the agent that started it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NotRequired

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ToolCallRequest
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Command

from bathysphere.core.writers import ByEngine
from bathysphere.models.answers import DECISIONS

ToolResult = ToolMessage | Command[Any]

_CHANNEL = "file_decisions"


class FileDecisionsState(AgentState[Any]):
    """The decisions of one run of a subagent."""

    file_decisions: NotRequired[ByEngine[list[dict[str, Any]]]]


class ReportedDecisionsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Puts a subagent's decisions about files on the result of the call that started it."""

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Move the decisions from the state to the result."""
        return _moved(handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Move the decisions from the state to the result."""
        return _moved(await handler(request))


def with_decision(
    result: ToolMessage,
    decision: Literal["approve", "edit", "reject"],
    path: str,
    **lines: int | None,
) -> ToolMessage:
    """The result of a change, with the person's decision about it."""
    if decision != "reject" and result.status == "error":
        return result  # it was approved and could not be made: the error tells
    call = {"tool_call_id": result.tool_call_id, "name": result.name}
    return _with_decisions(result, [{"type": decision, **call, "path": path, **lines}])


def decisions_in(messages: Sequence[AnyMessage]) -> dict[str, Any] | None:
    """The decisions in a subagent's messages, as an update of its state."""
    found = [
        decision
        for message in messages
        if isinstance(message, ToolMessage)
        for decision in message.additional_kwargs.get(DECISIONS, [])
    ]
    return {_CHANNEL: found} if found else None


def _moved(result: ToolResult) -> ToolResult:
    if not isinstance(result, Command) or not isinstance(result.update, dict):
        return result
    update = dict(result.update)
    decisions = update.pop(_CHANNEL, None)
    if decisions is None:
        return result
    update["messages"] = [
        _with_decisions(message, decisions) if isinstance(message, ToolMessage) else message
        for message in update.get("messages", [])
    ]
    return replace(result, update=update)


def _with_decisions(result: ToolMessage, decisions: list[dict[str, Any]]) -> ToolMessage:
    extra = {**result.additional_kwargs, DECISIONS: decisions}
    return result.model_copy(update={"additional_kwargs": extra})
