"""The MCP server of an API process: its sessions, each of which belongs to one owner.

A session lives in this process; with several API processes, a client must reach the same one. It is
started with the first request, so that a server without MCP clients does not load the library.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bathysphere.core.identity import Owner
from bathysphere.server.errors import TooManyRequests
from bathysphere.server.identity.identify import OWNER_KEY
from bathysphere.server.langgraph_api.idempotency import RequestKey
from bathysphere.server.langgraph_api.project_rules import RULES_KEY, ProjectRules
from bathysphere.server.process.services import Services
from bathysphere.server.sse import StreamRules

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

SESSION_HEADER = "mcp-session-id"
SESSIONS_PER_USER = 20
_RULES_KEY = "bathysphere.stream_rules"
_opened_by: ContextVar[Owner] = ContextVar("opened_by")


class McpEndpoint:
    """Answers requests to `/mcp`. `aclose` ends all sessions."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sessions: Counter[Owner] = Counter()
        self._starting = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None

    async def respond(self, request: Request, owner: Owner, rules: StreamRules) -> Response:
        """Return the response that passes a request to the owner's session.

        Raises:
            TooManyRequests: The owner has too many open sessions.
        """
        is_new = SESSION_HEADER not in request.headers
        if is_new and self._sessions[owner] >= SESSIONS_PER_USER:
            raise TooManyRequests("Too many open MCP sessions", retry_after=60)
        async with self._starting:
            manager = self._manager or await self._start()
        request.scope[_RULES_KEY] = rules
        return _SessionResponse(manager, owner)

    async def aclose(self) -> None:
        """End all sessions."""
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running

    async def _start(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(self._server())
        is_ready = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                is_ready.set()
                await asyncio.Event().wait()

        self._running = asyncio.create_task(run())
        await is_ready.wait()
        self._manager = manager
        return manager

    def _server(self) -> "Server[Any, Any]":
        from mcp.server.lowlevel import Server

        server: Server[Any, Any] = Server(
            "bathysphere",
            instructions="Each tool is an agent. Its result names a thread_id; pass it to go on.",
            lifespan=self._count_session,
        )

        async def list_tools() -> "list[types.Tool]":
            return await self._list_tools(server)

        async def call(name: str, arguments: dict[str, Any]) -> "types.CallToolResult":
            return await self._call(server, name, arguments)

        server.list_tools()(list_tools)  # type: ignore[no-untyped-call]
        # The library would validate with a list of tools that all callers share.
        server.call_tool(validate_input=False)(call)
        return server

    @contextlib.asynccontextmanager
    async def _count_session(self, _: "Server[Any, Any]") -> AsyncIterator[None]:
        owner = _opened_by.get()
        self._sessions[owner] += 1
        try:
            yield
        finally:
            self._sessions[owner] -= 1
            self._sessions += Counter()  # forget owners without sessions

    async def _list_tools(self, server: "Server[Any, Any]") -> "list[types.Tool]":
        from bathysphere.server.mcp.tools import assistants_by_tool, tool_of

        found = await assistants_by_tool(
            self._services, owner=_owner_of(server), rules=_rules_of(server)
        )
        return [tool_of(name, each, self._services.graphs) for name, each in found.items()]

    async def _call(
        self, server: "Server[Any, Any]", name: str, arguments: dict[str, Any]
    ) -> "types.CallToolResult":
        from bathysphere.server.mcp.calls import Caller, ToolCall
        from bathysphere.server.mcp.tools import assistants_by_tool, failed

        owner, rules, context = _owner_of(server), _rules_of(server), server.request_context
        found = await assistants_by_tool(self._services, owner=owner, rules=rules)
        assistant = found.get(name)
        if assistant is None:
            return failed(f"Unknown tool: {name}")
        caller = Caller(
            key=RequestKey(owner=owner, rules=rules),
            session=context.session,
            request_id=context.request_id,
            progress_token=context.meta.progressToken if context.meta is not None else None,
            rules=_request_of(server).scope[_RULES_KEY],
        )
        return await ToolCall(self._services, assistant, caller).run(arguments)


class _SessionResponse(Response):
    """Hands the connection over to the sessions."""

    def __init__(self, manager: "StreamableHTTPSessionManager", owner: Owner) -> None:
        super().__init__()
        self._manager = manager
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, for the session's owner only."""
        opened = _opened_by.set(self._owner)
        try:
            bound = {**scope, "user": session_user(self._owner), OWNER_KEY: self._owner}
            await self._manager.handle_request(bound, receive, send)
        finally:
            _opened_by.reset(opened)


def session_user(owner: Owner) -> "AuthenticatedUser":
    """The user that the library binds a session to; another user's request finds none."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=owner.digest, scopes=[]))


def _request_of(server: "Server[Any, Any]") -> Request:
    request: Any = server.request_context.request
    return cast("Request", request)


def _owner_of(server: "Server[Any, Any]") -> Owner:
    owner: Owner = _request_of(server).scope[OWNER_KEY]
    return owner


def _rules_of(server: "Server[Any, Any]") -> ProjectRules | None:
    rules: ProjectRules | None = _request_of(server).scope.get(RULES_KEY)
    return rules
