"""Requests an identity may make. Who shows no valid credential is counted by address.

So made-up credentials give nobody a fresh bucket, and nobody can use up another's by their address.
"""

import hashlib
import math
from ipaddress import ip_address

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.core.errors import BathysphereError
from bathysphere.engine.records import Owner
from bathysphere.server.asgi.buckets import Buckets
from bathysphere.server.asgi.refusal import refuse
from bathysphere.server.identity import Identify


class RateLimit:
    """Answers 429 with `Retry-After` to whoever asks too often."""

    def __init__(self, app: ASGIApp, *, buckets: Buckets, identify: Identify) -> None:
        self._app = app
        self._buckets = buckets
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wait = await self._buckets.take(await self._key(HTTPConnection(scope)))
        if not wait:
            await self._app(scope, receive, send)
            return
        seconds = str(math.ceil(wait)).encode()
        await refuse(
            send,
            429,
            code="too_many_requests",
            message="Too many requests.",
            hint=f"wait {seconds.decode()} s",
            headers=[(b"retry-after", seconds)],
        )

    async def _key(self, connection: HTTPConnection) -> str:
        try:
            owner = await self._identify(connection)
        except BathysphereError:  # the app says so itself where it matters
            return f"address:{_network(connection)}"
        return f"owner:{_digest(owner)}"


def _digest(owner: Owner) -> str:
    # Names may hold any sign; joined plainly, two owners could share a key.
    parts = f"{len(owner.tenant)}:{owner.tenant}:{owner.user}"
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _network(connection: HTTPConnection) -> str:
    """The caller's address; of an IPv6 address the part that a caller cannot choose."""
    host = connection.client.host if connection.client is not None else "unknown"
    try:
        address = ip_address(host)
    except ValueError:
        return host[:64]
    if address.version == 6:
        return address.exploded[:19]
    return str(address)
