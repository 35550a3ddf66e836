"""Consent: a call that several layers would ask about is asked about once.

Follows each tool call through the layers within (`flow.consent`): the outermost layer that asks
shows the reasons of all, and the others let run what the person approved.

Order: the innermost of the core, around the agent's own layers, some of which ask. No state.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from bathysphere.flow.consent import Consent, Explanation, tracked
from bathysphere.flow.declarations import ToolFlow

ToolResult = ToolMessage | Command[Any]


class Asks(Protocol):
    """A layer that has reasons to ask, and keeps account of the answers."""

    def explanation(self, request: ToolCallRequest, declared: ToolFlow | None) -> Explanation:
        """Why the layer would ask about a call."""
        ...

    def finished(
        self, request: ToolCallRequest, result: ToolResult, answered: Consent
    ) -> ToolResult:
        """The result of a call, with what the call and the answer mean to this layer."""
        ...


class ConsentMiddleware(AgentMiddleware[Any, Any, Any]):
    """Lets one answer of the person count for every layer that would ask."""

    def __init__(self, flow: Asks | None = None) -> None:
        super().__init__()
        self._flow = flow

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Run the call, and note what it and the answer add."""
        with tracked(str(request.tool_call["id"]), self._explain(request)) as consent:
            result = handler(request)
        return self._noted(request, result, consent)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Run the call, and note what it and the answer add."""
        with tracked(str(request.tool_call["id"]), self._explain(request)) as consent:
            result = await handler(request)
        return self._noted(request, result, consent)

    def _explain(self, request: ToolCallRequest) -> Callable[[ToolFlow | None], Explanation]:
        flow = self._flow
        if flow is None:
            return lambda _: Explanation()
        return lambda declared: flow.explanation(request, declared)

    def _noted(self, request: ToolCallRequest, result: ToolResult, consent: Consent) -> ToolResult:
        return result if self._flow is None else self._flow.finished(request, result, consent)
