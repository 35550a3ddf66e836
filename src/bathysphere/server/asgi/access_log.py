"""Request ids, and one access log line per request.

The line contains no query, header or body: they may hold secrets and user content.
"""

import logging
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.core.ids import new_id
from bathysphere.server.identity.identify import OWNER_KEY
from bathysphere.server.observability.logs import bound

_log = logging.getLogger("bathysphere.access")
_PROBES = ("/livez", "/readyz", "/metrics")
_VALID_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")


class AccessLog:
    """Sets `x-request-id` (keeping the proxy's) and logs each request when it ends."""

    def __init__(self, app: ASGIApp, *, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        began = self._clock.monotonic()
        status, size = 500, 0

        async def send_wrapper(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            else:
                size += len(message.get("body", b""))
            await send(message)

        with bound(request_id=request_id):
            try:
                await self._app(scope, receive, send_wrapper)
            finally:
                elapsed_ms = round((self._clock.monotonic() - began) * 1000, 1)
                _log.log(
                    logging.DEBUG if status == 200 and scope["path"] in _PROBES else logging.INFO,
                    "%s %s %d",
                    scope["method"],
                    scope["path"],
                    status,
                    extra=_fields(scope, status=status, duration_ms=elapsed_ms, bytes=size),
                )


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _VALID_ID.fullmatch(value):
            return bytes(value).decode()
    return new_id("req")


def _fields(scope: Scope, **measured: float) -> dict[str, object]:
    client = scope.get("client")
    owner = scope.get(OWNER_KEY)
    fields: dict[str, object] = {"method": scope["method"], "path": scope["path"], **measured}
    if client is not None:
        fields["client"] = client[0]
    if isinstance(owner, Owner):
        fields |= {"tenant": owner.tenant, "user": owner.user}
    return {"fields": fields}
