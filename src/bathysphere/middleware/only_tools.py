"""Only tools: restricts an agent to named tools, so that it must delegate the rest.

The harness gives every agent file tools. This layer hides all but the named tools from the model
and rejects calls to hidden ones.

Order: anywhere among the agent's own layers. No state.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware.types import (
    AgentMiddleware,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

# ── text for the model ──

NOT_AVAILABLE = "You do not have `{name}`. You have: {names}."

ToolResult = ToolMessage | Command[Any]


class OnlyToolsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Restricts the agent to the named tools."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Offer only the allowed tools."""
        return handler(self._restricted(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Offer only the allowed tools."""
        return await handler(self._restricted(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Reject other tools."""
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Reject other tools."""
        return self._refusal(request) or await handler(request)

    def _restricted(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        allowed = [tool for tool in request.tools if _name(tool) in self.names]
        return request.override(tools=allowed)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        call = request.tool_call
        if call["name"] in self.names:
            return None
        text = NOT_AVAILABLE.format(name=call["name"], names=", ".join(self.names))
        return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def _name(tool: BaseTool | dict[str, Any]) -> str:
    return str(tool.get("name")) if isinstance(tool, dict) else tool.name
