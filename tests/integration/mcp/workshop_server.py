"""A real MCP server: tools that read, change, hang, report progress and die. `stdio`, or a port."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

READS = ToolAnnotations(readOnlyHint=True)
server = FastMCP("workshop", port=int(sys.argv[1]) if sys.argv[1:] else 8000)


@server.tool(annotations=READS)
def measure(place: str) -> str:
    """How deep it is."""
    return f"{place}: 10935 m"


@server.tool()
def dig(place: str) -> str:
    """Make it deeper."""
    record("dig", place)
    return f"dug at {place}"


@server.tool(annotations=ToolAnnotations(readOnlyHint=False, destructiveHint=False))
def fill(place: str) -> str:
    """Make it less deep."""
    record("fill", place)
    return f"filled {place}"


@server.tool(annotations=READS)
async def wait() -> str:
    """Never answers."""
    record("wait", "began")
    await asyncio.sleep(600)
    return "never"


@server.tool(annotations=READS)
async def slow(context: Context, steps: int) -> str:
    """Takes its time, and says so."""
    for step in range(steps):
        await context.report_progress(step, steps)
        await asyncio.sleep(0.5)
    return "slow but done"


@server.tool(annotations=READS)
def die() -> str:
    """Ends the server in mid-call."""
    os._exit(3)


@server.tool(annotations=READS)
def freeze() -> str:
    """Stops the whole server, so that it does not even answer a ping."""
    import time

    time.sleep(600)
    return "never"


@server.tool(annotations=READS)
def fail() -> str:
    """Reports an error."""
    raise ValueError("the drill is broken")


@server.tool(annotations=READS)
def secrets() -> str:
    """What of the environment reached this process."""
    return ",".join(sorted(name for name in os.environ if "SECRET" in name)) or "none"


def record(what: str, where: str) -> None:
    log = os.environ.get("WORKSHOP_LOG")
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{what} {where}\n")


if __name__ == "__main__":
    server.run("streamable-http" if sys.argv[1:] else "stdio")
