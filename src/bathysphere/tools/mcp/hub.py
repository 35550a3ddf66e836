"""The MCP servers of a process: one connection each, shared by all its runs.

Connections live in a thread with an event loop of its own, started at the first use: a run may be
in any event loop or in none, and a connection outlives it. Programs that were started are ended
when the process ends.
"""

import asyncio
import atexit
import logging
import threading
from collections.abc import Collection, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from bathysphere.tools.mcp.config import McpConfig
from bathysphere.tools.mcp.connection import Connection, ServerStatus
from bathysphere.tools.mcp.errors import McpUnavailable
from bathysphere.tools.mcp.tools import RemoteTool

T = TypeVar("T")
CLOSE_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """The tools of some servers, and which of the servers cannot be reached now."""

    tools: tuple[RemoteTool, ...]
    unavailable: tuple[str, ...]

    def find(self, name: str) -> RemoteTool | None:
        """A tool by the name that the model uses."""
        return next((tool for tool in self.tools if tool.name == name), None)


class McpHub:
    """All configured servers. Thread-safe; connects at first use."""

    def __init__(self, config: McpConfig) -> None:
        self.config = config
        self._connections = {name: Connection(each) for name, each in config.servers.items()}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def offer(self, servers: Collection[str]) -> Offer:
        """The tools of the servers; waits for a first connection only."""
        return await self._in_loop(self._offer(servers))

    def offer_now(self, servers: Collection[str]) -> Offer:
        """The same, for callers without an event loop."""
        return self._submit(self._offer(servers)).result()

    async def call(self, tool: RemoteTool, arguments: Mapping[str, Any]) -> str:
        """Call a tool; its result as bounded text.

        Raises:
            McpUnavailable: The server cannot be reached, ended, or did not answer in time.
            McpToolFailed: The tool reported an error.
        """
        return await self._in_loop(self._connections[tool.server].call(tool, arguments))

    def call_now(self, tool: RemoteTool, arguments: Mapping[str, Any]) -> str:
        """The same, for callers without an event loop."""
        return self._submit(self._connections[tool.server].call(tool, arguments)).result()

    async def statuses(self, servers: Collection[str] | None = None) -> list[ServerStatus]:
        """The state of the servers, after a first attempt to connect."""
        chosen = self._connections if servers is None else servers
        await self.offer(chosen)
        return [self._connections[name].status for name in chosen]

    async def test(self, server: str) -> ServerStatus:
        """Connect to one server.

        Raises:
            McpUnavailable: It cannot be reached; what its program wrote to standard error is part
                of the hint.
        """
        connection = self._connections[server]
        try:
            await self._in_loop(connection.connect())
        except McpUnavailable as error:
            said = connection.log_tail
            hint = f"it wrote: {said}" if said else "check its command or address"
            raise McpUnavailable(error.message, hint=hint) from error
        return connection.status

    def close(self) -> None:
        """End all connections and the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        atexit.unregister(self.close)
        closing = asyncio.run_coroutine_threadsafe(self._close(), loop)
        try:
            closing.result(CLOSE_SECONDS)
        except TimeoutError:
            logging.getLogger(__name__).warning("MCP servers did not end in time")
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_SECONDS)

    async def _offer(self, servers: Collection[str]) -> Offer:
        connections = [self._connections[name] for name in servers]
        async with asyncio.TaskGroup() as group:
            for connection in connections:
                group.create_task(connection.listed())
        return Offer(
            tools=tuple(tool for connection in connections for tool in connection.tools),
            unavailable=tuple(
                each.server.name for each in connections if each.status.state != "ready"
            ),
        )

    async def _close(self) -> None:
        async with asyncio.TaskGroup() as group:
            for connection in self._connections.values():
                group.create_task(connection.close())

    # ── the thread ──

    async def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(self._submit(work))

    def _submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        with self._lock:
            if self._loop is None:
                self._loop = self._start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _start(self) -> asyncio.AbstractEventLoop:
        # The connection says what went wrong; the SDK would print a traceback, too.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=_run, args=(loop,), name="bathysphere-mcp", daemon=True
        )
        self._thread.start()
        atexit.register(self.close)
        return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_cancel_rest())
        loop.close()


async def _cancel_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=CLOSE_SECONDS)
    await asyncio.get_running_loop().shutdown_asyncgens()
