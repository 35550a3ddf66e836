"""Errors of MCP servers."""

from bathysphere.core.errors import ConfigError, UpstreamError


class BadMcpConfig(ConfigError):
    """An `mcp.json` is not valid; the message names the file, the server and the key."""

    code = "bad_mcp_config"


class McpUnavailable(UpstreamError):
    """An MCP server cannot be reached, or ended during a call."""

    code = "mcp_unavailable"


class McpToolFailed(UpstreamError):
    """A tool of an MCP server reported an error."""

    code = "mcp_tool_failed"
