"""The Model Context Protocol over streamable HTTP: assistants as tools."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner, Streaming
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.mcp.endpoint import McpEndpoint

router = APIRouter(tags=["mcp"], route_class=StrictRoute)


@router.post("/mcp/", include_in_schema=False)
@router.post("/mcp", response_class=Response)
async def post(request: Request, owner: CurrentOwner, rules: Streaming) -> Response:
    """Send a message of the Model Context Protocol, such as `tools/list` or `tools/call`."""
    return await _respond(request, owner, rules)


@router.get("/mcp/", include_in_schema=False)
@router.get("/mcp", response_class=Response)
async def get(request: Request, owner: CurrentOwner, rules: Streaming) -> Response:
    """Open the stream of a session's messages that answer no request."""
    return await _respond(request, owner, rules)


@router.delete("/mcp/", include_in_schema=False)
@router.delete("/mcp", response_class=Response)
async def delete(request: Request, owner: CurrentOwner, rules: Streaming) -> Response:
    """End a session."""
    return await _respond(request, owner, rules)


async def _respond(request: Request, owner: CurrentOwner, rules: Streaming) -> Response:
    endpoint: McpEndpoint = request.app.state.mcp
    return await endpoint.respond(request, owner, rules)
