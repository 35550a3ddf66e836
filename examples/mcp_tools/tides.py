"""An MCP server with two tools: one reads, one changes something and therefore needs approval."""

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("tides")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def high_water(port: str) -> str:
    """Return the time of the next high water at a port."""
    return f"{port}: 14:20"


@server.tool()
def book_berth(port: str, hour: int) -> str:
    """Book a berth at a port."""
    return f"Booked: {port}, {hour}:00"


if __name__ == "__main__":
    server.run()
