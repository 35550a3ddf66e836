"""List the MCP servers that agents use: names, states and tools, nothing of their configuration."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.tools.mcp.connection import ServerStatus
from bathysphere.tools.mcp.hub import McpHub

router = APIRouter(tags=["mcp"], route_class=StrictRoute)
MAX_DESCRIPTION = 200


@router.get("/mcp-servers", response_model=list[dict[str, Any]])
async def mcp_servers(_: CurrentOwner, request: Request) -> Response:
    """The MCP servers of this deployment: whether each can be reached, and its tools."""
    hub: McpHub | None = request.app.state.mcp_servers
    return JSON([_json(status) for status in await hub.statuses()] if hub is not None else [])


def _json(status: ServerStatus) -> dict[str, Any]:
    # Why a server cannot be reached is for the operator: it may name addresses.
    return {
        "name": status.name,
        "transport": status.transport,
        "state": status.state,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description[:MAX_DESCRIPTION],
                "needs_approval": not tool.is_read_only,
            }
            for tool in status.tools
        ],
        "left_out": status.left_out,
    }
