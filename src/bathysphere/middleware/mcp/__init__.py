"""Tools of MCP servers for an agent."""

from bathysphere.middleware.mcp.middleware import McpMiddleware

__all__ = ["McpMiddleware"]
