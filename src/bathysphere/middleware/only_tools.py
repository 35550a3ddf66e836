"""Only these tools: an agent that is to delegate cannot do the work itself.

The harness gives every agent file tools. This hides all but the named ones from the model, and
refuses a call of a hidden one, whatever made the model ask for it.

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

# ── words to the model ──

NOT_YOURS = "You do not have `{name}`. You have: {names}."

ToolResult = ToolMessage | Command[Any]


class OnlyToolsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Leaves the agent with the tools that are named."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model what it has."""
        return handler(self._narrowed(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the model what it has."""
        return await handler(self._narrowed(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Refuse what it does not have."""
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Refuse what it does not have."""
        return self._refusal(request) or await handler(request)

    def _narrowed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        kept = [tool for tool in request.tools if _name(tool) in self.names]
        return request.override(tools=kept)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        call = request.tool_call
        if call["name"] in self.names:
            return None
        text = NOT_YOURS.format(name=call["name"], names=", ".join(self.names))
        return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def _name(tool: BaseTool | dict[str, Any]) -> str:
    return str(tool.get("name")) if isinstance(tool, dict) else tool.name
