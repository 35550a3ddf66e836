"""Open a session with a server, over stdio or streamable HTTP, with the official SDK.

The SDK takes half a second to import, so it is imported at the first connection.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from typing import IO, TYPE_CHECKING, Any

from bathysphere.tools.mcp.config import Server

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import Tool

NAME = "bathysphere"


@asynccontextmanager
async def open_session(
    server: Server, *, log: IO[str], on_change: Callable[[], None], on_end: Callable[[], None]
) -> AsyncIterator["ClientSession"]:
    """Connect and initialize.

    Args:
        server: The server.
        log: Where the standard error of a started program goes.
        on_change: Called when the server says that its tools changed.
        on_end: Called when the server closes the connection.
    """
    from mcp import ClientSession
    from mcp.types import Implementation, ServerNotification, ToolListChangedNotification

    async def on_message(message: Any) -> None:
        is_notice = isinstance(message, ServerNotification)
        if is_notice and isinstance(message.root, ToolListChangedNotification):
            on_change()

    async with (
        _streams(server, log) as (read, write),
        _watched(read, on_end) as incoming,
        ClientSession(
            incoming,
            write,
            read_timeout_seconds=timedelta(seconds=server.options.connect_seconds),
            message_handler=on_message,
            client_info=Implementation(name=NAME, version=version(NAME)),
        ) as session,
    ):
        await session.initialize()
        yield session


async def list_tools(session: "ClientSession", *, limit: int) -> list["Tool"]:
    """All tools of a server, page by page, up to a limit."""
    from mcp.types import PaginatedRequestParams

    found: list[Tool] = []
    cursor: str | None = None
    while len(found) < limit:
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += page.tools
        cursor = page.nextCursor
        if cursor is None or not page.tools:
            break
    return found[:limit]


@asynccontextmanager
async def _streams(server: Server, log: IO[str]) -> AsyncIterator[tuple[Any, Any]]:
    if server.command is not None:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env=dict(server.env),
            cwd=server.cwd,
            encoding_error_handler="replace",
        )
        async with stdio_client(parameters, errlog=log) as streams:  # type: ignore[arg-type]  # any file
            yield streams
        return
    import httpx
    from mcp.client.streamable_http import streamable_http_client

    # Calls have their own time limit; a stream for notifications is silent for long.
    timeout = httpx.Timeout(server.options.connect_seconds, read=None)
    async with (
        httpx.AsyncClient(headers=dict(server.headers), timeout=timeout) as http,
        streamable_http_client(server.url or "", http_client=http) as (read, write, _),
    ):
        yield read, write


@asynccontextmanager
async def _watched(read: Any, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    """Forward messages, and signal the end of the stream, which the SDK does not do."""
    import anyio

    to_session, incoming = anyio.create_memory_object_stream[Any](0)

    async def pass_on() -> None:
        async with to_session:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async for message in read:
                    await to_session.send(message)
        on_end()

    relay = asyncio.create_task(pass_on())
    try:
        async with read, incoming, to_session:
            yield incoming
    finally:
        relay.cancel()
        await asyncio.wait([relay])
