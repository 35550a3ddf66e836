"""Approvals: each tool call that needs approval waits for the person, independently of others.

LangChain's human-in-the-loop in `per_call` mode: each gated call is an interrupt of type
`tool_approval` with its `tool_call_id`; parallel calls that need no approval run immediately; an
invalid answer is rejected and can be corrected. Answers: approve, edit, reject with a reason,
respond.

In `batched` mode LangChain's own layer is used: all gated calls of a model's turn are one interrupt
(`action_requests`), answered by a list of `decisions`, and no call of the turn runs before. Front
ends written for LangChain's default expect that.

A call that an outer layer asked about, such as File approvals, is not asked about again.

Order: outside Failures and Limits. No state.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from bathysphere.flow import consent

ToolResult = ToolMessage | Command[Any]

Approval = bool | InterruptOnConfig
"""`True` allows every kind of answer; a config restricts them and when to ask."""

ApprovalMode = Literal["per_call", "batched"]
"""Whether each call is asked about on its own, or all calls of a turn together."""


class ApprovalsMiddleware(HumanInTheLoopMiddleware):
    """Asks the person before running the tools named in a spec."""

    # Batched mode's hook. Left in place it would be a graph step, and a checkpoint, per model call.
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model

    def __init__(self, approvals: Mapping[str, Approval]) -> None:
        super().__init__(dict(approvals), interrupt_mode="per_call")

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Ask, unless an outer layer did."""
        if consent.take(request.tool_call):
            return handler(request)
        return super().wrap_tool_call(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Ask, unless an outer layer did."""
        if consent.take(request.tool_call):
            return await handler(request)
        return await super().awrap_tool_call(request, handler)

    @property
    def name(self) -> str:
        """The name of the LangChain layer that this one replaces."""
        return HumanInTheLoopMiddleware.__name__
