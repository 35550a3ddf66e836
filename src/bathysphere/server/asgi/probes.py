"""Operator endpoints `/livez`, `/readyz` and `/metrics`, handled before the app.

`Probes(not_found)` serves them alone, on a port that only operators can reach.
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
    """Handles the probes and passes on other requests. `/metrics` needs `metrics`."""

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
            await _respond(send, 200, b'{"status":"alive"}')
        elif path == "/readyz":
            await self._send_readiness(send)
        elif path == "/metrics" and self._metrics is not None:
            await self._send_metrics(self._metrics, scope, send)
        else:
            await self._app(scope, receive, send)

    async def _send_readiness(self, send: Send) -> None:
        checks = await self._health.check()
        failed = {name for name, status in checks.items() if status != "ok"}
        # Without Redis only live events are missing: no load balancer should remove the process.
        is_ready = failed <= {"redis"}
        status = "not ready" if not is_ready else "degraded" if failed else "ready"
        body = {"status": status, "checks": checks}
        await _respond(send, 200 if is_ready else 503, orjson.dumps(body))

    async def _send_metrics(self, render: Render, scope: Scope, send: Send) -> None:
        authorization = Headers(scope=scope).get("authorization", "")
        expected = f"Bearer {self._token}"
        if self._token is None or hmac.compare_digest(authorization.encode(), expected.encode()):
            await _respond(send, 200, await render(), kind=CONTENT_TYPE.encode())
            return
        await refuse(
            send,
            401,
            code="unauthenticated",
            message="/metrics requires its own token",
            hint="send BATHYSPHERE_METRICS_TOKEN as a bearer token",
            headers=[(b"www-authenticate", b"Bearer")],
        )


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with 404: the app of a port that serves only probes."""
    del receive
    if scope["type"] == "http":
        await refuse(send, 404, code="not_found", message="Not found", hint="see /readyz")


async def _respond(
    send: Send, status: int, body: bytes, *, kind: bytes = b"application/json"
) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
