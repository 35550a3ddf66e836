"""`/livez`, `/readyz` and `/metrics`: answered before anything else looks at the request.

They are also an app of their own (`Probes(nowhere)`), for a port that only operators reach.
"""

import hmac
from collections.abc import Awaitable, Callable

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.server.asgi.refusal import refuse
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.metrics import CONTENT_TYPE

Render = Callable[[], Awaitable[bytes]]


class Probes:
    """Answers probes, hands on the rest. Without `metrics` there is no `/metrics`."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        health: Health,
        metrics: Render | None = None,
        metrics_token: str | None = None,
    ) -> None:
        self._app = app
        self._health = health
        self._metrics = metrics
        self._token = metrics_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        path = scope["path"] if scope["type"] == "http" else ""
        if path == "/livez":
            await _answer(send, 200, b'{"status":"alive"}')
        elif path == "/readyz":
            await self._ready(send)
        elif path == "/metrics" and self._metrics is not None:
            await self._measured(self._metrics, scope, send)
        else:
            await self._app(scope, receive, send)

    async def _ready(self, send: Send) -> None:
        checks = await self._health.check()
        is_ready = all(found == "ok" for found in checks.values())
        body = {"status": "ready" if is_ready else "not ready", "checks": checks}
        await _answer(send, 200 if is_ready else 503, orjson.dumps(body))

    async def _measured(self, render: Render, scope: Scope, send: Send) -> None:
        shown = Headers(scope=scope).get("authorization", "")
        wanted = f"Bearer {self._token}"
        if self._token is None or hmac.compare_digest(shown.encode(), wanted.encode()):
            await _answer(send, 200, await render(), kind=CONTENT_TYPE.encode())
            return
        await refuse(
            send,
            401,
            code="unauthenticated",
            message="Metrics need their own token.",
            hint="send BATHYSPHERE_METRICS_TOKEN as a bearer token",
            headers=[(b"www-authenticate", b"Bearer")],
        )


async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """The app of a port that has probes only."""
    del receive
    if scope["type"] == "http":
        await refuse(
            send, 404, code="not_found", message="There is nothing here.", hint="see /readyz"
        )


async def _answer(
    send: Send, status: int, body: bytes, *, kind: bytes = b"application/json"
) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
