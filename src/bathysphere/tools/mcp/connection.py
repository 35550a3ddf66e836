"""The connection to one MCP server: made when needed, bounded in time, made again after its end.

A connection lives in a task of its own, because the SDK's sessions must end in the task that
opened them. Whatever goes wrong there ends the task and nothing else.
"""

import asyncio
import tempfile
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

from bathysphere.tools.mcp.config import Server
from bathysphere.tools.mcp.errors import McpToolFailed, McpUnavailable
from bathysphere.tools.mcp.results import result_text
from bathysphere.tools.mcp.tools import MAX_LISTED, RemoteTool, remote_tools
from bathysphere.tools.mcp.transport import list_tools, open_session

if TYPE_CHECKING:
    from mcp import ClientSession

T = TypeVar("T")
State = Literal["idle", "connecting", "ready", "failed"]

RETRY_SECONDS = 15.0
"""Seconds between attempts that nobody waits for."""
PING_SECONDS = 2.0
END_SECONDS = 5.0
"""Seconds for a connection to end. The SDK closes a program's input, terminates it two seconds
later and kills it after two more."""
FORCED_END_SECONDS = 2.0
MIN_SECRET = 4
UNKNOWN = "whether it acted is unknown: check before you try again"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerStatus:
    """What is known about a server, without values of its configuration."""

    name: str
    transport: Literal["stdio", "http"]
    state: State
    problem: str | None
    tools: tuple[RemoteTool, ...]
    left_out: int
    """Tools whose definition is too large or not an object."""


class Connection:
    """One server. All methods are called in one event loop."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.tools: tuple[RemoteTool, ...] = ()
        """The tools as last listed, even while the server is unavailable."""
        self.log_tail = ""
        """The end of a stopped program's standard error; for the operator only."""
        self._left_out = 0
        self._problem: str | None = None
        self._session: ClientSession | None = None
        self._life: asyncio.Task[None] | None = None
        self._ready: asyncio.Event | None = None
        self._ending: asyncio.Event | None = None
        self._checks: set[asyncio.Task[None]] = set()
        self._retry_at = 0.0

    @property
    def status(self) -> ServerStatus:
        """Its state now."""
        return ServerStatus(
            name=self.server.name,
            transport=self.server.transport,
            state=self._state,
            problem=self._problem,
            tools=self.tools,
            left_out=self._left_out,
        )

    async def listed(self) -> tuple[RemoteTool, ...]:
        """Its tools. Waits for the first attempt to connect, never for a later one."""
        if self._state == "failed":
            if asyncio.get_running_loop().time() >= self._retry_at:
                self._start()
        elif self._state != "ready":
            await self._connected_or_failed()
        return self.tools

    async def connect(self) -> None:
        """Connect unless it is connected.

        Raises:
            McpUnavailable: It cannot be reached in time.
        """
        if self._state != "ready":
            await self._connected_or_failed()
        if self._state != "ready":
            if self._is_ending:
                await self._end()  # `log_tail` is complete only then
            name = self.server.name
            raise McpUnavailable(
                f"The MCP server '{name}' cannot be reached: {self._problem}",
                hint=f"`bathysphere mcp test {name}` shows more",
            )

    async def call(self, tool: RemoteTool, arguments: Mapping[str, Any]) -> str:
        """Call a tool; its result as bounded text.

        Raises:
            McpUnavailable: The server cannot be reached, ended, or did not answer in time.
            McpToolFailed: The tool reported an error.
        """
        from mcp import McpError

        await self.connect()
        options = self.server.options
        try:
            async with asyncio.timeout(options.call_seconds) as clock:

                async def on_progress(
                    progress: float, total: float | None, message: str | None
                ) -> None:
                    del progress, total, message
                    clock.reschedule(asyncio.get_running_loop().time() + options.call_seconds)

                result = await self._while_alive(
                    self._open_session.call_tool(
                        tool.remote_name, dict(arguments), progress_callback=on_progress
                    )
                )
        except TimeoutError as error:
            self._check_later()
            what = f"did not answer within {options.call_seconds:g} seconds"
            raise McpUnavailable(f"The MCP server '{tool.server}' {what}", hint=UNKNOWN) from error
        except McpError as error:
            raise McpToolFailed(_brief(error)) from error
        text = result_text(result, max_bytes=options.result_bytes)
        if result.isError:
            raise McpToolFailed(text)
        return text

    async def close(self) -> None:
        """End the connection; a started program is ended with it."""
        for check in self._checks:
            check.cancel()
        await self._end()

    # ── the life of a connection ──

    @property
    def _state(self) -> State:
        if self._life is None:
            return "idle"
        if self._life.done() or self._is_ending:
            return "failed"
        return "ready" if self._session is not None else "connecting"

    @property
    def _is_ending(self) -> bool:
        return self._ending is not None and self._ending.is_set()

    @property
    def _open_session(self) -> "ClientSession":
        if self._session is None:
            raise McpUnavailable(f"The MCP server '{self.server.name}' ended", hint=UNKNOWN)
        return self._session

    def _start(self) -> asyncio.Task[None]:
        """Start an attempt unless one is running or still ending."""
        if self._life is None or self._life.done():
            self._problem = None
            self._ready, self._ending = asyncio.Event(), asyncio.Event()
            self._life = asyncio.create_task(self._live(self._ready, self._ending))
            self._life.add_done_callback(self._ended)
        return self._life

    async def _connected_or_failed(self) -> None:
        """Wait for the session, or for the end of the attempt; both within its time."""
        if self._is_ending:
            await self._end()
        life = self._start()
        ready = asyncio.create_task((self._ready or asyncio.Event()).wait())
        try:
            limit = self.server.options.connect_seconds
            done, _ = await asyncio.wait(
                {life, ready}, timeout=limit, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                self._give_up(life, f"no connection within {limit:g} seconds")
        finally:
            ready.cancel()

    def _give_up(self, life: asyncio.Task[None], problem: str) -> None:
        """Count an attempt as failed; its program may take longer to end."""
        self._problem = problem
        self._retry_at = life.get_loop().time() + RETRY_SECONDS
        self._ask_to_end(life)

    def _ask_to_end(self, life: asyncio.Task[None]) -> None:
        """Cancel at most once: a second time would interrupt the SDK's clean-up of the program."""
        if self._ending is not None:
            self._ending.set()
        if self._session is None and not life.cancelling():
            life.cancel()

    async def _end(self) -> None:
        """Close the connection gracefully, then by force."""
        life = self._life
        if life is None or life.done():
            return
        self._ask_to_end(life)
        done, _ = await asyncio.wait([life], timeout=END_SECONDS)
        if not done:
            life.cancel()
            await asyncio.wait([life], timeout=FORCED_END_SECONDS)

    async def _live(self, ready: asyncio.Event, ending: asyncio.Event) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            changed = asyncio.Event()
            try:
                async with open_session(
                    self.server, log=log, on_change=changed.set, on_end=ending.set
                ) as session:
                    await self._list(session)
                    self._session, self._problem = session, None
                    ready.set()
                    await self._keep_listing(session, changed, ending)
            finally:
                self._session = None
                self.log_tail = _tail(log)

    async def _keep_listing(
        self, session: "ClientSession", changed: asyncio.Event, ending: asyncio.Event
    ) -> None:
        """List the tools again whenever they change, until the connection ends."""
        end = asyncio.create_task(ending.wait())
        try:
            while not ending.is_set():
                change = asyncio.create_task(changed.wait())
                await asyncio.wait({end, change}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                if changed.is_set() and not ending.is_set():
                    changed.clear()
                    await self._list(session)
        finally:
            end.cancel()

    async def _list(self, session: "ClientSession") -> None:
        listed = await list_tools(session, limit=MAX_LISTED)
        self.tools = remote_tools(self.server.name, listed, self.server.options)
        chosen = self.server.options.tools
        wanted = [tool for tool in listed if chosen is None or tool.name in chosen]
        self._left_out = len(wanted) - len(self.tools)

    def _ended(self, life: asyncio.Task[None]) -> None:
        self._retry_at = life.get_loop().time() + RETRY_SECONDS
        error = None if life.cancelled() else life.exception()
        if self._problem is None:
            text = "it closed the connection" if error is None else _brief(error)
            self._problem = _without_values(text, self.server)

    async def _while_alive(self, work: Coroutine[Any, Any, T]) -> T:
        """The outcome of a request; an error as soon as the connection ends."""
        task = asyncio.create_task(work)
        life = self._life or task
        try:
            await asyncio.wait({task, life}, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not _lost_connection(task):
                return task.result()
        finally:
            task.cancel()
        raise McpUnavailable(
            f"The MCP server '{self.server.name}' ended during the call", hint=UNKNOWN
        )

    def _check_later(self) -> None:
        """End the connection in the background if the server does not even answer a ping."""
        check = asyncio.create_task(self._end_if_silent())
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    async def _end_if_silent(self) -> None:
        session, life = self._session, self._life
        if session is None or life is None:
            return
        ping = asyncio.create_task(session.send_ping())
        try:
            await asyncio.wait({ping, life}, timeout=PING_SECONDS)
            if not ping.done() or ping.exception() is not None:
                self._problem = "it does not answer"
                await self._end()
        finally:
            ping.cancel()


def _lost_connection(task: asyncio.Task[Any]) -> bool:
    """Whether a request failed because the connection ended."""
    import anyio
    from mcp import McpError
    from mcp.types import CONNECTION_CLOSED

    if task.cancelled():
        return True
    error = task.exception()
    if isinstance(error, McpError):
        return error.error.code == CONNECTION_CLOSED
    return isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError | OSError)


def _brief(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:300]


def _without_values(text: str, server: Server) -> str:
    """The text without the configuration's secrets; an address may contain a key."""
    values = (server.url, *server.headers.values(), *server.env.values(), *server.args)
    for value in values:
        if value and len(value) >= MIN_SECRET:
            text = text.replace(value, "…")
    return text


def _tail(log: IO[str]) -> str:
    log.seek(0, 2)
    log.seek(max(0, log.tell() - 2_000))
    return log.read()[-1_000:].strip()
