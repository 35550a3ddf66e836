"""Check Host and Origin headers, to protect a server on loopback from web pages.

A web page can point its own host name at 127.0.0.1 and then call us as its own origin (DNS
rebinding); it can also send simple cross-origin requests without a preflight. A server without
authentication must refuse both.
"""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.server.asgi.refusal import refuse


class HostGuard:
    """Refuses hosts that are not listed and, with `same_origin`, pages of other origins."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str],
        same_origin: bool = False,
        origins: Iterable[str] = (),
        any_address: bool = False,
        is_public: Callable[[Scope], bool] | None = None,
    ) -> None:
        self._app = app
        self._is_public = is_public or _always_public
        self._hosts = {host.lower() for host in hosts}
        self._same_origin = same_origin
        self._origins = set(origins)
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._is_our_host(headers):
            await self._refuse(scope, send, 421, "unknown_host", "Unrecognized Host header")
        elif not self._is_our_origin(headers) or self._is_foreign_fetch(scope, headers):
            await self._refuse(
                scope, send, 403, "foreign_origin", "Cross-origin requests are not allowed"
            )
        else:
            await self._app(scope, receive, send)

    def _is_our_host(self, headers: Headers) -> bool:
        if not self._hosts:
            return True
        hosts = headers.getlist("host")
        if len(hosts) != 1:
            return False
        host = _without_port(hosts[0])
        return host in self._hosts or (self._any_address and _is_address(host))

    def _is_our_origin(self, headers: Headers) -> bool:
        if not self._same_origin or "origin" not in headers:
            return True
        for origin in headers.getlist("origin"):
            parts = urlsplit(origin)
            if origin not in self._origins and parts.netloc.lower() != headers["host"].lower():
                return False
        return True

    def _is_foreign_fetch(self, scope: Scope, headers: Headers) -> bool:
        """Whether another site's page makes a request other than opening one of our pages.

        A request without CORS has no `Origin`, but browsers send `Sec-Fetch-Site` with it.
        """
        if headers.get("sec-fetch-site") != "cross-site":
            return False
        if headers.get("origin") in self._origins:
            return False
        is_navigation = (
            scope.get("method") == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
            and self._is_public(scope)
        )
        return not is_navigation

    async def _refuse(self, scope: Scope, send: Send, status: int, code: str, message: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": message})
            return
        hint = "allow it on the server: BATHYSPHERE_ALLOWED_HOSTS, BATHYSPHERE_CORS_ORIGINS"
        await refuse(send, status, code=code, message=message, hint=hint)


def _is_address(host: str) -> bool:
    """Whether a host is an IP address, not a name that can be pointed elsewhere."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _always_public(scope: Scope) -> bool:
    del scope
    return True


def _without_port(host: str) -> str:
    name = host.lower()
    bare, _, port = name.rpartition(":")
    return bare if bare and port.isdigit() and not bare.endswith(":") else name
