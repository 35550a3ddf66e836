"""Guards a server on loopback from web pages: by the host a request asks for, and where it is from.

A web page can point a name of its own at 127.0.0.1 and then talk to us as its own origin (DNS
rebinding); it can also send simple requests to us across origins without asking. A server that asks
nobody who they are must refuse both.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.server.asgi.refusal import refuse


class HostGuard:
    """Refuses hosts that are not in the list, and with `same_origin` pages of other origins."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str],
        same_origin: bool = False,
        origins: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}
        self._same_origin = same_origin
        self._origins = set(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._is_our_host(headers):
            await self._refuse(scope, send, 421, "unknown_host", "This server has another name.")
        elif not self._is_our_origin(headers):
            await self._refuse(
                scope, send, 403, "foreign_origin", "Pages of other origins may not call this."
            )
        else:
            await self._app(scope, receive, send)

    def _is_our_host(self, headers: Headers) -> bool:
        if not self._hosts:
            return True
        hosts = headers.getlist("host")
        return len(hosts) == 1 and _without_port(hosts[0]) in self._hosts

    def _is_our_origin(self, headers: Headers) -> bool:
        if not self._same_origin or "origin" not in headers:
            return True
        for origin in headers.getlist("origin"):
            parts = urlsplit(origin)
            if origin not in self._origins and parts.netloc.lower() != headers["host"].lower():
                return False
        return True

    async def _refuse(self, scope: Scope, send: Send, status: int, code: str, message: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": message})
            return
        hint = "the operator sets BATHYSPHERE_ALLOWED_HOSTS and BATHYSPHERE_CORS_ORIGINS"
        await refuse(send, status, code=code, message=message, hint=hint)


def _without_port(host: str) -> str:
    name = host.lower()
    bare, _, port = name.rpartition(":")
    return bare if bare and port.isdigit() and not bare.endswith(":") else name
