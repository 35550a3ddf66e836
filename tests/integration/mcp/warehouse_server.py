"""A real MCP server with 200 tools, one of which returns 5 MB."""

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

READS = ToolAnnotations(readOnlyHint=True)
server = FastMCP("warehouse")


@server.tool(annotations=READS, structured_output=False)
def inventory() -> str:
    """The whole inventory of the warehouse, in one piece."""
    return "shelf é\n" * (5_000_000 // 9)


def shelf(number: int):
    def look() -> str:
        return f"shelf {number} holds {number} boxes"

    return look


for number in range(199):
    server.add_tool(
        shelf(number),
        name=f"shelf_{number}",
        description=f"What is on the shelf of aisle a{number}. " + "A long shelf. " * 200,
        annotations=READS,
    )

if __name__ == "__main__":
    server.run("stdio")
