"""Names of tools as a model is offered them, in every form that an agent can have."""

from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool


def tool_name(tool: BaseTool | Callable[..., Any] | dict[str, Any]) -> str:
    """The name by which the model calls a tool."""
    if isinstance(tool, dict):
        return str(tool.get("name") or tool.get("function", {}).get("name") or tool.get("type"))
    return tool.name if isinstance(tool, BaseTool) else str(getattr(tool, "__name__", tool))
